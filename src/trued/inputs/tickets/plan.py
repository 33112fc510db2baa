"""Make a plan from a ticket: every sentence is a criterion; pages and commands that it names are visible checks."""

from collections import Counter
from collections.abc import Iterable, Iterator

from trued.inputs.requirements.guard_phrases import quoted_command
from trued.inputs.tickets.pages import page_check
from trued.model import BrowserCheck, Check, CommandCheck, Criterion, Plan, Requirement, Serve, Source, Ticket


def ticket_plan(ticket: Ticket) -> Plan:
    """A plan without tasks: the ticket is built as a whole and judged clause by clause."""
    source = ticket.source if ticket.source.file else Source(file=ticket.key)
    criteria = (*ticket.requirements, *ticket.acceptance)
    return Plan(
        title=ticket.summary,
        criteria=criteria,
        requirements=tuple(_checkable_requirements(criteria)),
        source=source,
        text=ticket.text,
        whole=ticket.whole,
    )


def _checkable_requirements(criteria: Iterable[Criterion]) -> Iterator[Requirement]:
    """A requirement with its check for each criterion that names a page or a command. Its id is the criterion's kind
    and number, as in `requirements/coverage.py`."""
    counts = Counter[str]()
    for one in criteria:
        counts[one.kind] += 1
        if check := _check(one):
            yield Requirement(id=f"{one.kind}-{counts[one.kind]}", text=one.text, source=one.source, checks=(check,))


def _check(criterion: Criterion) -> Check | None:
    if page := page_check(criterion):
        return page.model_copy(update={"visible": True})  # the implementer reads the same words in the ticket
    command = quoted_command(criterion.text)
    return CommandCheck(command=command) if command else None


def servable_requirements(
    requirements: Iterable[Requirement], serve: Serve | None
) -> tuple[tuple[Requirement, ...], tuple[str, ...]]:
    """The requirements, and notes. Without a server, each requirement with a page check is replaced by a note."""
    given = tuple(requirements)
    pages = [one for one in given if any(isinstance(check, BrowserCheck) for check in one.checks)]
    if serve is not None or not pages:
        return given, ()
    # do not change this wording: sealed plans contain it, and their runs would diverge
    notes = [f"{one.id}: it names a page, and nobody has said how the project is served" for one in pages]
    return tuple(one for one in given if one not in pages), tuple(notes)
