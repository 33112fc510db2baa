"""Checks of a workflow's input before anything is written, by the kind of input that it takes.

Each check raises BadInput for a file that cannot be parsed, and for a requirement that covers something that is not in
the input.
"""

from trued.errors import BadInput
from trued.inputs.plans.plan import parse_plan
from trued.inputs.recognition import is_plan
from trued.inputs.requirements.coverage import user_requirements
from trued.inputs.tickets.plan import ticket_plan
from trued.model import Goal, Requirements, Ticket
from trued.workflows.descriptor import Input
from trued.workflows.registry import default_workflow

SHOWN = {
    Input.PLAN: "a plan",
    Input.WORDS: "a goal in words",
    Input.SPECIFICATION: "a specification",
    Input.TICKET: "a ticket",
}


def check_plan(goal: Goal, requirements: Requirements | None, ticket: Ticket | None) -> None:
    if not goal.source.file:
        check_words(goal, requirements, ticket)
        return
    try:
        plan = parse_plan(goal.text, goal.source.file)
    except BadInput as error:
        others = ways_to_read(Input.WORDS, Input.TICKET)
        raise BadInput(
            error.what, error.where, f"{error.then}; if the file is no plan, say what it is: {others}"
        ) from None
    user_requirements(plan, goal, requirements)


def check_plan_or_words(goal: Goal, requirements: Requirements | None, ticket: Ticket | None) -> None:
    """Check a file with chunks as a plan, and any other input as a goal in words."""
    check = check_plan if is_plan(goal.text, goal.source.file) else check_words
    check(goal, requirements, ticket)


def ways_to_read(*kinds: Input) -> str:
    """How to have a file read as one of these kinds of input (default: all kinds): for each, the option `-w` with the
    default workflow of the kind."""
    return ", ".join(f"-w {default_workflow(kind).name} ({SHOWN[kind]})" for kind in kinds or tuple(Input))


def check_words(goal: Goal, requirements: Requirements | None, ticket: Ticket | None) -> None:
    user_requirements(None, goal, requirements)


check_specification = check_words


def check_ticket(goal: Goal, requirements: Requirements | None, ticket: Ticket | None) -> None:
    user_requirements(ticket_plan(ticket) if ticket else None, goal, requirements)
