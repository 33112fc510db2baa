"""Lands the first chunks of a plan without the rest: the commit on which the last of them was judged, proven again."""

from dataclasses import replace

from trued.engine.landing.records import LandingContext
from trued.engine.run_store import RunStore
from trued.errors import BadInput
from trued.inputs.plans.plan import parse_plan
from trued.inputs.plans.selection import chosen_parts, stands_for_part, unchecked_parts
from trued.model import Contract, Plan, RunRecord
from trued.model.events import of_kind
from trued.model.events.call import CallAnswered
from trued.model.events.proof import VerdictReached
from trued.workflows.registry import descriptor
from trued.workspace.git import rebase


async def up_to_chunk(context: LandingContext, chunk: str) -> LandingContext:
    """The landing of everything up to this chunk: its commit, and the contract of what is in it.

    Raises BadInput if the plan has no such chunk, nobody has worked on it, its commit holds work on others, or no
    requirement of its own stands for a part of it.
    """
    record, plan = context.record, _plan(context)
    ids = [task.id for task in plan.tasks]
    name = next((one for one in ids if one.casefold() == chunk.casefold()), "")
    if not name:
        raise BadInput(f"run {record.id} has no chunk {chunk!r}", "--through", f"its chunks are {', '.join(ids)}")
    before = ids[: ids.index(name) + 1]
    commit = _judged_at(context.store, record, name)
    if commit in ("", record.base):
        then = f"`trued show {record.id}` says which are built"
        raise BadInput(f"nothing was built for chunk {name} yet", "--through", then)
    if other := await _work_on_others(context, commit, before):
        what = f"chunk {name} was built on top of work on {other} and cannot land without it"
        raise BadInput(what, "--through", f"land through {other}, or run the plan with --chunk {name}")
    contract = _narrowed(context.contract, plan, before)
    if missing := unchecked_parts(contract.requirements, chosen_parts(plan, before, ())):
        what = f"no requirement covers only {', '.join(missing)}, so nothing would prove it"
        raise BadInput(what, "--through", f"land the whole run, or run the plan with --chunk {name}")
    return replace(context, record=record.model_copy(update={"head": commit}), contract=contract)


def _plan(context: LandingContext) -> Plan:
    goal, settings = context.inputs.goal, context.inputs.settings
    if not descriptor(context.record.workflow).takes_parts or not goal.source.file:
        what = f"{context.record.workflow} builds no chunks of a plan"
        raise BadInput(what, "--through", f"land the whole run: trued land {context.record.id}")
    given = context.inputs.requirements.requirements if context.inputs.requirements else ()
    plan = parse_plan(goal.text, goal.source.file)
    return chosen_parts(plan, settings.chunks, settings.phases, [one.covers for one in given])


def _judged_at(store: RunStore, record: RunRecord, chunk: str) -> str:
    found = [one.commit for _, one in of_kind(store.journal.events(record.id), VerdictReached) if one.subject == chunk]
    return found[-1] if found else ""


async def _work_on_others(context: LandingContext, commit: str, chunks: list[str]) -> str:
    """A chunk beyond these whose work the commit holds; "" if it holds none."""
    store = context.workspace.store
    for stored, answered in of_kind(context.store.journal.events(context.record.id), CallAnswered):
        scope = stored.key.partition("/")[0]
        name = scope.removeprefix("chunk ")
        if scope == name or name in chunks or not answered.changed:
            continue
        if await rebase.has_ancestor(store, commit, answered.commit):
            return name
    return ""


def _narrowed(contract: Contract, plan: Plan, chunks: list[str]) -> Contract:
    """The contract of these chunks alone. Requirements that need more than them are named in `undecided`."""
    part = chosen_parts(plan, chunks, (), [one.covers for one in contract.requirements])
    kept = tuple(one for one in contract.requirements if stands_for_part(one, plan, part))
    said = tuple(one for one in part.undecided if one not in contract.undecided)
    return contract.model_copy(update={"requirements": kept, "undecided": (*contract.undecided, *said)})
