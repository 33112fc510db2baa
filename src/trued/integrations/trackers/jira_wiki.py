"""Converts Jira's wiki text to Markdown, line by line; unknown markup stays as it was written."""

import re
from collections import deque
from collections.abc import Collection, Mapping

from trued.support.lazy_regex import lazy_regex
from trued.support.plain_text import unix_lines

# Lengths are bounded: matching a long text with unclosed markup must not take minutes.
_HEADING = lazy_regex(r"^\s*h([1-6])\.\s+(.*)$")
_ITEM = lazy_regex(r"^\s*([*#-]+)\s+(.*)$")
_FENCES = ("code", "noformat")
_QUOTATIONS = ("quote", "panel")
_BLOCKS = (*_FENCES, *_QUOTATIONS)
MOST_UNENDED = 20  # at most this many marks of quotations that nothing ends are treated as plain text
# The mark of a block, at any place in a line; text in {{code}} is skipped.
_MARK = lazy_regex(rf"\{{\{{(?:(?!\{{\{{).){{1,500}}?\}}\}}|(?<!\\)\{{({'|'.join(_BLOCKS)})(?::([^}}]{{0,500}}))?\}}")
_PICTURE = lazy_regex(r"(?<![\w!])!([^!|\s][^!|\n]{0,300}?)(?:\|[^!\n]{0,300})?!(?!\w)")
_LINK = lazy_regex(r"\[(?:([^|\[\]\n]{1,300})\|)?((?:https?|mailto|ftp)[^|\[\]\s]{1,2000})(?:\|[^\[\]\n]{0,300})?\]")
_BOLD = lazy_regex(r"(?<![\w*\\])\*(?=\S)([^*\n]{1,500}?)(?<=\S)\*(?![\w*])")
_CODE = lazy_regex(r"\{\{((?:(?!\{\{).){1,500}?)\}\}")
_COLOUR = lazy_regex(r"\{color(?::[^}]*)?\}|\{anchor:[^}]*\}")
_KINDS = {"*": "- ", "-": "- ", "#": "1. "}


def markdown_of_wiki(text: str, pictures: Mapping[str, str]) -> str:
    found, literal = _Conversion(text, pictures), set[int]()
    while found.quoted and len(literal) < MOST_UNENDED:  # a quotation that nothing ends would swallow all that follows
        literal.add(found.quoted[0][1])
        found = _Conversion(text, pictures, literal)
    return "\n".join([*found.lines, "```"] if found.fence else found.lines)


class _Conversion:
    """Converts a text to lines of Markdown. After the last line, `fence` and `quoted` are the blocks that are still
    open."""

    def __init__(self, text: str, pictures: Mapping[str, str], literal: Collection[int] = ()) -> None:
        """`literal`: the numbers of `{quote}` and `{panel}` marks that are plain text, because no other mark ends
        them."""
        self.pictures, self.literal, self.marks = pictures, literal, 0
        self.lines: list[str] = []
        self.fence = ""  # the block that is open: code or noformat
        self.quoted: list[tuple[str, int]] = []  # open quotations, innermost last: quote or panel; number of its mark
        self.waiting = deque(enumerate(unix_lines(text).split("\n")))
        self.last = {kind: number for number, line in self.waiting for kind in _FENCES if f"{{{kind}}}" in line}
        while self.waiting:
            number, line = self.waiting.popleft()
            rest = self._end_fence(line) if self.fence else self._convert(number, line)
            if rest.strip():
                self.waiting.appendleft((number, rest))

    @property
    def _prefix(self) -> str:
        return "> " if self.quoted else ""

    def _end_fence(self, line: str) -> str:
        """Add the line to the open block. If a mark in the line ends the block, return the text after the mark, else
        ""."""
        before, closed, after = line.partition(f"{{{self.fence}}}")
        self.lines += [self._prefix + before] if before or not closed else []
        self.lines += [f"{self._prefix}```"] if closed else []
        self.fence = "" if closed else self.fence
        return after

    def _convert(self, number: int, line: str) -> str:
        """Convert a line up to the first mark of a block. Returns what follows the mark; "" if there is no mark."""
        match = self._block_mark(number, line)
        if match is None:
            self.lines.append(self._prefix + _convert_line(line, self.pictures, self.lines))
            return ""
        before, kind, after = line[: match.start()], match[1], line[match.end() :]
        code, closed, rest = after.partition(f"{{{kind}}}")
        if kind in _FENCES and closed and before.strip():  # inside a sentence, a list item or a table
            return f"{before}{{{{{code}}}}}{rest}" if code.strip() else f"{before}{rest}"
        self.lines += [self._prefix + _convert_line(before, self.pictures, self.lines)] if before.strip() else []
        kinds = [kind for kind, _ in self.quoted]
        if kind in _FENCES:
            self.lines.append(f"{self._prefix}```")
            self.fence = kind
        elif kind in kinds:
            del self.quoted[kinds.index(kind) :]
            self.lines += [] if self.quoted else [""]
        else:
            title = re.search(r"title=([^|}]+)", match[2] or "")
            self.lines += [f"> **{title[1].strip()}**"] if title else []
            self.quoted.append((kind, self.marks))
            after = after.lstrip()
        return after

    def _block_mark(self, number: int, line: str) -> re.Match[str] | None:
        """The first mark in a line that begins or ends a block; None if there is none."""
        for match in _MARK.finditer(line):
            kind = match[1]
            if kind in _FENCES and (self.last.get(kind, 0) > number or f"{{{kind}}}" in line[match.end() :]):
                return match
            if kind in _QUOTATIONS:
                self.marks += 1
                if self.marks not in self.literal or kind in [quoted_kind for quoted_kind, _ in self.quoted]:
                    return match
        return None


def _convert_line(line: str, pictures: Mapping[str, str], above: list[str]) -> str:
    if match := _HEADING.match(line):
        return f"{'#' * int(match[1])} {_inline(match[2], pictures)}"
    stripped = line.strip()
    if stripped == "----":
        return "\n---"
    if (match := _ITEM.match(line)) and (len(match[1]) < 4 or match[1][0] != "-"):
        depth = "".join("   " if sign == "#" else "  " for sign in match[1][:-1])
        return f"{depth}{_KINDS[match[1][-1]]}{_box(_inline(match[2], pictures))}"
    if stripped.startswith("||"):
        cells = [_inline(cell.strip(), pictures) for cell in stripped.strip("|").split("||")]
        return f"| {' | '.join(cells)} |\n|{' --- |' * len(cells)}"
    if stripped.startswith("|") and stripped.endswith("|") and len(stripped) > 1:
        cells = [_inline(cell.strip(), pictures) for cell in stripped[1:-1].split("|")]
        row = f"| {' | '.join(cells)} |"
        begins = not (above and above[-1].lstrip("> ").startswith("|"))
        return f"|{' |' * len(cells)}\n|{' --- |' * len(cells)}\n{row}" if begins else row
    if stripped.startswith("bq. "):
        return f"> {_inline(stripped[4:], pictures)}"
    return _inline(line, pictures)


def _box(words: str) -> str:
    for mark, box in (("(/)", "[x]"), ("(x)", "[ ]"), ("\\[ \\]", "[ ]"), ("\\[x\\]", "[x]")):
        if words.startswith(mark):
            return f"{box} {words[len(mark) :].strip()}"
    return words


def _inline(text: str, pictures: Mapping[str, str]) -> str:
    """Convert the markup inside a line; the text in {{code}} stays as it is."""
    parts = _CODE.split(text)
    return "".join(f"`{part}`" if number % 2 else _marks(part, pictures) for number, part in enumerate(parts))


def _marks(text: str, pictures: Mapping[str, str]) -> str:
    def picture(match: re.Match[str]) -> str:
        name = match[1].strip()
        address = name if name.startswith(("http://", "https://")) else pictures.get(name, "")
        return f"![{name}]({address})" if address else match[0]

    text = _PICTURE.sub(picture, _COLOUR.sub("", text))
    text = _LINK.sub(lambda match: f"[{match[1]}]({match[2]})" if match[1] else f"<{match[2]}>", text)
    return _BOLD.sub(r"**\1**", text)
