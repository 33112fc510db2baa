"""A ticket's sentences become requirements, with the checks that they name."""

import pytest

from trued.inputs.requirements.coverage import user_requirements, with_visible_checks
from trued.inputs.tickets.plan import servable_requirements, ticket_plan
from trued.inputs.tickets.ticket import parse_ticket
from trued.model import BrowserCheck, CommandCheck, Goal, Requirement, Requirements, Serve

TICKET = """---
key: SHOP-7
type: bug
---

# Cards do not say how many points

Customers ask what the words mean.

## Requirements

- Each card shows its points.

## Acceptance criteria

- The page `/tea` shows "Earn 40 points" and no longer "+ loyalty points".
- `make lint` passes.
- The cart is not touched.
"""


@pytest.mark.spec("TIC-1", "LAW-12")
def test_every_sentence_of_a_ticket_is_a_requirement_and_so_is_the_whole() -> None:
    ticket = parse_ticket(TICKET, "ticket.md")
    plan = ticket_plan(ticket)
    found = user_requirements(plan, Goal(text=ticket.text, source=ticket.source), None)
    assert {(one.id, one.source.line) for one in found} == {
        ("text-1", 8),
        ("goal-1", 12),
        ("acceptance-1", 16),
        ("acceptance-2", 17),
        ("acceptance-3", 18),
        ("ticket", 1),
    }
    assert all(one.text in TICKET for one in found if one.id != "ticket")
    assert set(found[-1].parts) == {one.id for one in found[:-1]}


@pytest.mark.spec("TIC-6", "TIC-5")
def test_pages_and_commands_that_a_criterion_names_are_visible_checks() -> None:
    plan = ticket_plan(parse_ticket(TICKET, "ticket.md"))
    page, lint = plan.requirements
    assert (page.id, lint.id) == ("acceptance-1", "acceptance-2")
    (check,) = page.checks
    assert isinstance(check, BrowserCheck)
    assert (check.page, check.sees, check.hides) == ("/tea", ("Earn 40 points",), ("+ loyalty points",))
    assert check.visible
    assert lint.checks == (CommandCheck(command="make lint"),)
    asked = Requirements(requirements=user_requirements(plan, Goal(text=plan.text), None))
    made = {one.id: one.checks for one in with_visible_checks(asked, plan.requirements).requirements}
    assert made["acceptance-1"] == page.checks
    assert made["acceptance-3"] == ()


@pytest.mark.spec("TIC-5")
def test_pages_that_nobody_can_serve_are_said_and_not_counted() -> None:
    brought = ticket_plan(parse_ticket(TICKET, "ticket.md")).requirements
    assert servable_requirements(brought, Serve(command=("x",))) == (brought, ())
    left, said = servable_requirements(brought, None)
    assert [one.id for one in left] == ["acceptance-2"]
    assert said == ("acceptance-1: it names a page, and nobody has said how the project is served",)


def test_a_requirement_of_the_users_own_is_given_no_check_that_stands_for_another() -> None:
    plan = ticket_plan(parse_ticket(TICKET, "ticket.md"))
    own = Requirement(id="acceptance-1", text="something else")
    asked = with_visible_checks(Requirements(requirements=(own,)), plan.requirements)
    assert asked.requirements == (own,)


@pytest.mark.spec("DAY-13", "RUN-3")
def test_a_ticket_of_an_older_run_keeps_the_names_that_it_had() -> None:
    ticket = parse_ticket(TICKET, "ticket.md")
    old = ticket.model_copy(
        update={"whole": "", "acceptance": tuple(one.model_copy(update={"kind": "ship"}) for one in ticket.acceptance)}
    )
    ids = [one.id for one in user_requirements(ticket_plan(old), Goal(text=TICKET), None)]
    assert {"ship-1", "plan"} <= set(ids)
    assert "whole" not in ticket_plan(old).model_dump(mode="json")
