"""Anything may be killed at any time: no finished call is paid for twice, and nothing is left running."""

import asyncio
import json
import os
import signal
import sys
import textwrap
from pathlib import Path

import pytest

from tests.agents.supervisor.world import DONE, GO, World, wait_for
from trued.agents.spool.call_folder import is_supervised, supervisor_identity
from trued.errors import Interrupted, StateFailed
from trued.wire import to_json

BEGUN = '(folder / "starts").open("a").write("x")\n'
TURN = """return {"summary": f"turn {order['turn']}, resumed {order['resumed']}"}\n"""


def waiting_script(world: World, turns: int = 1) -> str:
    """A script whose first turns end only when it is killed or the test calls `world.go`."""
    return world.script(f"{BEGUN}if order['turn'] <= {turns}:\n{textwrap.indent(GO, '    ')}{TURN}")


def waiting_program(world: World) -> str:
    return world.program('folder = Path(".")\n' + BEGUN + GO + DONE)


def quick_program(world: World) -> str:
    return world.program('folder = Path(".")\n' + BEGUN + DONE)


def starts(world: World) -> int:
    file = world.clone / "starts"
    return len(file.read_text()) if file.exists() else 0


async def begun(world: World, times: int = 1) -> None:
    def found() -> bool:
        assert not list(world.spool.rglob("report.json")) or starts(world), world.files()
        return starts(world) >= times

    await asyncio.to_thread(wait_for, found, "the agent's start")


async def told(world: World, kind: str) -> None:
    await asyncio.to_thread(wait_for, lambda: kind in world.kinds(), kind)


# -- the engine dies ---------------------------------------------------------------------------------------------------


@pytest.mark.spec("RUN-2")
async def test_a_call_in_flight_is_adopted_after_the_engine_was_killed(confined: World) -> None:
    order = confined.order(waiting_program(confined))
    with confined.engine(order) as engine:
        await begun(confined)
        engine.kill()
    assert confined.left(), "the agent goes on without the engine"
    work = asyncio.create_task(confined.runtime().work(order, confined.tell))
    await told(confined, "adopted")
    confined.go()
    report = await work
    assert report.state == "done"
    assert confined.kinds() == ["adopted"]
    assert starts(confined) == 1


@pytest.mark.spec("RUN-2")
async def test_a_call_that_ended_while_no_engine_was_there_is_found(world: World) -> None:
    order = world.order(waiting_program(world))
    with world.engine(order) as engine:
        await begun(world)
        engine.kill()
    world.go()
    await asyncio.to_thread(wait_for, lambda: (world.folder() / "report.json").exists(), "the report")
    report = await world.runtime().work(order, world.tell)
    assert (report.state, world.kinds(), starts(world)) == ("done", ["report found"], 1)


@pytest.mark.spec("RUN-2")
async def test_an_engine_killed_before_its_supervisor_is_up_has_started_nothing(world: World) -> None:
    order = world.order(quick_program(world))
    killer = ["sh", "-c", f'kill -9 $PPID; sleep 0.2; exec {sys.executable} -m trued.agents.supervisor "$@"', "sh"]
    with world.engine(order, supervisor=killer) as engine:
        assert engine.wait() == -signal.SIGKILL
    report = await world.runtime().work(order, world.tell)
    assert (report.state, starts(world)) == ("done", 1)
    assert "died" not in world.kinds()


@pytest.mark.spec("RUN-2", "RUN-9")
async def test_an_engine_killed_before_it_says_go_has_started_nothing(world: World) -> None:
    agent = waiting_program(world)
    first, second = world.order(agent, "first"), world.order(agent, "second")
    with world.engine(first, second, cap=1) as engine:
        await begun(world)
        # One of the two supervisors has started and waits for the other's slot.
        ready = [
            folder for folder in (world.folder("first"), world.folder("second")) if not (folder / "starts").exists()
        ]
        await asyncio.to_thread(wait_for, lambda: (ready[0] / "lock").read_text(), "the second supervisor")
        engine.kill()
    world.go()
    runtime = world.runtime()
    reports = await asyncio.gather(*(runtime.work(order, world.tell) for order in (first, second)))
    assert [report.state for report in reports] == ["done", "done"]
    assert starts(world) == 2, "neither ran twice"
    assert "died" not in world.kinds()


async def test_an_order_that_was_written_and_never_begun_is_begun(world: World) -> None:
    order = world.order(quick_program(world))
    world.folder().mkdir(parents=True)
    (world.folder() / "order.json").write_text(to_json(order))
    report = await world.runtime().work(order, world.tell)
    assert (report.state, world.kinds()) == ("done", ["started"])


async def test_half_a_go_is_no_go(world: World) -> None:
    world.folder().mkdir(parents=True)
    (world.folder() / "order.json").write_text(to_json(world.order(quick_program(world))))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "trued.agents.supervisor", str(world.folder())), stdin=-1, stdout=-1
    )
    out, _ = await process.communicate(b'go {"secrets"')
    assert (out, process.returncode, starts(world)) == (b"ready\n", 0, 0)


# -- the supervisor dies -----------------------------------------------------------------------------------------------


@pytest.mark.spec("RUN-2", "RUN-5")
async def test_a_call_whose_supervisor_was_killed_has_died_and_leaves_no_process(confined: World) -> None:
    order = confined.order(waiting_program(confined))
    work = asyncio.create_task(confined.runtime().work(order, confined.tell))
    await begun(confined)
    os.kill(confined.supervisor(), signal.SIGKILL)
    report = await work
    assert report.state == "died"
    assert confined.kinds() == ["started", "died"]
    assert not confined.left()
    assert (await confined.runtime().work(order, confined.tell)).state == "died", "it stays so"
    assert starts(confined) == 1


@pytest.mark.spec("RUN-2")
async def test_a_session_is_resumed_after_its_supervisor_was_killed(confined: World) -> None:
    order = confined.order(waiting_script(confined))
    work = asyncio.create_task(confined.runtime().work(order, confined.tell))
    await begun(confined)
    os.kill(confined.supervisor(), signal.SIGKILL)
    report = await work
    assert (report.state, report.resumed, report.attempt) == ("done", True, 1)
    assert report.reply == {"summary": "turn 2, resumed True"}
    assert confined.kinds() == ["started", "died", "session resumed", "started"]


@pytest.mark.spec("RUN-2", "RUN-5")
async def test_engine_and_supervisor_killed_together_are_taken_up_by_the_next_engine(confined: World) -> None:
    order = confined.order(waiting_script(confined))
    with confined.engine(order) as engine:
        await begun(confined)
        engine.kill()
        os.kill(confined.supervisor(), signal.SIGKILL)
    await asyncio.to_thread(wait_for, lambda: not is_supervised(confined.folder()), "the supervisor's end")
    report = await confined.runtime().work(order, confined.tell)
    assert report.reply == {"summary": "turn 2, resumed True"}
    assert confined.kinds() == ["died", "session resumed", "started"]


async def test_a_session_that_dies_again_and_again_is_given_up(world: World) -> None:
    order = world.order(waiting_script(world, turns=3))
    work = asyncio.create_task(world.runtime().work(order, world.tell))
    for turn in (1, 2, 3):
        await begun(world, turn)
        os.kill(world.supervisor(), signal.SIGKILL)
    assert (await work).state == "died"
    assert world.kinds().count("session resumed") == 2


@pytest.mark.spec("AGT-7")
async def test_a_killed_agent_is_a_failed_call_and_its_signal_is_named(world: World) -> None:
    report = await world.runtime().work(world.order(world.program("os.kill(os.getpid(), 9)")), world.tell)
    assert (report.state, report.kind) == ("failed", "crashed")
    assert "signal 9" in report.why


async def test_a_supervisor_that_never_begins_ends_in_a_clear_sentence(world: World) -> None:
    runtime = world.runtime(supervisor=[sys.executable, "-c", "print('ready', flush=True)"])
    with pytest.raises(StateFailed, match="never starts"):
        await runtime.work(world.order(quick_program(world)), world.tell)


async def test_a_supervisor_that_cannot_start_says_why(world: World) -> None:
    runtime = world.runtime(supervisor=[sys.executable, "-c", "raise SystemExit('no such thing')"])
    with pytest.raises(StateFailed, match="no such thing"):
        await runtime.work(world.order(quick_program(world)), world.tell)


# -- two engines, and no engine ----------------------------------------------------------------------------------------


@pytest.mark.spec("RUN-2", "RUN-3")
async def test_two_engines_on_one_call_start_it_once(world: World) -> None:
    order = world.order(waiting_program(world))
    engines = [world.engine(order) for _ in range(3)]
    await begun(world)
    world.go()
    outputs = [await asyncio.to_thread(engine.communicate) for engine in engines]
    told = [[json.loads(line) for line in out.splitlines()] for out, _ in outputs]
    assert starts(world) == 1
    assert sum(kind == "started" for lines in told for kind, _ in lines) == 1
    assert all(lines[-1] == ["report", {"state": "done", "reply": {"summary": "done"}}] for lines in told)


@pytest.mark.spec("RUN-5")
async def test_a_cancelled_engine_ends_its_agent_and_the_next_one_goes_on(confined: World) -> None:
    order = confined.order(waiting_script(confined))
    work = asyncio.create_task(confined.runtime().work(order, confined.tell))
    await begun(confined)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert not confined.left()
    assert not (confined.folder() / "report.json").exists()
    report = await confined.runtime().work(order, confined.tell)
    assert report.reply == {"summary": "turn 2, resumed True"}


async def test_a_call_cancelled_while_it_waits_for_a_slot_has_started_nothing(world: World) -> None:
    runtime = world.runtime(cap=1)
    first = asyncio.create_task(runtime.work(world.order(waiting_program(world), "first"), world.tell))
    await begun(world)
    second = asyncio.create_task(runtime.work(world.order(quick_program(world), "second"), world.tell))
    await asyncio.to_thread(wait_for, lambda: supervisor_identity(world.folder("second")), "the second supervisor")
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    world.go()
    assert (await first).state == "done"
    assert starts(world) == 1


@pytest.mark.spec("RUN-5", "USE-3")
async def test_a_call_that_is_cancelled_just_as_its_supervisor_is_ready_is_cancelled(world: World) -> None:
    said = world.top / "said"
    runtime = world.runtime(supervisor=["sh", "-c", f"echo ready; touch {said}; exec cat >/dev/null", "sh"])
    for steps in range(12):
        work = asyncio.create_task(runtime.work(world.order(quick_program(world), f"call{steps}"), world.tell))
        await asyncio.sleep(0)
        wait_for(said.exists, "the word of the supervisor")  # this blocks the event loop, so nobody reads the output
        said.unlink()
        for _ in range(steps):
            await asyncio.sleep(0)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work


@pytest.mark.spec("RUN-5")
async def test_stop_all_ends_the_agents_of_an_engine_in_another_process(confined: World) -> None:
    agent = waiting_program(confined)
    orders = [confined.order(agent, f"call{n}") for n in range(2)]
    with confined.engine(*orders) as engine:
        await begun(confined, 2)
        await confined.runtime().stop_all()
        assert not confined.left()
        engine.communicate()
        assert engine.returncode == 1, "the engine does not start again what somebody stopped"


@pytest.mark.spec("RUN-5")
async def test_stop_all_reaps_what_a_dead_supervisor_left(world: World) -> None:
    with world.engine(world.order(waiting_program(world))) as engine:
        await begun(world)
        engine.kill()
    os.kill(world.supervisor(), signal.SIGKILL)
    await world.runtime().stop_all()
    assert not world.left()


async def test_an_adopted_call_that_is_stopped_interrupts_the_engine(world: World) -> None:
    order = world.order(waiting_program(world))
    with world.engine(order) as engine:
        await begun(world)
        engine.kill()
    work = asyncio.create_task(world.runtime().work(order, world.tell))
    await told(world, "adopted")
    os.kill(world.supervisor(), signal.SIGTERM)
    with pytest.raises(Interrupted, match="was stopped"):
        await work


async def test_signals_of_a_terminal_do_not_reach_the_call(world: World) -> None:
    work = asyncio.create_task(world.runtime().work(world.order(waiting_program(world)), world.tell))
    await begun(world)
    for number in (signal.SIGINT, signal.SIGHUP):
        os.kill(world.supervisor(), number)
    world.go()
    assert (await work).state == "done"


def test_a_state_folder_of_another_place_is_another_call(tmp_path: Path) -> None:
    from trued.support.processes import marker

    assert marker(tmp_path / "a" / "spool" / "x.1") != marker(tmp_path / "b" / ".." / "c" / "a" / "spool" / "x.1")
