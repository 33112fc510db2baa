"""Advice after a verification: a command for each thing that only waits for a person; skipped tests are no failures."""

from dataclasses import replace

import pytest

from trued.cli.ledger import explain
from trued.cli.verification_lines import VerifyProgress, advice, verdict_lines
from trued.model import (
    Check,
    Contract,
    Evidence,
    Finding,
    Grade,
    Judged,
    ManualCheck,
    Outcomes,
    Requirement,
    TestsCheck,
    Tried,
    Verdict,
)
from trued.model.events.proof import CheckRan, ProvingStarted, SealingStarted
from trued.proof.verdict.conclusion import conclude
from trued.proof.verdict.quick_verdict import QUICK_NOTE
from trued.reporting.views.markdown import markdown
from trued.reporting.views.verification import Verification


def verified(check: Check, grade: Grade) -> Verification:
    contract = Contract(base="b" * 40, requirements=(Requirement(id="r", text="x", checks=(check,)),))
    judged = Judged(id="r", text="x", grade=grade, why=("because",), holds=True, lacks="attest")
    verdict = Verdict(subject="verify", commit="c" * 40, requirements=(judged,))
    return Verification(contract, verdict, conclude(verdict, contract))


@pytest.mark.spec("DAY-6", "USE-5")
@pytest.mark.parametrize(
    ("check", "grade", "commands"),
    [
        (
            TestsCheck(files=("t.py",)),
            Grade.TESTED,
            ["for r, add held-out cases", "--accept tested", "git diff bbbbbbbbbbbb"],
        ),
        (
            TestsCheck(files=("t.py",)),
            Grade.SELF_TESTED,
            ["for r, add held-out cases", "git diff bbbbbbbbbbbb cccccccccccc"],
        ),
        (ManualCheck(steps=("look",)), Grade.UNPROVEN, ["trued why r"]),
    ],
)
def test_what_only_waits_for_a_person_names_the_next_command(check: Check, grade: Grade, commands: list[str]) -> None:
    one = verified(check, grade)
    assert one.code == 3
    assert all(command in advice(one)[0] for command in commands), advice(one)
    assert ("--accept" in advice(one)[0]) is (grade is Grade.TESTED)
    assert "--requirements" not in advice(one)[0]  # the person has passed a file


@pytest.mark.spec("DAY-6")
def test_cases_are_asked_for_only_where_they_can_help() -> None:
    one = verified(TestsCheck(files=("t.py",)), Grade.TESTED)
    (row,) = one.contract.requirements
    kept = replace(
        one, contract=one.contract.model_copy(update={"requirements": (row.model_copy(update={"keep": True}),)})
    )
    assert "not proven yet: accept this grade with --accept tested; or look" in advice(kept)[0]
    why = "the history of base or head holds the requirements file"
    visible = replace(one, contract=one.contract.model_copy(update={"held_out": False, "held_out_why": why}))
    assert "for r, use a requirements file outside the repository" in advice(visible)[0]


@pytest.mark.spec("DAY-6")
def test_who_passed_no_requirements_is_told_how_to() -> None:
    one = verified(TestsCheck(files=("t.py",)), Grade.SELF_TESTED)
    bare = replace(one, contract=one.contract.model_copy(update={"requirements": ()}))
    assert "trued verify --requirements FILE" in advice(bare)[0]


@pytest.mark.parametrize(
    ("grade", "quick", "gap", "mark"),
    [
        (Grade.TESTED, True, False, "○"),  # all its checks passed once
        (Grade.UNPROVEN, True, False, "○"),  # it has no check
        (Grade.UNJUDGED, False, False, "○"),
        (Grade.UNPROVEN, False, False, "✗"),  # something is missing in the work
        (Grade.TESTED, True, True, "✗"),
        (Grade.REFUTED, True, False, "✗"),
    ],
)
def test_a_cross_means_that_something_failed(
    capsys: pytest.CaptureFixture[str], grade: Grade, quick: bool, gap: bool, mark: str
) -> None:
    one = verified(TestsCheck(files=("t.py",)), grade)
    gaps = (Finding(what="it fails"),) if gap else ()
    judged = one.verdict.requirements[0].model_copy(update={"holds": False, "gaps": gaps})
    notes = (QUICK_NOTE,) if quick else ()
    verdict = one.verdict.model_copy(update={"requirements": (judged,), "undecided": notes})
    shown = Verification(one.contract, verdict, conclude(verdict, one.contract))
    verdict_lines(shown)
    assert capsys.readouterr().out.splitlines()[1].startswith(f"{mark} {grade}")
    assert ("❌" in markdown(shown).partition("### ")[2].partition("|")[2].partition("<br>")[0]) is (mark == "✗")
    assert any("--accept tested" in hint for hint in advice(shown)) is (quick and grade is Grade.TESTED)


@pytest.mark.parametrize(("failing", "holds", "mark"), [(False, True, "✓"), (True, True, "○"), (True, False, "✗")])
def test_existing_tests_have_a_tick_only_if_all_of_them_pass(
    capsys: pytest.CaptureFixture[str], failing: bool, holds: bool, mark: str
) -> None:
    one = verified(TestsCheck(files=("t.py",)), Grade.TESTED)
    outcome = Outcomes.FAILED if failing else Outcomes.PASSED
    fact = Evidence(
        id="e1",
        requirement="suite",
        check="k",
        kind="tests",
        side="head",
        commit="c",
        tree="t",
        isolation="x",
        tried=(Tried(id="t.py::test_it", outcome=outcome),),
    )
    suite = Judged(id="existing tests", text="x", grade=Grade.TESTED, why=("w",), holds=holds, evidence=("e1",))
    verdict = one.verdict.model_copy(update={"suites": (suite,), "evidence": (fact,)})
    verdict_lines(Verification(one.contract, verdict, conclude(verdict, one.contract)))
    assert f"\n{mark} existing tests" in capsys.readouterr().out


def test_on_a_pipe_only_stages_and_what_does_not_count_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with VerifyProgress() as progress:
        progress.show(SealingStarted(base="b" * 40, requirements=2))
        progress.show(ProvingStarted(head="c" * 40))
        for turn in (1, 2):
            progress.show(CheckRan(check="k", sort="tests", turn=turn, void=""))
        progress.show(CheckRan(check="k", sort="tests", turn=2, void="it ran no test"))
    lines = capsys.readouterr().err.splitlines()
    assert [len(lines), "it ran no test" in lines[-1]] == [3, True]


@pytest.mark.spec("DAY-12", "USE-2")
def test_skipped_tests_are_counted_and_marked_apart_from_failures(capsys: pytest.CaptureFixture[str]) -> None:
    one = verified(TestsCheck(files=("t.py",)), Grade.REFUTED)
    outcomes = [Outcomes.SKIPPED, Outcomes.PASSED, Outcomes.FAILED, Outcomes.SKIPPED]
    tried = tuple(Tried(id=f"t.py::test_{number}", outcome=each) for number, each in enumerate(outcomes))
    fact = Evidence(
        id="e1", requirement="r", check="k", kind="tests", side="head", commit="c", tree="t", isolation="x", tried=tried
    )
    judged = one.verdict.requirements[0].model_copy(update={"evidence": ("e1",)})
    verdict = one.verdict.model_copy(update={"requirements": (judged,), "evidence": (fact,)})
    (row,) = one.contract.requirements
    replaced = one.contract.model_copy(update={"requirements": (row.model_copy(update={"supersedes": ("t.py",)}),)})
    for contract, said in ((one.contract, "2 skipped (base"), (replaced, "2 skipped, 1 superseded (base")):
        (check,) = Verification(contract, verdict, conclude(verdict, contract)).checks(judged)
        assert said in check.result_line
    explain(Verification(one.contract, verdict, conclude(verdict, one.contract)), "r")
    shown = capsys.readouterr().out
    assert "1 passed, 1 failed, 2 skipped" in shown
    marked = [line.split()[0] for line in shown.splitlines() if "t.py::test_" in line]
    assert marked == ["✗", "–", "–", "✓"], shown
