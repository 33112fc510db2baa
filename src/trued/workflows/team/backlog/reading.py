"""Parses `backlog.md`: what the engine recognises becomes a backlog; other text by people stays where they put it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_args

from trued.errors import BadInput
from trued.support.lazy_regex import lazy_regex
from trued.support.markdown import Heading, Item, List, Other, parse, split_lines
from trued.workflows.team.backlog.items import (
    ADDED,
    ATTEMPTS,
    BULLET,
    NEW,
    AcceptanceItem,
    Accepted,
    Backlog,
    BacklogFeature,
    BacklogTask,
    Part,
    Piece,
    Priority,
    Story,
    WorkStatus,
    children,
    line,
    names,
    unescaped,
)

NAME = "backlog.md"
_FEATURE = lazy_regex(r"(?i)(?:feature[ :]+)?(F\d{1,6})(?:\s*[:–—-]\s*|\s+|$)(.*)")
_STORY = lazy_regex(r"(?i)(?:story[ :]+)?(F\d{1,6}-S\d{1,6})(?:\s*[:–—-]\s*|\s+|$)(.*)")
_NEW_FEATURE = lazy_regex(r"(?i)feature\s*[:–—-]\s*(.*)")
_NEW_STORY = lazy_regex(r"(?i)story\s*[:–—-]\s*(.*)")
_NAMED = lazy_regex(r"(?:\*\*)?(F\d{1,6}-[CT]\d{1,6})(?:\*\*)?\s*(?::(?:\*\*)?|\s|$)\s*(.*)", re.DOTALL)
_FIELD = lazy_regex(r"\*\*([A-Za-z][A-Za-z ]*?)(?:\*\*:|:\*\*)\s*(.*)")
_BOX = lazy_regex(r"\[(.)\](?:\s+(.*)|$)", re.DOTALL)
_LEAD = lazy_regex(r" {0,3}(?:[-*+]|\d{1,9}[.)])[ \t]+|[ \t]+[-*+][ \t]+")
_ATTEMPTS = lazy_regex(r"\s*(?<!\\)\(attempts:?\s*(\d{1,6})\s*/\s*(\d{1,6})\)\s*$", re.IGNORECASE)
_ODD_ATTEMPTS = lazy_regex(r"(?<!\\)\(attempts:[^()]*\)\s*$", re.IGNORECASE)
_SUB = lazy_regex(r"(?i)(needs|depends on|files|note|by)\s*:\s*(.*)", re.DOTALL)
_GIVEN = lazy_regex(r"<!-- ids given so far: ([FCST\d ]*) -->\s*")
_HIDDEN = lazy_regex(r" {0,3}## (F\d{1,6}): ")
_FIELDS = {
    "status": "status",
    "priority": "priority",
    "uat": "uat",
    "uat status": "uat",
    "needs": "depends_on",
    "depends on": "depends_on",
    "feature": "feature",
}
_SUBS = {"needs": "depends_on", "depends on": "depends_on", "files": "files", "note": "note", "by": "by_person"}
_WORDS = {"status": get_args(WorkStatus), "priority": get_args(Priority), "uat": get_args(Accepted)}
_BOXES = {" ": "open", "x": "done", "X": "done", "!": "failed"}
P = TypeVar("P", bound=Part)


@dataclass(slots=True)
class _Draft:
    """A part of the backlog while it is being parsed."""

    kind: type[Part]
    fields: dict[str, Any]
    order: list[Any] = field(default_factory=list)  # its marks, and the drafts of the parts inside it


@dataclass(slots=True)
class _Mark:
    """Lines that the engine recognises, and the text below them."""

    name: str
    first: int
    last: int
    lead: str = ""
    head: str = ""
    tail: str = ""


def parse_backlog(text: str, file: str = NAME) -> Backlog:
    """The backlog that the file's text describes. Raises BadInput for a line that cannot be parsed."""
    reading = _BacklogReading(text, file)
    reading.read()
    return reading.backlog()


class _BacklogReading:
    def __init__(self, text: str, file: str) -> None:
        self.lines, self.file, self.text = split_lines(text), file, text
        self.whole = _Draft(Backlog, {})
        self.marks: list[_Mark] = []
        self.feature: _Draft | None = None
        self.story: _Draft | None = None
        self.area = "title"  # title | feature | criteria | story | other
        self.seen: dict[str, int] = {}
        self.new = 0

    # -- the blocks of the file, from top to bottom --------------------------------------------------------------------

    def read(self) -> None:
        blocks = parse(self.text)
        for number, block in enumerate(blocks):
            if isinstance(block, Heading):
                self._take_heading(block, blocks[number + 1 :])
            elif isinstance(block, List):
                for item in block.items:
                    self._item(item)
            elif isinstance(block, Other):
                self._other(block)
        if blocks and isinstance(blocks[-1], Other):
            self._check_closed(blocks[-1])

    def _check_closed(self, block: Other) -> None:
        """Raise BadInput if the last block is a code block or comment that is not closed: text added below would become
        a part of it."""
        rest = "".join(self.lines[block.line - 1 :])
        if not isinstance(parse(f"{rest}\n\n# End\n")[-1], Heading):
            raise self._bad("this block is not closed", block.line, "close a code block with ```, a comment with -->")

    def _take_heading(self, heading: Heading, below: list[Any]) -> None:
        title, where = heading.words.raw, (heading.line, heading.end)
        if heading.end > heading.line and _FEATURE.fullmatch(title):
            raise self._bad(f'"{title[:40]}" is underlined', heading.line, "write it as `## F1: name`")
        if heading.end > heading.line and self.feature and self._line_at(heading.line - 1).strip():
            raise self._bad(f'"{title[:40]}" is directly below another line', heading.line, "leave an empty line")
        if heading.level <= 2:
            home, self.story = self.feature, None
            feature = (
                heading.level == 2
                and heading.end == heading.line
                and (_FEATURE.fullmatch(title) or _new(_NEW_FEATURE, title, below, 2))
            )
            self.feature = self._begin_part(self.whole, BacklogFeature, feature, where) if feature else None
            self.area = "feature" if feature else "other" if self.whole.order else "title"
            self._section(home if not feature else None, where)
        elif heading.level == 3 and self.feature and title.rstrip(": ").casefold() != "tasks":
            self.story = None
            story = _STORY.fullmatch(title) or _new(_NEW_STORY, title, below, 3)
            if title.rstrip(": ").casefold() == "acceptance criteria":
                self._mark(self.feature, "criteria", *self._around(*where))
                self.area = "criteria"
            elif story:
                self.story, self.area = self._begin_part(self.feature, Story, story, where), "story"
            else:
                self.area = "other"
                self._section(self.feature, where)
        elif self.feature and title.rstrip(": ").casefold() == "tasks":
            self.story = self.story or self._child(self.feature, Story, "", heading.line)
            self._mark(self.story, "tasks", *self._around(*where))
            self.area = "story"
        elif self.area != "title":
            self.area = "other"
            self._section(self.story or self.feature, where)

    def _section(self, home: _Draft | None, where: tuple[int, int]) -> None:
        """Keep a heading that a person added, and everything below it, at the end of the part that contains it."""
        if home is not None:
            self._mark(home, "section", *self._around(*where))

    def _begin_part(self, parent: _Draft, kind: type[Part], match: "re.Match[str]", where: tuple[int, int]) -> _Draft:
        name, text = match.groups() if len(match.groups()) == 2 else ("", match[1])
        draft = self._child(parent, kind, name.upper(), where[0], name=unescaped(text.strip()))
        self._mark(draft, "heading", *self._around(*where))
        return draft

    def _child(self, parent: _Draft, kind: type[Part], part_id: str, number: int, **fields: Any) -> _Draft:
        if not part_id:
            self.new += 1
            part_id = f"{NEW}{self.new}"
        elif first := self.seen.get(part_id):
            raise self._bad(f"{part_id} appears twice, first on line {first}", number, "remove the id from the new one")
        self.seen[part_id] = number
        draft = _Draft(kind, {"id": part_id, **fields})
        parent.order.append(draft)
        return draft

    def _around(self, first: int, last: int) -> tuple[int, int]:
        """First and last line of a heading, including one empty line before it and one after it, if there are any."""
        taken = self.marks[-1].last if self.marks else 0
        before = first - 1 > taken and self._line_at(first - 1) == "\n"
        return first - before, last + (self._line_at(last + 1) == "\n")

    def _line_at(self, number: int) -> str:
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def _mark(self, draft: _Draft, name: str, first: int, last: int, lead: str = "") -> None:
        mark = _Mark(name, first, last, lead)
        self.marks.append(mark)
        draft.order.append(mark)

    def _bad(self, what: str, number: int, then: str) -> BadInput:
        return BadInput(what, f"{self.file}:{number}", then)

    # -- items ---------------------------------------------------------------------------------------------------------

    def _item(self, item: Item) -> None:
        lead = _LEAD.match(self._line_at(item.line))
        if lead is None or self.area in ("title", "other"):
            return
        box = _box(item)
        if self.area == "criteria":
            if box is not None and (task := _split_name(box[1], "T")[0]):
                raise self._bad(f"the task {task} is in the list of criteria", item.line, "put it below a story")
            if item.words.raw:
                self._criterion(item, lead[0])
        elif box is not None:
            self._task(item, lead[0], *box)
        elif match := _FIELD.fullmatch(item.words.raw):
            self._field(item, lead[0], _FIELDS.get(match[1].casefold(), ""), match[2])

    def _criterion(self, item: Item, lead: str) -> None:
        raw = item.words.raw if item.checked is None else f"[{'x' if item.checked else ' '}] {item.words.raw}"
        name, rest_of_line = _split_name(raw, "C")
        unmarked, added, rest = rest_of_line.rpartition(f" {ADDED}")
        added = added if name and not rest else ""
        text = unescaped(unmarked if added else rest_of_line)
        draft = self._child(self._in_feature(), AcceptanceItem, name, item.line, text=text, added=bool(added))
        self._mark(draft, "line", item.line, item.words_end, lead)

    def _in_feature(self) -> _Draft:
        if self.feature is None:  # cannot happen: items outside features are skipped
            raise self._bad("this is in no feature", 1, "put it below a heading such as `## F1: name`")
        return self.feature

    def _field(self, item: Item, lead: str, name: str, text: str) -> None:
        draft = self.story if self.area == "story" else self.feature
        if draft is None or name not in draft.kind.model_fields or name in draft.fields:
            return
        if self.area == "feature":
            self.story = None  # tasks below this line do not belong to the story above it
        if name in _WORDS:
            value = re.sub(r"[\s-]+", "_", text.strip().casefold())
            if value not in _WORDS[name]:
                allowed = ", ".join(_WORDS[name])
                raise self._bad(
                    f'"{text[:40]}" is not a {name} of {draft.fields["id"]}', item.line, f"write one of: {allowed}"
                )
            draft.fields[name] = value
        elif name == "depends_on":
            draft.fields[name] = _ids(text)
        else:
            draft.fields[name] = unescaped(text)
        self._mark(draft, name, item.line, item.words_end, lead)

    def _task(self, item: Item, lead: str, mark: str, text: str) -> None:
        if mark not in _BOXES:
            raise self._bad(f"[{mark}] is not a mark of a task", item.line, "write [ ], [x] or [!]")
        text, attempts, limit = self._attempts(text, item.line)
        name, text = _split_name(text, "T")
        if self.story is None:
            self.story = self._child(self._in_feature(), Story, "", item.line)
        draft = self._child(self.story, BacklogTask, name, item.line, description=unescaped(text.strip()))
        draft.fields |= {"state": _BOXES[mark], "attempts": attempts, "limit": limit}
        self._mark(draft, "line", item.line, item.words_end, lead)
        for sub in item.items:
            self._sub(draft, sub)

    def _attempts(self, text: str, number: int) -> tuple[str, int, int]:
        if match := _ATTEMPTS.search(text):
            return text[: match.start()], int(match[1]), int(match[2])
        if odd := _ODD_ATTEMPTS.search(text):
            raise self._bad(
                f'"{odd[0].strip()[:40]}" is not a number of attempts', number, "write it as (attempts: 3/10)"
            )
        return text, 0, ATTEMPTS

    def _sub(self, draft: _Draft, item: Item) -> None:
        match, lead = _SUB.fullmatch(item.words.raw), _LEAD.match(self._line_at(item.line))
        if match is None or lead is None:
            return
        name, words = _SUBS[match[1].casefold()], match[2]
        if name in draft.fields or (name == "by_person" and words.strip() != "a person"):
            return
        values: dict[str, Callable[[], Any]] = {
            "depends_on": lambda: _ids(words),
            "files": lambda: item.words.codes or tuple(part.strip() for part in words.split(",") if part.strip()),
            "note": lambda: unescaped(words),
            "by_person": lambda: True,
        }
        draft.fields[name] = values[name]()
        self._mark(draft, name, item.line, item.words_end, lead[0])

    def _other(self, block: Other) -> None:
        text = "".join(self.lines[block.line - 1 : block.end])
        match = _GIVEN.fullmatch(text)
        draft = self.whole if self.area == "title" else self.feature if self.area == "feature" else None
        if match and draft is not None and "given" not in draft.fields:
            last = {word[0]: int(word[1:]) for word in match[1].split() if word[1:].isdigit()}
            is_backlog = draft.kind is Backlog
            draft.fields["given"] = last.get("F", 0) if is_backlog else tuple(last.get(kind, 0) for kind in "CST")
            before = is_backlog and self._line_at(block.line - 1) == "\n"
            self.story = None
            self._mark(draft, "given", block.line - before, block.end)
            return
        for number, row in enumerate(self.lines[block.line - 1 : block.end], block.line):
            if hidden := _HIDDEN.match(row):
                what = f"{hidden[1]} is inside a code block, a comment or a quotation"
                raise self._bad(what, number, "close the block above it, or remove the heading")

    # -- the values ----------------------------------------------------------------------------------------------------

    def backlog(self) -> Backlog:
        starts = [mark.first for mark in self.marks] + [len(self.lines) + 1]
        for mark, following in zip(self.marks, starts[1:], strict=True):
            mark.head = "".join(self.lines[mark.first - 1 : mark.last])
            mark.tail = "".join(self.lines[mark.last : following - 1])
        title = _Mark("title", 1, starts[0] - 1, head="".join(self.lines[: starts[0] - 1]))
        order: list[Any] = [entry for entry in self.whole.order if isinstance(entry, _Mark)]
        self.whole.fields["features"] = tuple(
            _value(entry, BacklogFeature) for entry in self.whole.order if isinstance(entry, _Draft)
        )
        return _value(
            _Draft(Backlog, self.whole.fields, [title if title.head else _Mark("none", 1, 0), *order]), Backlog
        )


def _value(draft: _Draft, kind: type[P]) -> P:
    """Turn the draft into a value. The value keeps the person's text where that differs from what the engine would
    write."""
    held = {AcceptanceItem: "criteria", Story: "stories", BacklogTask: "tasks"}
    fields, pieces = dict(draft.fields), []
    for entry in draft.order:
        if isinstance(entry, _Draft):
            if entry.kind is Story:
                entry.fields.setdefault("feature", fields["id"])
            name = held[entry.kind]
            fields[name] = (*fields.get(name, ()), _value(entry, entry.kind))
            pieces.append(Piece(name=f"+{entry.fields['id']}"))
        else:
            pieces.append(Piece(name=entry.name, lead=entry.lead, head=entry.head, tail=entry.tail))
    value = kind(**fields)
    stripped = [_without_engines_text(piece, line(value, piece.name)) for piece in pieces]
    below = [piece for child in children(value).values() for piece in child.kept]
    plain = not any(piece.head or piece.tail for piece in stripped) and [piece.name for piece in stripped] == names(
        value
    )
    plain = plain and not any(piece.tail or piece.lead for piece in below)  # later insertions must fit these pieces
    return value if plain else kind(**{**fields, "kept": tuple(stripped)})


def _without_engines_text(piece: Piece, engine: str) -> Piece:
    is_engines = engine and piece.head == engine
    usual = piece.lead.strip(" ") == BULLET.strip() and piece.lead.lstrip(" ") == BULLET
    lead = "" if is_engines or (usual and engine.startswith(piece.lead)) else piece.lead
    return Piece(name=piece.name, lead=lead, head="" if is_engines else piece.head, tail=piece.tail)


def _new(pattern: "re.Pattern[str]", title: str, below: list[Any], level: int) -> "re.Match[str] | None":
    """Match a heading without an id, if it begins a new part; the match's group is the part's name. None for any other
    heading. A heading begins a part if the pattern matches it, or if there are checkboxes below it or, for a feature,
    acceptance criteria."""
    if match := pattern.fullmatch(title):
        return match
    return (
        re.fullmatch(r"(.*)", title) if title and any(_begins(block, level) for block in _until(below, level)) else None
    )


def _until(below: list[Any], level: int) -> Iterator[Any]:
    for block in below:
        if isinstance(block, Heading) and (block.level <= level or _STORY.fullmatch(block.words.raw)):
            return
        yield block


def _begins(block: Any, level: int) -> bool:
    if isinstance(block, Heading):
        return level == 2 and block.words.raw.rstrip(": ").casefold() == "acceptance criteria"
    return isinstance(block, List) and any(_box(item) is not None for item in block.items)


def _box(item: Item) -> tuple[str, str] | None:
    if item.checked is not None:
        return "x" if item.checked else " ", item.words.raw
    match = _BOX.fullmatch(item.words.raw)
    return (match[1], match[2] or "") if match else None


def _split_name(text: str, kind: str) -> tuple[str, str]:
    match = _NAMED.fullmatch(text)
    if match is None or f"-{kind}" not in match[1]:
        return "", text
    return match[1], match[2]


def _ids(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip(" `*") for part in text.split(",") if part.strip(" `*")))
