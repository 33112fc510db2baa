"""A run's work, started in a sandbox for a person who judges it by hand."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from trued.engine.run_store import RunStore
from trued.errors import BadInput, CannotJudge
from trued.model import Value
from trued.proof.disclosure import discard_event
from trued.run.examination.start_command import find_server
from trued.run.preview import HOST, Show, Showing, free_port

DAY_S = 24 * 3600.0  # nobody looks longer; the server of a forgotten terminal ends


class RunPreview(Value):
    """Where a run's work can be looked at."""

    run: str
    commit: str
    url: str
    command: tuple[str, ...]


@asynccontextmanager
async def preview_run(store: RunStore, run_id: str, port: int = 0) -> AsyncIterator[RunPreview]:
    """Start the project at the run's newest commit while the context lasts; nothing is left of it afterwards.

    `port`: of this machine; 0 takes a free one. Raises BadInput if nothing says how the project is started, CannotJudge
    if it does not come up.
    """
    record = store.journal.run(run_id)
    inputs, contract = store.inputs(run_id), store.contract(run_id)
    if contract is None:
        raise BadInput(f"run {run_id} has no contract yet", then=f"`trued resume {run_id}` seals it")
    workspace = store.workspace(record, inputs)
    await workspace.begin()
    if contract.serve is None:
        said = inputs.settings.commands.start
        found = await find_server(workspace, contract.environment, said=said, tell=discard_event)
        if found.serve is None:
            raise BadInput(f"run {run_id} cannot be shown: {found.why}")
        contract = contract.model_copy(update={"serve": found.serve})
    assert contract.serve is not None  # noqa: S101  (given one just above)
    commit = record.head or record.base
    show = Show(workspace, contract, commit, port or free_port(), DAY_S)
    async with Showing(show) as showing:
        if why := await showing.up():
            raise CannotJudge(f"run {run_id} cannot be shown at {commit[:10]}: {why}")
        yield RunPreview(
            run=run_id, commit=commit, url=f"http://{HOST}:{show.port}", command=tuple(contract.serve.command)
        )
