"""`kill -9` at every write that is to last; the long form with `--all-kills`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def sweep(*arguments: str) -> list[dict[str, object]]:
    run = subprocess.run(
        [sys.executable, "-m", "tests.crash.sweep", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    results = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    wrong = [one for one in results if one["problems"]]
    assert run.returncode == 0, f"{wrong}\n{run.stderr[-3000:]}"
    return results


@pytest.mark.timeout(3600)
@pytest.mark.spec("RUN-2", "RUN-3", "RUN-4", "RUN-5")
@pytest.mark.parametrize("eighth", [1, *(pytest.param(one, marks=pytest.mark.slow) for one in (0, *range(2, 8)))])
def test_killed_at_any_write_a_run_ends_as_if_nobody_had_killed_it(eighth: int, all_kills: bool) -> None:
    part = "every" if all_kills else "sample"
    results = sweep("--workers", "3", "--part", part, "--each", "8", "--from", str(eighth))
    assert 6 <= len(results) <= 25 or all_kills
    killed = {one["kill"]["who"] for one in results}  # type: ignore[index]
    assert "engine" in killed
    assert len(killed) >= (4 if all_kills else 2)
    assert all(one["died"] for one in results)
    assert any(one["adopted"] for one in results) or not all_kills  # few moments leave an agent at work


@pytest.mark.timeout(3600)
@pytest.mark.spec("RUN-2", "RUN-3", "HUB-1", "HUB-3")
@pytest.mark.slow
def test_killed_at_any_write_a_run_on_a_hub_ends_as_if_nobody_had_killed_it(all_kills: bool) -> None:
    part = ("--part", "every") if all_kills else ("--part", "sample", "--each", "12")
    results = sweep("--journal", "postgres", "--workers", "3", *part)
    assert len(results) >= 6
    assert all(one["died"] for one in results)
    assert "engine" in {one["kill"]["who"] for one in results}  # type: ignore[index]


@pytest.mark.timeout(3600)
@pytest.mark.spec("RUN-2", "RUN-4")
@pytest.mark.nightly
def test_nor_does_a_kill_after_any_write_of_git_or_at_the_other_moments_of_a_supervisor() -> None:
    assert all(one["died"] for one in sweep("--workers", "3", "--part", "rest"))


@pytest.mark.timeout(3600)
@pytest.mark.spec("RUN-2")
@pytest.mark.slow
def test_killed_at_random_also_while_it_recovers_a_run_ends_as_if_nobody_had_killed_it(all_kills: bool) -> None:
    number = 240 if all_kills else 6
    assert len(sweep("--workers", "3", "--kills", "", "--random", str(number))) == number


@pytest.mark.timeout(3600)
@pytest.mark.spec("RUN-2", "HAND-5")
@pytest.mark.slow
def test_killed_at_any_write_a_handoff_ends_as_if_nobody_had_killed_it(all_kills: bool) -> None:
    part = ("--part", "every") if all_kills else ("--part", "sample", "--each", "100")
    results = sweep("--workflow", "handoff", "--workers", "3", *part)
    assert all(one["died"] for one in results)
    assert len(results) >= 2
