"""What an agent is doing right now, from the end of its transcript in the spool: one short line, never evidence."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trued.support.foreign_json import parse_json

TAIL_BYTES = 32_000  # this much of the end of a transcript is read, which is enough for its last event
# fields that say what a tool works on, the most telling first
SUBJECTS = ("command", "file_path", "path", "filePath", "pattern", "query", "url", "description")


def describe_activity(row: Mapping[str, Any]) -> str:
    """One transcript event in a few words: `Bash: pytest -q`, `Edit: shelf/app.py`; "" if it is not an activity."""
    if row.get("kind") in ("says", "log"):  # the agent's own text, or log lines of the user's own program
        return _first_line(row.get("text"))
    if row.get("kind") != "tool":
        return ""
    name, what = str(row.get("name") or "a tool"), _subject(str(row.get("what") or ""))
    return f"{name}: {what}" if what else name


def _subject(tool_input: str) -> str:
    """What a tool works on, in one line: the most telling field of its JSON input, or the input itself if it has no
    fields."""
    value = parse_json(tool_input)
    if value is None:
        return _inside_clone(_first_line(tool_input))
    if isinstance(value, list):
        value = next((element for element in value if isinstance(element, dict)), " ".join(map(str, value)))
    if not isinstance(value, dict):
        return _inside_clone(_first_line(str(value)))
    texts = {name: text for name, text in value.items() if isinstance(text, str) and text.strip()}
    subject = next((texts[name] for name in SUBJECTS if name in texts), next(iter(texts.values()), ""))
    return _inside_clone(_first_line(subject))


def _inside_clone(text: str) -> str:
    """The text with paths in the agent's clone made relative to the project."""
    before, clones, rest = text.partition("/clones/")
    return rest.partition("/")[2] or rest if clones and before.startswith("/") else text


def _first_line(text: object) -> str:
    lines = [line.strip() for line in str(text or "").splitlines() if line.strip()]
    return lines[0] if lines else ""


class RunActivity:
    """What each call of one run is doing, read again only when its transcript has grown."""

    def __init__(self, spool: Path) -> None:
        self._spool = spool
        self._known: dict[str, tuple[Path, int, str]] = {}  # call → its transcript, the size when read, the line

    def of_call(self, key: str) -> str:
        """The last activity of the call with this key; "" if nothing is known."""
        from trued.agents.spool.call_folder import attempts_of  # imported here, because only a running call needs it

        try:
            file = attempts_of(self._spool, key)[-1][1] / "events.jsonl"
            size = file.stat().st_size
            if self._known.get(key, (None, -1))[:2] != (file, size):
                before = self._known.get(key, (None, 0, ""))[2]
                self._known[key] = (file, size, _last_activity(file, size) or before)
        except (OSError, IndexError):  # the transcript does not exist yet or was just removed
            return ""
        return self._known[key][2]


def _last_activity(file: Path, size: int) -> str:
    with file.open("rb") as opened:
        opened.seek(max(0, size - TAIL_BYTES))
        lines = opened.read(TAIL_BYTES).splitlines()
    for line in reversed(lines):
        row = parse_json(line)
        if isinstance(row, dict) and (activity := describe_activity(row)):
            return activity
    return ""
