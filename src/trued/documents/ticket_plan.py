"""A ticket as a plan: every sentence of it is a criterion, and the pages that it names are checks that everybody sees."""

from collections.abc import Iterator

from ..types import Criterion, Plan, Requirement, Source, Ticket
from .sentences import sentences

ACCEPTANCE, REQUIREMENT, TEXT = "acceptance", "requirement", "text"


def plan_of(ticket: Ticket) -> Plan:
    """One plan without tasks: the ticket is built as a whole, and judged clause by clause."""
    source = ticket.source if ticket.source.file else Source(file=ticket.key)
    criteria = tuple(_criteria(ticket))
    return Plan(
        title=ticket.summary,
        criteria=criteria,
        unread=tuple(_sentences(ticket, criteria, source)),
        requirements=tuple(_shown(criteria)),
        source=source,
        text=ticket.text,
    )


def _criteria(ticket: Ticket) -> Iterator[Criterion]:
    for kind, listed in ((REQUIREMENT, ticket.requirements), (ACCEPTANCE, ticket.acceptance)):
        yield from (one.model_copy(update={"kind": kind}) for one in listed)


def _sentences(ticket: Ticket, criteria: tuple[Criterion, ...], source: Source) -> Iterator[Criterion]:
    """What it says elsewhere; its title alone where it says nothing else."""
    if not criteria:
        yield Criterion(text=ticket.summary, kind=TEXT, source=source)


def _shown(criteria: tuple[Criterion, ...]) -> Iterator[Requirement]:
    yield from ()
