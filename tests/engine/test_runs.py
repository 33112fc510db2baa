"""Whole runs with real processes: misbehaving agents, competing drivers, signals, full disks."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.crash.world import World
from trued.engine.engine import Engine
from trued.engine.inputs import Request
from trued.engine.run_store import RunStore
from trued.errors import BadInput, Busy
from trued.model import Grade, RunRecord

GOOD = """
import json, pathlib, sys
order = json.load(sys.stdin)
pathlib.Path("tiny.py").write_text("def double(x):\\n    return x + x\\n")
if order["role"] == "purple-team-a":
    print(json.dumps({"implemented": ["double"], "files": [{"path": "tiny.py"}]}))
else:
    print(json.dumps({"result": "PASS", "steel_man": ["good"], "gaps": []}))
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "a path with ü").make()


@pytest.fixture
def engine(world: World) -> Iterator[Engine]:
    with closing(engine_on(world)) as opened:
        yield opened


def engine_on(world: World, **variables: str) -> Engine:
    return Engine(RunStore(world.home, {"HOME": str(world.folder), "PATH": os.environ["PATH"], **variables}))


def program(world: World, code: str) -> str:
    """An agent as a file outside the repository."""
    path = world.folder / "agent.py"
    path.write_text(code)
    return f"command:{sys.executable} '{path}'"


async def start(world: World, engine: Engine, agent: str = "", **flags: object) -> RunRecord:
    given = {"yes": True, "agents": {"*": agent or f"scripted:{world.script}"}, **flags}
    request = Request(goal=str(world.plan), repository=world.repository, requirements=world.requirements, flags=given)
    return await engine.start(request)


def trued(world: World, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the real command line and wait for its end."""
    command = [sys.executable, "-m", "trued", *arguments]
    run = {"cwd": world.repository, "env": environment(world)}
    return subprocess.run(command, **run, capture_output=True, text=True, check=False)  # type: ignore[call-overload,no-any-return]


def environment(world: World) -> dict[str, str]:
    return {"HOME": str(world.folder), "PATH": os.environ["PATH"], "TRUED_HOME": str(world.home)}


def launched(world: World) -> subprocess.Popen[bytes]:
    """A real `trued run` in the background; its output is in `said.txt`."""
    given = ("--yes", "--requirements", str(world.requirements), "--agent", f"scripted:{world.script}")
    with (world.folder / "said.txt").open("wb") as said:
        return subprocess.Popen(
            [sys.executable, "-m", "trued", "run", "PLAN.md", *given],
            cwd=world.repository,
            env=environment(world),
            stdout=said,
            stderr=said,
        )


def begun(world: World) -> tuple[subprocess.Popen[bytes], str]:
    """A real `trued run` with an agent at work, and the run's id."""
    process = launched(world)
    wait_for(lambda: any(world.home.glob("runs/*")) and sum(world.bill().values()) > 0)
    return process, world.run_folder().name


def wait_for(condition: Callable[[], bool], within_s: float = 300.0) -> None:
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen in time")


@pytest.mark.spec("AGT-7", "PUR-5", "USE-7")
@pytest.mark.slow
async def test_any_program_can_be_an_agent_in_a_path_with_spaces_and_umlauts(world: World, engine: Engine) -> None:
    record = await start(world, engine, program(world, GOOD))
    assert (record.state, record.grade) == ("done", Grade.PROVEN)


@pytest.mark.spec("PUR-5", "AGT-7")
async def test_an_agent_that_cannot_resume_is_told_all_facts_again_and_the_record_says_so(
    world: World, engine: Engine
) -> None:
    lazy = GOOD.replace('pathlib.Path("tiny.py")', 'if "Gaps that are left" in order["brief"]: pathlib.Path("tiny.py")')
    record = await start(world, engine, program(world, lazy))
    assert record.grade is Grade.PROVEN
    kinds = [event.kind for event in engine.store.journal.events(record.id)]
    assert kinds.count("fresh session") == 2
    second = [event.data["brief"] for event in engine.store.journal.events(record.id) if event.kind == "asked"][2]
    assert "returns twice its argument" in second


DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(300)
    os._exit(0)
"""

BAD = {
    "prints no JSON": "print('all tests pass')",
    "prints two objects": "print('{}{}')",
    "breaks its contract": "print('{\"implemented\": 7}')",
    "crashes": "import sys; print('boom', file=sys.stderr); sys.exit(3)",
    "prints 100 MB": "import sys\nfor _ in range(1000): sys.stdout.write('x' * 100_000)",
    "never ends": "import time; time.sleep(600)",
}


@pytest.mark.spec("AGT-3", "RUN-5", "USE-3")
@pytest.mark.parametrize("code", BAD.values(), ids=BAD.keys())
@pytest.mark.many(1)
async def test_an_agent_that_fails_ends_the_run_in_a_clear_state_and_can_be_mended(
    world: World, engine: Engine, code: str
) -> None:
    agent = program(world, code)
    record = await start(world, engine, agent, idle_s=8.0 if "sleep" in code else 120.0)
    assert (record.state, record.code) == ("failed", 5)
    assert "purple-team-a" in record.why
    program(world, GOOD)
    again = await engine.resume(record.id)
    assert (again.state, again.grade) == ("done", Grade.PROVEN)
    assert world.left_over() == []


@pytest.mark.slow
@pytest.mark.spec("RUN-5")
async def test_a_daemon_that_an_agent_leaves_behind_is_gone_with_it(world: World, engine: Engine) -> None:
    record = await start(world, engine, program(world, DAEMON + GOOD))
    assert record.grade is Grade.PROVEN
    assert world.left_over() == []


@pytest.mark.spec("RUN-3")
@pytest.mark.slow
def test_of_two_processes_that_resume_one_run_one_drives_and_the_other_says_so(world: World) -> None:
    world.make_slow(-1)
    first, run = begun(world)
    other = trued(world, "resume", run)
    world.go_on()
    assert other.returncode == Busy.code
    assert f"driven by process {first.pid}" in other.stderr
    assert first.wait(600) == 0
    assert set(world.bill().values()) == {1}


@pytest.mark.spec("RUN-5", "USE-3")
@pytest.mark.slow
def test_an_interrupted_run_leaves_no_process_and_goes_on_when_resumed(world: World) -> None:
    world.make_slow(600)
    process, run = begun(world)
    process.send_signal(signal.SIGINT)
    assert process.wait(300) == 130
    wait_for(lambda: not [one for one in world.left_over() if one.startswith("process")])
    world.make_slow(0.1)
    again = trued(world, "resume", run)
    assert again.returncode == 0, again.stderr
    assert world.left_over() == []


@pytest.mark.slow
@pytest.mark.spec("RUN-5", "USE-2")
@pytest.mark.parametrize("alive", [True, False], ids=["driver alive", "driver killed"])
def test_a_cancelled_run_leaves_no_process_and_no_clone(world: World, alive: bool) -> None:
    world.make_slow(600)
    process, run = begun(world)
    if not alive:
        process.kill()
        process.wait()
    cancel = trued(world, "cancel", run)
    assert cancel.returncode == 0, cancel.stderr
    if alive:
        assert process.wait(300) == 1
    wait_for(lambda: world.left_over() == [])
    with closing(engine_on(world)) as engine:
        assert engine.store.journal.run(run).state == "cancelled"


@pytest.mark.spec("USE-6")
async def test_a_secret_that_agents_are_given_is_in_no_file_of_the_private_state(world: World) -> None:
    secret = "s3cr3t-" + "q7" * 12
    telling = GOOD.replace("order = ", "import os; print(os.environ['API_KEY'], file=sys.stderr)\norder = ").replace(
        '"implemented": ["double"]', '"implemented": [os.environ["API_KEY"]]'
    )
    with closing(engine_on(world, API_KEY=secret)) as engine:
        record = await start(world, engine, program(world, telling), variables=["API_KEY"])
        assert record.grade is Grade.PROVEN
    for file in [path for path in world.home.rglob("*") if path.is_file()]:
        assert secret.encode() not in file.read_bytes(), file
    assert secret not in world.git("log", "-p", record.branch)


@pytest.mark.spec("USE-6")
async def test_what_is_found_in_a_repository_is_used_only_after_it_is_trusted(world: World, engine: Engine) -> None:
    (world.repository / "trued.toml").write_text("rounds = 1\n")
    with pytest.raises(BadInput, match="not trusted yet"):
        await start(world, engine)
    assert engine.store.journal.runs() == []


@pytest.fixture
def small_disk(world: World) -> Iterator[World]:
    """TRUED_HOME on a small disk."""
    if os.geteuid() != 0:
        pytest.fail("this test mounts a small disk, and has to be run by root")
    world.home.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(world.home)], check=True)
    yield world
    subprocess.run(["umount", "-l", str(world.home)], check=True)


def fill(path: Path) -> None:
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)


@pytest.mark.spec("RUN-2", "USE-7")
@pytest.mark.slow
def test_a_full_disk_ends_in_one_sentence_and_the_run_goes_on_when_there_is_room(small_disk: World) -> None:
    small_disk.make_slow(1.0)
    process, run = begun(small_disk)
    fill(small_disk.home / "filler")
    code, said = process.wait(120), (small_disk.folder / "said.txt").read_text()
    assert code in (5, 6)  # depends on who met the full disk first: the agent or the engine
    assert "full" in said or "space" in said
    (small_disk.home / "filler").unlink()
    again = trued(small_disk, "resume", run)
    if again.returncode == 5:  # the agent had met it, too: its failure is reported once, then the call is made again
        again = trued(small_disk, "resume", run)
    assert again.returncode == 0, again.stderr
    assert small_disk.finished_twice() == []


@pytest.mark.slow
@pytest.mark.spec("RUN-2")
async def test_a_corrupted_report_is_set_aside_and_the_call_is_made_again(world: World, engine: Engine) -> None:
    world.make_slow(600)
    task = asyncio.create_task(start(world, engine))
    await asyncio.to_thread(wait_for, lambda: any(world.home.glob("runs/*/spool/*/session")))
    task.cancel()
    record = await task
    world.make_slow(0)
    assert record.state == "interrupted"
    (folder,) = world.home.glob("runs/*/spool/*")
    (folder / "report.json").write_text('{"call": "half')
    again = await engine.resume(record.id)
    assert (again.state, again.grade) == ("done", Grade.PROVEN)
    assert (folder / "report.json.corrupt").exists()
    assert "corrupted" in [event.kind for event in engine.store.journal.events(record.id)]


def test_the_bill_counts_what_agents_print(world: World) -> None:
    """Other tests rely on the bill: it must show every start of an agent."""
    folder = world.home / "runs" / "r-x" / "spool" / "c.1"
    folder.mkdir(parents=True)
    (folder / "order.json").write_text(json.dumps({"key": "k"}))
    (folder / "events.jsonl").write_text('{"kind": "log", "text": "paid"}\n')
    assert world.bill() == {"k": 1}
