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

    Three kinds of criteria are kept: constraints; criteria of a phase whose chunks are all chosen; and criteria that a
    requirement of the user covers, if it also covers a chosen chunk, and no chunk that is left out. `covers`: what each
    of the user's requirements covers.
    """
    if not chunks and not phases:
        return plan
    tasks = chosen_tasks(plan, chunks, phases)
    if len(tasks) == len(plan.tasks):
        return plan
    ids = {one.id for one in tasks}
    whole = {one.phase for one in plan.tasks} - {one.phase for one in plan.tasks if one.id not in ids}
    alone = plan.model_copy(update={"tasks": tasks, "criteria": (), "unread": ()})
    about = [entry for one in covers if one and _is_about(one, plan, alone) for entry in one]
    met = {_normalize(words) for entry in about for words in (entry, entry.partition(":")[2])}
    criteria, unread = (
        tuple(
            one
            for one in some
            if one.kind == "constraint" or (one.phase and one.phase in whole) or _normalize(one.text) in met
        )
        for some in (plan.criteria, plan.unread)
    )
    left = [one.id for one in plan.tasks if one.id not in ids]
    open_ = [one for one in (*plan.criteria, *plan.unread) if one not in criteria and one not in unread]
    notes = [f"not chosen, so neither built nor checked: {few(left, MOST_NAMED)}"]
    if open_:
        words = few([f"“{one.text}” ({one.source})" for one in open_], MOST_NAMED)
        notes.append(f"belongs to the whole plan, so this part does not check it: {words}")
    update = {"tasks": tasks, "criteria": criteria, "unread": unread, "undecided": (*plan.undecided, *notes)}
    return plan.model_copy(update=update)


def chosen_tasks(plan: Plan, chunks: Sequence[str], phases: Sequence[str]) -> tuple[Task, ...]:
    """The chunks with these ids or in these phases, in the plan's order. Raises BadInput for an unknown name."""
    if not chunks and not phases:
        return plan.tasks
    ids = {task.id.casefold() for task in plan.tasks}
    if unknown := [one for one in chunks if one.casefold() not in ids]:
        what = f"the plan has no chunk {unknown[0]!r}"
        raise BadInput(what, "--chunk", f"its chunks are {', '.join(task.id for task in plan.tasks)}")
    named = list(dict.fromkeys(task.phase for task in plan.tasks if task.phase))
    if wrong := [one for one in phases if not any(_is_phase(name, one) for name in named)]:
        then = f"its phases are {', '.join(named)}" if named else "it has none: name chunks with --chunk"
        raise BadInput(f"the plan has no phase {wrong[0]!r}", "--phase", then)
    wanted = {one.casefold() for one in chunks}
    return tuple(
        task
        for task in plan.tasks
        if task.id.casefold() in wanted or any(_is_phase(task.phase, one) for one in phases if task.phase)
    )


def chosen_requirements(given: Requirements, plan: Plan, part: Plan) -> Requirements:
    """The requirements file for this part. Requirements about chunks or criteria that are not chosen are left out: they
    belong to the run that builds those chunks."""
    if len(part.tasks) == len(plan.tasks):
        return given
    kept = tuple(one for one in given.requirements if _is_about(one.covers, plan, part))
    return given.model_copy(update={"requirements": kept})


def stands_for_part(one: Requirement, plan: Plan, part: Plan) -> bool:
    """Whether a requirement of the whole plan's contract is only about this part: it is about chunks or criteria of the
    part, or it is the user's own and covers nothing. A requirement with `parts` is about the whole plan."""
    if len(part.tasks) == len(plan.tasks):
        return True
    if one.parts:
        return False
    if any(task.id == one.id for task in plan.tasks):
        return any(task.id == one.id for task in part.tasks)
    own_words = [each for each in (*plan.criteria, *plan.unread) if (each.text, each.source) == (one.text, one.source)]
    if own_words:
        return any(each in (*part.criteria, *part.unread) for each in own_words)
    return _is_about(one.covers, plan, part)


def unchecked_parts(requirements: Iterable[Requirement], part: Plan) -> list[str]:
    """The chunks and criteria of this part that no requirement is about: nothing proves them, even if all requirements
    are proven."""
    every = list(requirements)
    covered = {_normalize(words) for one in every for entry in one.covers for words in (entry, entry.partition(":")[2])}
    rows = {one.id.casefold() for one in every} | {_normalize(one.text) for one in every}
    tasks = [task.id for task in part.tasks if not {task.id.casefold(), _normalize(task.title)} & (covered | rows)]
    words = [f"“{one.text}”" for one in part.criteria if _normalize(one.text) not in covered | rows]
    return [*tasks, *words]


def _is_about(covers: Sequence[str], plan: Plan, part: Plan) -> bool:
    """Whether a requirement that covers these entries is about this part. It must not cover a chunk outside the part.
    And it must cover a chunk of the part, or only criteria of the part, or nothing at all."""
    ids = {task.id for task in part.tasks}
    chosen, left = (_task_names(task for task in plan.tasks if (task.id in ids) is here) for here in (True, False))
    words = {_normalize(one.text) for one in (*part.criteria, *part.unread)}
    every = [{_normalize(entry), _normalize(entry.partition(":")[2])} for entry in covers]
    if any(entry & left for entry in every):
        return False
    return not every or any(entry & chosen for entry in every) or all(entry & words for entry in every)


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
