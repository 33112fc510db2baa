"""What a person reads as a box to tick: brackets, a sign of Unicode, or a form field."""

import html
import re
import unicodedata

from trued.support.lazy_regex import lazy_regex

_NAMES = {chr(code): unicodedata.name(chr(code), "") for code in (*range(0x2580, 0x2C00), *range(0x1F4F0, 0x1F800))}
_OPEN_SIGNS = "".join(
    sign for sign, name in _NAMES.items() if re.fullmatch(r"BALLOT BOX|WHITE (?:(?:MEDIUM|LARGE) )?SQUARE", name)
)
_SIGNS = _OPEN_SIGNS + "".join(
    sign
    for sign, name in _NAMES.items()
    if re.search(r"BALLOT|CHECK MARK|CROSS MARK|SQUARE BUTTON|WHITE.* (?:SQUARE|CIRCLE)", name)
)
_OPENING, _CLOSING = r"\\?[\[\uff3b\u3010]", r"\\?[\]\uff3d\u3011]"  # also full-width, or after a backslash
_NO_LINK = r"(?![(\[:])"  # a link, a footnote or a definition is no box
_OPEN_BOX = rf"(?:{_OPENING}\s+{_CLOSING}|\(\s+\)|[{_OPEN_SIGNS}]\ufe0f?)"
_TICKED_BOX = rf"(?:{_OPENING}\s*[xX]\s*{_CLOSING}{_NO_LINK}|[{_SIGNS}]\ufe0f?)"
_ANY_BOX = (
    rf"(?<!!)\(?(?:{_OPEN_BOX}|{_OPENING}\s*(?:[^\s\d^\\\[\]]|_+)?\s*{_CLOSING}{_NO_LINK}|[{_SIGNS}]\ufe0f?"
    r"|(?i:<input\b[^>\n]*\bcheckbox\b[^>\n]*>))\)?(?=[\s\w*_~`|<=(:\"'\u2013-\u201d]|$)"
)
# What may number an item: "1.", "b)", "1.1", "C-1:", "1A".
_NUMBER = r"(?:(?=[\w-]*\d)\w{1,4}(?:[.-]\w{1,3})*[.):]*|\w{1,4}[.)])(?=[\s*_])"
_TAG = r"</?(?!(?i:input)\b)\w[^>\n]*>"
_BEGINS = lazy_regex(
    rf"(?:{_TAG}|[^\w\[\uff3b\u3010<{_SIGNS}]|{_NUMBER}|(?!{_ANY_BOX})[<])*?{_ANY_BOX}[*_~`=:\u2013\u2014]*\s*"
)
_OPEN = lazy_regex(rf"(?<!\S){_OPEN_BOX}(?!\S)")
_ENDS = lazy_regex(rf"\s{_TICKED_BOX}[\s|*_]*$")
_ENTITY = lazy_regex(r"&#?\w{1,30};")
_SHORT_CODE = lazy_regex(r"(?<![\w:]):\w*(?:check|cross|box|square)\w*:(?![\w:])")  # ":white_check_mark:"
_CODE = lazy_regex(r"`+[^`]*`+")


def without_box(line: str) -> str | None:
    """The words of an item, without the box that it begins with; None if the line is no item of a checklist.

    A line without a box at its beginning is an item if it has an empty box anywhere, or a ticked box at its end. Then
    the whole line is returned. A line that explains what boxes mean is no item.
    """
    line = _SHORT_CODE.sub("\u2611", _ENTITY.sub(_sign_of, line))
    if match := _BEGINS.match(line):
        return line[match.end() :].strip()
    shown = _CODE.sub("", line)
    legend = _OPEN.search(shown) and re.search(_TICKED_BOX, _OPEN.sub("", shown))  # explains what boxes mean
    return line.strip() if (_OPEN.search(shown) or _ENDS.search(shown)) and not legend else None


def without_box_in_prose(line: str) -> str | None:
    """Like `without_box`, for a line outside of checklists. There, a line with only a tick or a cross must also be in a
    list or table to be an item."""
    words = without_box(line)
    line = _ENTITY.sub(_sign_of, line)
    is_listed = re.match(rf"[\s>]*(?:[^\w\s`<{_SIGNS}]|{_NUMBER}|<li\b)", line)
    return words if "|" in line or is_listed or re.search(rf"{_OPEN_BOX}|(?i:<input)", line) else None


def _sign_of(entity: re.Match[str]) -> str:
    """The blank or sign that the HTML entity stands for. The entity stays as it is if it is unknown, or if it stands
    for a letter, a digit, <, > or &."""
    shown = html.unescape(entity[0])
    return entity[0] if shown.isalnum() or shown in tuple("<>&") else shown
