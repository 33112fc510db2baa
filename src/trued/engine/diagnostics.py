"""What `trued doctor` looks at: sandboxes, what agents could reach, and logins that were left behind."""

from pathlib import Path

from trued.agents.spool.borrowed_login import NOTE
from trued.agents.spool.call_folder import held
from trued.model import Settings
from trued.wire import Confinement
from trued.workspace.sandbox import best, reach


def agent_reach(settings: Settings) -> tuple[str, tuple[str, ...]]:
    """The sandbox that agents would have with these settings, and what of the person's session they could reach."""
    level = best(settings.sandbox, allow_unsandboxed=True)
    return level, reach(Confinement(level=level, network=settings.network, readable=settings.readable))


def runs_with_leftover_logins(home: Path) -> list[str]:
    """Runs in which copies of a login were left behind by calls that nothing supervises any more."""
    notes = (home / "runs").glob(f"*/spool/*/{NOTE}")
    return list(dict.fromkeys(note.parents[2].name for note in notes if not held(note.parent)))
