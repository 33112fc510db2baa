"""Three machines beside one hub, which break at random: 30 faults in `make test-more`, 300 with `--all-kills`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.timeout(0)
@pytest.mark.slow
@pytest.mark.spec("HUB-2", "HUB-3", "HUB-4", "HUB-6")
def test_whatever_breaks_of_three_machines_no_call_is_lost_and_every_request_is_accounted_for(all_kills: bool) -> None:
    number = 300 if all_kills else 30
    words = [sys.executable, "-m", "tests.crash.faults", "--faults", str(number), "--seed", "7"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-5000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["faults"], found["problems"]) == (number, 0)
    assert len(found["kinds"]) >= 6
    assert found["calls"] >= 8
    print(found)
