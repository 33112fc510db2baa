"""Lines that look like requirements where no structure was read: in tables, quotations, code, HTML or broken lists."""

import re
from collections.abc import Iterator

from trued.support.markdown import COMMENT, split_lines

_LEAD = re.compile(r"(?:<(?!input)/?\w[^>\n]*>|[\s>|#]|[-*+](?=[\s\[])|\d{1,4}[.)](?=[\s\[]))*")
_BULLET = re.compile(r"([\s>]*)(?:[-*+]|\d{1,4}[.)])\s")
_RULE = re.compile(r"[\s>|:-]*|\s*(?:```|~~~).*|\s*</?\w[^>]*>\s*")  # an empty line, a table's rule, a fence, a tag


def unread_items(
    text: str, read: set[int], begins: re.Pattern[str], *, keep: bool = False
) -> Iterator[tuple[str, int]]:
    """Text and line of each item outside of the lines that were read. An item begins on a line, or in a table in a
    cell, whose first words match `begins`; it continues until the next item or an empty line. Comments do not count.

    `keep`: the words that match belong to the item."""
    words, line, depth = "", 0, 0
    lines = split_lines(COMMENT.sub(lambda comment: re.sub(r"[^\r\n]", " ", comment[0]), text))
    for number, whole in enumerate(lines, 1):
        bare = whole[_LEAD.match(whole).end() :].strip()  # type: ignore[union-attr] # matches even an empty text
        match = begins.match(bare)
        cells = "|" in whole and any(begins.match(cell.strip()) for cell in whole.strip(" >|\r\n").split("|"))
        begun = number not in read and bool((match and bare[match.end() :]) or cells)
        bullet = _BULLET.match(whole)
        beside = bullet is not None and len(bullet[1]) <= depth
        if line and (begun or beside or number in read or _RULE.fullmatch(whole.rstrip("\r\n"))):
            yield words, line
            line = 0
        if begun:
            words, line = (bare[match.end() :] if match and not keep else bare).strip(" |"), number
            depth = len(bullet[1]) if bullet else 0
        elif line:
            words = f"{words} {bare}"
    if line:
        yield words, line
