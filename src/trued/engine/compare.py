"""Compares workflows or agents: runs one goal with each of them, from the same commit."""

import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from trued.engine.comparisons import (
    FEWEST,
    ComparedRun,
    Comparison,
    save_comparison,
    unique_names,
    without_front_matter,
)
from trued.engine.concurrent_runs import EndedRuns, resume_runs
from trued.engine.engine import Engine
from trued.engine.inputs import Inputs, Request
from trued.engine.start import prepare_inputs
from trued.errors import BadInput, Interrupted, TruedError
from trued.inputs.plans.plan import parse_plan
from trued.model import Goal, RunRecord
from trued.workflows.descriptor import Input
from trued.workflows.registry import descriptor
from trued.workspace.git.repository import Repository, open_repository

ANEW = "HEAD"  # the branch of every request: all runs start at HEAD, and none continues an earlier run's branch

Resume: TypeAlias = Callable[[str], Coroutine[Any, Any, RunRecord]]


@dataclass(frozen=True)
class Variant:
    """A workflow and agents to compare. `by`: the agents, as a text for people, if they differ between variants."""

    request: Request
    by: str = ""


@dataclass(frozen=True)
class PreparedRun:
    """Everything that one run of a comparison starts with."""

    name: str
    inputs: Inputs
    repository: Repository


# -- preparing ---------------------------------------------------------------------------------------------------------


def prepare_variants(engine: Engine, variants: Sequence[Variant]) -> list[PreparedRun]:
    """Prepare one run for each variant; nothing is written. Raises BadInput if one of the runs could not start, or if
    two variants are the same."""
    if len(variants) < FEWEST:
        what = "a comparison needs at least two variants"
        raise BadInput(what, then="name two: -w purple -w solo, or --with claude --with codex")
    repository = open_repository(variants[0].request.repository, empty=True)
    if not repository.head:
        what = f"the repository {repository.root} has no commit yet"
        raise BadInput(what, then="commit something: the runs of a comparison all start from one commit")
    inputs = _prepared(engine, variants)
    ways = [(run.settings.workflow, tuple(sorted(run.settings.agents.items()))) for run in inputs]
    if twice := next((workflow for (workflow, agents) in ways if ways.count((workflow, agents)) > 1), ""):
        what = f"two variants are the same: {twice} with the same agents"
        raise BadInput(what, then="name each variant once: -w purple -w solo, or --with claude --with codex")
    names = unique_names(f"{run.settings.workflow} {way.by}".strip() for run, way in zip(inputs, variants, strict=True))
    return [PreparedRun(name, run, repository) for name, run in zip(names, inputs, strict=True)]


def begin_comparison(engine: Engine, variants: Sequence[PreparedRun], *, together: bool = False) -> Comparison:
    """Record all runs and the comparison. If the process is killed before the comparison is recorded, the runs can be
    resumed and compared by their ids."""
    begun = [engine.begin(variant.inputs, variant.repository)[0] for variant in variants]
    runs = tuple(ComparedRun(name=variant.name, run=record.id) for variant, record in zip(variants, begun, strict=True))
    first = begun[0]
    id_ = f"c-{first.id.removeprefix('r-')}"  # unique, because no other comparison begins with this run
    made = Comparison(id=id_, repository=first.repository, at=time.time(), together=together, runs=runs)
    save_comparison(engine.store, made)
    return made


def _prepared(engine: Engine, variants: Sequence[Variant]) -> list[Inputs]:
    """The inputs of the variants, in the order of `variants`. If a workflow cannot read the goal itself (a ticket in a
    tracker, a file that is not a plan), its goal is the text that another variant's workflow read."""
    made: dict[int, Inputs] = {}
    read: Inputs | None = None
    for number in sorted(range(len(variants)), key=lambda number: _reading_order(variants[number].request)):
        request = variants[number].request.model_copy(update={"branch": ANEW})
        if read and _needs_goal_in_words(request, read):
            request = request.model_copy(update={"goal": without_front_matter(read.goal.text)})
        found = prepare_inputs(request, engine.store.home, engine.store.environ, any_agent=engine.runtime is not None)
        made[number] = _with_local_forge(found)
        read = read or (None if descriptor(found.settings.workflow).takes is Input.PLAN else found)
    return [made[number] for number in range(len(variants))]


def _reading_order(request: Request) -> int:
    """The order in which `_prepared` reads the requests. Workflows that can read a tracker's ticket come first.
    Workflows for plans come last, because they may need the text that another workflow read."""
    takes = _takes(request)
    return 0 if takes in (None, Input.TICKET) else 2 if takes is Input.PLAN else 1


def _takes(request: Request) -> Input | None:
    """The kind of input that the request's workflow reads; None if the request names no workflow."""
    return descriptor(request.workflow).takes if request.workflow else None


def _needs_goal_in_words(request: Request, read: Inputs) -> bool:
    takes = _takes(request)
    if takes in (None, Input.TICKET):
        return False
    if read.ticket and not Path(request.goal).is_file():  # other workflows cannot fetch a ticket from its tracker
        return True
    return takes is Input.PLAN and bool(read.goal.source.file) and not _is_plan(read.goal)


def _is_plan(goal: Goal) -> bool:
    try:
        return bool(parse_plan(goal.text, goal.source.file).tasks)
    except BadInput:
        return False


def _with_local_forge(inputs: Inputs) -> Inputs:
    """The inputs with a local forge: in a comparison nothing is pushed, and a pull request is a file of its run."""
    forge = inputs.settings.forge.model_copy(update={"kind": "local"})
    return inputs.model_copy(update={"settings": inputs.settings.model_copy(update={"forge": forge})})


# -- driving -----------------------------------------------------------------------------------------------------------


async def drive_comparison(
    engine: Engine, comparison: Comparison, resume: Resume, turn: Callable[[RunRecord], None] = lambda _: None
) -> EndedRuns:
    """Drive every unfinished run. Return the records of the runs, or the errors that ended them.

    If `comparison.together` is true, all runs are driven at the same time. Otherwise they are driven one after the
    other: `turn` is called with each run before it is driven, and after an interrupt the remaining runs are not driven.
    """
    if comparison.together:
        return await resume_runs(engine, [variant.run for variant in comparison.runs], resume)
    ended: EndedRuns = []
    for variant in comparison.runs:
        turn(engine.store.journal.run(variant.run))
        try:
            ended.append(await resume(variant.run))
        except TruedError as error:  # affects only this run: another process drives it, its base is gone, …
            ended.append(error)
        if ended[-1].code == Interrupted.code:
            break
    return ended
