"""progress.txt: the engine's note for the next coder, and agents' own notes below it."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field

from trued.model import Value
from trued.support.lazy_regex import lazy_regex
from trued.support.plain_text import plain, plain_line, unix_lines

PROGRESS = ("progress.txt", "claude-progress.txt")
LINE = "--- DO NOT EDIT ABOVE THIS LINE ---"
BELOW = "(agents add their notes below)"
QUOTED = "| "  # added before agents' lines that look like a part of the note
TEXT_LIMIT = 600  # characters in one entry: the next coder reads all entries
ENTRY_LIMIT = 40
BELOW_LIMIT = 20_000  # this many characters of agents' notes are kept, the newest
LEFT_OUT = "[… earlier notes left out …]"
_ALTERED = lazy_regex(r"\s*(?:[-=*#_–—]{2,}\s*)?do\s+not\s+edit\b.{0,20}\babove\b.*", re.IGNORECASE)
LOG = "RUNNING LOG"
HEADINGS = (
    "SESSION",
    "CURRENT FEATURE",
    "STATUS",
    "LAST AGENT",
    "WHAT WAS DONE",
    "NEXT AGENT",
    "WHAT TO DO",
    "FAILED FEATURES",
    "WAITING FEATURES",
    "DO NOT TOUCH",
    "CONTEXT",
    "STATE FILES UPDATED",
    LOG,
    "CONTINUE FROM",
)


def _clean_text(text: str) -> str:
    return plain(unix_lines(text)).expandtabs(4)


def _one_line(text: str) -> str:
    return plain_line(text, TEXT_LIMIT)


def _limited_lines(texts: Iterable[str]) -> tuple[str, ...]:
    lines = [text for text in texts if text]
    dropped = len(lines) - ENTRY_LIMIT
    return (*lines[:ENTRY_LIMIT], *([f"[… and {dropped} more]"] if dropped > 0 else []))


Line: TypeAlias = Annotated[str, AfterValidator(_one_line)]
Lines: TypeAlias = Annotated[tuple[Line, ...], AfterValidator(_limited_lines)]
Percent: TypeAlias = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]


class HandoffNote(Value):
    """The note for the next coder. Each field is one line or a list of lines, so that no text can look like another
    part of the note."""

    session: Line = ""  # when the note was written, and by which run
    feature: Line = ""  # id of the current feature
    status: Line = ""  # "In progress (15/20 tests)"; see `status_text`
    last_agent: Line = ""
    did: Lines = ()
    next_agent: Line = ""
    to_do: Lines = ()
    failed: Lines = ()  # failed features, each with its last error, its branch, and how to continue
    waiting: Lines = ()  # waiting features, each with what a person must do, and the command
    do_not_touch: Lines = ()
    context: Lines = ()
    coverage: Percent | None = None  # per cent, now
    target: Percent | None = None
    files: Lines = ()  # state files that were updated, and with what
    log: Lines = ()  # "[2026-01-31 09:05:00] Completed feat_001: PASS", oldest first
    continue_from: Line = ""  # path:line


def status_text(state: str, passing: int = 0, total: int = 0) -> str:
    """A state with its test counts: `In progress (15/20 tests)`."""
    text = state.replace("_", " ").strip().capitalize()
    return f"{text} ({passing}/{total} tests)" if total else text


def render(note: HandoffNote, below: str = "") -> str:
    """The whole file: the engine's note, the dividing line, and agents' notes below it."""
    notes = tidied(below)
    return "\n".join((*_note(note), "", LINE, BELOW, *(["", notes] if notes else []))) + "\n"


def _note(note: HandoffNote) -> Iterator[str]:
    yield "=== HANDOFF ==="
    yield ""
    yield f"SESSION: {note.session or 'not begun'}"
    yield f"CURRENT FEATURE: {note.feature or 'none'}"
    yield f"STATUS: {note.status or 'unknown'}"
    yield ""
    yield f"LAST AGENT: {note.last_agent or 'none'}"
    yield from _list("WHAT WAS DONE", note.did)
    yield ""
    yield f"NEXT AGENT: {note.next_agent or 'none'}"
    yield from _list("WHAT TO DO", note.to_do)
    yield ""
    yield from _list("FAILED FEATURES", note.failed)
    yield from _list("WAITING FEATURES", note.waiting)
    yield ""
    yield from _list("DO NOT TOUCH", note.do_not_touch)
    yield ""
    yield from _list("CONTEXT", (*note.context, *_coverage(note)))
    yield ""
    yield from _list("STATE FILES UPDATED", note.files)
    yield ""
    yield from _list(LOG, note.log)
    yield ""
    yield f"CONTINUE FROM: {note.continue_from or 'the beginning'}"


def _list(heading: str, entries: tuple[str, ...]) -> Iterator[str]:
    yield f"{heading}:"
    yield from (f"- {entry}" for entry in entries or ("nothing",))


def _coverage(note: HandoffNote) -> Iterator[str]:
    if note.coverage is not None or note.target is not None:
        now = "not measured" if note.coverage is None else f"{note.coverage:.4g} %"
        yield f"coverage now: {now}" + ("" if note.target is None else f", target: {note.target:.4g} %")


def log_entries(text: str) -> tuple[str, ...]:
    """The entries of the running log in a progress file, oldest first."""
    above = _clean_text(text).partition(LINE)[0]
    section = above.partition(f"\n{LOG}:\n")[2].partition("\n\n")[0]
    return tuple(line.removeprefix("- ") for line in section.splitlines() if line.startswith("- ["))


def above_line(text: str) -> str:
    """The part of a progress file that only the engine writes; the whole text if the dividing line is missing."""
    return text.partition(f"\n{LINE}")[0]


def notes_below(text: str) -> str:
    """Agents' notes: everything below the first dividing line, even if an agent added a second one.

    If the line is missing, the notes begin after the last heading of the engine's note. If that heading is also
    missing, the whole file counts as notes.
    """
    lines = _clean_text(text).split("\n")
    ends = (lambda line: line.strip() == LINE, _is_altered, lambda line: line.startswith(f"{HEADINGS[-1]}:"))
    for is_end in ends:
        if (end := next((number for number, line in enumerate(lines) if is_end(line)), None)) is not None:
            lines = lines[end + 1 :]
            break
    while lines and (not lines[0].strip() or lines[0].strip() == BELOW):
        lines = lines[1:]
    return tidied("\n".join(lines))


def tidied(below: str) -> str:
    """Agents' notes as plain text; only the end of long notes is kept. Lines that look like a part of the engine's note
    are marked."""
    text = "\n".join(_marked(line) for line in _clean_text(below).split("\n")).strip("\n")
    if len(text) <= BELOW_LIMIT:
        return text
    last = text[-(BELOW_LIMIT - len(LEFT_OUT) - 2 * len(QUOTED)) :]
    whole = last.partition("\n")[2].strip("\n")  # without the first line, which may be cut
    return f"{LEFT_OUT}\n{whole or _marked(last)}"


def _marked(line: str) -> str:
    line = line.rstrip()
    return f"{QUOTED}{line}" if _looks_like_note(line) else line


def _looks_like_note(line: str) -> bool:
    """Whether a line looks like the dividing line, the note's title or one of its headings."""
    bare = unicodedata.normalize("NFKC", line).strip().strip("#*>_`=-–— ").casefold()
    heading = ":" in bare and bare.startswith(tuple(heading_text.casefold() for heading_text in HEADINGS))
    return heading or _is_altered(line) or line.strip() == BELOW or line.lstrip().startswith("===")


def _is_altered(line: str) -> bool:
    return _ALTERED.fullmatch(unicodedata.normalize("NFKC", line)) is not None
