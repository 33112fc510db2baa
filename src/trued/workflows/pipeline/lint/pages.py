"""Agent files as pages: blocks of text with their line numbers, in sections by heading."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import takewhile
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from trued.support.lazy_regex import lazy_regex

SAMPLES = ("markdown", "md", "yaml", "yml", "json", "toml")  # languages of fences that show what a file may look like
DEPRECATED = lazy_regex(r"[\W_]*(?:deprecat(?:ed|ion)|retired|no longer (?:used|active))\b", re.I)
TITLE = 200  # only this many characters of a heading are compared
DEEPEST = 8  # this many unclosed fences inside each other are parsed as text; everything deeper is code
NUMBERED = lazy_regex(r"(?:step\s+)?(\d+[a-z]?(?:\.\d+)*)(?=[\s.:)—–-]|$)", re.I)


@dataclass(frozen=True, slots=True)
class TextBlock:
    """One block of text as it is written, line ends included, so that every match has a line number."""

    kind: str  # heading | text | item | row | header | code | comment | open (a fence that nothing closes)
    line: int
    text: str
    level: int = 0  # of a heading
    cells: tuple[str, ...] = ()  # of a row
    number: str = ""  # of an ordered item
    info: str = ""  # of a fence
    inner: bool = False  # in a quotation or below another item

    def line_at(self, position: int) -> int:
        return self.line + self.text.count("\n", 0, position)

    @property
    def flat(self) -> str:
        return " ".join(self.text.split())

    @property
    def is_sample(self) -> bool:
        """Whether the block says nothing about this agent: a comment, or a sample of a file's content."""
        return self.kind == "comment" or (self.kind == "code" and self.info in SAMPLES)


@dataclass(frozen=True, slots=True)
class PromptSection:
    """A heading and the blocks below it, deeper headings included."""

    title: str
    level: int
    line: int
    pieces: tuple[TextBlock, ...]
    words: str  # the title in normal form, for comparisons

    @property
    def number(self) -> str:
        """The number of the heading, such as `3b` of "Step 3b: critique"; "" if it has none."""
        match = NUMBERED.match(self.title)
        return match[1].lower() if match else ""

    def statements(self) -> Iterator[TextBlock]:
        """All blocks except comments and samples of a file's content."""
        return (piece for piece in self.pieces if not piece.is_sample)


@dataclass(frozen=True)
class PromptPage:
    """One file of a linted set, as blocks of text."""

    shown: str  # the file's path, as findings show it
    name: str
    kind: str  # agent | orchestrator | patterns | prompt | other
    fields: dict[str, Any] | None  # of the front matter; None if the file has no front matter
    pieces: tuple[TextBlock, ...]

    @cached_property
    def sections(self) -> tuple[PromptSection, ...]:
        return tuple(_sections(self.pieces))

    def section(self, title: str) -> PromptSection | None:
        """The first section with exactly this title. If there is none: the first section whose title contains these
        words, such as "TDD workflow" for "workflow"."""
        exact = next((section for section in self.sections if section.words == title), None)
        loose = (
            section
            for section in self.sections
            if section.level == 2 and re.search(rf"(?:^| ){title}(?: |$)", section.words)
        )
        return exact or next(loose, None)

    @cached_property
    def opening(self) -> tuple[TextBlock, ...]:
        """The text between the title and the first section."""
        title = next((section for section in self.sections if section.level == 1), None)
        return tuple(takewhile(lambda piece: piece.kind != "heading", title.pieces)) if title else ()

    @property
    def line(self) -> int:
        """The line to report for something that the whole file lacks: its first section or text."""
        return self.sections[0].line if self.sections else self.pieces[0].line if self.pieces else 1

    @cached_property
    def is_deprecated(self) -> bool:
        """Whether the page begins with a notice that it is no longer used."""
        pieces = [piece for piece in self.pieces if piece.kind != "comment"]
        about = str((self.fields or {}).get("description") or "")
        return bool(DEPRECATED.match(about)) or any(
            DEPRECATED.match(piece.text) or _titled(piece) for piece in pieces[:3]
        )

    @property
    def is_agent(self) -> bool:
        return self.kind in ("agent", "orchestrator") and not self.is_deprecated


def normal(title: str) -> str:
    """A title in normal form, for comparisons: lower case, no markup around it, one kind of hyphen."""
    plain = re.sub(r"[\u2010-\u2014-]", "-", title[:TITLE].lower())
    return " ".join(re.sub(r"[*_`:#]|\(.*?\)", " ", plain).split())


def pieces_of(text: str, first: int = 1, deep: int = 0) -> tuple[TextBlock, ...]:
    """All blocks of a Markdown text whose first line has the number `first`. `deep`: the number of
    unclosed fences around the text."""
    return tuple(_Walk(_markdown().parse(text), first, text.split("\n"), deep).pieces())


@cache
def _markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"maxNesting": 60}).enable("table")
    return markdown.disable("inline")  # only blocks are parsed; the markup inside them stays as written


def _titled(piece: TextBlock) -> bool:
    return piece.kind == "heading" and "deprecated" in piece.text.lower()


def _is_heading(piece: TextBlock) -> bool:
    return piece.kind == "heading" and not piece.inner


def _sections(pieces: Sequence[TextBlock]) -> Iterator[PromptSection]:
    for start, piece in enumerate(pieces):
        if not _is_heading(piece):
            continue
        end = start + 1
        while end < len(pieces) and not (_is_heading(pieces[end]) and pieces[end].level <= piece.level):
            end += 1
        yield PromptSection(piece.flat, piece.level, piece.line, tuple(pieces[start + 1 : end]), normal(piece.flat))


class _Walk:
    """Walks through the tokens of one text, and tracks the lists and quotations that are open."""

    def __init__(self, tokens: Sequence[Token], first: int, lines: Sequence[str], deep: int) -> None:
        self._tokens, self._first, self._lines, self._deep = tokens, first, lines, deep
        self._lists, self._quotes = 0, 0
        self._row = 1
        self._fresh: str | None = None  # the number of a list item whose text has not come yet

    def pieces(self) -> Iterator[TextBlock]:
        heading, row, header = 0, list[str](), False
        for token in self._tokens:
            self._opened(token)
            if token.type == "heading_open":
                heading = int(token.tag[1:])
            elif token.type == "tr_open":
                row = []
            elif token.type in ("th_open", "td_open"):
                header = token.type == "th_open"
                row.append("")
            elif token.type == "tr_close":
                yield TextBlock("header" if header else "row", self._row, " | ".join(row), cells=tuple(row))
                row = []
            elif token.type == "inline" and row:
                row[-1], self._row = token.content, self._line_number(token)
            elif token.type == "inline":
                yield self._text_block(token, heading)
                heading = 0
            elif token.type == "fence" and self._is_open(token):
                line = self._line_number(token)
                yield TextBlock("open", line, token.markup + token.info)
                yield from pieces_of(token.content, line + 1, self._deep + 1)
            elif token.type in ("fence", "code_block"):
                line = self._line_number(token) + (token.type == "fence")
                yield TextBlock("code", line, token.content, info=token.info.split(" ")[0].lower(), inner=self._inner)
            elif token.type == "html_block":
                yield TextBlock(
                    "comment" if token.content.startswith("<!--") else "text", self._line_number(token), token.content
                )

    @property
    def _inner(self) -> bool:
        return bool(self._quotes or self._lists)

    def _opened(self, token: Token) -> None:
        if token.type in ("bullet_list_open", "bullet_list_close", "ordered_list_open", "ordered_list_close"):
            self._lists += token.nesting
        elif token.type in ("blockquote_open", "blockquote_close"):
            self._quotes += token.nesting
        elif token.type == "list_item_open":
            self._fresh = token.info if token.info.isdigit() else ""

    def _text_block(self, token: Token, heading: int) -> TextBlock:
        line = self._line_number(token)
        if heading:
            return TextBlock("heading", line, token.content, heading, inner=self._inner)
        if self._fresh is None:
            return TextBlock("text", line, token.content, inner=self._inner)
        number, self._fresh = self._fresh, None
        return TextBlock("item", line, token.content, number=number, inner=self._lists > 1 or bool(self._quotes))

    def _is_open(self, token: Token) -> bool:
        """Whether nothing closes this fence. If so, Markdown reads the rest of the file as code, so the caller parses
        the fence's content as text."""
        start, end = token.map or (0, 0)
        last = self._lines[end - 1].strip() if end > start + 1 else ""
        return (
            token.level == 0
            and self._deep < DEEPEST
            and bool(token.content.strip())
            and not (last.startswith(token.markup) and set(last) == {token.markup[0]})
        )

    def _line_number(self, token: Token) -> int:
        return (token.map or [0])[0] + self._first
