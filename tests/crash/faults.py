"""Breaks machines that share a hub and a store, at random by seed, and holds their runs against those of one machine.

    python -m tests.crash.faults [--faults N] [--seed S] [--runs N]

Three machines, each with a state folder, a worker and a line to the hub of its own. Runs are put into the queue in
rounds; while they are at work, something breaks every few seconds. Prints one JSON line a round, then a sum; exit code
1 if anything was lost, paid twice without a reason, or not accounted for.
"""

import argparse
import asyncio
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from tests.crash.world import COMMIT, LOG, WAITS, World
from tests.hub.line import Line
from tests.hub.machines import Machine
from tests.postgres import PostgresServer
from trued.engine.engine import Engine
from trued.engine.inputs import Request
from trued.engine.run_store import RunStore
from trued.hub.roles import prepare_hub
from trued.support import processes

LEASE_S = 15.0  # for a busy machine; agents end 3 s earlier
REQUESTS, REQUEST_S = 5, 0.6  # of one call, each of which is paid for
WITHIN_S = 600.0  # for the runs of one round to end, when nothing breaks any more
NAMES = ("a", "b", "c")
# How often each kind breaks, of a hundred.
KINDS = {
    "worker killed": 20,
    "worker frozen": 8,
    "supervisor killed": 15,
    "machine killed": 15,
    "machine frozen": 6,
    "postgres fast": 10,
    "postgres immediate": 10,
    "cut briefly": 8,
    "cut beyond the lease": 8,
}
# After these, if they last longer than a lease, a call that was finished may be paid again: nobody could fetch its
# result. A machine that is killed loses what was not recorded at any time.
EXCUSES = ("machine frozen", "worker frozen", "cut beyond the lease")

SCRIPT = """
def paid_requests():
    for number in range(REQUESTS):
        print("request", number + 1, file=sys.stderr, flush=True)
        time.sleep(REQUEST_S)

def purple_team_a(order, folder):
    paid_requests()
    (folder / "tiny.py").write_text("def double(x):\\n    return x + x\\n")
    return {"implemented": ["double"], "files": [{"path": "tiny.py", "what": "new function"}], "notes": []}

def purple_team_b(order, folder):
    paid_requests()
    (folder / "NOTES.md").write_text("doubling, for strings too\\n")
    return {"result": "PASS", "steel_man": ["tiny.py:1 is right"], "gaps": [], "fixed": ["NOTES.md"]}
"""


class Paying(World):
    """A run of two calls, each of which makes so many requests."""

    requests = REQUESTS

    def make_slow(self, seconds: float) -> None:
        figures = f"REQUESTS, REQUEST_S = {self.requests}, {max(seconds, 0)}\n"
        self.script.write_text(WAITS.replace("{slow_s}", "0") + figures + SCRIPT)


@dataclass(frozen=True)
class Call:
    """One attempt at a call on one machine, as its own record has it."""

    run: str
    key: str
    name: str  # of the order, with its attempt
    machine: str
    requests: tuple[float, ...]  # when each was paid
    is_done: bool  # it has its result


@dataclass
class Round:
    """What broke, and what came of the runs."""

    faults: list[tuple[str, str, float]] = field(default_factory=list)  # kind, victim, seconds
    calls: int = 0
    requests: int = 0
    again: int = 0  # requests beyond those of one attempt a call
    in_full: int = 0  # calls that were paid in full more than once
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0


class Host(Machine):
    """A machine whose worker is started again when it ends, as by systemd."""

    def __init__(self, folder: Path, name: str, line: Line, store: str) -> None:
        super().__init__(folder, line.url, store)
        self.name, self.line = name, line
        self.worker: subprocess.Popen[bytes] | None = None
        self.back_at = 0.0  # not before

    def keep(self) -> None:
        """Start its worker unless it runs, or has to stay away."""
        if time.monotonic() < self.back_at or (self.worker and self.worker.poll() is None):
            return
        may = ("--agents", "scripted", "--allow-programs", "--lease", str(LEASE_S), "--runs", "2")
        self.worker = self.start("worker", "--name", self.name, *may)

    def signal_all(self, number: signal.Signals) -> None:
        for pid in self._processes():
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def die(self) -> None:
        while alive := self._processes():
            for pid in alive:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)

    def supervisors(self) -> list[int]:
        found = []
        for lock in self.home.glob("runs/*/spool/*/lock"):
            with suppress(OSError, ValueError):
                known = lock.read_text()
                if known and processes.identity(processes.pid_of(known)) == known:
                    found.append(processes.pid_of(known))
        return found

    def calls(self, run: str) -> Iterator[Call]:
        for folder in (self.home / "runs" / run / "spool").glob("*"):
            order, events = folder / "order.json", folder / "events.jsonl"
            if order.exists() and events.exists():
                lines = [json.loads(one) for one in events.read_text().splitlines() if one.endswith("}")]
                paid = tuple(one["at"] for one in lines if str(one.get("text", "")).startswith("request"))
                key = json.loads(order.read_bytes())["key"]
                yield Call(run, key, folder.name, self.name, paid, (folder / "report.json").exists())


class Stage:
    """Postgres, the store, three hosts, and a person who asks for runs."""

    def __init__(self, folder: Path, server: PostgresServer, seed: int) -> None:
        self.folder, self.server, self.random = folder, server, random.Random(seed)
        self.url = server.new_database()
        prepare_hub(self.url)
        self.store = folder / "store.git"
        subprocess.run(["git", "init", "-q", "--bare", str(self.store)], check=True)
        self.world = Paying(folder / "asker")
        self.world.make(REQUEST_S)
        self.hosts = [
            Host(folder / name, name, Line(folder / f"{name}.line", self.url), str(self.store)) for name in NAMES
        ]

    def __enter__(self) -> "Stage":
        return self

    def __exit__(self, *_: object) -> None:
        for host in self.hosts:
            host.signal_all(signal.SIGCONT)
            host.die()
            host.line.cut()
            for process in host.begun:
                process.wait()

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as db:
            db.execute("set search_path = trued")
            return db.execute(statement, values).fetchall()

    # -- asking --------------------------------------------------------------------------------------------------------

    async def ask(self, number: int) -> list[str]:
        places = {"HOME": str(self.world.folder), "TRUED_HOME": str(self.world.home)}
        environ = {"PATH": os.environ["PATH"], **places, "TRUED_HUB": self.url, "TRUED_HUB_STORE": str(self.store)}
        request = Request(
            goal=self.world.goal,
            repository=self.world.repository,
            requirements=self.world.requirements,
            flags={"yes": True, "agents": {"*": f"scripted:{self.world.script}"}},
        )
        with closing(Engine(RunStore(self.world.home, environ))) as engine:
            asked = []
            for _ in range(number):
                record, _inputs = engine.begin(*await engine.ready(request), queue="runs")
                await engine.send(record)
                engine.store.journal.put(record.id)
                asked.append(record.id)
        return asked

    def unfinished(self, runs: Sequence[str]) -> int:
        return int(self.rows("select count(*) from run where id = any(%s) and state = 'running'", list(runs))[0][0])

    # -- breaking ------------------------------------------------------------------------------------------------------

    def break_something(self) -> tuple[str, str, float]:
        """Break one thing, and repair it; returns what, whose, and for how long."""
        kind = self.random.choices(list(KINDS), list(KINDS.values()))[0]
        at_work = [one for one in self.hosts if one.supervisors()] or self.hosts
        host = self.random.choice(at_work)
        short, long = self.random.uniform(0.2, LEASE_S / 3), LEASE_S * self.random.uniform(1.3, 1.8)
        seconds = short
        if kind == "worker killed" and host.worker:
            host.back_at = time.monotonic() + seconds
            host.worker.kill()
            host.worker.wait()
        elif kind == "worker frozen" and host.worker and host.worker.poll() is None:
            seconds = self.random.choice([short, long])
            self._meanwhile(host.worker.pid, seconds)
        elif kind == "supervisor killed" and (found := host.supervisors()):
            with suppress(ProcessLookupError):
                os.kill(self.random.choice(found), signal.SIGKILL)
        elif kind == "machine killed":
            seconds = self.random.choice([short, long])
            host.back_at = time.monotonic() + seconds
            host.die()
        elif kind == "machine frozen":
            seconds = self.random.choice([short, long])
            host.signal_all(signal.SIGSTOP)
            self._wait(seconds)
            host.signal_all(signal.SIGCONT)
        elif kind.startswith("postgres"):
            self.server.stop("fast" if kind == "postgres fast" else "immediate")
            self._wait(seconds)
            self.server.start()
            return kind, "hub", seconds
        elif kind.startswith("cut"):
            seconds = short if kind == "cut briefly" else long
            silent = self.random.random() < 0.5
            (host.line.freeze if silent else host.line.cut)()
            self._wait(seconds)
            (host.line.thaw if silent else host.line.mend)()
        else:
            return "nothing to break", host.name, 0.0
        return kind, host.name, seconds

    def _meanwhile(self, pid: int, seconds: float) -> None:
        os.kill(pid, signal.SIGSTOP)
        self._wait(seconds)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(0.1)
            for host in self.hosts:
                host.keep()

    # -- one round -----------------------------------------------------------------------------------------------------

    def round(self, runs: int, faults: int, expected: str) -> Round:
        began, found = time.monotonic(), Round()
        asked = asyncio.run(self.ask(runs))
        self.until(lambda: any(host.supervisors() for host in self.hosts) or not self.unfinished(asked))
        while len(found.faults) < faults and self.unfinished(asked):
            broken = self.break_something()
            if broken[0] != "nothing to break":
                found.faults.append(broken)
            self._wait(self.random.uniform(0.5, 3.0))
        if not self.until(lambda: not self.unfinished(asked)):
            found.problems.append(f"not ended: {self.rows('select id, state, driver, until, asked, served from run')}")
        else:
            self.examine(asked, found, expected)
        found.seconds = round(time.monotonic() - began, 1)
        return found

    def until(self, true: Callable[[], bool]) -> bool:
        end = time.monotonic() + WITHIN_S
        while not true():
            if time.monotonic() > end:
                return False
            self._wait(0.5)
        return True

    def examine(self, runs: Sequence[str], found: Round, expected: str) -> None:
        """Hold the runs of one round against what one machine makes of them, and against what was paid."""
        say = found.problems.append
        long = {kind for kind, _, seconds in found.faults if seconds > LEASE_S * 0.7}
        excused = long & {*EXCUSES} or any(kind == "machine killed" for kind, _, _ in found.faults)
        for run in runs:
            ((state, grade, head),) = self.rows("select state, grade, head from run where id = %s", run)
            if (state, grade) != ("done", "proven"):
                say(f"{run} ended as {state}, {grade}: {self.rows('select why from run where id = %s', run)}")
                continue
            if (tree := self.tree(run, head)) != expected:
                say(f"{run} has other files:\n{tree}\ninstead of\n{expected}")
            found.problems += self.unlike(run)
            calls = [one for host in self.hosts for one in host.calls(run)]
            rows = {(key, call) for key, call in self.rows("select key, call from attempt where run = %s", run)}
            spent = {
                f"{call}.{attempt}"
                for call, attempt in self.rows(
                    "select call, attempt from spend where run = %s and state <> 'open'", run
                )
            }
            for one in calls:
                if one.requests and ((one.key, one.name) not in rows or one.name not in spent):
                    say(f"{run}: {one.name} on {one.machine} was paid and is in no account: {rows} {spent}")
            if still := self.rows("select key, number from attempt where run = %s and state = 'open'", run):
                say(f"{run}: attempts are open: {still}")
            for key in {one.key for one in calls}:
                same = [one for one in calls if one.key == key and one.requests]
                total, full = sum(len(one.requests) for one in same), sum(one.is_done for one in same)
                found.calls, found.requests = found.calls + 1, found.requests + total
                found.again += max(0, total - REQUESTS)
                if full == 0:
                    say(f"{run}: {key} was never done: {same}")
                if full > 1:
                    found.in_full += 1
                    if not excused:
                        say(f"{run}: {key} was paid in full {full} times: {same}")
                if "machine frozen" not in long:  # its agents wake before anybody can end them
                    found.problems += side_by_side(same)

    def unlike(self, run: str) -> Iterator[str]:
        """Steps of calls that are there more or less than once, and results that are not in the store."""
        answers = self.rows("select key, value from step where run = %s and key like '%%team%%#%%'", run)
        found = [(key, json.loads(value)) for key, value in answers if value.startswith("{") and '"head"' in value]
        if sorted(key.rpartition("/")[2] for key, _ in found) != ["purple-team-a#1", "purple-team-b#1"]:
            yield f"{run}: other calls than expected are recorded: {[key for key, _ in found]}"
        for key, answer in found:
            words = ["git", f"--git-dir={self.store}", "rev-list", "--objects", "--quiet", answer["head"]]
            if subprocess.run(words, capture_output=True, check=False).returncode:
                yield f"{run}: the commit of {key} is not in the store"
        late = "select count(*) from step s join run r on s.run = r.id where r.id = %s and s.epoch > r.epoch"
        if self.rows(late, run) != [(0,)]:
            yield f"{run}: a step was written under no epoch"

    def tree(self, run: str, head: str) -> str:
        def git(*words: str) -> str:
            line = ["git", f"--git-dir={self.store}", *words]
            return subprocess.run(line, check=True, capture_output=True, text=True).stdout.strip()

        others = [one for one in git("ls-tree", "-r", head).splitlines() if not one.endswith(f"\t{LOG}")]
        return "\n".join((*others, COMMIT.sub("(commit)", git("show", f"{head}:{LOG}").replace(run, "(run)"))))


def side_by_side(calls: Sequence[Call]) -> Iterator[str]:
    """Two machines that paid for one call at the same time."""
    spans = sorted((one.requests[0], one.requests[-1], one.machine, one.name) for one in calls)
    for earlier, later in itertools.pairwise(spans):
        if later[0] < earlier[1] and later[2] != earlier[2]:
            yield f"{earlier} and {later} were paid side by side"


def alone(folder: Path) -> str:
    """The files that one machine makes of the run."""
    world = Paying(folder).make(0)
    given = ("--yes", "--requirements", str(world.requirements), "--agent", f"scripted:{world.script}")
    line = [sys.executable, "-m", "trued", "run", str(world.plan), *given]
    environ = {"PATH": os.environ["PATH"], "HOME": str(world.folder), "TRUED_HOME": str(world.home)}
    subprocess.run(line, cwd=world.repository, env=environ, check=True, capture_output=True)
    return world.tree()


def main(arguments: Sequence[str]) -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--faults", type=int, default=10)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--runs", type=int, default=4)
    given = options.parse_args(arguments)
    rounds: list[Round] = []
    folder = Path(tempfile.mkdtemp(prefix="trued-faults-"))
    with ExitStack() as opened:
        expected = alone(folder / "alone")
        server = PostgresServer()
        opened.callback(server.remove)
        server.start()
        stage = opened.enter_context(Stage(folder, server, given.seed))
        while (left := given.faults - sum(len(one.faults) for one in rounds)) > 0:
            rounds.append(stage.round(given.runs, left, expected))
            print(json.dumps(asdict(rounds[-1])), flush=True)
            if rounds[-1].problems:
                break
    kinds = Counter(kind for one in rounds for kind, _, _ in one.faults)
    figures = {name: sum(getattr(one, name) for one in rounds) for name in ("calls", "requests", "again", "in_full")}
    failed = [problem for one in rounds for problem in one.problems]
    print(json.dumps({"faults": sum(kinds.values()), "kinds": kinds, **figures, "problems": len(failed)}), flush=True)
    if failed:
        print("\n".join([*failed, f"kept for a look: {folder}"]), file=sys.stderr)
        return 1
    shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
