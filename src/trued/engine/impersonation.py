"""Keeps agents from deciding in a person's name: no decision is accepted while an agent could have typed it."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from trued.engine.run_store import RunStore
from trued.errors import BadInput
from trued.model import RunRecord
from trued.support import processes
from trued.wire import Confinement

PREVIEWS = "previews"  # a folder in a run's folder, with one folder for each open preview


def is_live_preview(folder: Path) -> bool:
    """Whether the process that shows a preview in this folder is alive."""
    pid = folder.name.partition("-")[0]
    return pid.isdigit() and preview_owner(int(pid)) == folder.name.rpartition(".")[0]


def preview_owner(pid: int = 0) -> str:
    """The identity of the process `pid` (0: this process); "" if the process has ended. The names of its preview
    folders begin with this identity."""
    # without colons, because PYTHONPATH separates paths by colons
    return processes.identity(pid or os.getpid()).replace(":", "-")


def refuse_if_agent_could_answer(store: RunStore, record: RunRecord) -> None:
    """Raise BadInput while an agent of the run is running and can reach the person's own session."""
    if reached := reachable_by_agents(store, record):
        what = f"a running agent of run {record.id} can reach {reached}: it could decide in your name"
        raise BadInput(
            what, then=f"decide when the agent has ended, or `trued cancel {record.id}`; `trued doctor` explains"
        )


def reachable_by_agents(store: RunStore, record: RunRecord) -> str:
    """The parts of the user's desktop or login session that the run's agents can reach now, as a text; "" for none.

    Agents can reach a part if they, or their code in a check or preview, can connect to its socket. This is tested in
    the agents' sandbox itself, because the name of a sandbox level proves nothing.
    """
    from trued.workspace.sandbox.levels import reachable_sockets  # imported here, because only decisions need it

    return ", ".join(
        dict.fromkeys(socket for confinement in _at_work(store, record) for socket in reachable_sockets(confinement))
    )


def _at_work(store: RunStore, record: RunRecord) -> Iterator[Confinement]:
    """The confinement of everything that is running: agents, and their code in checks and previews."""
    from trued.agents.spool.call_folder import is_supervised
    from trued.workspace.git.workspace import ALONE, CONNECTED, ROOMS

    folder = store.folder(record.id)
    called = any(is_supervised(call) for call in (folder / "spool").glob("*"))
    driven = bool(store.journal.driver(record.id))  # without a driver, rooms do not count: they were left behind
    connected, alone = (driven and any((folder / ROOMS).glob(f"{mark}*")) for mark in (CONNECTED, ALONE))
    alone = alone or any(is_live_preview(preview) for preview in (folder / PREVIEWS).glob("*"))
    if called or connected or alone:
        confinement = store.workspace(record, store.inputs(record.id)).confinement()
        yield confinement if called or connected else replace(confinement, network="none")
