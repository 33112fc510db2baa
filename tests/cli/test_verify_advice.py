"""Advice after a verification: a command for each thing that only waits for a person; skipped tests are no failures."""

from dataclasses import replace

import pytest

from trued.cli.ledger import explain
from trued.cli.verification_lines import advice
from trued.model import (
    Check,
    Contract,
    Evidence,
    Grade,
    Judged,
    ManualCheck,
    Outcomes,
    Requirement,
    TestsCheck,
    Tried,
    Verdict,
)
from trued.proof.verdict.conclusion import conclude
from trued.reporting.views.verification import Verification


def verified(check: Check, grade: Grade) -> Verification:
    contract = Contract(base="b" * 40, requirements=(Requirement(id="r", text="x", checks=(check,)),))
    judged = Judged(id="r", text="x", grade=grade, why=("because",), holds=True, lacks="attest")
    verdict = Verdict(subject="verify", commit="c" * 40, requirements=(judged,))
    return Verification(contract, verdict, conclude(verdict))


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
        (check,) = Verification(contract, verdict, conclude(verdict)).checks(judged)
        assert said in check.result_line
    explain(Verification(one.contract, verdict, conclude(verdict)), "r")
    shown = capsys.readouterr().out
    assert "1 passed, 1 failed, 2 skipped" in shown
    marked = [line.split()[0] for line in shown.splitlines() if "t.py::test_" in line]
    assert marked == ["✗", "–", "–", "✓"], shown
