"""Opens the journal of all runs: the file in the state folder, or the hub that the user's settings name."""

import os
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from trued.engine.journals.sqlite import SqliteJournal
from trued.errors import BadInput

if TYPE_CHECKING:
    from trued.protocols import JournalStore

HUB = "trued.hub"  # imported by name, and only for a hub: without one, its libraries are not needed


def open_journal(home: Path, hub: str, *, travels: bool = False, read_only: bool = False) -> "JournalStore":
    """The journal at the hub's address, or the embedded one if there is no address. `travels`: whether work that other
    machines sent to the hub's store can be fetched here.

    Raises StateFailed if the journal cannot be used, BadInput if the address is invalid or the hub's library is
    missing.
    """
    if not hub:
        return SqliteJournal(home / "journal.db", read_only=read_only)
    opened = load_hub("postgres").PostgresJournal(hub, name=os.uname().nodename, home=home, read_only=read_only)
    opened.travels = travels
    shared: JournalStore = opened
    return shared


def has_journal(home: Path, hub: str) -> bool:
    """Whether there is a journal to read. A hub always has one."""
    return bool(hub) or (home / "journal.db").is_file()


def prepare_hub(hub: str) -> str:
    """Create or migrate a hub's tables and roles; return the hub's name. Raises StateFailed if the database refuses or
    does not answer, and BadInput if the address is invalid or a library is missing."""
    return str(load_hub("roles").prepare_hub(hub))


def load_hub(module: str) -> ModuleType:
    """A module of the hub. Raises BadInput if a library that it needs is not installed."""
    try:
        return import_module(f"{HUB}.{module}")
    except ModuleNotFoundError as error:
        what = f"the hub needs a library that is not installed ({error.name})"
        raise BadInput(what, then="install trued[hub], or unset [hub] and TRUED_HUB") from None
