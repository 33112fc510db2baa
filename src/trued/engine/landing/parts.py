"""Lands the first chunks of a plan without the later ones.

The commit on which the last of these chunks was judged is proven again.
"""

from dataclasses import replace

from trued.engine.landing.records import LandingContext
from trued.engine.run_store import RunStore
from trued.errors import BadInput
from trued.inputs.plans.plan import parse_plan
from trued.inputs.plans.selection import chosen_parts, stands_for_part, unchecked_parts
from trued.model import Contract, Finding, Plan, RunRecord
from trued.model.events import of_kind
from trued.model.events.call import CallAnswered
from trued.model.events.proof import VerdictReached
from trued.model.events.run import TaskSkipped
from trued.support.path_sets import paths_outside
from trued.workflows.registry import descriptor
from trued.workspace.git import rebase


async def up_to_chunk(context: LandingContext, chunk: str) -> LandingContext:
    """The context for landing the plan's chunks up to this one. The head of the context's record is the commit on which
    this chunk was judged last. The context's contract and objections leave out the requirements of later chunks.

    Raises BadInput if the plan has no such chunk, if nothing was built for the chunk, if the commit also holds work on
    chunks that would not land, or if no requirement covers one of the chunks and criteria that would land.
    """
    record, plan = context.record, _plan(context)
    ids = [task.id for task in plan.tasks]
    name = next((task for task in ids if task.casefold() == chunk.casefold()), "")
    if not name:
        raise BadInput(f"run {record.id} has no chunk {chunk!r}", "--through", f"its chunks are {', '.join(ids)}")
    before = ids[: ids.index(name) + 1]
    commit = _judged_at(context.store, record, name)
    if commit in ("", record.base):
        then = f"`trued show {record.id}` says which are built"
        raise BadInput(f"nothing has been built for chunk {name} yet", "--through", then)
    if other := await _work_on_others(context, commit, before):
        what = f"chunk {name} was built on top of work on {other} and cannot land without it"
        raise BadInput(what, "--through", f"land through {other}, or run the plan with --chunk {name}")
    contract = _narrowed(context.contract, plan, before)
    objections = await _open_objections(context, contract, before)
    if missing := unchecked_parts(contract.requirements, chosen_parts(plan, before, ())):
        what = f"no requirement covers only {', '.join(missing)}, so nothing would prove it"
        raise BadInput(what, "--through", f"land the whole run, or run the plan with --chunk {name}")
    part = record.model_copy(update={"head": commit})
    return replace(context, record=part, contract=contract, objections=objections)


def _plan(context: LandingContext) -> Plan:
    goal, settings = context.inputs.goal, context.inputs.settings
    if not descriptor(context.record.workflow).takes_parts or not goal.source.file:
        what = f"{context.record.workflow} builds no chunks of a plan"
        raise BadInput(what, "--through", f"land the whole run: trued land {context.record.id}")
    given = context.inputs.requirements.requirements if context.inputs.requirements else ()
    plan = parse_plan(goal.text, goal.source.file)
    return chosen_parts(plan, settings.chunks, settings.phases, [requirement.covers for requirement in given])


def _judged_at(store: RunStore, record: RunRecord, chunk: str) -> str:
    found = [
        event.commit for _, event in of_kind(store.journal.events(record.id), VerdictReached) if event.subject == chunk
    ]
    return found[-1] if found else ""


async def _work_on_others(context: LandingContext, commit: str, chunks: list[str]) -> str:
    """The id of a chunk that is not in `chunks`, but whose work the commit contains; "" if there is none."""
    store = context.workspace.store
    for stored, answered in of_kind(context.store.journal.events(context.record.id), CallAnswered):
        scope = stored.key.partition("/")[0]
        name = scope.removeprefix("chunk ")
        if scope == name or name in chunks or not answered.changed:
            continue
        if await rebase.has_ancestor(store, commit, answered.commit):
            return name
    return ""


async def _open_objections(context: LandingContext, part: Contract, chunks: list[str]) -> tuple[Finding, ...]:
    """The unsettled objections, except objections to requirements outside `part`, the contract of the chunks that land.
    When the commit is proven, the case of an objection is run again. An objection without a case stands until a person
    accepts the requirement."""
    store, run = context.store, context.record.id
    kept = {requirement.id for requirement in part.requirements}
    others = {requirement.id for requirement in context.contract.requirements} - kept
    final = store.final_verdict(run)
    newest = {verdict.subject: verdict for verdict in store.task_verdicts_since_finish(run)}
    again = {requirement.id for verdict in newest.values() for requirement in verdict.requirements}
    found = [objection for objection in (final.objections if final else ()) if objection.requirement not in again]
    found += [objection for verdict in newest.values() for objection in verdict.objections]
    if newest or not final:  # no final verdict covers the newest work
        found += await _idle_chunks(context, part, chunks)
    about = [objection for objection in found if objection.requirement not in others]
    return tuple(objection for number, objection in enumerate(about) if objection not in about[:number])


async def _idle_chunks(context: LandingContext, part: Contract, chunks: list[str]) -> list[Finding]:
    """An objection to each requirement of a chunk for which nothing was changed, unless the chunk was skipped."""
    record, found = context.record, list[Finding]()
    events = context.store.journal.events(record.id)
    skipped = {event.task for _, event in of_kind(events, TaskSkipped)}
    # `starts`: chunk → the commit before anybody worked on it; rounds that a person grants later do not change it.
    # `ends`: chunk → the commit on which it was judged last.
    starts, ends, last = dict[str, str](), dict[str, str](), record.base
    for _, event in of_kind(events, VerdictReached):
        starts.setdefault(event.subject, last)
        ends[event.subject] = last = event.commit
    owned = context.store.owned_files(record.id)
    for name in chunks:
        start, end = starts.get(name, last), ends.get(name, last)
        changed = paths_outside(await context.workspace.changed_files(start, end), owned)
        if not changed and name not in skipped:
            what = f"nothing was changed for chunk {name}: earlier work belongs to other chunks"
            found += [
                Finding(what=what, requirement=requirement.id, by="the engine") for requirement in part.serving(name)
            ]
    return found


def _narrowed(contract: Contract, plan: Plan, chunks: list[str]) -> Contract:
    """The contract of only these chunks, without requirements that also need other chunks. Its `undecided` names the
    chunks and the plan's criteria that are left out."""
    part = chosen_parts(plan, chunks, (), [requirement.covers for requirement in contract.requirements])
    kept = tuple(requirement for requirement in contract.requirements if stands_for_part(requirement, plan, part))
    said = tuple(note for note in part.undecided if note not in contract.undecided)
    return contract.model_copy(update={"requirements": kept, "undecided": (*contract.undecided, *said)})
