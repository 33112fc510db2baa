"""The parts of a ticket's text: which heading or label begins what, and the sentences below it."""

import re
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ..types import Criterion, Source
from .headings import clean, kind_of, split_files, words_of
from .markdown import Block, Heading, List, Other, Paragraph, Words, parse, split_lines
from .pictures import pictures
from .sentences import sentences

Part: TypeAlias = Literal[
    "summary", "told", "requirements", "acceptance", "areas", "preview", "pictures", "shown wrong"
]

_SHOWN = frozenset(["picture", "pictures", "screenshot", "screenshots", "mockup", "mockups", "wireframe", "wireframes"])
_AREAS = frozenset(["area", "areas", "component", "components", "module", "modules"])
_WRONG = frozenset(["actual", "current", "reproduce", "reproduction", "observed", "happens"])
_ASKED = frozenset(["requirement", "requirements", "requested", "wanted", "story", "stories"])
_TITLES = ("summary", "title")
_ADDRESS = re.compile(r"https?://[^\s<>\"'`)\]]+")
_PATH = re.compile(r"[\w./~-][^\n]*\.(?:png|jpe?g|gif|webp|svg)", re.IGNORECASE)
_PICTURES_ONLY = re.compile(r"(?:\s*(?:\[?!\[[^\]\n]*\]\([^)\n]*\)(?:\]\([^)\n]*\))?|<img\b[^>]*>))+\s*", re.IGNORECASE)
_LABEL = re.compile(r"(?:\*\*|__)?([A-Z][\w '/-]{1,40}?)(?:\*\*|__)?:(?:\*\*|__)?[ \t]*")


def part_of(title: str) -> Part | None:
    """What stands below a heading, a label or a field of that name; None for one that says nothing of it."""
    words = set(words_of(clean(title)))
    if "preview" in words:
        return "preview"
    if words & _SHOWN and not words & _WRONG:
        return "pictures"
    if words & _WRONG:
        return "shown wrong"
    if words & _AREAS or words == {"affected", "files"}:
        return "areas"
    if len(words) == 1 and words & set(_TITLES):
        return "summary"
    kind = kind_of(title)
    if kind == "ship":
        return "acceptance"
    return "requirements" if kind in ("goal", "constraint") or words & _ASKED else None


@dataclass(slots=True)
class Parts:
    """What was found, in the order in which it was written."""

    file: str
    summary: list[str] = field(default_factory=list)
    requirements: list[Criterion] = field(default_factory=list)
    acceptance: list[Criterion] = field(default_factory=list)
    areas: list[str] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)
    preview: str = ""
    title: str = ""  # the first heading of the first level
    asked: bool = False  # there is a part that says so: requirements

    def read(self, text: str, first: int = 1, part: Part = "told") -> None:
        """Take in a text that begins on line `first`, below a heading of that kind."""
        lines = split_lines(text)
        shown = pictures(text)
        top, level, labelled = part, 0, False
        for block in parse(text):
            if isinstance(block, Heading):
                if block.level == 1 and not self.title and not self.requirements and not self.acceptance:
                    self.title = clean(block.words.plain)
                    part, level, labelled = top, 0, False
                    continue
                named = part_of(block.words.plain)
                if named or block.level <= level or labelled:
                    part, level, labelled = named or top, block.level, False
                if not named:
                    self._heading(block, first)
                self.asked = self.asked or named == "requirements"
                continue
            if isinstance(block, Paragraph) and (label := _label(block.words, block.text)):
                part, labelled = label, True
                self.asked = self.asked or label == "requirements"
            verbatim = "".join(lines[block.line - 1 : block.end])
            here = [address for address, line in shown if block.line <= line <= block.end]
            self._take(part, block, verbatim, first + block.line - 1, here)

    def _heading(self, block: Heading, first: int) -> None:
        """A heading that names no part may itself ask for something; one of a word or two is only a title."""
        if len(block.words.plain.split()) > 3:
            self._add("told", block.words.raw, first + block.line - 1)

    def _take(self, part: Part, block: Block, verbatim: str, line: int, shown: list[str]) -> None:
        if part != "shown wrong":
            self.pictures += [one for one in shown if one not in self.pictures]
        if part == "areas":
            self.areas += [one for one in _listed(block) if one not in self.areas]
            return
        if part == "preview" and not self.preview and (match := _ADDRESS.search(verbatim)):
            self.preview = match[0].rstrip(".,;")
            return
        if part == "pictures":
            named = [one for one in _listed(block) if _ADDRESS.fullmatch(one) or _PATH.fullmatch(one)]
            self.pictures += [one for one in named if one not in self.pictures]
            if shown or named:
                return
        said = _said(block, verbatim)
        if part == "summary":
            self.summary += [text for text, _ in said]
            return
        for text, above in said:
            if shown and _PICTURES_ONLY.fullmatch(text):
                continue
            self._add(part, text, line + above, code=isinstance(block, Other))

    def _add(self, part: Part, text: str, line: int, *, code: bool = False) -> None:
        into = self.acceptance if part == "acceptance" else self.requirements
        if code and into:  # code that a sentence speaks of is part of it
            before = into.pop()
            into.append(before.model_copy(update={"text": f"{before.text}\n{text}"}))
            return
        kind = {"acceptance": "ship", "requirements": "goal"}.get(part, "text")
        into.append(Criterion(text=text, kind=kind, source=Source(file=self.file, line=line)))


def _label(words: Words, text: str) -> Part | None:
    """`**Acceptance criteria:**` or `Acceptance criteria:` at the beginning of a paragraph."""
    match = _LABEL.match(text)
    if match:
        return part_of(match[1])
    whole = bool(words.label) and words.label == words.plain
    return part_of(words.label) if whole else None


def _said(block: Block, verbatim: str) -> list[tuple[str, int]]:
    """The sentences of a block, each with the number of lines above it; a label alone says nothing."""
    if not isinstance(block, Paragraph):
        return [(text, line - 1) for text, line in sentences(verbatim) if text.strip()]
    match = _LABEL.match(block.text)
    named = match if match and part_of(match[1]) else None
    whole = block.words.label and block.words.label == block.words.plain and part_of(block.words.label)
    if whole:
        return []
    rest = block.text[named.end() :] if named else verbatim
    above = block.text[: named.end()].count("\n") if named else 0
    return [(text, line - 1 + above) for text, line in sentences(rest) if text.strip()]


def _listed(block: Block) -> list[str]:
    """Names in a list or a line: what stands in code marks, else what stands between commas."""
    if isinstance(block, List):
        return [name for item in block.walk() for name in _names(item.words)]
    if isinstance(block, Paragraph):
        match = _LABEL.match(block.text)
        named = match if match and part_of(match[1]) else None
        if not named:
            return list(_names(block.words))
        rest = block.text[named.end() :]
        inner = parse(rest)
        return [name for one in inner if isinstance(one, Paragraph) for name in _names(one.words)]
    return []


def _names(words: Words) -> tuple[str, ...]:
    return tuple(name.strip(" .") for name in split_files(words) if name.strip(" ."))
