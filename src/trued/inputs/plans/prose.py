"""Joins a plan's prose outside of chunks and criteria: one requirement per section, so that no line is lost."""

from collections.abc import Iterable

from trued.model import Criterion, Plan
from trued.support.markdown import Heading, parse

SECTION_LEVEL = 2  # "## Agent Specs" with everything below it is one section


def joined_prose(plan: Plan, covered: Iterable[str] = ()) -> Plan:
    """The plan with its unread lines joined by section, verbatim, with the place of the first line.

    A line whose words are in `covered` stays a criterion of its own. Each section is one requirement, which a check or
    a person has to prove, instead of one requirement per line.
    """
    apart = {_plain(words) for entry in covered for words in (entry, entry.partition(":")[2])}
    starts = [block.line for block in parse(plan.text) if isinstance(block, Heading) and block.level <= SECTION_LEVEL]
    sections: dict[tuple[int, str], Criterion] = {}
    for number, one in enumerate(plan.unread):
        section = max((line for line in starts if line <= one.source.line), default=0)
        alone = _plain(one.text) in apart or not section
        key = (-number - 1, "") if alone else (section, one.phase)
        known = sections.get(key)
        joined = known.model_copy(update={"text": f"{known.text}\n{one.text}"}) if known else one
        sections[key] = joined
    return plan.model_copy(update={"unread": tuple(sections.values())})


def _plain(text: str) -> str:
    return " ".join(text.split())
