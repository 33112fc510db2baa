"""Three machines beside one hub, which break at random: 30 faults in `make test-more`, 300 with `--all-kills`.

The 300 are ten tests with a seed of their own. Most of their time is waiting: `make crash ARGS="-n 3"` runs several at
once, and `-k "breaks and seed7"` repeats one.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

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
