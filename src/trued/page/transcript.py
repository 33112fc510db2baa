"""Reads from the spool what the processes of one call wrote, some lines at a time. A line's number never changes."""

from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trued.reporting.html.format import agent_name, amount, counted, facts_line
from trued.reporting.views.activity import describe_activity
from trued.support.foreign_json import parse_json
from trued.support.hashing import folder_name

WINDOW = 300  # lines on one page
LONGEST = 20_000  # bytes of one line that are read; the rest is only counted
CHUNK = 1 << 20  # bytes that one read scans for line ends
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
    """The transcript of one call, from the first attempt to the last. Only new lines are scanned."""

    def __init__(self, spool: Path, key: str) -> None:
        self._spool, self._name = spool, folder_name(key)
        self._files: dict[Path, _LineIndex] = {}

    def window(self, first: int = 0, most: int = WINDOW) -> TranscriptWindow:
        """At most `most` lines from line `first` on; if `first` is 0, the newest lines."""
        files = self._scan_files()
        total = sum(len(file) for file in files)
        start = min(max(1, first), max(1, total)) if first else max(1, total - most + 1)
        lines, number = [], 0
        for file in files:
            inside = range(max(start, number + 1), min(start + most, number + len(file) + 1))
            lines += [_spoken_line(at, *file.line(at - number - 1)) for at in inside]
            number += len(file)
        return TranscriptWindow(tuple(lines), start - 1 if total else 0, max(0, total - (start - 1) - len(lines)))

    @property
    def written(self) -> int:
        """The size in bytes of the files that the last `window` found. The file of a newer attempt is not included."""
        return sum(path.stat().st_size for path in self._files if path.exists())

    def _scan_files(self) -> list["_LineIndex"]:
        found = []
        for path in sorted(self._spool.glob(f"{self._name}.*/events.jsonl"), key=_attempt):
            found.append(self._files.setdefault(path, _LineIndex(path)))
            found[-1].scan()
        return found


def _attempt(path: Path) -> tuple[int, str]:
    number = path.parent.suffix[1:]
    return (int(number) if number.isdecimal() else 0, str(path))


class _LineIndex:
    """Keeps the positions of the lines of a growing file."""

    def __init__(self, path: Path) -> None:
        self._path, self._ends, self._size = path, array("q"), 0

    def __len__(self) -> int:
        return len(self._ends)

    def scan(self) -> None:
        """Find lines written since the last scan; an incomplete line is left for the next scan."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._size)
                while chunk := file.read(CHUNK):
                    at = chunk.find(b"\n")
                    while at >= 0:
                        self._ends.append(self._size + at + 1)
                        at = chunk.find(b"\n", at + 1)
                    self._size += len(chunk)
        except OSError:  # the file was removed meanwhile
            return

    def line(self, place: int) -> tuple[bytes, int]:
        """The beginning of a line, and how many bytes of it are left out."""
        begin, end = self._ends[place - 1] if place else 0, self._ends[place]
        try:
            with self._path.open("rb") as file:
                file.seek(begin)
                content = file.read(min(LONGEST, end - begin))
        except OSError:
            return b"", 0
        return content, end - begin - len(content)


def _spoken_line(number: int, line: bytes, left_out: int) -> SpokenLine:
    row = parse_json(line)
    if not isinstance(row, dict):
        return SpokenLine(number, 0.0, "line", "", line.decode("utf-8", "replace").rstrip("\n"), left_out)
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
