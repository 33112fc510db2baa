"""Make a plan from a ticket. Every sentence is a criterion. A criterion that names a page or a command gets a visible
check."""

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
    """A requirement with a check for each criterion that names a page or a command. Its id is made of the criterion's
    kind and number, like the ids in `requirements/coverage.py`."""
    counts = Counter[str]()
    for criterion in criteria:
        counts[criterion.kind] += 1
        if check := _check(criterion):
            yield Requirement(
                id=f"{criterion.kind}-{counts[criterion.kind]}",
                text=criterion.text,
                source=criterion.source,
                checks=(check,),
                keep=isinstance(check, CommandCheck),  # a command that succeeds on the base must still succeed
            )


def _check(criterion: Criterion) -> Check | None:
    if page := page_check(criterion):
        return page.model_copy(update={"visible": True})  # the implementer reads the same words in the ticket
    command = quoted_command(criterion.text)
    return CommandCheck(command=command) if command else None


def servable_requirements(
    requirements: Iterable[Requirement], serve: Serve | None
) -> tuple[tuple[Requirement, ...], tuple[str, ...]]:
    """The requirements that can be checked, and notes. Without a server, each requirement with a page check is left
    out, and a note says so."""
    all_requirements = tuple(requirements)
    pages = [
        requirement
        for requirement in all_requirements
        if any(isinstance(check, BrowserCheck) for check in requirement.checks)
    ]
    if serve is not None or not pages:
        return all_requirements, ()
    # do not change this wording: sealed plans contain it, and their runs would diverge
    notes = [
        f"{requirement.id}: it names a page, and nobody has said how the project is served" for requirement in pages
    ]
    return tuple(requirement for requirement in all_requirements if requirement not in pages), tuple(notes)
