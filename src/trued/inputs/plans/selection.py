"""Choose parts of a plan: chunks by id, phases by number or name. Other parts are reported as not checked."""

import re
from collections.abc import Iterable, Sequence

from trued.errors import BadInput
from trued.model import Plan, Requirement, Requirements, Task
from trued.support.plurals import few

MOST_NAMED = 12


def chosen_parts(
    plan: Plan, chunks: Sequence[str], phases: Sequence[str], covers: Iterable[Sequence[str]] = ()
) -> Plan:
    """The plan with only these chunks, and with the criteria that they can meet. Notes in `undecided` name what is left
    out. Raises BadInput for a name that the plan does not have.

    Three kinds of criteria are kept. First, constraints. Second, criteria of a phase whose chunks are all chosen.
    Third, criteria that one of the user's requirements covers together with a chosen chunk; this requirement must not
    cover a chunk that is left out. `covers`: what each of the user's requirements covers.
    """
    if not chunks and not phases:
        return plan
    tasks = chosen_tasks(plan, chunks, phases)
    if len(tasks) == len(plan.tasks):
        return plan
    ids = {task.id for task in tasks}
    whole_phases = {task.phase for task in plan.tasks} - {task.phase for task in plan.tasks if task.id not in ids}
    alone = plan.model_copy(update={"tasks": tasks, "criteria": (), "unread": ()})
    about = [entry for entries in covers if entries and _is_about(entries, plan, alone) for entry in entries]
    met = {_normalize(text) for entry in about for text in (entry, entry.partition(":")[2])}
    criteria, unread = (
        tuple(
            criterion
            for criterion in criteria_of_plan
            if criterion.kind == "constraint"
            or (criterion.phase and criterion.phase in whole_phases)
            or _normalize(criterion.text) in met
        )
        for criteria_of_plan in (plan.criteria, plan.unread)
    )
    not_chosen = [task.id for task in plan.tasks if task.id not in ids]
    of_whole_plan = [
        criterion
        for criterion in (*plan.criteria, *plan.unread)
        if criterion not in criteria and criterion not in unread
    ]
    notes = [f"not chosen, so neither built nor checked: {few(not_chosen, MOST_NAMED)}"]
    if of_whole_plan:
        listed = few([f"“{criterion.text}” ({criterion.source})" for criterion in of_whole_plan], MOST_NAMED)
        notes.append(f"not only about the chosen chunks, so not checked: {listed}")
    update = {"tasks": tasks, "criteria": criteria, "unread": unread, "undecided": (*plan.undecided, *notes)}
    return plan.model_copy(update=update)


def chosen_tasks(plan: Plan, chunks: Sequence[str], phases: Sequence[str]) -> tuple[Task, ...]:
    """The chunks with these ids or in these phases, in the plan's order. Raises BadInput for an unknown name."""
    if not chunks and not phases:
        return plan.tasks
    ids = {task.id.casefold() for task in plan.tasks}
    if unknown := [chunk for chunk in chunks if chunk.casefold() not in ids]:
        what = f"the plan has no chunk {unknown[0]!r}"
        raise BadInput(what, "--chunk", f"its chunks are {', '.join(task.id for task in plan.tasks)}")
    named = list(dict.fromkeys(task.phase for task in plan.tasks if task.phase))
    if wrong := [phase for phase in phases if not any(_is_phase(name, phase) for name in named)]:
        then = f"its phases are {', '.join(named)}" if named else "it has none: name chunks with --chunk"
        raise BadInput(f"the plan has no phase {wrong[0]!r}", "--phase", then)
    wanted = {chunk.casefold() for chunk in chunks}
    return tuple(
        task
        for task in plan.tasks
        if task.id.casefold() in wanted or any(_is_phase(task.phase, phase) for phase in phases if task.phase)
    )


def chosen_requirements(requirements: Requirements, plan: Plan, part: Plan) -> Requirements:
    """The requirements file, reduced to the requirements about `part`. All other requirements are left to the run that
    builds the other chunks."""
    if len(part.tasks) == len(plan.tasks):
        return requirements
    about_part = tuple(
        requirement for requirement in requirements.requirements if _is_about(requirement.covers, plan, part)
    )
    return requirements.model_copy(update={"requirements": about_part})


def stands_for_part(requirement: Requirement, plan: Plan, part: Plan) -> bool:
    """Whether this requirement, from the contract of the whole plan, is only about this part. True for a requirement
    about chunks or criteria of the part, and for the user's own requirement that covers nothing. False for a
    requirement with `parts`, which is about the whole plan."""
    if len(part.tasks) == len(plan.tasks):
        return True
    if requirement.parts:
        return False
    if any(task.id == requirement.id for task in plan.tasks):
        return any(task.id == requirement.id for task in part.tasks)
    own_words = [
        criterion
        for criterion in (*plan.criteria, *plan.unread)
        if (criterion.text, criterion.source) == (requirement.text, requirement.source)
    ]
    if own_words:
        return any(criterion in (*part.criteria, *part.unread) for criterion in own_words)
    return _is_about(requirement.covers, plan, part)


def unchecked_parts(requirements: Iterable[Requirement], part: Plan) -> list[str]:
    """The chunks and criteria of this part that no requirement is about. Even if all requirements are proven, nothing
    proves these chunks and criteria."""
    requirement_list = list(requirements)
    covered = {
        _normalize(text)
        for requirement in requirement_list
        for entry in requirement.covers
        for text in (entry, entry.partition(":")[2])
    }
    rows = {requirement.id.casefold() for requirement in requirement_list} | {
        _normalize(requirement.text) for requirement in requirement_list
    }
    tasks = [task.id for task in part.tasks if not {task.id.casefold(), _normalize(task.title)} & (covered | rows)]
    criteria = [
        f"“{criterion.text}”" for criterion in part.criteria if _normalize(criterion.text) not in covered | rows
    ]
    return [*tasks, *criteria]


def _is_about(covers: Sequence[str], plan: Plan, part: Plan) -> bool:
    """Whether a requirement that covers these entries is about this part. False if it covers a chunk outside the part.
    Otherwise true if it covers a chunk of the part, only criteria of the part, or nothing at all."""
    ids = {task.id for task in part.tasks}
    chosen, not_chosen = (
        _task_names(task for task in plan.tasks if (task.id in ids) is is_chosen) for is_chosen in (True, False)
    )
    criterion_texts = {_normalize(criterion.text) for criterion in (*part.criteria, *part.unread)}
    entries = [{_normalize(entry), _normalize(entry.partition(":")[2])} for entry in covers]
    if any(entry & not_chosen for entry in entries):
        return False
    return not entries or any(entry & chosen for entry in entries) or all(entry & criterion_texts for entry in entries)


def _task_names(tasks: Iterable[Task]) -> set[str]:
    return {name for task in tasks for name in (task.id.casefold(), _normalize(task.title))}


def _is_phase(title: str, wanted: str) -> bool:
    """Whether `wanted` names the phase, by its title or its number."""
    if _normalize(title) == _normalize(wanted):
        return True
    number = re.search(r"\d+", title)
    return bool(number) and number is not None and wanted.strip().casefold() in (number[0], f"phase {number[0]}")


def _normalize(text: str) -> str:
    return " ".join(text.split()).casefold()
