"""A contract in lines, for a person to read before money is spent or before they approve it: the terminal and the page
show the same."""

from collections.abc import Iterator
from dataclasses import dataclass

from trued.model import Contract, Requirement
from trued.reporting.views.check_lines import check_lines
from trued.support.plain_text import plain_line
from trued.support.plurals import counted
from trued.support.visible_text import visible


@dataclass(frozen=True, slots=True)
class DescribedRequirement:
    """A requirement in lines: its words, what is special about it, and its checks with their cases."""

    id: str
    source: str
    words: str
    facts: tuple[str, ...]
    checks: tuple[str, ...]


def described_requirement(requirement: Requirement, *, cases: bool) -> DescribedRequirement:
    """The requirement in lines. `cases`: with every case, whole."""
    lines = [text for check in requirement.checks for text in check_lines(check, cases=cases)]
    none = [] if requirement.checks or requirement.parts else ["no check of its own"]
    return DescribedRequirement(
        plain_line(requirement.id),
        plain_line(str(requirement.source)),
        plain_line(requirement.text),
        tuple(_facts(requirement)),
        (*none, *lines),
    )


def _facts(requirement: Requirement) -> Iterator[str]:
    if requirement.covers:
        yield f"covers {plain_line(', '.join(requirement.covers))}"
    if requirement.keep:
        yield "keep: existing tests decide"
    if requirement.supersedes:
        yield f"supersedes {plain_line(', '.join(requirement.supersedes))}"
    if requirement.proposed:
        tests = plain_line(", ".join(requirement.proposed))
        yield f"an agent proposes that it supersedes {tests}: unproven until you agree"
    if requirement.aside:
        yield f"{plain_line(requirement.aside)}: unproven until you agree"
    for lost in requirement.lost:
        shown = f"{counted(lost.number, 'case')} of {visible(lost.entry)} for “{visible(lost.clause)}”"
        yield (
            f"not counted: {shown} (withdrawn, or shown to implementers), and no new case replaces them: "
            "unproven until you agree"
        )
    if requirement.parts:
        yield f"takes the lowest grade of {plain_line(', '.join(requirement.parts))}"


def contract_terms(contract: Contract, *, cases: bool) -> Iterator[str]:
    """What applies to the whole contract: interface, server, authors of the cases, caps. `cases`: also the notes, which
    may quote cases."""
    if contract.interface:
        yield "interface (visible to every agent):"
        yield from (f"  {visible(entry)}" for entry in contract.interface)
    if contract.serve:
        yield f"server: {visible(' '.join(contract.serve.command))} (port in {contract.serve.port_env})"
    if contract.unserved:
        yield f"pages are not checked: {contract.unserved}"
    for author in {author.model_dump_json(): author for author in contract.authors.values()}.values():
        agreed = ", ".join(author.agreed)
        alike = f"; confirmed independently by {agreed}, without seeing the expected results" if agreed else ""
        stands = "" if author.independent else ": graded `examined` at most until you approve"
        yield f"cases by {author.role} ({author.agent}){alike}{stands}"
    for name, caps in contract.caps.items():
        yield from (f"{name} is graded `examined` at most until you approve: {why}" for why in caps)
    if cases:
        yield from (f"note: {note}" for note in contract.undecided)
