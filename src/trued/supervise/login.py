"""The user's subscription, lent to an agent for one call: its files are there while the agent works, and no longer."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from ..runtimes.driving.agent import Login
from ..wire import Order
from .record import Record

SUBSCRIPTION = ("auto", "subscription")


@contextlib.contextmanager
def logged_in(login: Login, order: Order, record: Record) -> Iterator[None]:
    """Copies of the log-in's files in the agent's HOME."""
    home, user = Path(order.home), Path(os.environ.get("HOME", "/nonexistent"))
    lent = [name for name in login.files if (user / name).is_file()] if order.login in SUBSCRIPTION else []
    for name in lent:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(user / name, home / name)
        (home / name).chmod(0o600)
    if lent:
        record.tell("login lent", files=lent)
    try:
        yield
    finally:
        for name in lent:
            (home / name).unlink(missing_ok=True)
