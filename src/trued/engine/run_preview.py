"""Starts a run's work in a sandbox for a person who judges it by hand."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import copy
from pathlib import Path

from trued.engine.impersonation import PREVIEWS, is_live_preview, preview_owner
from trued.engine.run_store import RunStore
from trued.errors import BadInput, CannotJudge, StateFailed
from trued.model import Contract, Serve, Value
from trued.proof.scanner import discard_event
from trued.run.examination.start_command import find_server
from trued.run.preview_server import HOST, PreviewRequest, PreviewServer, free_port
from trued.workspace.git.removal import remove_tree
from trued.workspace.git.workspace import ROOMS, GitWorkspace

DAY_S = 24 * 3600.0  # a preview ends after this time, so that a forgotten one does not run on


class RunPreview(Value):
    """A running preview: where a person can look at a run's work."""

    run: str
    commit: str
    url: str
    command: tuple[str, ...]


@asynccontextmanager
async def preview_run(store: RunStore, run_id: str, port: int = 0, *, commit: str = "") -> AsyncIterator[RunPreview]:
    """Run the project at a commit of the run during the `async with` block, and remove everything afterwards. The
    preview has its own folder, so it does not disturb a running run.

    `port`: a port of this machine; 0 takes a free one. `commit`: the commit to run; "" is the run's head. Raises
    BadInput if nothing says how to start the project, and CannotJudge if the project does not start.
    """
    record = store.journal.run(run_id)
    inputs, contract = store.inputs(run_id), store.sealed_contract(run_id)
    workspace, commit = store.workspace(record, inputs), commit or record.head or record.base
    if not store.journal.driver(run_id):  # otherwise the run's driver has prepared the store already
        await workspace.store.begin(record.base)
    async with _own_folder(store.folder(run_id) / PREVIEWS) as workspace.folder:
        if contract.serve is None:
            serve = await _found_server(workspace, contract, commit, configured=inputs.settings.commands.start)
            contract = contract.model_copy(update={"serve": serve})
        assert contract.serve is not None  # noqa: S101  (given one just above)
        request = PreviewRequest(workspace, contract, commit, port or free_port(), DAY_S)
        async with PreviewServer(request) as server:
            if why := await server.start():
                raise CannotJudge(f"run {run_id} cannot be shown at {commit[:10]}: {why}")
            yield RunPreview(
                run=run_id, commit=commit, url=f"http://{HOST}:{request.port}", command=tuple(contract.serve.command)
            )


async def _found_server(workspace: GitWorkspace, contract: Contract, commit: str, *, configured: str) -> Serve:
    """How to start the project. As for a check, the files of the base decide. If they do not show how, the files of
    `commit` decide, because only a person looks at the result. `configured`: the start command in the settings, or "".
    Raises BadInput if neither commit shows how."""
    found = await find_server(workspace, contract.environment, configured=configured, emit=discard_event)
    if found.serve is None and commit != workspace.base:
        work = copy(workspace)
        work.base = commit
        at_commit = await find_server(work, contract.environment, configured=configured, emit=discard_event)
        found = at_commit if at_commit.serve else found
    if found.serve is None:
        raise BadInput(f"the run cannot be shown: {found.why}")
    return found.serve


@asynccontextmanager
async def _own_folder(previews: Path) -> AsyncIterator[Path]:
    """A folder for this preview, named after this process. Folders of killed processes are removed first."""
    for left in previews.glob("*"):
        if not is_live_preview(left):
            await remove_tree(left)
    folder = previews / f"{preview_owner()}.{secrets.token_hex(4)}"
    try:
        (folder / ROOMS).mkdir(parents=True, mode=0o700)
    except OSError as error:
        raise StateFailed(f"cannot make {folder}: {error.strerror}; free space or make it writable") from error
    try:
        yield folder
    finally:
        await remove_tree(folder)
