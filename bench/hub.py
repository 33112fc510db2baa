"""Several machines on one hub: what a step and a call cost, twenty runs on three workers, a thousand runs in the queue.

All in one run, beside each other. `python -m bench.hub --only cost,runs,queue` measures a part.
"""

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from bench.show import ROOT, Target, show
from bench.stage import plan, repository
from tests.hub.machines import Machine, SharedHub
from tests.postgres import OPTIONS, PostgresServer
from trued.hub.attempts import opened_caps
from trued.hub.roles import prepare_hub
from trued.page.pages.runs import runs as made_list
from trued.page.reader import Reader

STEPS, CALLS, TURNS = 500, 200, 3
STEP_TO_SQLITE, STEP_TO_DBOS, CALL_TO_DBOS = 6.0, 0.5, 1.0  # CPU of the program, without its server's

WORKERS, RUNS, CALLS_A_RUN = 3, 20, 25
CAP, AGENT_S = 20, 20.0  # of 500 calls, 20 at once: agents that sleep leave the cores to what is measured
TO_CRITICAL_PATH = 1.15

FEW, QUEUED = 2, 1000  # two: a command that asks for one run would watch it
COMMAND_S, START_S = 3.0, 5.0  # a person looks; a worker that is idle begins
COMMANDS = ("ls", "hub status", "show")
PAGES: dict[str, dict[str, str]] = {"the page's list": {}, "words looked for on the page": {"q": "nowhere"}}

SCRIPT = """
import time

def waiter(order, folder):
    time.sleep({seconds})
    (folder / (order["key"].rpartition("/")[2].partition("#")[0] + ".txt")).write_text("done\\n")
    return {{}}
"""


@dataclass
class Found:
    """What the parts have measured."""

    rows: list[list[str]] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)

    def add(self, what: str, figure: str, ratio: str = "", more: str = "") -> None:
        self.rows.append([what, figure, ratio, more])


@contextmanager
def server() -> Iterator[PostgresServer]:
    """A server that syncs what it commits, like everybody's."""
    made = PostgresServer({**OPTIONS, "fsync": "on", "autovacuum": "on"})
    try:
        made.start()
        yield made
    finally:
        made.remove()


# -- what a step and a call cost ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Contender:
    name: str
    module: str
    environment: str
    on_server: bool = True

    def measured(self, what: str, number: int, postgres: PostgresServer) -> dict[str, float]:
        """CPU of the program and of the server, and wall time, in µs for each of `number`."""
        assert postgres.process is not None
        python = str(ROOT / self.environment / "bin" / "python")
        with tempfile.TemporaryDirectory() as folder:
            command = [python, "-m", f"bench.contenders.{self.module}", str(number), folder, what]
            if self.on_server:
                command += [postgres.new_database(), str(postgres.process.pid)]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode:
            raise SystemExit(f"{self.name} failed: {done.stderr[-2000:]}")
        found = json.loads(done.stdout)
        return {name: found[f"{name}_s"] / number * 1e6 for name in ("cpu", "server", "wall")}


SQLITE = Contender("trued, SQLite", "hub_ours", ".venv", on_server=False)
HUB = Contender("trued, Postgres", "hub_ours", ".venv")
DBOS = Contender("DBOS, Postgres", "hub_dbos", ".venv-bench")
PROCRASTINATE = Contender("procrastinate, Postgres", "hub_procrastinate", ".venv-bench")
COMPARED = {"step": (STEPS, (SQLITE, HUB, DBOS)), "call": (CALLS, (SQLITE, HUB, DBOS, PROCRASTINATE))}


def cost(folder: Path, found: Found) -> None:
    figures: dict[str, dict[str, dict[str, float]]] = {}
    with server() as postgres:
        for what, (number, contenders) in COMPARED.items():
            taken: dict[str, list[dict[str, float]]] = {one.name: [] for one in contenders}
            for _ in range(TURNS):  # in turns, so that a busy minute of the machine falls on all of them
                for one in contenders:
                    taken[one.name].append(one.measured(what, number, postgres))
            figures[what] = {
                name: {key: statistics.median(each[key] for each in many) for key in many[0]}
                for name, many in taken.items()
            }
    for what, each in figures.items():
        for name, taking in each.items():
            ratio = taking["cpu"] / each[SQLITE.name]["cpu"]
            more = f"server {taking['server']:.0f} µs, wall {taking['wall']:.0f} µs"
            found.add(f"a {what}: {name}", f"{taking['cpu']:.0f} µs CPU", f"{ratio:.2f} ×", more)
    step, call = figures["step"], figures["call"]
    found.data["cost"] = figures
    found.targets += [
        Target("CPU of a step, to SQLite", step[HUB.name]["cpu"] / step[SQLITE.name]["cpu"], STEP_TO_SQLITE),
        Target("CPU of a step, to a step of DBOS", step[HUB.name]["cpu"] / step[DBOS.name]["cpu"], STEP_TO_DBOS),
        Target("CPU of a call, to a workflow of DBOS", call[HUB.name]["cpu"] / call[DBOS.name]["cpu"], CALL_TO_DBOS),
    ]


# -- a hub with workers ------------------------------------------------------------------------------------------------


class Stage:
    """A prepared hub with a store, a user's machine with a repository, and workers on machines of their own."""

    def __init__(self, folder: Path, postgres: PostgresServer, seconds: float) -> None:
        self.folder, url = folder, postgres.new_database()
        prepare_hub(url)
        subprocess.run(["git", "init", "-q", "--bare", str(folder / "store.git")], check=True)
        self.hub = SharedHub(url, str(folder / "store.git"))
        self.root = repository(folder, "# Notes\n")
        self.script = folder / "agents.py"
        self.script.write_text(SCRIPT.format(seconds=seconds))
        registered = folder / "packages" / "waiters-1.0.dist-info"
        registered.mkdir(parents=True)
        (registered / "METADATA").write_text("Metadata-Version: 2.1\nName: waiters\nVersion: 1.0\n")
        points = "[trued.workflows]\nwaiters = bench.contenders.waiters:WAITERS\n"
        (registered / "entry_points.txt").write_text(points)
        self.variables = {"PYTHONPATH": f"{registered.parent}{os.pathsep}{ROOT}"}
        self.user = self.machine("user")
        self.hub.askers.append(self.user)

    def machine(self, name: str) -> Machine:
        made = Machine(self.folder / name, self.hub.login(), self.hub.store)
        made.variables = dict(self.variables)
        return made

    def worker(self, name: str, runs: int) -> None:
        self.hub.workers[name] = machine = self.machine(name)
        may = ("--agents", "scripted", "--allow-programs", "--runs", str(runs))
        self.hub.processes[name] = machine.start("worker", "--name", name, *may)

    def ask(self, number: int, calls: int) -> None:
        """Put so many runs into the queue, in one command."""
        files = [self.folder / f"plan-{one}.md" for one in range(number)]
        for file in files:
            file.write_text(plan(f"{one}A" for one in range(1, calls + 1)))
        given = ("--workflow", "waiters", "--agent", f"scripted:{self.script}", "--yes", "--on", "runs")
        done = self.user.command("run", *map(str, files), *given, here=self.root)
        if done.returncode:
            raise SystemExit(f"nothing was measured: {done.stderr[-2000:]}")

    def count(self, statement: str) -> int:
        return int(self.hub.rows(f"select count(*) from {statement}")[0][0])

    def wait(self, what: str, number: int, within_s: float) -> None:
        until = time.monotonic() + within_s
        while self.count(what) < number:
            if time.monotonic() > until:
                raise SystemExit(f"nothing was measured: {what} after {within_s:g} s\n{self.hub.said()[-2000:]}")
            time.sleep(0.05)


@contextmanager
def staged(folder: Path, seconds: float) -> Iterator[Stage]:
    with server() as postgres:
        stage = Stage(folder, postgres, seconds)
        with closing(stage.hub):
            yield stage


def runs(folder: Path, found: Found) -> None:
    path = math.ceil(RUNS * CALLS_A_RUN / CAP) * AGENT_S
    with staged(folder, AGENT_S) as stage:
        with opened_caps(stage.hub.url) as caps:
            caps.set("scripted", CAP, None)
        for number in range(WORKERS):
            stage.worker(f"w{number}", math.ceil(RUNS / WORKERS))
        stage.wait("worker where not dead", WORKERS, 120)
        stage.ask(RUNS, CALLS_A_RUN)
        stage.wait("run where state <> 'running'", RUNS, 3 * path)
        ((first, last),) = stage.hub.rows("select min(began), max(ended) from attempt")
        wall = (last - first).total_seconds()
        answered = stage.count(f"run where why like '%{CALLS_A_RUN} answered%'")
        drivers = [str(one).partition("#")[0] for (one,) in stage.hub.rows("select driver from run")]
        again = stage.count("attempt where state <> 'done'")
        most = stage.hub.rows(MOST_AT_ONCE)[0][0]
    calls = RUNS * CALLS_A_RUN
    spread = ", ".join(f"{name} {drivers.count(name)}" for name in sorted(set(drivers)))
    found.add(f"{RUNS} runs of {CALLS_A_RUN} calls", f"{wall:.0f} s", f"{wall / path:.3f} × {path:g} s", spread)
    found.data["runs"] = {"wall_s": wall, "critical_path_s": path, "drivers": drivers, "most_at_once": most}
    found.targets += [
        Target("wall to the critical path under the cap", wall / path, TO_CRITICAL_PATH),
        Target("most calls at once", float(most), CAP),
        Target("runs that did not end with all answers", RUNS - answered, 0, of=RUNS),
        Target("calls that were not done at once", again, 0, of=calls),
    ]


MOST_AT_ONCE = """select max(at_work) from (
    select sum(step) over (order by at, step) as at_work
    from (select began as at, 1 as step from attempt union all select ended, -1 from attempt) as moments) as counted"""


# -- a long queue ------------------------------------------------------------------------------------------------------


def queue(folder: Path, found: Found) -> None:
    with staged(folder, 0.0) as stage:
        stage.worker("w0", 1)  # so that there is a queue to put runs into
        stage.wait("worker where not dead", 1, 120)
        few = looked(stage, FEW)
        many = looked(stage, QUEUED)
    for name in (*COMMANDS, *PAGES, "start"):
        found.add(
            f"{name}, {QUEUED} queued", f"{many[name]:.2f} s", f"{many[name] / few[name]:.2f} ×", f"to {FEW} queued"
        )
    found.data["queue"] = {"few": few, "many": many}
    found.targets += [
        *(Target(f"s of `trued {name}`, {QUEUED} queued", many[name], COMMAND_S) for name in COMMANDS),
        *(Target(f"s of {name}, {QUEUED} queued", many[name], COMMAND_S) for name in PAGES),
        Target(f"s until the next run begins, {QUEUED} queued", many["start"], START_S),
    ]


def looked(stage: Stage, queued: int) -> dict[str, float]:
    """Seconds of each command and page, and from the end of a worker's run to its next call, with so many queued."""
    stop(stage)
    stage.ask(FEW, 1)
    copy(stage, queued - FEW)
    times = {name: timed(partial(stage.user.command, *name.split(), here=stage.root)) for name in COMMANDS}
    times |= {name: timed(partial(first_look, stage, params)) for name, params in PAGES.items()}
    begun = stage.count("attempt")
    stage.worker("w0", 1)
    stage.wait("attempt", begun + FEW, 300)
    moments = [float(at) for (at,) in stage.hub.rows("select extract(epoch from began) from attempt order by began")]
    ends = [float(at) for (at,) in stage.hub.rows("select updated_at from run where state <> 'running' order by 1")]
    joined = float(stage.hub.rows("select extract(epoch from began) from worker")[0][0])
    gaps = [
        min((at - end for end in (joined, *ends) if end < at), default=math.inf) for at in moments[begun : begun + FEW]
    ]
    times["start"] = statistics.median(gaps)
    return times


def first_look(stage: Stage, params: dict[str, str]) -> None:
    """Make the page's list of runs with nothing read before."""
    with closing(Reader(stage.user.home, stage.user.environment())) as reader, reader.at_one_moment():
        made_list(reader, params)


def stop(stage: Stage) -> None:
    """End the worker."""
    stage.hub.processes["w0"].terminate()
    stage.hub.processes["w0"].wait(120)
    shutil.rmtree(stage.folder / "w0")


def copy(stage: Stage, number: int) -> None:
    """So many more runs like the last one, as if each had been asked for."""
    if number < 1:
        return
    columns = [name for (name,) in stage.hub.rows(COLUMNS) if name not in ("id", "drives", "asked")]
    ((last,),) = stage.hub.rows("select id from run order by created_at desc limit 1")
    names = ", ".join(columns)
    new = f"select '{last}x' || n from generate_series(1, {number}) as n"
    made, like = f"({new}) as new (id)", f"= '{last}' returning 1"
    stage.hub.rows(f"insert into run (id, {names}) select new.id, {names} from run, {made} where run.id {like}")
    sent = "key, inputs, value, began, ended, epoch"
    stage.hub.rows(f"insert into step (run, {sent}) select new.id, {sent} from step, {made} where run {like}")
    stage.hub.rows(f"select put_drive(id) from run where id like '{last}x%'")


COLUMNS = "select column_name from information_schema.columns where table_schema = 'trued' and table_name = 'run'"


def timed(do: Callable[[], Any]) -> float:
    taken = []
    for _ in range(TURNS):
        began = time.perf_counter()
        do()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


PARTS: dict[str, Callable[[Path, Found], None]] = {"cost": cost, "runs": runs, "queue": queue}


def main(only: Sequence[str] = ()) -> bool:
    found = Found()
    for name in only or PARTS:
        with tempfile.TemporaryDirectory(prefix="trued-bench-") as folder:
            PARTS[name](Path(folder), found)
    return show("hub", ["several machines", "figure", "ratio", ""], found.rows, found.targets, found.data)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help=f"some of {', '.join(PARTS)}, with commas between them")
    chosen = [one for one in parser.parse_args().only.split(",") if one]
    if unknown := set(chosen) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    sys.exit(0 if main(chosen) else 1)
