"""One run that is killed again and again, each time at another write that is to last, and held against an unkilled one.

    python -m tests.crash.chain --workflow pipeline|team [--kills N] [--every N] [--part I/N] [--supervisors N]

`--kills`: so many writes, spread evenly, at least one of every kind of step; `--every`: all writes, before and after,
in chains of N kills. Prints one JSON line a chain, and at the end `N writes, N kills, M missed, K failed`.
"""

import argparse
import importlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.crash.crews import Crewed, Piped, Teamed
from tests.crash.dying import Chain, arm_engine, death, place_steps
from tests.crash.sweep import MOMENTS, ROOT, Kill, Ledger, adoptions, drive, forked, ledger, problems, waited
from tests.proof.trial import bare_interpreter
from trued.agents.spool.spool import SUPERVISOR

WORLDS: dict[str, type[Crewed]] = {one.workflow: one for one in (Piped, Teamed)}
# A kind of step, by words in the name of a write in it. Each must be among those that a sample kills at.
KINDS = {
    "pipeline": {
        "join": "| join#",
        "conflict": "| join#2",
        "memory merge": "file memory.md",
        "cluster in flight": "| researcher-impact#",
        "seal": "| seal#",
        "prove": "| prove#",
        "finish": "| finish#",
    },
    "team": {
        "join": "/join#",
        "edited": "/edited ",
        "backlog": "file backlog.md",
        "two in flight": "task F1-T2/dev#1",
        "merge of both": "task F1-T2/dev#2",
        "seal": "| seal#",
        "finish": "| finish#",
    },
}
# Supervisors that die: call, write, moment, and who dies with it.
DOOMED = {
    "pipeline": [
        ("researcher-patterns", 2, "before", "both"),
        ("ct-strategy", 3, "after", "self"),
        ("wave-1-T01-implementer", 2, "after", "both"),
        ("r-testing", 1, "after", "self"),
    ],
    "team": [
        ("feature-F1-techlead", 2, "after", "self"),
        ("feature-F1-task-F1-T1-dev", 2, "before", "both"),
        ("feature-F1-task-F1-T2-qa", 3, "after", "self"),
    ],
}


@dataclass
class Chained:
    """What came of one chain."""

    workflow: str
    killed: list[tuple[str, str]] = field(default_factory=list)
    missed: list[tuple[str, str]] = field(default_factory=list)  # writes at which it was to die, and did not come to
    kills: int = 0  # of the engine, whoever did it
    supervisors: int = 0
    adopted: int = 0
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0


APART = 6  # chains that neighbours are spread over: more than there are agents in a cluster
LATE = ("jsonschema", "trued.workflows.pipeline", "trued.workflows.team")


def run_through(
    world: Crewed, targets: Mapping[str, str], doomed: Path | None = None, then: Callable[[], None] = death
) -> int:
    """Start the run, or go on with it, until it ends or dies."""
    command = SUPERVISOR if doomed is None else (sys.executable, "-m", "tests.crash.doomed", str(doomed))
    for name in LATE:  # what a run loads when it needs it: here once for all
        importlib.import_module(name)

    def work() -> None:
        # Checks use two rooms at once where two cores are idle. On one core they never do, so that every run makes the
        # same writes.
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[os.getpid() % len(cores)]})
        place_steps()
        arm_engine(Chain(world.folder / "writes.log", targets, then))
        drive(world, command)

    return waited(forked(work))


def writes_of(world: Crewed) -> list[str]:
    """Names of all writes so far."""
    return (world.folder / "writes.log").read_text().splitlines()


def unkilled(place: Path, workflow: str) -> tuple[Ledger, list[str]]:
    """What it comes to, and the names of all writes."""
    world = WORLDS[workflow](place).make()
    code = run_through(world, {})
    if code != 0:
        raise SystemExit(f"the run that is not killed ended with {code}")
    return ledger(world)[0], writes_of(world)


def chained(place: Path, workflow: str, expected: Ledger, targets: Mapping[str, str], *, supervisors: int) -> Chained:
    """Kill and resume until it ends by itself; then nothing may show that it was ever killed."""
    began, found = time.monotonic(), Chained(workflow)
    world, doomed = WORLDS[workflow](place).make(), None
    before, deaths = world.untouched(), DOOMED[workflow][:supervisors]
    if deaths:
        doomed = place / "doomed.json"
        doomed.write_text(json.dumps(deaths))
    code = -signal.SIGKILL
    while code == -signal.SIGKILL and found.kills <= len(targets) + len(deaths):
        code = run_through(world, targets, doomed)
        found.kills += code == -signal.SIGKILL
    spent = place / "spent.jsonl"
    found.killed = [tuple(json.loads(line)) for line in spent.read_text().splitlines()] if spent.exists() else []
    found.missed = sorted(targets.items() - {*found.killed})
    found.supervisors = len([*place.glob("doomed.json.*.spent")])
    who = "engine" if not deaths else "supervisor"  # an agent without a supervisor begins again
    found.problems = problems(world, before, expected, Kill(who), code)
    if code == 0:
        found.problems += paid_again(world, [call for call, *_ in deaths])
        found.problems += [f"the live copy of {name} is old" for name in world.stale()]
        found.adopted = adoptions(world)
    found.seconds = round(time.monotonic() - began, 2)
    return found


def paid_again(world: Crewed, excepted: Sequence[str]) -> Iterator[str]:
    """Calls whose agent began more than once, though its supervisor lived."""
    for key, times in world.bill().items():
        name = key.replace(" ", "-").replace("/", "-").replace("#", "-")
        if times != 1 and not name.startswith(tuple(excepted)):
            yield f"agents of {key} began {times} times"


def sample(workflow: str, writes: Sequence[str], number: int) -> dict[str, str]:
    """Evenly spread, first and last among them, and one of each kind; before and after by turns."""
    names = list(dict.fromkeys(writes))
    kinds = [next(name for name in names if words in name) for words in KINDS[workflow].values()]
    left = [name for name in names if name not in kinds]
    more = number - len(kinds)
    chosen = {*kinds, *(left[place * (len(left) - 1) // (more - 1)] for place in range(more))}
    return {name: MOMENTS[place % 2] for place, name in enumerate(name for name in names if name in chosen)}


def every(writes: Sequence[str], most: int) -> Iterator[dict[str, str]]:
    """All of them, before and after, in chains that each go through the whole run."""
    names = list(dict.fromkeys(writes))
    stride = max(1, -(-len(names) // most))
    for moment in range(len(MOMENTS)):
        for first in range(stride):
            yield {name: MOMENTS[(moment + place) % 2] for place, name in enumerate(names[first::stride])}


def main(arguments: Sequence[str]) -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--workflow", choices=tuple(WORLDS), required=True)
    options.add_argument("--kills", type=int, default=30)
    options.add_argument("--every", type=int, default=0)
    options.add_argument("--part", default="0/1")
    options.add_argument("--supervisors", type=int, default=0)
    given = options.parse_args(arguments)
    os.environ["PYTHONPATH"] = f"{ROOT}:{ROOT / 'src'}"  # doomed supervisors are a module of the tests
    with tempfile.TemporaryDirectory(prefix="trued-chain-") as folder:
        # A Python by its own name: the one on the path may be a script that takes longer to begin than a check.
        os.environ["VIRTUAL_ENV"] = str(bare_interpreter(Path(folder) / "bare"))
        return judged(given, Path(folder))


def left_out(found: Sequence[Chained]) -> dict[str, str]:
    """Writes at which nobody died, and the moments at which somebody was to.

    Agents of a cluster work side by side. Who dies for one of them takes the others along, and a git command that
    runs then comes to its end without its engine: whoever resumes finds that it has been done.
    """
    met = {(name, when) for one in found for name, when in one.killed}
    return {name: when for one in found for name, when in one.missed if (name, when) not in met}


def apart(found: Sequence[Chained], writes: Sequence[str]) -> Iterator[dict[str, str]]:
    """What was left out, once more, neighbours in different chains."""
    left = left_out(found)
    names = [name for name in dict.fromkeys(writes) if name in left]
    chains = [names[first::APART] for first in range(APART)]
    return ({name: left[name] for name in chain} for chain in chains if chain)


def one_chain(workflow: str, expected: Ledger, targets: Mapping[str, str], supervisors: int = 0) -> Chained:
    place = Path(tempfile.mkdtemp(prefix="trued-kill-"))
    found = chained(place / "w", workflow, expected, targets, supervisors=supervisors)
    print(json.dumps(asdict(found)), flush=True)
    if found.problems:
        print(f"kept for a look: {place}", file=sys.stderr)
    else:
        shutil.rmtree(place, ignore_errors=True)
    return found


def judged(given: argparse.Namespace, folder: Path) -> int:
    expected, writes = unkilled(folder / "w", given.workflow)
    part, parts = map(int, given.part.split("/"))
    plans = list(every(writes, given.every)) if given.every else [sample(given.workflow, writes, given.kills)]
    found = [one_chain(given.workflow, expected, targets, given.supervisors) for targets in plans[part::parts]]
    if given.every:
        found += [one_chain(given.workflow, expected, targets) for targets in apart(found, writes)]
    # With nobody else who could die there is nothing that could keep it from coming to its write.
    found += [one_chain(given.workflow, expected, {name: when}) for name, when in left_out(found).items()]
    kills, failed = sum(one.kills for one in found), sum(bool(one.problems) for one in found)
    print(f"{len(writes)} writes, {kills} kills, {len(left_out(found))} missed, {failed} failed", flush=True)
    return 1 if failed or left_out(found) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
