"""Prepares a plan for its contract: the chosen parts, prose joined by section, and what the plan marks as done."""

from collections.abc import Iterable

from trued.inputs.clauses import comparable
from trued.inputs.plans.done_marks import marked_done
from trued.inputs.plans.selection import chosen_parts
from trued.model import Criterion, Plan, Requirements, Settings
from trued.support.markdown import Heading, parse

SECTION_LEVEL = 2  # deepest heading that begins a section: "## Agent Specs" with everything below it is one section


def plan_to_seal(plan: Plan, settings: Settings, requirements: Requirements | None) -> Plan:
    """The plan reduced to `settings.chunks` and `settings.phases`. The prose of each section is joined, and the plan's
    `done` lists the chunks that its author marks as done.

    `requirements`: the user's requirements file. If one of its requirements covers or repeats a line of the plan, this
    line is not joined with other lines. Raises BadInput if the settings name a part that the plan does not have.
    """
    users_own = requirements.requirements if requirements else ()
    part = chosen_parts(plan, settings.chunks, settings.phases, [requirement.covers for requirement in users_own])
    part = joined_prose(part, [entry for requirement in users_own for entry in (*requirement.covers, requirement.text)])
    marked = marked_done(plan.text, plan.source.file)
    return part.model_copy(update={"done": tuple(task.id for task in part.tasks if task.id in marked)})


def joined_prose(plan: Plan, covered: Iterable[str] = ()) -> Plan:
    """The plan, with the unread lines of each section joined into one requirement. (A check or a person has to prove
    each requirement, so one for each line would be too many.) The joined text is verbatim, and has the line number of
    its first line.

    A line stays a requirement of its own if its words are in `covered`, or if it is above the first section.
    """
    apart = {comparable(text) for entry in covered for text in (entry, entry.partition(":")[2])}
    starts = [block.line for block in parse(plan.text) if isinstance(block, Heading) and block.level <= SECTION_LEVEL]
    sections: dict[tuple[int, str], Criterion] = {}
    for number, criterion in enumerate(plan.unread):
        section = max((line for line in starts if line <= criterion.source.line), default=0)
        alone = comparable(criterion.text) in apart or not section
        key = (-number - 1, "") if alone else (section, criterion.phase)
        known = sections.get(key)
        joined = known.model_copy(update={"text": f"{known.text}\n{criterion.text}"}) if known else criterion
        sections[key] = joined
    return plan.model_copy(update={"unread": tuple(sections.values())})
