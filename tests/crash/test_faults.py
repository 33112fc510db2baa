"""Three machines beside one hub, which break at random: 30 faults in `make test-more`, 300 with `--all-kills`.

The 300 are ten tests with a seed of their own. Most of their time is waiting: `make crash ARGS="-n 3"` runs several at
once, and `-k "breaks and seed7"` repeats one.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.faults import BEYOND_S, Call, Fault, paid_without_reason

ROOT = Path(__file__).resolve().parents[2]
FAULTS, SEED, SEEDS = 30, 7, 10


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One seed, or with `--all-kills` ten."""
    if "seed" in metafunc.fixturenames:
        number = SEEDS if metafunc.config.getoption("--all-kills") else 1
        metafunc.parametrize("seed", range(SEED, SEED + number), ids=lambda seed: f"seed{seed}")


@pytest.mark.timeout(0)
@pytest.mark.slow
@pytest.mark.spec("HUB-2", "HUB-3", "HUB-4", "HUB-6")
def test_whatever_breaks_of_three_machines_no_call_is_lost_and_every_request_is_accounted_for(seed: int) -> None:
    words = [sys.executable, "-m", "tests.crash.faults", "--faults", str(FAULTS), "--seed", str(seed)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-5000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["faults"], found["problems"]) == (FAULTS, 0)
    assert len(found["kinds"]) >= 6
    assert found["calls"] >= 8
    print(found)


@pytest.mark.parametrize(
    ("paid_on", "broken", "wrong"),
    [
        ("a", "", False),
        ("ab", "", True),
        ("ab", "a", False),
        ("ab", "b", False),
        ("ab", "c", True),  # where it was reserved and never paid
        ("abc", "a", True),
        ("abc", "ab", False),
    ],
)
def test_a_fault_excuses_what_its_own_machine_paid(paid_on: str, broken: str, wrong: bool) -> None:
    calls = [Call("r", "k", f"k.{name}", name, (1.0, 2.0), is_done=True) for name in paid_on]
    faults = [Fault("cut beyond the lease", name, BEYOND_S + 1, [("r", "k")]) for name in broken]
    assert paid_without_reason(calls, faults) == wrong
    short = [Fault("cut briefly", name, 1.0, [("r", "k")]) for name in broken]
    assert paid_without_reason(calls, short) == (len(paid_on) > 1)
