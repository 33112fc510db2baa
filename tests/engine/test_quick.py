"""`verify --quick` runs every check once. It can refute; the best grade is `tested`, and there is no receipt."""

import os
from pathlib import Path

import pytest

from tests.engine.two_commits import DOUBLE, ONE, REQUIREMENTS, WRONG, committed, project
from trued.cli import app
from trued.engine.verify import VerifyRequest, VerifyResult, verify
from trued.errors import BadInput
from trued.model import Grade
from trued.model.events.proof import CheckRan
from trued.proof.verdict.notes import worst_counts
from trued.proof.verdict.quick_verdict import QUICK_NOTE

ONCE = f"""{ONE}

import pathlib

MARK = pathlib.Path(__file__).with_name("been here")
BEFORE = MARK.exists()


def double(x):
    MARK.touch()
    return 0 if BEFORE else 2 * x
"""
ASKED = "requirements: [{id: double, text: double(x) doubles, checks: [{kind: tests, files: [test_tiny.py]}]}]\n"
TESTS = "import tiny\n\n\ndef test_double():\n    assert tiny.double(4) == 8\n"


async def judged(folder: Path, base: str, head: str, asked: str, **more: object) -> tuple[VerifyResult, list[object]]:
    file = folder.parent / "asked.yaml"
    file.write_text(asked)
    turns: list[object] = []
    request = VerifyRequest.model_validate(
        {"base": base, "head": head, "requirements_file": file, "here": folder, **more}
    )
    done = await verify(
        request,
        home=folder.parent / "state",
        environ=os.environ,
        tell=lambda event: turns.append(event.turn) if isinstance(event, CheckRan) else None,
    )
    return done, turns


@pytest.mark.spec("LAW-6", "LAW-8", "USE-3")
async def test_a_quick_verdict_runs_once_is_tested_at_most_and_says_so(tmp_path: Path) -> None:
    base, head = project(tmp_path / "repo")
    quick, turns = await judged(tmp_path / "repo", base, head, REQUIREMENTS, quick=True)
    assert (quick.verdict.grade, quick.code, set(turns)) == (Grade.TESTED, 1, {1})
    assert quick.verdict.requirements[0].why[0].startswith("quick: run once, not twice")
    assert QUICK_NOTE in quick.verdict.undecided
    enough, _ = await judged(tmp_path / "repo", base, head, REQUIREMENTS, quick=True, accept="tested")
    assert (enough.verdict.grade, enough.code) == (Grade.TESTED, 0)
    more, _ = await judged(tmp_path / "repo", base, head, REQUIREMENTS, quick=True, accept="examined")
    assert more.code == 1
    full, turns = await judged(tmp_path / "repo", base, head, REQUIREMENTS)
    assert (full.verdict.grade, full.code, set(turns)) == (Grade.PROVEN, 0, {1, 2})


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
async def test_who_passes_only_the_first_time_is_refuted_after_a_quick_verdict_as_before(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    base = committed(repo, {"tiny.py": ONE, "test_tiny.py": TESTS}, "base")
    head = committed(repo, {"tiny.py": ONCE})
    quick, _ = await judged(repo, base, head, ASKED, quick=True, accept="tested")
    assert quick.verdict.grade.rank <= Grade.TESTED.rank
    full, _ = await judged(repo, base, head, ASKED, accept="tested")
    assert (full.verdict.grade, full.code) == (Grade.REFUTED, 1)


@pytest.mark.spec("LAW-6")
async def test_what_a_quick_verdict_refutes_is_refuted_and_remembered(tmp_path: Path) -> None:
    base, head = project(tmp_path / "repo", WRONG)
    quick, _ = await judged(tmp_path / "repo", base, head, REQUIREMENTS, quick=True, accept="tested")
    assert (quick.verdict.grade, quick.code) == (Grade.REFUTED, 1)
    full, _ = await judged(tmp_path / "repo", base, head, REQUIREMENTS)
    assert any(said == worst_counts() for said in full.verdict.undecided)


@pytest.mark.spec("LAW-2", "LAW-5")
async def test_doing_nothing_is_nothing_in_a_hurry_too(tmp_path: Path) -> None:
    base = committed(tmp_path / "repo", {"tiny.py": DOUBLE}, "base")
    head = committed(tmp_path / "repo", {})
    quick, _ = await judged(tmp_path / "repo", base, base, REQUIREMENTS, quick=True, accept="tested")
    full, _ = await judged(tmp_path / "repo", base, head, REQUIREMENTS, accept="tested")
    assert quick.code == full.code
    assert quick.verdict.grade.rank <= full.verdict.grade.rank


@pytest.mark.spec("LAW-10")
def test_there_is_no_receipt_of_a_quick_verdict(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="--receipt does not work with --quick"):
        app(["verify", "--quick", "--receipt", str(tmp_path / "one.json")], standalone_mode=False)
