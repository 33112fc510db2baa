"""The meaning of words in headings, labels, table columns and list items: sections, phases, chunk ids, files."""

import re
import unicodedata
from dataclasses import dataclass

from trued.support.lazy_regex import lazy_regex
from trued.support.markdown import Words


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


GOAL = _set("goal goals objective objectives aim aims requirement requirements features must musts should")
CONSTRAINT = _set(
    "constraint constraints invariant invariants rule rules restriction restrictions guarantee guarantees guardrails"
)
SHIP = _set(
    "criteria criterion acceptance success dod verification validation gate gates outcome outcomes metric metrics "
    "kpi kpis expected testing"
)
SHIP_PHRASES = ("done when", "ship when", "definition of done", "done if", "ready when", "test plan", "tests to pass")
NOT_ASKED = ("nongoal", "non goal", "anti goal", "not goal", "out of scope", "not in scope", "future work")
# A section asks for nothing if its title has a word of ASIDE, has only words of PROBLEM (besides FILLER), or begins
# with one of OPENERS.
ASIDE = _set(
    "question questions research reference references risk risks changelog history glossary appendix "
    "alternatives decisions links resources notes note rationale approach architecture comparison diagram "
    "stakeholders timeline schedule estimates"
)
PROBLEM = _set("problem background motivation overview summary context introduction why design assumptions status tldr")
OPENERS = _set("problem background motivation context why")
FILLER = _set(
    "the a an and or of our for this key main core hard project primary secondary high level overall "
    "statement list technical functional nonfunctional user business product plan have nice to current"
)
# STATUS: words of fields about the state of the work, in headers and tables. FIELDS: words of all header fields.
STATUS = _set(
    "status created updated modified date author authors owner owners assignee priority estimate effort reviewer "
    "reviewers due sprint team why rationale depends on last by"
)
FIELDS = STATUS | _set(
    "feature version branch ticket issue epic tags type name project repo repository lead link pr id"
)
PURE = GOAL | CONSTRAINT | SHIP | FILLER | _set("done when ship definition if ready exit quality test tests")
WORK = _set(
    "chunk chunks task tasks step steps implementation work breakdown milestones todo todos roadmap "
    "phases checklist stories deliverables backlog plan"
)
PHASE = _set("phase stage milestone sprint part wave iteration")
NUMBERS = _set("one two three four five six seven eight nine ten zero final first second third")
ID_COLUMNS = frozenset(["chunk", "id", "#", "no", "nr", "number", "key", "chunk id", "task id", "ref", "step"])
SCOPE_COLUMNS = ("scope", "description", "what", "task", "work", "title", "summary", "name", "deliverable", "change")
FILE_COLUMNS = frozenset(["files", "file", "paths", "path", "files touched", "files changed", "modules", "where"])

STRONG_ID = lazy_regex(r"\d{1,3}[A-Z]{1,2}(?:\.\d{1,3})?")  # 1A: an id wherever it is written
WEAK_ID = lazy_regex(r"(?:[A-Za-z]{1,12}[-_]?)?\d{1,4}(?:\.\d{1,3}){0,3}[A-Za-z]{0,2}")
JOINTS = lazy_regex(r"\s+and\s+|\s+or\s+|\s*[&/,+;]\s*")
ABOUT = lazy_regex(r"\s(?:about|for|on|behind)\s")
SEPARATORS = ":.)–—-|"
NO_FILES = _set("- – — n/a none tbd ?")


@dataclass(frozen=True, slots=True)
class ChunkTitle:
    """A chunk id with the words that follow it."""

    id: str
    title: str
    strong: bool


def bare_title(title: str) -> str:
    """The title without ticks, emoji and closing colons around it."""
    start, end = 0, len(title)
    while end and (title[end - 1] in " \t:" or _is_mark(title[end - 1])):
        end -= 1
    while start < end and (title[start].isspace() or _is_mark(title[start])):
        start += 1
    return title[start:end]


def _is_mark(char: str) -> bool:
    """Whether the character is a pictograph, or joins or colours pictographs."""
    return unicodedata.category(char) == "So" or char in "\ufe0f\u200d\u20e3" or "\U0001f3fb" <= char <= "\U0001f3ff"


def title_words(title: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", title.lower().replace("non-", "non"))


def section_kind(title: str) -> str:
    """The kind of a section or label with this title: goal | constraint | ship | nongoal | problem | aside | "".

    Words that ask for something outweigh all other words: "Constraints and assumptions" are constraints. But if a part
    of the title names work, such as "steps", and has no kind of its own, the result is "".
    """
    parts = [part for part in JOINTS.split(title.lower()) if title_words(part)]
    kinds = [_kind_of_part(part) for part in parts]
    if any(not kind and is_work(part) for kind, part in zip(kinds, parts, strict=True)):
        return ""
    return next((kind for kind in ("goal", "constraint", "ship", "nongoal", "aside", "problem") if kind in kinds), "")


def _kind_of_part(part: str) -> str:
    line = " ".join(title_words(part))
    if any(phrase in line for phrase in NOT_ASKED):
        return "nongoal"
    words = title_words(ABOUT.split(part)[0])
    core = set(words) - FILLER
    if words[-1:] and words[-1] in ASIDE:
        return "aside"
    if core & SHIP or any(phrase in line for phrase in SHIP_PHRASES):
        return "ship"
    for kind, known in (("goal", GOAL), ("constraint", CONSTRAINT), ("aside", ASIDE)):
        if core & known:
            return kind
    return "problem" if core and (core <= PROBLEM or words[0] in OPENERS) else ""


def is_header_field(label: str) -> bool:
    """Whether the label names a header field: status, owner, branch."""
    words = set(title_words(label))
    return bool(words) and words <= FIELDS


def is_status_field(label: str) -> bool:
    """Whether the label names a field or column about the state of the work, not about what is asked."""
    words = set(title_words(label))
    return bool(words) and words <= STATUS


def is_plain_label(label: str) -> bool:
    """Whether the label only announces criteria: "Done when", not "Latency goal"."""
    return set(title_words(label)) <= PURE - {"must", "should"}


def is_phase(title: str) -> bool:
    parts = title.replace(":", " ").replace(".", " ").split()
    if not parts or parts[0].lower() not in PHASE:
        return False
    return len(parts) > 1 and (parts[1][0].isdigit() or len(parts[1]) == 1 or parts[1].lower() in NUMBERS)


def is_work(title: str) -> bool:
    return bool(WORK & set(title_words(title)))


def chunk_title(words: Words) -> ChunkTitle | None:
    """The chunk id that a list item or a heading begins with, and the words after it; None if it begins with no id."""
    if words.label:
        return _named_by_label(words)
    raw = words.raw.lstrip("[(") if words.raw[:1] in "[(" else words.raw
    wrapped = raw.startswith("`") or raw is not words.raw
    head, _, rest = _without_kind(raw).partition(" ")
    bare = head.strip("`*_[]()").rstrip(SEPARATORS).strip("`*_[]()")
    parted = head[-1:] in SEPARATORS or rest[:1] in SEPARATORS
    if STRONG_ID.fullmatch(bare):
        return ChunkTitle(bare, _after(rest), True)
    if WEAK_ID.fullmatch(bare) and (parted or wrapped or _without_kind(raw) is not raw):
        return ChunkTitle(bare, _after(rest), False)
    return None


def _named_by_label(words: Words) -> ChunkTitle | None:
    inner = chunk_title(Words(raw=words.label.strip(), plain=words.label))
    if inner is None:
        bare = words.label.strip().rstrip(SEPARATORS)
        if not WEAK_ID.fullmatch(bare):
            return None
        inner = ChunkTitle(bare, "", False)
    rest = _after(words.rest) if not inner.title else words.rest
    title = f"**{inner.title}** {rest}" if inner.title and rest else inner.title or rest
    return ChunkTitle(inner.id, title, inner.strong)


def _without_kind(raw: str) -> str:
    head, _, rest = raw.partition(" ")
    return rest.lstrip() if head.lower() in ("chunk", "task", "story", "item") and rest[:1].isalnum() else raw


def is_chunk_title(title: str) -> bool:
    return _without_kind(title) is not title


def _after(rest: str) -> str:
    return rest.strip().lstrip(SEPARATORS).strip()


def file_names(words: Words) -> tuple[str, ...]:
    """The files that a cell or another text names: its code spans or, if it has none, its parts between commas."""
    parts = words.codes or words.plain.replace(";", ",").replace("\n", ",").split(",")
    names = (part.strip() for part in parts)
    return tuple(name for name in names if name and name.lower() not in NO_FILES)


def split_off_files(title: str) -> tuple[str, tuple[str, ...]]:
    """Split `do x (files: a.py, b.py)` into `do x` and its files."""
    start = max(title.lower().rfind("(files:"), title.lower().rfind("(file:"))
    end = title.find(")", start)
    if start < 0 or end < 0 or title[end + 1 :].strip(" ."):
        return title, ()
    names = title[start + 1 : end].split(":", 1)[1].replace("`", "").split(",")
    return title[:start].rstrip(), tuple(name.strip() for name in names if name.strip())


def column_index(header: tuple[Words, ...], names: frozenset[str]) -> int | None:
    for number, cell in enumerate(header):
        if bare_title(cell.plain).lower().rstrip(".") in names:
            return number
    return None
