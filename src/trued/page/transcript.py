"""Reads from the spool what the processes of one call wrote, some lines at a time. A line's number never changes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trued.agents.spool.call_folder import attempts_of
from trued.reporting.html.format import agent_name, amount, counted, facts_line
from trued.reporting.views.activity import describe_activity
from trued.support.foreign_json import parse_json

WINDOW = 300  # lines on one page
LONGEST = 20_000  # bytes of one line that are shown; the rest is only counted
TOOL = "tool"


@dataclass(frozen=True, slots=True)
class SpokenLine:
    """One line of a transcript."""

    number: int  # counted over all lines of the call, from 1
    at: float
    kind: str
    head: str  # what a tool does, in a few words; "" for other lines
    text: str  # its text, without the bytes that `left_out` counts
    left_out: int = 0  # bytes that are not shown

    @property
    def is_tool(self) -> bool:
        return self.kind == TOOL


@dataclass(frozen=True, slots=True)
class TranscriptWindow:
    """Some lines of a transcript, and how many there are before and after them."""

    lines: tuple[SpokenLine, ...]
    before: int
    after: int

    @property
    def total(self) -> int:
        return self.before + len(self.lines) + self.after


class CallTranscript:
    """The transcript of one call, from the first attempt to the last. The supervisor bounds the file of an attempt, so
    each window reads the files anew."""

    def __init__(self, spool: Path, key: str) -> None:
        self._spool, self._key = spool, key
        self._files: list[Path] = []

    def window(self, first: int = 0, most: int = WINDOW) -> TranscriptWindow:
        """At most `most` lines from line `first` on; if `first` is 0, the newest lines."""
        self._files = [attempt / "events.jsonl" for _, attempt in attempts_of(self._spool, self._key)]
        lines = [line for file in self._files for line in _whole_lines(file)]
        total = len(lines)
        start = min(max(1, first), max(1, total)) if first else max(1, total - most + 1)
        numbers = range(start, min(start + most, total + 1))
        shown = tuple(_spoken_line(number, lines[number - 1]) for number in numbers)
        return TranscriptWindow(shown, start - 1 if total else 0, max(0, total - (start - 1) - len(shown)))

    @property
    def written(self) -> int:
        """The size in bytes of the files that the last `window` read. The file of a newer attempt is not included."""
        return sum(path.stat().st_size for path in self._files if path.exists())


def _whole_lines(file: Path) -> list[bytes]:
    """The lines of a growing file, without a last one that is not finished; none if the file was removed."""
    try:
        return file.read_bytes().split(b"\n")[:-1]
    except OSError:
        return []


def _spoken_line(number: int, line: bytes) -> SpokenLine:
    shown, left_out = line[:LONGEST], max(0, len(line) - LONGEST)
    row = parse_json(shown)
    if not isinstance(row, dict):
        return SpokenLine(number, 0.0, "line", "", shown.decode("utf-8", "replace"), left_out)
    kind, at = str(row.get("kind", "")), row.get("at")
    rest = {name: value for name, value in row.items() if name not in ("at", "kind")}
    when = float(at) if isinstance(at, int | float) and not isinstance(at, bool) else 0.0
    head, text = (describe_activity(row), facts_line(rest)) if kind == TOOL else ("", _record_text(kind, rest))
    return SpokenLine(number, when, kind, head, text, left_out)


def _record_text(kind: str, row: dict[str, Any]) -> str:
    """A record of trued's own supervisor as a sentence; any other record unchanged."""
    number = {name: value for name, value in row.items() if isinstance(value, int) and not isinstance(value, bool)}
    match kind:
        case "began":
            again = ", in the same conversation" if row.get("resume") is True else ""
            return f"attempt {number.get('attempt', 1)}{again}: {agent_name(str(row.get('agent') or ''))}"
        case "ended":
            left = number.get("reaped", 0)
            ended = f"; {counted(left, 'left-over process', 'left-over processes')} ended" if left else ""
            why = f" ({row['failure']})" if row.get("failure") else ""
            return f"{row.get('state') or 'ended'}{why}{ended}"
        case "usage" if "tokens_in" in number and "tokens_out" in number:
            about = "~" if row.get("estimated") is True else ""
            made_up = ", made up by a script" if row.get("simulated") is True else ""
            return f"{about}{amount(number['tokens_in'])} tokens in, {about}{amount(number['tokens_out'])} out{made_up}"
        case _:
            return facts_line(row)
