"""One call through the spool, while nothing fails."""

import asyncio
import json
import os
import statistics
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agents.supervisor.world import DONE, World
from trued.agents.spool.spool import SUPERVISOR
from trued.agents.supervisor.call import Stopwatch
from trued.errors import BadInput, Diverged


@pytest.mark.spec("RUN-2", "AGT-7")
async def test_a_call_leaves_its_report_and_a_second_one_finds_it(confined: World) -> None:
    agent = confined.program('Path("count").open("a").write("x")\nPath("made.txt").write_text("made")\n' + DONE)
    first = await confined.runtime().work(confined.order(agent), confined.tell)
    second = await confined.runtime().work(confined.order(agent), confined.tell)
    assert (first.state, first.reply) == ("done", {"summary": "done"})
    assert second == first
    assert confined.kinds() == ["started", "report found"]
    assert (confined.clone / "count").read_text() == "x"
    assert (confined.clone / "made.txt").read_text() == "made"


@pytest.mark.spec("RUN-3")
async def test_another_brief_under_the_same_call_is_refused(world: World) -> None:
    order = world.order(world.program(DONE))
    await world.runtime().work(order, world.tell)
    with pytest.raises(Diverged, match="another brief"):
        await world.runtime().work(replace(order, brief="Build something else."), world.tell)


@pytest.mark.spec("RUN-3")
@pytest.mark.parametrize(("first", "then"), [("password", ""), ("", "password"), ("password", "dialog-of")])
async def test_a_secret_that_comes_goes_or_changes_makes_no_other_order(world: World, first: str, then: str) -> None:
    order = world.order(world.program(DONE), brief="Build the password dialog-of it.")
    report = await world.runtime(secrets={"DB_PASSWORD": first} if first else {}).work(order, world.tell)
    again = world.runtime(secrets={"DB_PASSWORD": then} if then else {})
    assert await again.work(order, world.tell) == report
    with pytest.raises(Diverged, match="another brief"):
        await again.work(replace(order, brief="Build the password door."), world.tell)


async def test_another_place_is_no_other_order(world: World) -> None:
    order = world.order(world.program(DONE))
    await world.runtime().work(order, world.tell)
    report = await world.runtime().work(replace(order, folder="/elsewhere", home="/elsewhere"), world.tell)
    assert report.state == "done"


async def test_a_call_whose_name_leaves_the_spool_is_refused(world: World) -> None:
    with pytest.raises(BadInput):
        await world.runtime().work(world.order(world.program(DONE), "../out"), world.tell)


@pytest.mark.spec("RUN-9")
async def test_twelve_calls_never_run_more_at_once_than_the_cap(world: World) -> None:
    runtime = world.runtime(cap=3)
    agent = world.script(
        """
        place, met = folder / "running", folder / "met"; place.mkdir(exist_ok=True)
        me = place / order["key"].replace("/", "-"); me.touch()
        seen = len(list(place.iterdir()))
        while seen < 2 and not met.exists():  # the first one waits for company
            time.sleep(0.02)
            seen = len(list(place.iterdir()))
        met.touch()
        time.sleep(0.1); seen = max(seen, len(list(place.iterdir()))); me.unlink()
        return {"summary": str(seen)}
        """
    )
    reports = await asyncio.gather(*(runtime.work(world.order(agent, f"call{n}"), world.tell) for n in range(12)))
    seen = [int((report.reply or {})["summary"]) for report in reports]
    assert 1 < max(seen) <= 3
    assert {report.state for report in reports} == {"done"}


@pytest.mark.spec("RUN-10")
async def test_what_the_agent_logs_is_kept_as_events(world: World) -> None:
    await world.runtime().work(
        world.order(world.program('print("looking\\x1b[2J around", file=sys.stderr)\n' + DONE)), world.tell
    )
    logged = [event for event in world.events() if event["kind"] == "log"]
    assert [event["text"] for event in logged] == ["looking around"]
    assert all(event["at"] > 0 for event in world.events())
    assert [event["kind"] for event in world.events()] == ["began", "log", "ended"]


async def test_events_are_capped_and_say_so(world: World) -> None:
    body = 'for n in range(6000):\n    print(f"{n} " + "talk " * 200, file=sys.stderr)\n'
    report = await world.runtime().work(world.order(world.program(body + DONE)), world.tell)
    assert report.state == "done"
    assert world.events()[-1]["kind"] == "capped"
    assert (world.folder() / "events.jsonl").stat().st_size <= 4 * 1024 * 1024 + 200
    assert (world.folder() / "stderr").stat().st_size <= 64 * 1024
    assert "5999" in (world.folder() / "stderr").read_text(), "the tail is the end of it"


@pytest.mark.spec("USE-6")
async def test_secrets_of_the_engine_are_in_no_file_of_the_spool(world: World) -> None:
    secret, mine = "correct-horse-battery-staple", "sk-ant-" + "a1B2" * 10
    body = f"""
        import base64
        secret = {secret[:14]!r} + {secret[14:]!r}
        print("log", secret, base64.b64encode(secret.encode()).decode(), {mine[:9]!r} + {mine[9:]!r}, file=sys.stderr)
        assert os.environ["MODEL_KEY"] == secret
        print(json.dumps({{"summary": "it is " + secret}}))
        """
    runtime = world.runtime(secrets={"MODEL_KEY": secret}, variables=lambda _: {"MODEL_KEY": secret})
    order = replace(world.order(world.program(body)), brief=f"Use {secret}.")
    report = await runtime.work(order, world.tell)
    assert report.reply == {"summary": "it is [redacted MODEL_KEY]"}
    assert secret not in world.files()
    assert "Y29ycmVjdC1ob3JzZS1" not in world.files()
    assert mine not in world.files()
    assert (await runtime.work(order, world.tell)).reply == report.reply


@pytest.mark.spec("USE-6")
async def test_a_secret_in_a_broken_answer_is_in_no_file_and_no_reason(world: World) -> None:
    agent = world.program('print(json.dumps({"summary": ["swordfish" + "-1234"]}))')
    report = await world.runtime(secrets={"TOKEN": "swordfish-1234"}).work(world.order(agent), world.tell)
    assert "[redacted TOKEN]" in report.why
    assert "swordfish-1234" not in world.files()


@pytest.mark.spec("AGT-7")
async def test_the_agent_sees_only_the_variables_that_it_may(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIVATE_THING", "hidden")
    agent = world.program('print(json.dumps({"summary": " ".join(sorted(os.environ))}))')
    report = await world.runtime(variables=lambda _: {"SHOWN": "1"}).work(world.order(agent), world.tell)
    names = (report.reply or {})["summary"].split()
    assert "PRIVATE_THING" not in names
    assert {"SHOWN", "HOME", "PATH", "TRUED_CALL"} <= set(names)


def spent(*command: str, says: bytes) -> float:
    """The processor time that was used, not wall time: the machine may be busy with other tests."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout as said:
        assert said.read() == says
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, "nobody said go: nothing was started, and that is no error"
    return used.ru_utime + used.ru_stime


def test_a_supervisor_is_ready_in_a_blink(tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(5)]
    for folder in folders:
        folder.mkdir()
    taken = statistics.median(spent(*SUPERVISOR, str(folder), says=b"ready\n") for folder in folders)
    bare = min(spent(sys.executable, "-c", "pass", says=b"") for _ in range(3))
    assert taken <= max(0.3, 20 * bare), "0.3 s, or as much more as the machine is slower"


def test_a_supervisor_loads_nothing_heavy_before_it_is_ready() -> None:
    names = "import sys, trued.agents.supervisor.__main__; print('\\n'.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", names], capture_output=True, text=True, check=True).stdout.split()
    assert not {"pydantic", "jsonschema", "typer", "rich", "zoneinfo", "email.utils"} & set(loaded)


@pytest.mark.parametrize(("clock", "ticks"), [([100.0, 90.0], [5.0, 7.5]), ([100.0, 200.0], [5.0, 7.5])])
def test_a_clock_that_jumps_changes_no_duration(clock: list[float], ticks: list[float]) -> None:
    watch = Stopwatch(iter(clock).__next__, iter(ticks).__next__)
    assert (watch.began, watch.ended) == (100.0, 102.5)


def test_time_that_stands_still_or_runs_back_is_no_negative_duration() -> None:
    assert Stopwatch(lambda: 1.0, iter([9.0, 3.0]).__next__).ended == 1.0


async def test_the_order_on_disk_is_the_order(world: World) -> None:
    await world.runtime().work(world.order(world.program(DONE)), world.tell)
    assert json.loads((world.folder() / "order.json").read_text())["key"] == "chunk 1A/builder one"
    assert not (world.folder() / "reserve").exists()
