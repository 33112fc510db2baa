"""What is checked of a workflow's input before anything is written, by the kind of input that it takes.

Each raises BadInput for a file that cannot be read, and for criteria that the requirements leave out.
"""

from trued.inputs.plans.plan import parse_plan
from trued.inputs.requirements.coverage import user_requirements
from trued.inputs.tickets.plan import ticket_plan
from trued.model import Goal, Requirements, Ticket


def check_plan(goal: Goal, requirements: Requirements | None, ticket: Ticket | None) -> None:
    user_requirements(parse_plan(goal.text, goal.source.file) if goal.source.file else None, goal, requirements)


def check_words(goal: Goal, requirements: Requirements | None, ticket: Ticket | None) -> None:
    user_requirements(None, goal, requirements)


check_specification = check_words


def check_ticket(goal: Goal, requirements: Requirements | None, ticket: Ticket | None) -> None:
    user_requirements(ticket_plan(ticket) if ticket else None, goal, requirements)
