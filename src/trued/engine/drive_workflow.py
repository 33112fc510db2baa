"""Drives one run: calls its workflow, and turns its outcome or error into a state with a reason."""

import asyncio
from collections.abc import Callable
from shlex import quote

from trued.engine.inputs import Inputs
from trued.engine.run_end import DriveEnd
from trued.engine.signals import STOPPING, stop_on_signals
from trued.errors import (
    AgentFailed,
    Cancelled,
    CannotJudge,
    Diverged,
    Ended,
    Interrupted,
    LimitReached,
    Stopped,
    Waiting,
)
from trued.model import Outcome, RunRecord
from trued.run.context import EDITION, OLDEST
from trued.run.run import PlanOnly, Run
from trued.workflows.registry import descriptor

STATE_OF_ERROR: dict[type[Exception], str] = {
    Waiting: "waiting",
    LimitReached: "limited",
    AgentFailed: "failed",
    CannotJudge: "unjudged",
    Interrupted: "interrupted",
    Cancelled: "cancelled",
    Stopped: "stopped",
}


async def drive_workflow(
    run: Run, is_cancelled: Callable[[], bool], must_end: asyncio.Event, *, alone: bool = True
) -> DriveEnd:
    """Run the workflow to its end and return how it ended.

    `is_cancelled`: whether somebody cancelled the run. `must_end`: set when this process may no longer drive the run.
    `alone`: this process drives no other run, so signals are handled here; otherwise `concurrent_runs` handles them.
    """
    states = {**STATE_OF_ERROR, PlanOnly: "planned"}
    try:
        with stop_on_signals(is_cancelled, must_end=must_end, signals=STOPPING if alone else ()):
            await run.context.workspace.begin()
            returned: object = await descriptor(run.settings.workflow).load_flow()(run, run.context.goal)
    except (Ended, AgentFailed, CannotJudge) as end:
        if isinstance(end, PlanOnly) and not run.settings.plan_only:  # only the user decides that no work follows
            return DriveEnd("not proven", outcome=Outcome(state="not proven"))
        return DriveEnd(states[type(end)], end.code, str(end), halted=True)
    # the workflow of a plug-in may return anything
    outcome = returned if isinstance(returned, Outcome) else Outcome(state="not proven")
    return DriveEnd(outcome.state, outcome=outcome)


def refuse_other_edition(record: RunRecord, inputs: Inputs) -> None:
    """Raise Diverged if another version of trued began the run, under rules that this version cannot follow."""
    if OLDEST <= inputs.edition <= EDITION:
        return
    what = f"run {record.id} was begun by another version of trued, whose rules differ"
    if descriptor(record.workflow).branch_state is None:
        raise Diverged(f"{what}: start a new run; its work is on {record.branch}")
    command = f"trued run {quote(inputs.goal.source.file or 'SPECIFICATION')} --from {record.branch}"
    raise Diverged(f"{what}: `{command}` continues from its branch, and rebuilds nothing that still holds")
