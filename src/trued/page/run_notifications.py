"""Notifies the user of waits, ends and limits of all runs while the page is served, even with no tab open."""

import contextlib
import threading
from collections.abc import Mapping
from pathlib import Path

from trued.engine.journals.opening import has_journal
from trued.engine.run_store import RunStore
from trued.errors import TruedError
from trued.inputs.settings.hub import hub_address
from trued.model.settings import NotifySettings
from trued.reporting.notifications.notifier import Notifier

POLL_S = 2.0  # a poll is cheap: one query of one number


class RunNotifications:
    """A thread that polls the journal every two seconds, and notifies of the events after its start."""

    def __init__(self, home: Path, environ: Mapping[str, str], settings: NotifySettings) -> None:
        self._home, self._environ, self._settings = home, environ, settings
        self._store: RunStore | None = None
        self.notifier: Notifier | None = None
        self._after, self._ended = -1, threading.Event()
        self._thread = threading.Thread(target=self._run, name="notifying", daemon=True)

    def start(self) -> None:
        """Start the thread if the settings ask for notifications on the desktop, by a command or by a webhook."""
        if self._settings.desktop or self._settings.command or self._settings.webhook:
            self._thread.start()

    def look(self) -> None:
        """Notify of what happened since the last poll; the first poll only records the newest event."""
        with contextlib.suppress(TruedError):  # no journal yet, or it is being converted: the next poll retries
            if self._store is None:
                self._store = RunStore(self._home, self._environ, read_only=True, watches=True)
                self.notifier = Notifier(self._settings, self._store, self._environ)
            if self._after < 0:
                self._after = self._store.journal.last_event_id()
            elif self.notifier is not None:
                self._after = self.notifier.catch_up(self._after)

    def close(self) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(POLL_S)
        if self.notifier is not None:
            self.notifier.close()

    def _run(self) -> None:
        if not has_journal(self._home, hub_address(self._environ)):
            self._after = 0  # no journal yet: all its events will be new
        while not self._ended.is_set():
            self.look()
            self._ended.wait(POLL_S)
        if self._store is not None:
            self._store.close()
