"""Which requirements an objection is about: the one that it names, or all that the subject serves."""

import pytest

from trued.model import Contract, Finding, Plan, Requirement, Task
from trued.run.judgement import addressed

FAST = Requirement(id="fast", text="it is fast", covers=("1A",))
SMALL = Requirement(id="small", text="it is small", covers=("1A",))
TASK, BARE = Task(id="1A", title="1A"), Task(id="1B", title="1B")


def contract(*requirements: Requirement) -> Contract:
    return Contract(base="0" * 40, requirements=requirements)


@pytest.mark.spec("LAW-8", "PIPE-7")
@pytest.mark.parametrize(
    ("sealed", "subject", "named", "about"),
    [
        (contract(FAST, SMALL), TASK, "", ["fast", "small"]),
        (contract(FAST, SMALL), Plan(), "", ["fast", "small"]),
        (contract(FAST, SMALL), Plan(), "nobody knows it", ["fast", "small"]),
        (contract(FAST, SMALL), Plan(), "small", ["small"]),
        (contract(FAST), BARE, "", [""]),  # no requirement fits: it is against the whole
        (contract(), Plan(), "", [""]),
    ],
)
def test_an_objection_is_about_all_that_was_asked_for(
    sealed: Contract, subject: Task | Plan, named: str, about: list[str]
) -> None:
    found = addressed(sealed, subject, [Finding(what="it is wrong", requirement=named)])
    assert [one.requirement for one in found] == about
