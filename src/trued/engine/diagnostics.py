"""What `trued doctor` checks: sandboxes, what agents could reach, and logins that were left behind."""

from pathlib import Path

from trued.agents.spool.borrowed_login import NOTE
from trued.agents.spool.call_folder import is_supervised
from trued.model import Settings
from trued.wire import Confinement
from trued.workspace.sandbox.levels import check_agent_network, choose_level, reachable_sockets


def agent_reach(settings: Settings) -> tuple[str, tuple[str, ...]]:
    """The agents' sandbox level under these settings, and the kinds of sockets of the person's session that agents
    could reach."""
    level = choose_level(settings.sandbox, allow_unsandboxed=True)
    return level, reachable_sockets(Confinement(level=level, network=settings.network, readable=settings.readable))


def check_network(settings: Settings) -> None:
    """Raise BadInput if the agents' sandbox on this machine cannot provide the network that the settings ask for."""
    check_agent_network(choose_level(settings.sandbox, allow_unsandboxed=True), settings.network)


def runs_with_leftover_logins(home: Path) -> list[str]:
    """Runs in which copies of a login were left behind by calls that no longer have a supervisor."""
    notes = (home / "runs").glob(f"*/spool/*/{NOTE}")
    return list(dict.fromkeys(note.parents[2].name for note in notes if not is_supervised(note.parent)))
