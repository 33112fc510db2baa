"""Kills a small run at every write that is to last, resumes it, and holds what is left against an unkilled run.

    python -m tests.crash.sweep [--kills engine,flight,supervisor,both] [--part sample|rest|every] [--random N]
                                [--seed S] [--workers N] [--workflow purple|handoff] [--each N] [--from K]
                                [--journal sqlite|postgres]

Prints one JSON line a kill, and at the end `N passed, M failed`. Victims are forked: Python starts once.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.crash.crews import Piped, Teamed
from tests.crash.dying import Points, arm_engine
from tests.crash.handed import Handed
from tests.crash.world import World
from tests.postgres import PostgresServer
from tests.proof.trial import bare_interpreter
from trued.agents.spool.spool import SUPERVISOR
from trued.engine.engine import Engine
from trued.engine.inputs import Request
from trued.engine.run_store import RunStore
from trued.model import RunRecord

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 1200.0  # a run that hangs; on a busy machine one takes long that does not


@dataclass(frozen=True)
class Kill:
    """Who dies, at which write, before or after it; `again` kills the recovery, too."""

    who: str  # engine | flight (the engine, while an agent works) | supervisor | both | random
    at: int = 0
    when: str = "before"
    what: str = ""
    after_s: float = 0.0  # for random ones
    again_s: float = 0.0


@dataclass
class Result:
    kill: Kill
    problems: list[str] = field(default_factory=list)
    died: bool = False
    adopted: bool = False
    seconds: float = 0.0


def forked(work: Callable[[], None]) -> int:
    """Run something in a process of its own. Its pid."""
    if pid := os.fork():
        return pid
    code = 70
    try:
        os.setsid()
        work()
        code = 0
    except BaseException as error:  # noqa: BLE001 (a child must never go on as if it were the parent)
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    finally:
        sys.stderr.flush()
        os._exit(code)


def waited(pid: int, within_s: float = LIMIT_S) -> int:
    """Its exit status, as os.waitstatus_to_exitcode gives it; -99 when it had to be ended."""
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return -99


def drive(world: World, supervisor: Sequence[str] = SUPERVISOR) -> None:
    """Start the world's run, or go on with it."""
    environ = {"HOME": str(world.folder), "PATH": os.environ["PATH"], **world.variables}
    engine = Engine(RunStore(world.home, environ), supervisor=supervisor, runtime=world.runtime)
    runs = engine.store.journal.runs()

    async def go() -> RunRecord:
        if runs:
            return await engine.resume(runs[0].id)
        flags = {"yes": True, "agents": {"*": f"scripted:{world.script}"}, **world.flags}
        return await engine.start(
            Request(
                goal=world.goal,
                repository=world.repository,
                requirements=world.requirements,
                workflow=world.workflow,
                flags=flags,
            )
        )

    record = asyncio.run(go())
    if (record.state, record.code) != ("done", 0):
        raise RuntimeError(f"run ended as {record.state} ({record.code}): {record.why}")


@dataclass(frozen=True)
class Ledger:
    """What a run comes to."""

    tree: str
    state: str
    grade: str
    judged: tuple[tuple[str, str, bool], ...]


def ledger(world: World) -> tuple[Ledger, bool]:
    """What the run came to, and whether a call was adopted on the way."""
    engine = Engine(RunStore(world.home, world.variables))
    (record,) = engine.store.journal.runs()
    verdict = engine.store.verdict(record.id)
    judged = tuple((one.id, str(one.grade), one.holds) for one in verdict.requirements) if verdict else ()
    adopted = any(event.kind == "adopted" for event in engine.store.journal.events(record.id))
    engine.close()
    return Ledger(world.tree(), record.state, str(record.grade), judged), adopted


WORLDS: dict[str, type[World]] = {one.workflow: one for one in (World, Handed, Piped, Teamed)}


def clean_run(place: Path, workflow: str = World.workflow) -> tuple[World, list[str], list[str]]:
    """A run that nobody kills: what the others are held against, and the writes of engine and first supervisor."""
    world = WORLDS[workflow](place).make()
    engine_log, supervisor_log = place / "engine.log", place / "supervisor.log"

    def work() -> None:
        arm_engine(Points(engine_log))
        drive(world, dying(supervisor_log, 0, "never"))

    code = waited(forked(work))
    if code != 0:
        raise SystemExit(f"the run that is not killed ended with {code}")
    return world, engine_log.read_text().splitlines(), supervisor_log.read_text().splitlines()


AT_WORK = ("event began", "event log")  # a supervisor's writes while its agent works
VICTIMS = {"flight": "parent", "supervisor": "self", "both": "both"}


def dying(log: Path, at: int, when: str, who: str = "supervisor") -> tuple[str, ...]:
    return (
        sys.executable,
        "-m",
        "tests.crash.dying_supervisor",
        str(log),
        str(at),
        when,
        VICTIMS[who],
    )


def one(kill: Kill, place: Path, expected: Ledger, workflow: str = World.workflow) -> Result:
    began, met = time.monotonic(), kill.who == "flight" and kill.what in AT_WORK
    world, result = WORLDS[workflow](place), Result(kill)
    # An agent whose engine dies in flight is found at work by whoever resumes.
    world.make(slow_s=0.15 if not met else -1 if world.first_waits else 2.0)
    before = world.untouched()
    result.died = killed(kill, world, place)
    if kill.again_s:
        ended_at_random(world, kill.again_s)
    for _ in range(3):  # one resume is enough; a second, because the first may have been told by a dying supervisor
        pid = forked(lambda: drive(world))
        code = waited_until_met(pid, world) if met and world.first_waits else waited(pid)
        if code == 0:
            break
    result.problems = problems(world, before, expected, kill, code)
    result.adopted = code == 0 and ledger(world)[1]
    result.seconds = round(time.monotonic() - began, 2)
    return result


def waited_until_met(pid: int, world: World) -> int:
    """As `waited`; agents at work are told to go on when somebody has adopted them."""
    while not (ended := os.waitpid(pid, os.WNOHANG))[0]:
        if adoptions(world):
            world.go_on()
            return waited(pid)
        time.sleep(0.02)
    return os.waitstatus_to_exitcode(ended[1])


def adoptions(world: World) -> int:
    """How often somebody who resumed found an agent at work."""
    engine = Engine(RunStore(world.home, world.variables))
    events = engine.store.journal.events(engine.store.journal.runs()[0].id)
    engine.close()
    return sum(one.kind == "adopted" for one in events)


def killed(kill: Kill, world: World, place: Path) -> bool:
    if kill.who == "random":
        return ended_at_random(world, kill.after_s)
    if kill.who == "engine":

        def work() -> None:
            arm_engine(Points(place / "engine.log", kill.at, kill.when))
            drive(world)

        return waited(forked(work)) == -signal.SIGKILL
    supervisor = dying(place / "supervisor.log", kill.at, kill.when, kill.who)
    code = waited(forked(lambda: drive(world, supervisor)))
    return code == 0 if kill.who == "supervisor" else code == -signal.SIGKILL


def ended_at_random(world: World, after_s: float) -> bool:
    pid = forked(lambda: drive(world))
    time.sleep(after_s)
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return waited(pid) == -signal.SIGKILL


def problems(world: World, before: dict[str, str], expected: Ledger, kill: Kill, code: int) -> list[str]:
    if code != 0:
        return [f"resume ended with {code}"]
    found = []
    came_to, adopted = ledger(world)
    if came_to != expected:
        found.append(f"came to {came_to}, not to {expected}")
    if kill.who == "flight" and kill.what in AT_WORK and not adopted:
        found.append("the call in flight was not adopted")
    if twice := world.finished_twice():
        found.append(f"finished calls repeated: {twice}")
    if kill.who in ("engine", "flight", "random") and (again := {key: n for key, n in world.bill().items() if n != 1}):
        found.append(f"only the engine died, and yet agents began {again}")
    for _ in range(600):
        if not (left := world.left_over()):
            break
        time.sleep(0.1)
    if left:
        found.append(f"left over: {left}")
    if world.untouched() != before:
        changed = {key for key, value in world.untouched().items() if before.get(key) != value}
        found.append(f"the user's repository was changed: {sorted(changed)}")
    return found


MOMENTS = ("before", "after")


def kills(which: str, engine: list[str], supervisor: list[str], part: str) -> Iterator[Kill]:
    """The sample: all moments of journal and spool, some of git and supervisors. The rest: those after all others."""
    for at, what in enumerate(engine if "engine" in which.split(",") else (), 1):
        lasts = not what.startswith("git ")
        for when in MOMENTS if lasts or part == "every" else ("after",):
            if part in ("every", "sample" if lasts or at % 3 == 0 else "rest"):
                yield Kill("engine", at, when, what)
    for place, who in enumerate(VICTIMS):
        for at, what in enumerate(supervisor if who in which.split(",") else (), 1):
            for when in MOMENTS:
                if part in ("every", "sample" if when == MOMENTS[(at + place) % 2] else "rest"):
                    yield Kill(who, at, when, what)


def random_kills(number: int, seed: int, lasts_s: float) -> Iterator[Kill]:
    chance = random.Random(seed)
    for index in range(number):
        again = chance.uniform(0.02, lasts_s) if index % 3 == 0 else 0.0
        yield Kill("random", index, after_s=round(chance.uniform(0.02, lasts_s), 3), again_s=round(again, 3))


def swept(every: Sequence[Kill], expected: Ledger, workers: int, workflow: str = World.workflow) -> Iterator[Result]:
    """Each kill in a process of its own: several at a time, none in the way of another."""
    waiting, running = list(every), dict[int, tuple[Kill, Path, int]]()
    while waiting or running:
        while waiting and len(running) < workers:
            kill, place = waiting.pop(0), Path(tempfile.mkdtemp(prefix="trued-kill-"))
            reader, writer = os.pipe()

            def work(kill: Kill = kill, place: Path = place, writer: int = writer) -> None:
                os.write(writer, json.dumps(asdict(one(kill, place / "w", expected, workflow))).encode())

            pid = forked(work)
            os.close(writer)
            running[pid] = (kill, place, reader)
        pid, _ = os.wait()
        if pid not in running:
            continue
        kill, place, reader = running.pop(pid)
        with os.fdopen(reader, "rb") as pipe:
            text = pipe.read()
        told: dict[str, Any] = json.loads(text) if text else {"problems": ["the sweep itself failed"]}
        yield Result(
            kill, told["problems"], told.get("died", False), told.get("adopted", False), told.get("seconds", 0.0)
        )
        if told["problems"]:
            print(f"kept for a look: {place}", file=sys.stderr)
        else:
            shutil.rmtree(place, ignore_errors=True)


def main(arguments: Sequence[str]) -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", default="engine,flight,supervisor,both")
    options.add_argument("--part", choices=("sample", "rest", "every"), default="sample")
    options.add_argument("--random", type=int, default=0)
    options.add_argument("--seed", type=int, default=20261115)
    options.add_argument("--workers", type=int, default=3)
    options.add_argument("--workflow", choices=tuple(WORLDS), default=World.workflow)
    options.add_argument("--journal", choices=("sqlite", "postgres"), default="sqlite")
    options.add_argument("--each", type=int, default=1, help="only each N-th kill")
    options.add_argument("--from", type=int, dest="first", help="which of the first N is the first", default=None)
    given = options.parse_args(arguments)
    os.environ["PYTHONPATH"] = f"{ROOT}:{ROOT / 'src'}"  # the dying supervisor is a module of the tests
    with tempfile.TemporaryDirectory(prefix="trued-sweep-") as folder:
        # A Python by its own name: the one on the path may be a script that takes longer to begin than a check.
        os.environ["VIRTUAL_ENV"] = str(bare_interpreter(Path(folder) / "bare"))
        if given.journal == "sqlite":
            return judged(given, Path(folder))
        World.server = PostgresServer()
        try:
            World.server.start()
            return judged(given, Path(folder))
        finally:
            World.server.remove()


def judged(given: argparse.Namespace, folder: Path) -> int:
    """Every kill that was asked for, held against a run that nobody kills."""
    began = time.monotonic()
    world, engine, supervisor = clean_run(folder / "w", given.workflow)
    lasts_s = time.monotonic() - began
    expected, _ = ledger(world)
    first = given.each // 2 if given.first is None else given.first
    every = [
        *list(kills(given.kills, engine, supervisor, given.part))[first :: given.each],
        *random_kills(given.random, given.seed, lasts_s),
    ]
    failed = 0
    for result in swept(every, expected, given.workers, given.workflow):
        failed += bool(result.problems)
        print(json.dumps(asdict(result)), flush=True)
    print(f"{len(every) - failed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
