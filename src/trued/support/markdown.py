"""Parse Markdown into a flat list of blocks with their lines and their text as written."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from trued.support.lazy_regex import lazy_regex

if TYPE_CHECKING:  # at run time, imported when the first text is parsed: most commands parse none
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from markdown_it.tree import SyntaxTreeNode

BREAKS = ("<br>", "<br/>", "<br />")
LINE = lazy_regex(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
NESTED = 60  # the parser goes no deeper
TEXTS = ("inline", "fence", "code_block", "html_block")
BOLD_LABEL = lazy_regex(r"(?:\*\*|__)[^*\n]{1,60}(?::(?:\*\*|__)|(?:\*\*|__):)")
PLAIN_LABEL = lazy_regex(r"[A-Z][\w /-]{0,40}:(?:\s|$)")


@dataclass(frozen=True, slots=True)
class Words:
    """Inline text: `raw` is what the user wrote, on one line; `plain` is what a reader sees of it."""

    raw: str = ""
    plain: str = ""
    codes: tuple[str, ...] = ()
    label: str = ""  # bold words that the text begins with: "**Ship criteria:** …"
    rest: str = ""  # the text after the label


@dataclass(frozen=True, slots=True)
class Heading:
    level: int
    words: Words
    line: int  # the first line, counted from 1
    end: int  # the last line


@dataclass(frozen=True, slots=True)
class Paragraph:
    words: Words
    line: int
    end: int
    text: str = ""  # with its line ends

    def fields(self) -> "list[Paragraph]":
        """The paragraph, split before each line that begins with a label, because people write header fields without
        blank lines between them."""
        lines = self.text.split("\n")
        plain = all(PLAIN_LABEL.match(line) for line in lines)
        starts = [n for n, line in enumerate(lines) if n and (plain or BOLD_LABEL.match(line))]
        if not starts or "<!--" in self.text:
            return [self]
        parts = []
        for start, end in zip([0, *starts], [*starts, len(lines)], strict=True):
            token = _markdown().parseInline("\n".join(lines[start:end]))[0]
            words = _words_from(token.content, token.children or [])
            parts.append(Paragraph(words, self.line + start, self.line + end - 1, token.content))
        return parts


@dataclass(frozen=True, slots=True)
class Item:
    words: Words
    line: int
    end: int
    own_end: int  # the last line before its nested items
    number: str  # of an ordered list; "" for a bullet
    checked: bool | None  # None: no checkbox
    more: tuple[str, ...]  # further paragraphs and code of the item, verbatim
    items: tuple["Item", ...]
    words_end: int = 0  # the last line of its own text, before other blocks inside the item

    @property
    def text(self) -> str:
        return "\n".join((self.words.raw, *self.more))

    def walk(self) -> Iterator["Item"]:
        yield self
        for item in self.items:
            yield from item.walk()


@dataclass(frozen=True, slots=True)
class List:
    items: tuple[Item, ...]
    line: int
    end: int

    def walk(self) -> Iterator[Item]:
        for item in self.items:
            yield from item.walk()


@dataclass(frozen=True, slots=True)
class TableRow:
    cells: tuple[Words, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Table:
    header: tuple[Words, ...]
    rows: tuple[TableRow, ...]
    line: int
    end: int


@dataclass(frozen=True, slots=True)
class Other:
    """Any other block, such as code, a quotation or HTML. No headings, lists or tables are read inside such a block."""

    line: int
    end: int
    text: str = ""  # empty: a comment, or a horizontal rule


Block = Heading | Paragraph | List | Table | Other


def split_lines(text: str) -> list[str]:
    """Lines with their ends, split where Markdown splits and nowhere else (not at U+2028 or a form feed)."""
    return LINE.findall(text)


def without_comments(text: str) -> str:
    """The text with blanks in place of its comments. Every line keeps its number. Comments that a code block shows are
    blanked, too. Comments in inline code stay, and so does a comment that is never closed."""
    lines = split_lines(text)
    for token in _commented(text):
        start, end = token.map or (0, 0)
        lines[start:end] = split_lines(_blanked("".join(lines[start:end]), shown=_marks_in_code(token)))
    return "".join(lines)


def open_comment(text: str) -> int:
    """The line of a comment that is never closed and has further lines; 0 if there is none."""
    for token in _commented(text):
        above, mark, rest = _blanked(token.content).partition("<!--")
        if token.type == "html_block" and mark and "".join(split_lines(rest)[1:]).strip():
            return (token.map or (0, 0))[0] + 1 + above.count("\n")
    return 0


def _blanked(text: str, keep: str = " ", shown: Collection[int] = ()) -> str:
    """The text with `keep` in place of each character of its comments, except line ends. If `keep` is "", whole
    comments are left out, with their line ends. A comment that is never closed stays: the text after it may be wanted.

    `shown`: the marks `<!--` that begin no comment, by their number in the text, from 0.
    """
    parts, at, number = list[str](), 0, 0
    while (start := text.find("<!--", at)) >= 0:
        if number in shown:
            parts.append(text[at : start + 4])
            at, number = start + 4, number + 1
            continue
        short = next((mark for mark in ("<!-->", "<!--->") if text.startswith(mark, start)), "")
        close = start + len(short) - 3 if short else text.find("-->", start + 4)
        if close < 0:
            break
        parts += (text[at:start], re.sub(r"[^\r\n]", keep, text[start : close + 3]) if keep else "")
        number += text.count("<!--", start, close + 3)
        at = close + 3
    return "".join((*parts, text[at:]))


def _marks_in_code(token: "Token") -> frozenset[int]:
    """The numbers of the marks `<!--` in this block that are part of inline code; marks are counted from 0."""
    number, shown = 0, set[int]()
    for child in token.children or ():
        count = child.content.count("<!--")
        shown |= set(range(number, number + count)) if child.type == "code_inline" else set()
        number += count
    return frozenset(shown)


def _commented(text: str) -> "Iterator[Token]":
    """Each block that has a comment, and each code block that shows a comment."""
    for token in _markdown().parse(text):
        if token.map and "<!--" in token.content:
            inner = (child.content for child in token.children or () if child.type == "html_inline")
            if token.type != "inline" or any(content.startswith("<!--") for content in inner):
                yield token


def parse(text: str) -> list[Block]:
    body = _without_front_matter(text.removeprefix("\ufeff"))
    from markdown_it.tree import SyntaxTreeNode

    tokens = _markdown().parse(body)
    root, too_deep, lines = SyntaxTreeNode(tokens), _too_deep(tokens), split_lines(body)
    blocks = list[Block]()
    for node in root.children:
        line, end = _span(node)
        if line in too_deep:  # the parser left out what is nested deepest
            blocks.append(Other(line, end, "".join(lines[line - 1 : end]).strip("\r\n")))
        else:
            blocks += _blocks(node)
    return blocks


def _too_deep(tokens: "Sequence[Token]") -> set[int]:
    """The first lines of outermost blocks that are nested as deep as the parser goes. The parser may have left out
    deeper parts of these blocks."""
    found, line = set[int](), 0
    for token in tokens:
        if token.level == 0 and token.map:
            line = token.map[0] + 1
        if token.level >= NESTED - 1:
            found.add(line)
    return found


@cache
def _markdown() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"maxNesting": NESTED}).enable("table")


def _without_front_matter(text: str) -> str:
    """The text with blank lines instead of its front matter, whose last line Markdown would parse as a heading."""
    lines = split_lines(text)
    if not lines or lines[0].rstrip() != "---" or (lines[1:2] and lines[1][0] in " \t-"):  # a list between two rules
        return text
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            return "\n" * (number + 1) + "".join(lines[number + 1 :])
        if not line.strip() or line[0] in "#|" or not (line[0] in " \t-" or ":" in line):
            return text
    return text


def _blocks(node: "SyntaxTreeNode") -> Iterator[Block]:
    line, end = _span(node)
    if node.type == "heading":
        yield Heading(int(node.tag[1:]), _words_of(node), line, end)
    elif node.type == "paragraph":
        yield Paragraph(_words_of(node), line, end, node.children[0].content if node.children else "")
    elif node.type in ("bullet_list", "ordered_list"):
        yield List(tuple(_item(child) for child in node.children), line, end)
    elif node.type == "table":
        yield _table(node, line, end)
    else:
        yield Other(line, end, _verbatim(node))


def _verbatim(node: "SyntaxTreeNode") -> str:
    """The whole text of a block whose structure does not matter; the cells of a table row are on one line."""
    if node.type == "tr":
        return " | ".join(_words_of(cell).raw for cell in node.children)
    if node.type == "html_block":
        return _blanked(node.content, keep="").strip()
    if node.type in TEXTS:
        return node.content.strip("\n")
    return "\n".join(text for child in node.children if (text := _verbatim(child)))


def _span(node: "SyntaxTreeNode") -> tuple[int, int]:
    start, end = node.map or (0, 0)
    return start + 1, max(end, start + 1)


def _item(node: "SyntaxTreeNode") -> Item:
    line, end = _span(node)
    words, more, nested = Words(), list[str](), list[Item]()
    own_end, words_end, checked, first = end, line, None, True
    for child in node.children:
        if child.type in ("bullet_list", "ordered_list"):
            own_end = min(own_end, max(line, _span(child)[0] - 1))
            nested += [_item(item) for item in child.children]
        elif child.type in ("fence", "code_block"):
            more.append(child.content.rstrip("\n"))
        elif child.type in ("paragraph", "heading"):
            if first:
                words, checked = _checkbox(child)
                line, words_end = _span(child)
            else:
                more.append(_words_of(child).raw)
        elif text := _verbatim(child):
            more.append(text)
        first = False
    number = node.info if node.info.isdigit() else ""
    return Item(words, line, end, own_end, number, checked, tuple(more), tuple(nested), words_end)


def _checkbox(paragraph: "SyntaxTreeNode") -> tuple[Words, bool | None]:
    tokens = _inline(paragraph)
    content = paragraph.children[0].content if paragraph.children else ""
    for mark, checked in (("[ ]", False), ("[x]", True), ("[X]", True)):
        if content.startswith(mark) and (len(content) == len(mark) or content[len(mark)].isspace()):
            again = _markdown().parseInline(content[len(mark) :].lstrip())
            return _words_from(again[0].content, again[0].children or []), checked
    return _words_from(content, tokens), None


def _table(node: "SyntaxTreeNode", line: int, end: int) -> Table:
    header: tuple[Words, ...] = ()
    rows: list[TableRow] = []
    for row in (row_node for part in node.children for row_node in part.children):
        cells = tuple(_words_of(cell) for cell in row.children)
        if row.children and row.children[0].type == "th":
            header = cells
        else:
            rows.append(TableRow(cells, _span(row)[0]))
    return Table(header, tuple(rows), line, end)


def _inline(node: "SyntaxTreeNode") -> "Sequence[Token]":
    inline = node.children[0] if node.children else None
    return (inline.token.children or []) if inline is not None and inline.token is not None else []


def _words_of(node: "SyntaxTreeNode") -> Words:
    return _words_from(node.children[0].content if node.children else "", _inline(node))


def _words_from(content: str, tokens: "Sequence[Token]") -> Words:
    for token in tokens:
        if token.type == "html_inline" and token.content.startswith("<!--"):
            content = content.replace(token.content, "", 1)
    raw = " ".join(content.split("\n")).strip()
    label = _label(tokens)
    rest = raw[raw.find(raw[:2], 2) + 2 :].strip() if label else ""
    return Words(raw, _plain_text(tokens), tuple(t.content for t in tokens if t.type == "code_inline"), label, rest)


def _label(tokens: "Sequence[Token]") -> str:
    tokens = [token for token in tokens if token.type != "text" or token.content.strip()]
    if not tokens or tokens[0].type != "strong_open":
        return ""
    close = next((n for n, token in enumerate(tokens) if token.type == "strong_close"), 0)
    return _plain_text(tokens[1:close])


def _plain_text(tokens: "Sequence[Token]") -> str:
    parts: list[str] = []
    for token in tokens:
        if token.type in ("text", "code_inline"):
            parts.append(token.content)
        elif token.type in ("softbreak", "hardbreak") or token.content.lower() in BREAKS:
            parts.append(" ")
        elif token.type == "image":
            parts.append(token.content)
    return "".join(parts).strip()
