"""An agent is ended with everything that it started, however it tries to escape or refuses to end."""

import asyncio
import os
import signal
import sys
import uuid
from pathlib import Path

import pytest

from tests.agents.supervisor.world import DONE, World, running, wait_for
from trued.support import processes
from trued.wire import ProcessLimits

DAEMON = """
    import subprocess
    def daemon(environment):
        if os.fork():
            return
        os.setsid()
        if os.fork():
            os._exit(0)
        handle = os.open(os.devnull, os.O_RDWR)
        for stream in {closed}:
            os.dup2(handle, stream)
        awaited = "open('up', 'w').close(); import time; time.sleep(600)"
        os.execve({python!r}, [{python!r}, "-c", awaited, {token!r}], environment)
    daemon({environment})
    while not Path("up").exists():
        time.sleep(0.02)
    time.sleep({then})
"""


def daemon(token: str, *, environment: str = "dict(os.environ)", closed: str = "(0, 1, 2)", then: float = 0) -> str:
    """Lines that start a daemon, wait until it runs, and then wait `then` seconds."""
    return DAEMON.format(python=sys.executable, token=token, environment=environment, closed=closed, then=then)


@pytest.mark.spec("RUN-5")
@pytest.mark.parametrize("environment", ["dict(os.environ)", "{}"], ids=["with its marker", "with no environment"])
@pytest.mark.parametrize("closed", ["(0, 1, 2)", "()"], ids=["streams closed", "streams held open"])
async def test_a_daemon_does_not_outlive_its_agent(confined: World, environment: str, closed: str) -> None:
    token = uuid.uuid4().hex
    agent = confined.program(daemon(token, environment=environment, closed=closed) + "\n    " + DONE)
    report = await asyncio.wait_for(confined.runtime().work(confined.order(agent), confined.tell), 200)
    assert (report.state, report.reply) == ("done", {"summary": "done"})
    assert not running(token)


@pytest.mark.spec("RUN-5")
@pytest.mark.parametrize("environment", ["dict(os.environ)", "{}"], ids=["with its marker", "with no environment"])
async def test_a_daemon_does_not_outlive_a_killed_supervisor(confined: World, environment: str) -> None:
    token = uuid.uuid4().hex
    agent = confined.program(daemon(token, environment=environment, then=300) + "\n    " + DONE)
    work = asyncio.create_task(confined.runtime().work(confined.order(agent), confined.tell))
    await asyncio.to_thread(wait_for, (confined.clone / "up").exists, "the daemon")
    if environment == "{}":
        await asyncio.to_thread(wait_for, lambda: seen(confined, token), "the supervisor's look around")
    os.kill(confined.supervisor(), signal.SIGKILL)
    assert (await work).state == "died"
    await asyncio.to_thread(wait_for, lambda: not running(token), "the daemon's end")


def seen(world: World, token: str) -> bool:
    """Whether the supervisor has recorded all processes with this token, which its marker would not find."""
    strays = world.folder() / "strays"
    named = strays.read_text().split() if strays.exists() else []
    return {processes.identity(pid) for pid in running(token)} <= {*named}


def test_what_outlived_the_agent_is_counted_and_nothing_else_is_touched(tmp_path: Path) -> None:
    mark = processes.marker(tmp_path)
    ours = {**os.environ, processes.MARKER: mark}
    others = {**os.environ, processes.MARKER: f"{mark}0"}
    sleep = ("sleep", "60")
    mine = [os.spawnvpe(os.P_NOWAIT, "sleep", sleep, ours) for _ in range(3)]
    other = os.spawnvpe(os.P_NOWAIT, "sleep", sleep, others)
    wait_for(lambda: processes.carriers(mark) == set(mine), "the start of three")
    wait_for(lambda: processes.carriers(f"{mark}0") == {other}, "the start of the other")
    try:
        assert processes.reap(mark) == 3
        assert not processes.carriers(mark)
        assert processes.carriers(f"{mark}0") == {other}
        assert processes.reap(mark) == 0
    finally:
        os.kill(other, signal.SIGKILL)
        for pid in (*mine, other):
            os.waitpid(pid, 0)


def test_a_number_that_was_given_to_another_process_is_left_alone() -> None:
    pid = os.spawnvp(os.P_NOWAIT, "sleep", ("sleep", "60"))
    try:
        assert processes.reap("nobody", known=[f"{pid}:1"]) == 0
        assert processes.identity(pid)
        assert processes.reap("nobody", known=[processes.identity(pid)]) == 1
    finally:
        os.waitpid(pid, 0)


@pytest.mark.spec("AGT-5", "RUN-5")
async def test_an_agent_that_falls_silent_is_ended(confined: World) -> None:
    order = confined.order(confined.program("time.sleep(60)"), limits=ProcessLimits(idle_s=0.6, wall_s=60))
    report = await confined.runtime().work(order, confined.tell)
    assert (report.state, report.kind) == ("failed", "idle")
    assert "0.6 s" in report.why


@pytest.mark.spec("AGT-5")
async def test_an_agent_that_talks_is_not_idle_and_still_ends_at_the_wall(world: World) -> None:
    body = 'while True:\n    print("busy", file=sys.stderr, flush=True)\n    time.sleep(0.1)\n'
    for call, scale in (("one", 1), ("busy", 8), ("very busy", 40)):  # the agent must have started before it can print
        limits = ProcessLimits(idle_s=0.8 * scale, wall_s=2.5 * scale)
        report = await world.runtime().work(world.order(world.program(body), call, limits=limits), world.tell)
        heard = [event["at"] for event in world.events(call) if event["kind"] == "log"]
        if report.kind != "idle" or any(report.ended - at < limits.idle_s for at in heard):
            break
    assert (report.state, report.kind) == ("failed", "wall")
    assert report.ended - report.began >= limits.wall_s
    assert heard[-1] - heard[0] > limits.idle_s


async def test_an_agent_that_ignores_the_request_to_end_is_ended(world: World) -> None:
    body = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(60)"
    order = world.order(world.program(body), limits=ProcessLimits(idle_s=0.6, wall_s=60))
    assert (await world.runtime().work(order, world.tell)).kind == "idle"


@pytest.mark.spec("AGT-5")
async def test_an_agent_that_prints_a_hundred_megabytes_is_ended(confined: World) -> None:
    order = confined.order(confined.program('for _ in range(1600):\n    print("x" * 65536)\n'))
    report = await confined.runtime().work(order, confined.tell)
    assert (report.state, report.kind) == ("failed", "output")
    assert sum(file.stat().st_size for file in confined.spool.rglob("*") if file.is_file()) < 1024 * 1024


async def test_an_agent_that_logs_a_hundred_megabytes_is_heard_and_not_kept(world: World) -> None:
    body = 'for _ in range(1600):\n    sys.stderr.write("x" * 65536)\n'
    report = await world.runtime().work(world.order(world.program(body + DONE)), world.tell)
    assert report.state == "done"
    assert sum(file.stat().st_size for file in world.spool.rglob("*") if file.is_file()) < 5 * 1024 * 1024


@pytest.mark.spec("RUN-5")
async def test_a_daemon_of_an_agent_that_is_killed_at_once_is_found_without_its_marker(world: World) -> None:
    token = uuid.uuid4().hex
    body = daemon(token, environment="{}") + '\n    while True:\n        print("x" * 65536)\n'
    limits = ProcessLimits(idle_s=60, wall_s=60, output_bytes=1024 * 1024)
    report = await world.runtime().work(world.order(world.program(body), limits=limits), world.tell)
    assert (report.kind, report.reaped) == ("output", 1)
    assert not running(token)


@pytest.mark.spec("PUR-4")
async def test_an_agent_that_starts_a_known_agent_is_refused(confined: World) -> None:
    body = """
        import subprocess
        other = Path("codex"); other.write_text("#!/bin/sh\\nsleep 60\\n"); other.chmod(0o755)
        ended = subprocess.run(["./codex"]).returncode
        print(json.dumps({"summary": f"ended {ended}"}))
        """
    report = await confined.runtime().work(confined.order(confined.program(body)), confined.tell)
    assert report.reply == {"summary": "ended -9"}
    assert {"kind": "tried to start an agent", "program": "codex"}.items() <= confined.events()[-2].items()
    assert ("tried to start an agent", {"program": "codex"}) in confined.told, "the run's own log has it, too"


@pytest.mark.spec("PUR-4")
async def test_a_known_agent_is_known_by_its_package_behind_options_and_by_its_real_name(world: World) -> None:
    """Also if `npx` or a path into node_modules starts it. A program that only contains such a name is left alone."""
    body = """
        import subprocess
        def made(name):
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text("#!/bin/sh\\nwhile [ ! -e over ]; do sleep 0.1; done\\n"); Path(name).chmod(0o755)
            return name
        package = made("node_modules/@qwen-code/qwen-code/cli.js")
        started = [["sh", package], ["sh", "-e", made("gemini.js")], [made("./claude.exe")], ["dash", made("codex")]]
        started += [["sh", "-c", ". of-codex/tests.sh", "codex"], ["sh", made("of-codex/tests.sh")]]
        running = [subprocess.Popen(words) for words in started]
        refused = [one.wait() for one in running[:4]]
        time.sleep(0.7)  # it is looked around once more
        Path("over").touch()
        print(json.dumps({"summary": str(refused + [one.wait() for one in running[4:]])}))
        """
    report = await world.runtime().work(world.order(world.program(body)), world.tell)
    assert report.reply == {"summary": "[-9, -9, -9, -9, 0, 0]"}


@pytest.mark.spec("PUR-4", "AGT-7")
async def test_a_known_agent_that_the_user_named_is_the_agent(world: World) -> None:
    body = """
        import subprocess
        other = Path("codex"); other.write_text("#!/bin/sh\\nsleep 1\\n"); other.chmod(0o755)
        print(json.dumps({"summary": f"ended {subprocess.run(['./codex']).returncode}"}))
        """
    report = await world.runtime().work(world.order(world.program(body) + " codex"), world.tell)
    assert report.reply == {"summary": "ended 0"}


@pytest.mark.spec("PUR-4")
async def test_a_process_of_an_agent_knows_that_it_is_one(confined: World) -> None:
    assert not processes.inside_agent()
    agent = confined.program('print(json.dumps({"summary": os.environ["TRUED_CALL"]}))')
    report = await confined.runtime().work(confined.order(agent), confined.tell)
    assert (report.reply or {})["summary"] == processes.marker(confined.folder())
