"""The run's ticket, and the tasks that its agents get."""

from trued.errors import BadInput
from trued.model import Criterion, Task, Ticket
from trued.run.run import Run


def ticket_of(run: Run) -> Ticket:
    """The run's ticket. Raises `BadInput` if the run was started without a ticket."""
    if run.ticket is None:
        raise BadInput("this run has no ticket", then="start it with one: `trued run TICKET`")
    return run.ticket


def ticket_task(run: Run, text: str = "") -> Task:
    """The task of an agent: the ticket's title, with this text if there is any."""
    ticket = ticket_of(run)
    return Task(id=ticket.key, title=ticket.summary, brief=text, source=ticket.source)


def criteria_to_verify(run: Run) -> tuple[Criterion, ...]:
    """What the verifier checks: the ticket's requirements and acceptance criteria."""
    ticket = ticket_of(run)
    return (*ticket.requirements, *ticket.acceptance)
