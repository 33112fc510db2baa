"""What a verdict costs beside the plain test run: sleeping tests, cold, with the base's facts kept, and quick.

The tests sleep and do not compute, so that a machine that is busy otherwise changes both sides alike. The head is run
twice, at the same time where a core is idle, and the base once (its red tests three times): a cold verdict is two
suites and a second one is one. Where no core was idle the turns followed each other, and the bounds are missed: the
table shows the load of the machine at the start. What the engine adds to the suites is what can be made less.
"""

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.gates import surroundings
from bench.show import ROOT, Target, show
from bench.spent import Spent, spent
from bench.traced import started
from tests.corpus.kit import git

SUITES = ((1, 0.05), (10, 0.05), (60, 0.1))  # seconds in all, seconds a test
MOST_S = {"cold": (2.2, 2.0), "kept": (1.2, 1.0), "quick": (1.2, 1.0)}  # times the plain run, and seconds beside
REPEATS = 3  # of the shortest suite: its median counts
# A case takes five: the keeper, bubblewrap, a shell, the script that asks, and the process that is asked.
MOST_PROCESSES = {"cold": 130, "kept": 76}
CODE = "def double(number):\n    return {}\n"
TESTS = """import time

import pytest

from doubling import double


@pytest.mark.parametrize("number", range({count}))
def test_old(number):
    time.sleep({each})
    assert double(0) == 0


def test_new():
    assert double(4) == 8
"""
WANTED = {
    "requirements": [
        {
            "id": "double",
            "text": "double(number) is twice the number",
            "checks": [
                {"kind": "tests", "command": "python -m pytest -q", "files": ["tests/test_doubling.py"]},
                {
                    "kind": "examples",
                    "cases": [
                        {"call": "doubling:double", "args": [7], "returns": 14},
                        {"call": "doubling:double", "args": [-1], "returns": -2},
                        {"call": "doubling:double", "args": [0], "returns": 0},
                    ],
                },
            ],
        }
    ]
}


@dataclass(frozen=True, slots=True)
class Taken:
    """One suite: what the plain run and the verdicts took, and how many processes of which name."""

    suite: int
    load: float  # of the machine, when it began
    plain: Spent
    verdicts: dict[str, Spent]
    processes: dict[str, dict[str, int]]

    def targets(self) -> list[Target]:
        found = [self._target(name, times, more) for name, (times, more) in MOST_S.items()]
        found += [
            Target(f"{self.suite} s suite, {name}: processes", sum(each.values()), MOST_PROCESSES[name])
            for name, each in self.processes.items()
        ]
        return found

    def _target(self, name: str, times: float, more: float) -> Target:
        limit = round(times * self.plain.wall_s + more, 1)
        return Target(f"{self.suite} s suite, {name}: seconds", self.verdicts[name].wall_s, limit)


def lay(place: Path, seconds: int, each: float) -> Path:
    """A repository with a base and two heads: the second one finds what the first left known of the base."""
    work = place / "work"
    (work / "tests").mkdir(parents=True)
    (work / "tests" / "test_doubling.py").write_text(TESTS.format(count=round(seconds / each), each=each))
    git(work, "init", "-q", home=place)
    for branch, code in (("base", "number"), ("one", "number * 2"), ("two", "number + number")):
        (work / "doubling.py").write_text(CODE.format(code))
        git(work, "checkout", "-qB", branch, home=place)
        git(work, "add", "-A", home=place)
        git(work, "commit", "-qm", branch, home=place)
    (place / "wanted.json").write_text(json.dumps(WANTED))
    return work


def measured(suite: int, each: float) -> Taken:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(os.path.realpath(folder))
        work = lay(place, suite, each)
        variables = {**surroundings(place), "VIRTUAL_ENV": sys.prefix, "TRUED_HOME": str(place / "state")}
        variables["PYTHONPATH"] = str(ROOT / "src")

        def verdict(head: str, *more: str) -> list[str]:
            command = [sys.executable, "-m", "trued", "verify", "--base", f"{work}@base", "--head", f"{work}@{head}"]
            return [*command, "--requirements", str(place / "wanted.json"), "--json", *more]

        def cost(command: list[str], at: Path = place) -> Spent:
            return spent(command, at, variables, place / "spent.json")

        plain_run = ["python", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        hurried = ("--quick", "--accept", "tested")
        taken: dict[str, list[Spent]] = {}
        load = os.getloadavg()[0]
        for number in range(REPEATS if suite == 1 else 1):  # side by side: what else goes on changes all of them
            variables["TRUED_HOME"] = str(place / f"state{number}")
            taken.setdefault("plain", []).append(cost(plain_run, work))
            taken.setdefault("cold", []).append(cost(verdict("one")))
            taken.setdefault("kept", []).append(cost(verdict("two")))
            taken.setdefault("quick", []).append(cost(verdict("two", *hurried)))
        verdicts = {name: _median(each) for name, each in taken.items()}
        plain = verdicts.pop("plain")
        processes: dict[str, dict[str, int]] = {}
        if suite == 1:  # counted in runs of their own: whoever is watched is slow
            variables["TRUED_HOME"] = str(place / "again")
            for name, head in (("cold", "one"), ("kept", "two")):
                processes[name] = dict(started(verdict(head), place, variables))
        return Taken(suite, load, plain, verdicts, processes)


def _median(taken: Sequence[Spent]) -> Spent:
    return sorted(taken, key=lambda one: one.wall_s)[len(taken) // 2]


def main(suites: Sequence[tuple[int, float]] = SUITES) -> bool:
    taken = [measured(suite, each) for suite, each in suites]
    rows = [
        [
            f"{one.suite} s suite, {name}",
            f"{cost.wall_s:.1f}",
            f"{cost.wall_s / one.plain.wall_s:.2f} ×",
            f"{cost.cpu_s:.1f}",
            f"{cost.cpu_s / one.plain.cpu_s:.1f} ×",
            str(sum(one.processes.get(name, {}).values()) or ""),
            str(one.processes.get(name, {}).get("git", "")),
            f"{one.load:.1f}",
        ]
        for one in taken
        for name, cost in {"plain": one.plain, **one.verdicts}.items()
    ]
    header = ["sleeping tests", "wall s", "to plain", "CPU s", "to plain", "processes", "git", "load"]
    figures = [
        {
            "suite": one.suite,
            "load": one.load,
            "plain": asdict(one.plain),
            "verdicts": {name: asdict(cost) for name, cost in one.verdicts.items()},
            "processes": one.processes,
        }
        for one in taken
    ]
    return show("proof_cost", header, rows, [target for one in taken for target in one.targets()], figures)


if __name__ == "__main__":
    sys.exit(0 if main(SUITES[: int(sys.argv[1])] if len(sys.argv) > 1 else SUITES) else 1)
