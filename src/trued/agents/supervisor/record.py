"""CallRecord: writes what an agent did to events.jsonl, redacted, without control characters and bounded."""

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from trued.support.foreign_json import parse_json
from trued.support.lazy_regex import lazy_regex
from trued.support.plain_text import plain
from trued.support.redaction import Redactor

EVENTS_BYTES = 4 * 1024 * 1024  # the largest events.jsonl: as much as a talkative agent writes in a day
# The command lines of one call that go into its report, and the characters of each: enough to see what the agent ran.
COMMANDS, COMMAND_CHARS = 200, 500
SHELL = lazy_regex(
    r"bash|sh|shell|(?:local_)?shell_call|run_shell_command|command(?:_execution)?|exec(?:ute)?|terminal", re.I
)
TAIL_BYTES = 64 * 1024  # this much of the end of stdout and of stderr is kept, for debugging


class CallRecord:
    """Records the events of runtimes. A write error does not end the agent: only the report matters."""

    def __init__(self, folder: Path, redactor: Redactor) -> None:
        self.redactor = redactor
        self.beats = 0  # number of events: while it grows, the idle watchdog knows that the agent is alive
        self.full = False  # true when events.jsonl has reached its limit or cannot be written
        self.commands: list[str] = []
        self.before_event: Callable[[], None] | None = None  # called before each event is written: it can call `hide`
        self._folder = folder
        self._size = 0
        self._file: BinaryIO | None = None
        try:
            self._file = (folder / "events.jsonl").open("ab", buffering=0)
            self._size = self._file.tell()
        except OSError:
            self.full = True

    def add_event(self, kind: str, **data: object) -> None:
        """Record one event. A command line in the event is also kept for the report. If events.jsonl is full or cannot
        be written, the event is not written, but it still counts as a sign of life."""
        self.beats += 1
        if self.before_event is not None:
            self.before_event()
        if (line := _command(kind, data)) and len(self.commands) < COMMANDS:
            self.commands.append(self.redactor(plain(line))[:COMMAND_CHARS])
        if not self.full:
            self._write({"at": time.time(), "kind": kind} | self._safe(data))

    def hide(self, name: str, values: Iterable[str]) -> None:
        """From now on, replace these values in everything that is recorded, kept or reported. `name` is shown in their
        place."""
        self.redactor = self.redactor.also(name, values)

    def tail(self, name: str, data: bytes) -> str:
        """Redact `data`, the end of a stream's output. Append the result to the file `name`, and return it."""
        # Redact before cutting: a cut could leave half a secret, and patterns do not match a half.
        text = self.redactor(plain(data[-2 * TAIL_BYTES :].decode("utf-8", "replace")))
        tail = text[-TAIL_BYTES:] if len(data) > TAIL_BYTES else text
        if tail:
            try:
                with (self._folder / name).open("a", encoding="utf-8") as file:
                    file.write(tail)
            except OSError:
                self.full = True
        return tail

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _safe(self, data: dict[str, Any]) -> dict[str, Any]:
        safe: dict[str, Any] = self.redactor.within(data, strip=True)
        return safe

    def _write(self, event: dict[str, Any]) -> None:
        line = json.dumps(event, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"
        if self._size + len(line) > EVENTS_BYTES:
            self.full = True
            line = json.dumps({"at": event["at"], "kind": "capped", "bytes": EVENTS_BYTES}).encode() + b"\n"
        try:
            if self._file is not None:
                self._size += self._file.write(line) or 0
        except OSError:
            self.full = True


def _command(kind: str, data: Mapping[str, object]) -> str:
    """The command line in an event of a shell tool, or in a log line that begins with `$ `; "" if there is none."""
    text = str(data.get("what" if kind == "tool" else "text") or "")
    if kind == "log":
        return text[2:].strip() if text.startswith("$ ") else ""
    if kind != "tool" or not SHELL.fullmatch(str(data.get("name"))):
        return ""
    read = parse_json(text)
    if read is None:
        return text
    line = read.get("command") or read.get("cmd") if isinstance(read, dict) else read
    return " ".join(map(str, line)) if isinstance(line, list) else str(line or "")
