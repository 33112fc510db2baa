"""After a verification that only waits for a person, the last line says what that person can do."""

import pytest

from trued.cli.verdict import advice
from trued.model import Check, Contract, Grade, Judged, ManualCheck, Requirement, TestsCheck, Verdict
from trued.proof.contract import conclude
from trued.reporting.views.verdict import Verification


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
            ["verify --requirements", "--accept tested", "git diff bbbbbbbbbbbb"],
        ),
        (
            TestsCheck(files=("t.py",)),
            Grade.SELF_TESTED,
            ["verify --requirements", "git diff bbbbbbbbbbbb cccccccccccc"],
        ),
        (ManualCheck(steps=("look",)), Grade.UNPROVEN, ["trued why r"]),
    ],
)
def test_what_only_waits_for_a_person_names_the_next_command(check: Check, grade: Grade, commands: list[str]) -> None:
    one = verified(check, grade)
    assert one.code == 3
    assert all(command in advice(one)[0] for command in commands), advice(one)
    assert ("--accept" in advice(one)[0]) is (grade is Grade.TESTED)
