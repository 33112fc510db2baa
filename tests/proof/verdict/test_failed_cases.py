"""What an implementer learns about a failed case."""

import pytest

from trued.model import CommandCheck, Outcomes, Requirement, TestsCheck, Tried
from trued.proof.verdict.failed_cases import gap, reason_for_people

ASKED = Requirement(id="r", text="it works")


@pytest.mark.spec("AGT-4", "USE-7")
@pytest.mark.parametrize("kind", ["failed", "xpassed", "marked", "collection", "nothing collected", "module yaml", ""])
def test_an_agent_reads_how_a_visible_test_failed_in_the_same_words_as_a_person(kind: str) -> None:
    tried = Tried(id="tests/test_a.py::t", outcome=Outcomes.FAILED, kind=kind, detail="assert 1 == 2")
    told = gap(ASKED, TestsCheck(), tried.id, tried, held_out=True).what
    assert told == f"r: {reason_for_people(TestsCheck(), tried.id, tried)}\nassert 1 == 2"


@pytest.mark.spec("AGT-4")
def test_an_agent_reads_with_which_exit_code_a_command_ended() -> None:
    check = CommandCheck(command="make lint")
    tried = Tried(id="command", outcome=Outcomes.FAILED, kind="exit 2")
    assert gap(ASKED, check, tried.id, tried, held_out=False).what == "r: make lint: it ends with exit code 2"
