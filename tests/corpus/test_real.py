"""Real histories: `verify` accepts honest fixes, and rejects the same commits with the fix left out."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.corpus.real import Fix, fixes, found, lay_out

REPOSITORIES = os.environ.get("TRUED_REPOSITORIES", "")


def verified(clone: Path, head: str, wanted: Path, home: Path, base: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "trued", "verify", "--base", f"{clone}@{base}", "--head", f"{clone}@{head}"]
    surroundings = {**os.environ, "TRUED_HOME": str(home), "NO_COLOR": "1"}
    return subprocess.run(
        [*command, "--requirements", str(wanted)], env=surroundings, capture_output=True, text=True, check=False
    )


@pytest.mark.nightly
@pytest.mark.spec("LAW-4", "LAW-5")
@pytest.mark.skipif(not REPOSITORIES, reason="TRUED_REPOSITORIES names no folder with the repositories of real.toml")
@pytest.mark.parametrize("fix", fixes(), ids=lambda fix: fix.name)
def test_an_honest_fix_is_accepted_and_the_same_commit_without_it_is_not(fix: Fix, tmp_path: Path) -> None:
    clone, wanted, _ = lay_out(fix, found(fix, Path(REPOSITORIES)), tmp_path)
    honest = verified(clone, "fixed", wanted, tmp_path / "state", fix.base)
    assert honest.returncode == 0, honest.stdout + honest.stderr
    without = verified(clone, "left-out", wanted, tmp_path / "state", fix.base)
    assert without.returncode == 1, without.stdout + without.stderr
