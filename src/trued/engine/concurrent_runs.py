"""Drives several runs in one process, under one limit on agents. Each run has its own branch and outcome."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeAlias

from trued.engine.engine import Engine
from trued.engine.inputs import Request
from trued.engine.shared_slots import SharedSlots
from trued.engine.signals import call_on_signals
from trued.errors import BadInput, TruedError
from trued.model import RunRecord

EndedRuns: TypeAlias = list[RunRecord | TruedError]
WORST = (130, 4, 5, 6, 2, 1, 3, 0)  # exit codes, worst first


async def start_runs(engine: Engine, requests: Sequence[Request]) -> EndedRuns:
    """Start all runs, or none: everything is checked before the first one is recorded. Raises BadInput unless all are
    tickets with different branches."""
    ready = [await engine.ready(request) for request in requests]
    if words := [request.goal for request, (inputs, _) in zip(requests, ready, strict=True) if inputs.ticket is None]:
        what = f"{words[0][:80]!r} is not a ticket, and only tickets can run at the same time"
        raise BadInput(what, then="quote a goal that has several words, and start plans one after the other")
    branches = [inputs.branch for inputs, _ in ready if inputs.branch]
    if twice := next((branch for branch in branches if branches.count(branch) > 1), ""):
        raise BadInput(f"two of the tickets would work on the branch {twice}", then="name each ticket once")
    engine.shared = SharedSlots.of(min(inputs.settings.cap for inputs, _ in ready))
    begun = [engine.begin(inputs, repository, at_once=True) for inputs, repository in ready]
    return await _await_all(engine, [(record, engine.drive(record, inputs)) for record, inputs in begun])


async def resume_runs(
    engine: Engine, runs: Sequence[str], resume: Callable[[str], Coroutine[Any, Any, RunRecord]]
) -> EndedRuns:
    """Resume all runs, under one limit on agents: the smallest of the runs' limits."""
    records = [engine.store.journal.run(run) for run in dict.fromkeys(runs)]
    engine.shared = SharedSlots.of(min(engine.store.inputs(record.id).settings.cap for record in records))
    return await _await_all(engine, [(record, resume(record.id)) for record in records])


async def _await_all(engine: Engine, work: Sequence[tuple[RunRecord, Coroutine[Any, Any, RunRecord]]]) -> EndedRuns:
    """Await all runs. If one fails, the others continue. `trued cancel` sends a signal, which ends only the runs that
    were marked as cancelled; if none was, a signal ends all runs. An error that is no TruedError is raised when all
    runs have ended."""
    tasks = [(record.id, asyncio.create_task(driving)) for record, driving in work]
    with call_on_signals(lambda: _stop(engine, tasks)):
        ended = await asyncio.gather(*(task for _, task in tasks), return_exceptions=True)
    if fault := next((end for end in ended if not isinstance(end, RunRecord | TruedError)), None):
        raise fault
    return [end for end in ended if isinstance(end, RunRecord | TruedError)]


def _stop(engine: Engine, tasks: Sequence[tuple[str, asyncio.Task[RunRecord]]]) -> None:
    wanted = [task for run, task in tasks if not task.done() and engine.store.journal.is_cancelled(run)]
    for task in wanted or [task for _, task in tasks]:
        task.cancel()


def worst_exit_code(ended: Sequence[RunRecord | TruedError]) -> int:
    """The worst exit code of these runs and errors; 0 if there are none."""
    codes = {end.code for end in ended}
    return next((code for code in WORST if code in codes), max(codes, default=0))
