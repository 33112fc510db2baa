"""Gives an agent copies of the user's credential files for one call."""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from trued.agents import credentials
from trued.agents.driver.agent import Login
from trued.agents.driver.login import choose_login
from trued.agents.spool import borrowed_login
from trued.agents.supervisor.home_files import write_home_files
from trued.agents.supervisor.record import CallRecord
from trued.errors import StateFailed
from trued.support.lazy_regex import lazy_regex
from trued.wire import Order

WORDS = lazy_regex(r"[a-z]{1,15}(?:[ _-][a-z]{1,15}){0,2}")


@contextlib.contextmanager
def borrowed_files(
    login: Login, order: Order, record: CallRecord, folder: Path, variables: Mapping[str, str]
) -> Iterator[None]:
    """Copy credential files into the agent's HOME for one `with` block, and copy renewed files back to the user. The
    secrets in these files are redacted from all records of the call."""
    home, user = Path(order.home), Path(os.environ.get("HOME") or "/nonexistent")
    method = choose_login(login, order.login, variables, user, time.time())
    if not method.files:
        yield
        return

    def write_copy(name: str, content: bytes) -> None:
        record.hide("login", _secrets(content))
        write_home_files(home, {name: content})

    copies = borrowed_login.lend_login(folder, user, home, method.files, write_copy)
    record.add_event("login lent", files=list(copies))
    seen = _modification_times(user, home, copies)

    def look() -> None:
        nonlocal seen
        if (now := _modification_times(user, home, copies)) != seen:
            seen = now
            for name in copies:
                record.hide("login", _secrets(borrowed_login.read_agent_copy(home, name) or b""))
            # A failed sync must not end the agent: `return_login` tries again at the end of the call.
            with contextlib.suppress(OSError, StateFailed):
                for kind, data in borrowed_login.sync_login(folder, write_copy):
                    record.add_event(kind, **data)

    record.before_event = look
    try:
        yield
    finally:
        record.before_event = None
        for name in copies:
            record.hide("login", _secrets(borrowed_login.read_agent_copy(home, name) or b""))
        for kind, data in borrowed_login.return_login(folder):
            record.add_event(kind, **data)


def _secrets(content: bytes) -> list[str]:
    """Every string in the file that could be a secret. Plain words are left out, because they can appear in any
    reply."""
    value = credentials.parse_credentials(content)
    texts = credentials.all_strings(value) if value is not None else [content.decode("utf-8", "replace")]
    return [text for text in texts if not WORDS.fullmatch(text)]


def _modification_times(user: Path, home: Path, names: Mapping[str, bytes]) -> list[tuple[int, int] | None]:
    """Inode and modification time of each file in both HOMEs; None for a missing file. If they are unchanged, there is
    nothing to sync."""
    return [_modification_time(folder / name) for folder in (user, home) for name in names]


def _modification_time(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns
