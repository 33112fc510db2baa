"""Delivers notifications: a bell, a desktop message, a command, a webhook. No delivery delays a run or makes it
fail."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from trued.errors import TruedError
from trued.model import Event, RunRecord
from trued.reporting.notifications.notification import NOTIFIED, Notification, notification_of, notifications
from trued.support.processes import inside_agent

if TYPE_CHECKING:
    from trued.engine.run_store import RunStore
    from trued.model.settings import NotifySettings

WITHIN_S = 20.0  # timeout of a notification command
LAST_S = 5.0  # how long, at most, a trued command waits at its end for its notifications
HARMLESS = (OSError, ValueError, TruedError)  # errors of a delivery, which are ignored

Sending: TypeAlias = Callable[[], object]


class Notifier:
    """Delivers the notifications that the user wants, each once. Since a run and a page may both notify, marker files
    in the run's folder record what was delivered. A delivery that fails or hangs is given up."""

    def __init__(self, settings: "NotifySettings", store: "RunStore", environ: Mapping[str, str]) -> None:
        self._settings, self._store, self._environ = settings, store, environ
        self._sent: list[threading.Thread] = []

    def notify_of(self, record: RunRecord, event: Event) -> None:
        """Notify of an event of a run that this process drives, if the event is worth a notification; return at once.
        Does nothing in a process that an agent started."""
        if event.kind not in NOTIFIED or inside_agent():
            return
        with contextlib.suppress(*HARMLESS):
            if made := notification_of(self._store, record, event):
                self._ring(made)
                self._send(made)

    def catch_up(self, after: int) -> int:
        """Notify of events after this id, in runs that other processes drive; return the newest id checked."""
        newest = after
        with contextlib.suppress(*HARMLESS):
            newest = max(after, self._store.journal.last_event_id())
            for made in notifications(self._store, after) if newest > after else ():
                self._send(made)
        return newest

    def close(self) -> None:
        """Wait a moment for deliveries in progress, so that the last one arrives."""
        end = time.monotonic() + LAST_S
        for thread in self._sent:
            thread.join(max(0.0, end - time.monotonic()))
        self._sent.clear()

    def _ring(self, made: Notification) -> None:
        if self._settings.bell and made.kind in self._settings.kinds and sys.stderr.isatty():
            sys.stderr.write("\a")
            sys.stderr.flush()

    def _send(self, made: Notification) -> None:
        deliveries = list(self._deliveries(made))
        if not deliveries or not self._is_first(made):
            return
        self._sent = [thread for thread in self._sent if thread.is_alive()]
        for delivery in deliveries:
            thread = threading.Thread(target=delivery, daemon=True)
            thread.start()
            self._sent.append(thread)

    def _is_first(self, made: Notification) -> bool:
        """Whether no process has delivered this notification before. If none has, records it as delivered."""
        folder = self._store.folder(made.run) / "notified"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            os.close(os.open(folder / str(made.id), os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            return False
        return True

    def _deliveries(self, made: Notification) -> Iterator[Sending]:
        settings, facts = self._settings, made.data
        if made.kind in settings.kinds:
            if settings.desktop and (program := shutil.which("notify-send")):
                yield partial(
                    _run_command, [program, "--app-name=trued", "--", f"trued: {made.title}", made.text], facts
                )
            if settings.command:
                yield partial(_run_command, list(settings.command), facts)
        hook = settings.webhook
        if hook and made.kind in (hook.kinds if hook.kinds is not None else settings.kinds):
            # imported here, because few users have a webhook
            from trued.reporting.notifications.webhook import post, webhook_secret

            if secret := webhook_secret(hook, self._environ):
                yield partial(post, hook, secret, facts)


def _run_command(command: list[str], facts: Mapping[str, Any]) -> None:
    """Run one command with the facts in NOTIFY_… variables and as JSON on stdin. Its failure is ignored."""
    values = {name: " ".join(value) if isinstance(value, list) else str(value) for name, value in facts.items()}
    variables = {f"NOTIFY_{name.upper()}": value.replace("\0", "") for name, value in values.items()}
    with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
        subprocess.run(
            command,
            input=json.dumps(facts).encode(),
            env={**os.environ, **variables},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            timeout=WITHIN_S,
            check=False,
        )
