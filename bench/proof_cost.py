"""What a verdict costs beside the plain test run: suites of sleeping tests, cold, and with the base's facts kept.

The tests sleep and do not compute, so that a machine that is busy otherwise changes both sides alike.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.gates import ended, surroundings
from bench.show import ROOT, Target, show
from tests.corpus.kit import git

SUITES = ((1, 0.05), (10, 0.05), (60, 0.1))  # seconds in all, seconds a test
COLD, KEPT = (3.5, 5.0), (2.2, 3.0)  # times the plain run, and seconds beside
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
    """One suite: how long the plain run and the two verdicts took, in seconds."""

    suite: int
    plain: float
    cold: float
    kept: float

    def targets(self) -> list[Target]:
        limits = (("cold", self.cold, COLD), ("kept", self.kept, KEPT))
        return [
            Target(f"{self.suite} s suite, {name}: seconds", taken, round(times * self.plain + more, 1))
            for name, taken, (times, more) in limits
        ]


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


def seconds(command: list[str], folder: Path, variables: dict[str, str]) -> float:
    began = time.perf_counter()
    code, said = ended(command, folder, variables, 1200)
    if code != 0:
        raise RuntimeError(f"{' '.join(command[:6])} ended with {code}: {said[-2000:].decode(errors='replace')}")
    return time.perf_counter() - began


def measured(suite: int, each: float) -> Taken:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(os.path.realpath(folder))
        work = lay(place, suite, each)
        variables = {**surroundings(place), "VIRTUAL_ENV": sys.prefix, "TRUED_HOME": str(place / "state")}
        variables["PYTHONPATH"] = str(ROOT / "src")
        plain = seconds(["python", "-m", "pytest", "-q", "-p", "no:cacheprovider"], work, surroundings(place))

        def verdict(head: str) -> float:
            command = [sys.executable, "-m", "trued", "verify", "--base", f"{work}@base", "--head", f"{work}@{head}"]
            return seconds([*command, "--requirements", str(place / "wanted.json"), "--json"], place, variables)

        return Taken(suite, plain, cold=verdict("one"), kept=verdict("two"))


def main(suites: Sequence[tuple[int, float]] = SUITES) -> bool:
    taken = [measured(suite, each) for suite, each in suites]
    rows = [
        [
            f"{one.suite} s of sleeping tests",
            f"{one.plain:.1f}",
            f"{one.cold:.1f}",
            f"{one.cold / one.plain:.2f} ×",
            f"{one.kept:.1f}",
            f"{one.kept / one.plain:.2f} ×",
        ]
        for one in taken
    ]
    header = ["suite", "plain s", "cold s", "to plain", "base kept s", "to plain"]
    figures = [{"suite": one.suite, "plain": one.plain, "cold": one.cold, "kept": one.kept} for one in taken]
    return show("proof_cost", header, rows, [target for one in taken for target in one.targets()], figures)


if __name__ == "__main__":
    sys.exit(0 if main(SUITES[: int(sys.argv[1])] if len(sys.argv) > 1 else SUITES) else 1)
