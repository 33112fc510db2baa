"""The user's subscription, lent to an agent for one call: its files are there while the agent works, and no longer."""

import contextlib
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from trued.agents import credentials
from trued.agents.driver.agent import Login
from trued.agents.driver.login import means
from trued.agents.spool import borrowed_login as lent
from trued.agents.supervisor.home_files import placed
from trued.agents.supervisor.record import Record
from trued.errors import StateFailed
from trued.wire import Order

WORDS = re.compile(r"[a-z]{1,15}(?:[ _-][a-z]{1,15}){0,2}")


@contextlib.contextmanager
def logged_in(login: Login, order: Order, record: Record, folder: Path, variables: Mapping[str, str]) -> Iterator[None]:
    """Copies of the log-in's files in the agent's HOME. What stands in them appears in no record of the call."""
    home, user = Path(order.home), Path(os.environ.get("HOME") or "/nonexistent")
    found = means(login, order.login, variables, user, time.time())
    if not found.files:
        yield
        return

    def place(name: str, content: bytes) -> None:
        record.hide("login", _secrets(content))
        placed(home, {name: content})

    copies = lent.lend(folder, user, home, found.files, place)
    record.tell("login lent", files=list(copies))
    seen = _seen(user, home, copies)

    def look() -> None:
        nonlocal seen
        if (now := _seen(user, home, copies)) != seen:
            seen = now
            for name in copies:
                record.hide("login", _secrets(lent.copy(home, name) or b""))
            with contextlib.suppress(OSError, StateFailed):  # no reason to end an agent: it is tried again at the end
                for kind, data in lent.follow(folder, place):
                    record.tell(kind, **data)

    record.look = look
    try:
        yield
    finally:
        record.look = None
        for name in copies:
            record.hide("login", _secrets(lent.copy(home, name) or b""))
        for kind, data in lent.settle(folder):
            record.tell(kind, **data)


def _secrets(content: bytes) -> list[str]:
    """Every text in it but plain words, which stand in any answer."""
    value = credentials.parsed(content)
    texts = credentials.strings(value) if value is not None else [content.decode("utf-8", "replace")]
    return [text for text in texts if not WORDS.fullmatch(text)]


def _seen(user: Path, home: Path, names: Mapping[str, bytes]) -> list[tuple[int, int] | None]:
    """When each file was written: whether there is anything to compare."""
    return [_written(folder / name) for folder in (user, home) for name in names]


def _written(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns
