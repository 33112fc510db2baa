"""Breaks machines that share a hub and a store, at random by seed, and holds their runs against those of one machine.

    python -m tests.crash.faults [--faults N] [--seed S] [--runs N] [--only KIND,…]

Three machines, each with a state folder, a worker and a line to the hub of its own. Runs are put into the queue in
rounds; while they are at work, something breaks every few seconds. Prints one JSON line a round, then a sum; exit code
1 if anything was lost, paid twice without a reason, or not accounted for. Every row of a run's ledger and the answer
of every call has to be that of the run that nothing disturbed. A call may be paid in full twice only if its result was
not recorded yet when its own machine died, froze or was cut off for longer than its lease.
"""

import argparse
import asyncio
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from trued.proof.base_runs import BESIDE_THE_SECOND
from trued.proof.turns import BESIDE
from trued.reporting.views.ledger import ledger
from trued.support import processes

LEASE_S = 15.0  # for a busy machine; agents end 3 s earlier
REQUESTS, REQUEST_S = 5, 0.6  # of one call, each of which is paid for
WITHIN_S = 600.0  # for the runs of one round to end, when nothing breaks any more
NAMES = ("a", "b", "c")
# How often each kind breaks, of a hundred.
KINDS = {
    "worker killed": 18,
    "worker frozen": 6,
    "worker frozen beyond the lease": 8,
    "supervisor killed": 13,
    "machine killed": 15,
    "machine frozen": 4,
    "postgres fast": 10,
    "postgres immediate": 10,
    "cut briefly": 8,
    "cut beyond the lease": 8,
}
# After these, if they last longer than a lease, a call that was begun there and not recorded may be paid again: nobody
# could fetch its result. A machine that is killed loses what was not recorded at any time.
EXCUSES = ("worker killed", "machine frozen", "worker frozen", "worker frozen beyond the lease", "cut beyond the lease")
BEYOND_S = LEASE_S * 0.7  # agents end a fifth of a lease early, and the lease was renewed some time before
HASH = re.compile(r"\b([0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{12})\b")
BESIDES = (f", {BESIDE}", BESIDE_THE_SECOND)
TIMES = {"at", "when", "began", "ended", "seconds", "usage", "thread", "native", "clone", "head", "resumed"}

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
class Fault:
    """What broke, whose, for how long, and which calls were begun there and not recorded: run and key of each."""

    kind: str
    victim: str
    seconds: float
    exposed: list[tuple[str, str]] = field(default_factory=list)

    @property
    def excuses(self) -> bool:
        """Whether a finished call that is exposed may be paid again."""
        return self.kind == "machine killed" or (self.kind in EXCUSES and self.seconds > BEYOND_S)


@dataclass(frozen=True)
class Undisturbed:
    """What one machine makes of the run: its files, its ledger, and the answer to each call by its key."""

    tree: str
    ledger: dict[str, Any]
    calls: dict[str, Any]


@dataclass
class Round:
    """What broke, and what came of the runs."""

    faults: list[Fault] = field(default_factory=list)
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
        self.lease_s = LEASE_S
        self.back_at = 0.0  # not before
        self.killed: list[tuple[float, Fault]] = []  # when its worker was killed, until it is back

    def keep(self) -> None:
        """Start its worker unless it runs, or has to stay away."""
        if time.monotonic() < self.back_at or (self.worker and self.worker.poll() is None):
            return
        may = ("--agents", "scripted", "--allow-programs", "--lease", str(self.lease_s), "--runs", "2")
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

    def __init__(self, folder: Path, server: PostgresServer, seed: int, kinds: Mapping[str, int] = KINDS) -> None:
        self.folder, self.server, self.random, self.kinds = folder, server, random.Random(seed), kinds
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

    def environ(self) -> dict[str, str]:
        places = {"HOME": str(self.world.folder), "TRUED_HOME": str(self.world.home)}
        return {"PATH": os.environ["PATH"], **places, "TRUED_HUB": self.url, "TRUED_HUB_STORE": str(self.store)}

    async def ask(self, number: int) -> list[str]:
        request = Request(
            goal=self.world.goal,
            repository=self.world.repository,
            requirements=self.world.requirements,
            flags={"yes": True, "agents": {"*": f"scripted:{self.world.script}"}},
        )
        with closing(Engine(RunStore(self.world.home, self.environ()))) as engine:
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

    def exposed(self, host: Host, runs: Sequence[str]) -> list[tuple[str, str]]:
        """The calls that were begun or reserved on this machine, and whose results are not recorded. A call that is
        reserved begins even if its machine is cut off in that moment."""
        begun = {(run, one.key) for run in runs for one in host.calls(run)}
        reserved = "select run, key from attempt where run = any(%s) and split_part(worker, '#', 1) = %s"
        begun |= {(run, key) for run, key in self.rows(f"{reserved} and state = 'open'", list(runs), host.name)}
        recorded = set(self.rows("select run, key from step where run = any(%s)", list(runs)))
        return sorted(begun - recorded)

    def break_something(self, runs: Sequence[str]) -> Fault:
        """Break one thing, and repair it."""
        kind = self.random.choices(list(self.kinds), list(self.kinds.values()))[0]
        at_work = [one for one in self.hosts if one.supervisors()] or self.hosts
        host = self.random.choice(at_work)
        short, long = self.random.uniform(0.2, LEASE_S / 3), LEASE_S * self.random.uniform(1.3, 1.8)
        made = Fault(kind, host.name, short)
        if kind == "worker killed" and host.worker:
            host.back_at = time.monotonic() + short
            host.worker.kill()
            host.worker.wait()
            made.exposed = self.exposed(host, runs)
            host.killed.append((time.monotonic(), made))
        elif kind.startswith("worker frozen") and host.worker and host.worker.poll() is None:
            made.seconds, worker = short if kind == "worker frozen" else long, host.worker
            os.kill(worker.pid, signal.SIGSTOP)
            self._last(made, host, runs)
            with suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGCONT)
        elif kind == "supervisor killed" and (found := host.supervisors()):
            with suppress(ProcessLookupError):
                os.kill(self.random.choice(found), signal.SIGKILL)
        elif kind == "machine killed":
            made.seconds = self.random.choice([short, long])
            host.back_at = time.monotonic() + made.seconds
            host.die()
            made.exposed = self.exposed(host, runs)
        elif kind == "machine frozen":
            made.seconds = self.random.choice([short, long])
            host.signal_all(signal.SIGSTOP)
            self._last(made, host, runs)
            host.signal_all(signal.SIGCONT)
        elif kind.startswith("postgres"):
            made.victim = "hub"
            self.server.stop("fast" if kind == "postgres fast" else "immediate")
            self._wait(made.seconds)
            self.server.start()
        elif kind.startswith("cut"):
            made.seconds = short if kind == "cut briefly" else long
            silent = self.random.random() < 0.5
            (host.line.freeze if silent else host.line.cut)()
            self._last(made, host, runs)
            (host.line.thaw if silent else host.line.mend)()
        else:
            return Fault("nothing to break", host.name, 0.0)
        return made

    def _last(self, fault: Fault, host: Host, runs: Sequence[str]) -> None:
        """Let a fault last, and note how long it really did on a busy machine."""
        began, fault.exposed = time.monotonic(), self.exposed(host, runs)
        self._wait(fault.seconds)
        fault.seconds = max(fault.seconds, time.monotonic() - began)

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(0.1)
            for host in self.hosts:
                host.keep()

    def note_returns(self) -> None:
        """Note how long workers that were killed have really been away."""
        began_since = "began > clock_timestamp() - make_interval(secs => %s)"
        alive = f"select 1 from worker where name = %s and not dead and until > clock_timestamp() and {began_since}"
        for host in self.hosts:
            away = [(at, one) for at, one in host.killed if not self.rows(alive, host.name, time.monotonic() - at)]
            for at, fault in away:
                fault.seconds = max(fault.seconds, time.monotonic() - at)
            host.killed = away

    # -- one round -----------------------------------------------------------------------------------------------------

    def round(self, runs: int, faults: int, expected: Undisturbed) -> Round:
        began, found = time.monotonic(), Round()
        asked = asyncio.run(self.ask(runs))
        self.until(lambda: any(host.supervisors() for host in self.hosts) or not self.unfinished(asked))
        while len(found.faults) < faults and self.unfinished(asked):
            broken = self.break_something(asked)
            if broken.kind != "nothing to break":
                found.faults.append(broken)
            self._wait(self.random.uniform(0.5, 3.0))
            self.note_returns()
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
            self.note_returns()
        return True

    def examine(self, runs: Sequence[str], found: Round, expected: Undisturbed) -> None:
        """Hold the runs of one round against what one machine makes of them, and against what was paid."""
        say = found.problems.append
        frozen = {
            one for fault in found.faults if fault.kind == "machine frozen" and fault.excuses for one in fault.exposed
        }
        for run in runs:
            ((state, grade, head),) = self.rows("select state, grade, head from run where id = %s", run)
            if (state, grade) != ("done", "proven"):
                say(f"{run} ended as {state}, {grade}: {self.rows('select why from run where id = %s', run)}")
                continue
            if (tree := self.tree(run, head)) != expected.tree:
                say(f"{run} has other files:\n{tree}\ninstead of\n{expected.tree}")
            found.problems += self.unlike(run, expected)
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
                    if paid_without_reason(same, found.faults):
                        say(f"{run}: {key} was paid in full {full} times: {same}")
                if (run, key) not in frozen:  # its agents wake before anybody can end them
                    found.problems += side_by_side(same)

    def unlike(self, run: str, expected: Undisturbed) -> Iterator[str]:
        """Rows of the ledger and answers of calls that are not those of the undisturbed run, and results that are not
        in the store."""
        with closing(RunStore(self.world.home, self.environ())) as store:
            (rows, calls), heads = account(store, run, self.world.folder), heads_of(store, run)
        yield from (f"{run}: its ledger differs: {one}" for one in differences(rows, expected.ledger))
        yield from (f"{run}: its calls differ: {one}" for one in differences(calls, expected.calls))
        for key, head in heads.items():
            words = ["git", f"--git-dir={self.store}", "rev-list", "--objects", "--quiet", head]
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


def paid_without_reason(calls: Sequence[Call], faults: Sequence[Fault]) -> bool:
    """Whether one call, of which these are the attempts, was paid in full more than once on machines that could have
    delivered its result: a fault excuses only what its own machine paid."""
    excused = {(*one, fault.victim) for fault in faults if fault.excuses for one in fault.exposed}
    return sum(one.is_done and (one.run, one.key, one.machine) not in excused for one in calls) > 1


def side_by_side(calls: Sequence[Call]) -> Iterator[str]:
    """Two machines that paid for one call at the same time."""
    spans = sorted((one.requests[0], one.requests[-1], one.machine, one.name) for one in calls)
    for earlier, later in itertools.pairwise(spans):
        if later[0] < earlier[1] and later[2] != earlier[2]:
            yield f"{earlier} and {later} were paid side by side"


def plainly(value: Any, *own: str) -> Any:
    """Without what differs from run to run: its own name and folder, hashes, times, what was used, and whether checks
    ran in parallel, which depends on the idle cores."""
    if isinstance(value, dict):
        return {name: plainly(one, *own) for name, one in value.items() if name not in TIMES}
    if isinstance(value, list):
        return [plainly(one, *own) for one in value]
    for one in own if isinstance(value, str) else ():
        value = value.replace(one, "(own)")
    for one in BESIDES if isinstance(value, str) else ():
        value = value.replace(one, "")
    return HASH.sub("(hash)", value) if isinstance(value, str) else value


def differences(found: Any, expected: Any, where: str = "") -> Iterator[str]:
    """Every value that is not as expected, with its place."""
    if isinstance(found, dict) and isinstance(expected, dict):
        for name in sorted({*found, *expected}):
            yield from differences(found.get(name), expected.get(name), f"{where}/{name}")
    elif isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            yield from differences(one, other, f"{where}/{number}")
    elif found != expected:
        yield f"{where} is {str(found)[:300]} instead of {str(expected)[:300]}"


def answers_of(store: RunStore, run: str) -> dict[str, dict[str, Any]]:
    """The recorded answer of each call, by its key."""
    steps = ((key, store.journal.step(run, key) or "") for key, _, _ in store.journal.steps(run) if "team" in key)
    return {key: json.loads(value) for key, value in steps if value.startswith("{") and '"head"' in value}


def heads_of(store: RunStore, run: str) -> dict[str, str]:
    """The commit of each call's answer."""
    return {key: answer["head"] for key, answer in answers_of(store, run).items()}


def account(store: RunStore, run: str, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The ledger of a run and the answers of its calls, without what differs from run to run."""
    rows = plainly(ledger(store.verdict(run), store.contract(run), over=True), run, str(folder))
    return rows, {key: plainly(answer, run, str(folder)) for key, answer in answers_of(store, run).items()}


def alone(folder: Path) -> Undisturbed:
    """What one machine makes of the run."""
    world = Paying(folder).make(0)
    given = ("--yes", "--requirements", str(world.requirements), "--agent", f"scripted:{world.script}")
    line = [sys.executable, "-m", "trued", "run", str(world.plan), *given]
    environ = {"PATH": os.environ["PATH"], "HOME": str(world.folder), "TRUED_HOME": str(world.home)}
    subprocess.run(line, cwd=world.repository, env=environ, check=True, capture_output=True)
    with closing(RunStore(world.home, environ)) as store:
        (run,) = store.journal.runs()
        return Undisturbed(world.tree(), *account(store, run.id, world.folder))


def main(arguments: Sequence[str]) -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--faults", type=int, default=10)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--runs", type=int, default=4)
    options.add_argument("--only", default="", help=f"kinds of faults: {', '.join(KINDS)}")
    given = options.parse_args(arguments)
    kinds = [one for one in given.only.split(",") if one] or list(KINDS)
    if unknown := set(kinds) - set(KINDS):
        options.error(f"there is no fault {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}")
    rounds: list[Round] = []
    folder = Path(tempfile.mkdtemp(prefix="trued-faults-"))
    with ExitStack() as opened:
        expected = alone(folder / "alone")
        server = PostgresServer()
        opened.callback(server.remove)
        server.start()
        stage = opened.enter_context(Stage(folder, server, given.seed, {one: KINDS[one] for one in kinds}))
        while (left := given.faults - sum(len(one.faults) for one in rounds)) > 0:
            rounds.append(stage.round(given.runs, left, expected))
            print(json.dumps(asdict(rounds[-1])), flush=True)
            if any("not ended" in problem for problem in rounds[-1].problems):
                break
    seen = Counter(fault.kind for one in rounds for fault in one.faults)
    figures = {name: sum(getattr(one, name) for one in rounds) for name in ("calls", "requests", "again", "in_full")}
    failed = [problem for one in rounds for problem in one.problems]
    print(json.dumps({"faults": sum(seen.values()), "kinds": seen, **figures, "problems": len(failed)}), flush=True)
    if failed:
        print("\n".join([*failed, f"kept for a look: {folder}"]), file=sys.stderr)
        return 1
    shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
