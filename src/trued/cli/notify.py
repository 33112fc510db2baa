"""Notifies a person who is not looking: a bell, a desktop message, a command of their own. Never harms a run."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

from trued.cli.format import line
from trued.errors import BadInput
from trued.model import Event, RunRecord
from trued.model.events.people import QuestionAsked
from trued.model.events.run import RunEnded
from trued.support.processes import inside_agent

if TYPE_CHECKING:
    from trued.model.settings import NotifySettings

WITHIN_S = 20.0  # for a notification; then it is ended
LAST_S = 5.0  # that the end of a command waits for its notifications
TEXT = 300  # characters of what is said
ENDS = {
    "done": "is done",
    "waiting": "waits for you",
    "limited": "has reached a limit",
    "failed": "failed",
    "not proven": "ended, not proven",
    "unjudged": "could not be judged",
    "interrupted": "was interrupted",
}


def users_settings() -> "NotifySettings":
    """The user's current notification settings; a project cannot set any. The defaults if they cannot be read:
    starting a run reports that."""
    from trued.inputs.settings import loader
    from trued.model.settings import NotifySettings

    try:
        return loader.load_settings({}, os.environ, None, loader.user_config(os.environ)).notify
    except BadInput:
        return NotifySettings()


class Notifier:
    """Notifies the user when a run ends or waits. A notification that fails or hangs is given up."""

    def __init__(self, settings: "NotifySettings") -> None:
        self._settings = settings
        self._sent: list[threading.Thread] = []

    def hear(self, record: RunRecord, event: Event) -> None:
        """Notify if the event is an end or a question to a person."""
        if inside_agent():
            return
        if ended := RunEnded.read(event):
            why = f": {line(ended.why, TEXT)}" if ended.why and ended.state != "done" else ""
            text = f"{ENDS.get(ended.state, ended.state)}{why}"
            self.send(record, "ended", text, state=ended.state, grade=str(ended.grade), code=ended.code)
        elif asked := QuestionAsked.read(event):
            self.send(
                record, "asks", f"asks: {line(asked.text, TEXT)}", state="waiting", grade=str(record.grade), code=3
            )

    def send(self, record: RunRecord, event: str, text: str, **facts: object) -> None:
        """Start all notifications that the user wants; returns at once."""
        told = {
            "event": event,
            "run": record.id,
            "title": line(record.title, TEXT),
            "repository": record.repository,
            "text": f"{record.id} {text}",
            **facts,
        }
        if self._settings.bell and sys.stderr.isatty():
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.write("\a")
                sys.stderr.flush()
        for command in self._commands(told):
            thread = threading.Thread(target=_run, args=(command, told), daemon=True)
            thread.start()
            self._sent.append(thread)

    def _commands(self, told: dict[str, Any]) -> list[list[str]]:
        desktop = shutil.which("notify-send") if self._settings.desktop else None
        shown = [[desktop, "--app-name=trued", "--", f"trued: {told['title']}", told["text"]]] if desktop else []
        return [*shown, *([list(self._settings.command)] if self._settings.command else [])]

    def close(self) -> None:
        """Wait a moment for notifications that are under way, so that the last one arrives."""
        for thread in self._sent:
            thread.join(LAST_S)
        self._sent.clear()


def _run(command: list[str], told: dict[str, Any]) -> None:
    """Run one command with the facts in NOTIFY_… variables and as JSON on stdin. Whatever happens to it is ignored."""
    variables = {f"NOTIFY_{name.upper()}": str(value).replace("\0", "") for name, value in told.items()}
    with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
        subprocess.run(
            command,
            input=json.dumps(told).encode(),
            env={**os.environ, **variables},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            timeout=WITHIN_S,
            check=False,
        )
