"""Whom an objection is about: what it names, or all that is due."""

import pytest

from trued.judging import addressed
from trued.proof.room.bench import check_hash
from trued.sealing.guards import SUITE
from trued.types import Contract, Finding, Plan, Requirement, Task, TestsCheck

SUITE_CHECK = TestsCheck(command="python -m pytest -q")
OWN = Requirement(
    id=SUITE, text="the base's own tests stay green", covers=("1A", "1B"), keep=True, checks=(SUITE_CHECK,)
)
FAST = Requirement(id="fast", text="it is fast", covers=("1A",))
SMALL = Requirement(id="small", text="it is small", covers=("1A",))
TASK, BARE = Task(id="1A", title="1A"), Task(id="1B", title="1B")


def contract(*requirements: Requirement, guards: bool = True) -> Contract:
    return Contract(base="0" * 40, requirements=requirements, guards=(check_hash(SUITE_CHECK),) if guards else ())


@pytest.mark.spec("LAW-8", "PIPE-7")
@pytest.mark.parametrize(
    ("sealed", "subject", "named", "about"),
    [
        (contract(FAST, SMALL, OWN), TASK, "", ["fast", "small"]),
        (contract(FAST, SMALL, OWN), Plan(), "", ["fast", "small"]),
        (contract(FAST, SMALL, OWN), Plan(), "nobody knows it", ["fast", "small"]),
        (contract(FAST, SMALL, OWN), Plan(), "small", ["small"]),
        (contract(FAST, SMALL, OWN), Plan(), SUITE, [SUITE]),  # it says so
        (contract(FAST, OWN), BARE, "", [SUITE]),  # there is nothing else that it could be about
        (contract(FAST, OWN, guards=False), Plan(), "", [SUITE, "fast"]),  # of that name, but the user's own
        (contract(), Plan(), "", [""]),
    ],
)
def test_an_objection_is_about_all_that_was_asked_for_and_about_the_bases_own_tests_only_by_name(
    sealed: Contract, subject: Task | Plan, named: str, about: list[str]
) -> None:
    found = addressed(sealed, subject, [Finding(what="it is wrong", requirement=named)])
    assert [one.requirement for one in found] == about
