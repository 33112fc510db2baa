"""Finds lines that look like requirements where the format's reader read nothing: in tables, quotations, code, HTML or
broken lists."""

import re
from collections.abc import Callable, Iterator

from trued.errors import BadInput
from trued.support.lazy_regex import lazy_regex
from trued.support.markdown import open_comment, split_lines, without_comments

_MARK = r"(?:[-*+]|[^\w\s`\[(<#|>&:])(?=[\s\[])|\(?(?:\d{1,4}|[A-Za-z]|[ivxIVX]{1,5})[.)](?=[\s\[])"
_LEAD = lazy_regex(rf"(?:<(?!(?i:input))/?\w[^>\n]*>|[\s>|#]|{_MARK})*")
_BULLET = lazy_regex(rf"([\s>]*)(?:{_MARK})\s")
_RULE = lazy_regex(r"[\s>|:-]*|\s*(?:```|~~~).*|\s*</?\w[^>]*>\s*")  # an empty line, a table's rule, a fence, a tag
_OTHER = lazy_regex(r"[\s>]*[#|]")  # a heading or a table
_TAGS = lazy_regex(r"(?:<(?!(?i:input))/?\w[^<>\n]*>\s*)+")
_INPUT = lazy_regex(r"<input\b[^<>]*>", re.IGNORECASE)


def unread_items(text: str, read: set[int], words_of: Callable[[str], str | None]) -> Iterator[tuple[str, int]]:
    """Text and line of each item outside of the lines that were read. An item begins where `words_of` finds words: on a
    line, after a tag or in a table's cell. It ends before the next item or an empty line. Comments are ignored."""
    words, line, depth = "", 0, 0
    for number, whole in enumerate(split_lines(_INPUT.sub(_on_one_line, without_comments(text))), 1):
        bullet, is_read, is_rule = _BULLET.match(whole), number in read, bool(_RULE.fullmatch(whole.rstrip("\r\n")))
        beside = bullet is not None and len(bullet[1]) <= depth
        for part in _parts(whole, words_of):
            found = None if is_read else words_of(part)
            cells = "|" in part and any(
                words_of(f"| {cell.strip()}") is not None for cell in part.strip(" >|\r\n").split("|")
            )
            begun = not is_read and (found is not None or cells)
            if line and words and (begun or beside or is_read or is_rule):
                yield words, line
                line = 0
            if begun:
                words, line = (bare(part) if found is None else found).strip(" |"), number
                depth = len(bullet[1]) if bullet else 0
            elif is_read or (not words and _OTHER.match(part)):  # a heading or table never continues an empty box
                line = 0
            elif line and not is_rule:
                words = f"{words} {bare(part)}".strip()
    if line and words:
        yield words, line


def bare(line: str) -> str:
    """The line's words, without the marks and tags before them."""
    return line[_LEAD.match(line).end() :].strip()  # type: ignore[union-attr] # matches even an empty text


def _parts(line: str, words_of: Callable[[str], str | None]) -> Iterator[str]:
    """Cut the line at each HTML tag that an item follows. The line is not cut at a tag that has only list marks and
    other tags before it."""
    start = 0
    tags = list(_TAGS.finditer(line))
    ends = [*(tag.start() for tag in tags), len(line)][1:]
    for tag, end in zip(tags, ends, strict=True):
        if _LEAD.fullmatch(line[start : tag.start()]) is None and words_of(line[tag.end() : end]) is not None:
            yield line[start : tag.start()]
            start = tag.start()
    yield line[start:]


def _on_one_line(tag: re.Match[str]) -> str:
    return "\n" * tag[0].count("\n") + " ".join(tag[0].split("\n"))


def refuse_open_comment(text: str, file: str) -> None:
    """Raise BadInput for a comment that is never closed: a parser would take the rest of the file as part of the
    comment."""
    if line := open_comment(text):
        raise BadInput("this comment is never closed, and hides all below it", f"{file}:{line}", "write --> at its end")
