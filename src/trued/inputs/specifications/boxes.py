"""What a person reads as a box to tick (brackets, a sign, a form field), and where on a line it makes an item."""

import html
import re
import unicodedata
from dataclasses import dataclass

_NAMED_SO = re.compile(r"(?!.*SMALL)(?!BLACK SQUARE$).*(?:BALLOT|CHECK MARK|CROSS MARK|SQUARE)")
_SIGNS = "".join(
    sign
    for sign in map(chr, (*range(0x2580, 0x2C00), *range(0x1F4F0, 0x1F800)))
    if _NAMED_SO.match(unicodedata.name(sign, ""))
)
_OPEN_SIGNS = frozenset(
    sign for sign in _SIGNS if re.fullmatch("BALLOT BOX|.*WHITE.* SQUARE.*", unicodedata.name(sign))
)
_GAP = r"[\s\u200b\u2060\ufeff]*"
_END = r"\\?\]"
# A link, a footnote or a definition is no box. Brackets around nothing but blanks are no link: nobody could see it.
_NO_LINK = r"(?![(\[]|:\s*\S{1,99}\s*(?:[\"'(].*)?$)"
_MARK = r"(?:[^\W\d_]|[^\w\s\[\]^\\][\ufe0e\ufe0f]?|_{1,3})"
_BOX = re.compile(
    rf"(?<![!\w\]])\\?\[(?:(?=[^\]\\])(?P<blank>{_GAP}){_END}|(?P<none>){_END}(?=[\s\w*_~`|<\"]|$){_NO_LINK}|{_GAP}{_MARK}{_GAP}{_END}{_NO_LINK})"
    rf"|[\uff3b\u3010\u3014](?:(?P<wide>{_GAP})|{_GAP}(?:[xXvV\uff58\uff38]|[^\w\s\uff3b\u3010\u3014\uff3d\u3011\u3015]{{1,2}}){_GAP})[\uff3d\u3011\u3015]"
    rf"|[{_SIGNS}]\ufe0f?"
    r"|(?<![\w:]):(?:\w{0,30}(?:square|check)\w{0,30}|x):(?![\w:])"
    r"|&(?:#\d+|#[xX][\da-fA-F]+|\w+);"
    r"|<input\b[^>\n]{0,999}\bcheckbox\b[^>\n]{0,999}>",
    re.IGNORECASE,
)
_ROUND = re.compile(r"(?:\([xX ]?\)|[○◯⭕■]\ufe0f?)(?=\s)")  # a box only where a list's item begins
_CODE = re.compile(r"`+[^`]*`+")
_TAG = re.compile(r"</?\w[^<>\n]*>")
_OPENED = re.compile(r"(?:[*_~`=]|\\)*$")  # emphasis or code that begins right before a box
_BLANKS = " \t\u00a0\u200b\u2060\ufeff"
_MARKS = rf"(?:\\?[-*+]|[^\w\s`\[(<#|>{_SIGNS}])[\s\u200b]|\(?\w{{1,4}}[.)]\s"  # of an item, as people write it
_ITEM = re.compile(rf"[\s>|\u200b\ufeff]*(?:<li\b[^>\n]*>|{_MARKS})")
_ENUMERATED = re.compile(r"\W*(?:(?:\d{1,4}|[A-Za-z]|[ivxlcIVXLC]{1,5})[.)]|[A-Za-z]{1,2}\))\W*")
# What may number an item: "1.1", "#1", "AC-1:", "**1A**"; a word alone does not.
_NUMBER = re.compile(r"\W*(?=[\w.-]*\d|[A-Za-z][\s.):\]*_–—-]*$)\w{1,4}(?:[.-]\w{1,3})*\W*")
_QUOTED = "\"'“‘«„$"
_BRACKETS = "[\\\uff3b\u3010\u3014"
_FRAME = "[]\\\uff3b\uff3d\u3010\u3011\u3014\u3015 \t\u00a0\ufe0e\ufe0f"
_IN_TEXT = "\"'“‘«„$=({,+<>/"  # before brackets that are quoted, or part of a formula or of code
LEAD = 200  # fewer characters than this are before a box that is numbered
LABEL_WORDS = 4  # most words of a label before a box


@dataclass(frozen=True, slots=True)
class Box:
    """A box on a line: where it begins and ends, and whether nothing is in it."""

    start: int
    end: int
    is_open: bool
    is_tick: bool  # nothing or a tick is in it; another letter or sign between words may be something else


def without_box(line: str, *, listed: bool = False) -> str | None:
    """The words of an item without its box; None if the line is no item of a checklist.

    A box makes an item at the beginning of a line, after a number or label, and at the end if it is empty. In an item
    of a list (`listed`, or by the line's own mark), a ticked one may end it, too, and an empty one may be anywhere."""
    mark = _ITEM.match(line)
    listed = listed or mark is not None
    if listed and (round_box := _ROUND.match(line, mark.end() if mark else 0)):
        return line[round_box.end() :].strip()
    if not (boxes := _boxes(line)):
        return None
    first, last = boxes[0], boxes[-1]
    before, after = _TAG.sub(" ", line[: first.start]), line[first.end :]
    opened = _OPENED.search(before[-LEAD:])
    after = after.removeprefix(opened[0][::-1] if opened else "").strip().strip(_BLANKS)
    if not re.search(r"\w", before) and before[-1:] not in tuple(_QUOTED):
        return after
    if len(before) < LEAD and _ENUMERATED.fullmatch(before):
        return after
    if len(before) < LEAD and _NUMBER.fullmatch(before):
        return f"{before.strip()} {after}".strip()
    shown = _CODE.sub(lambda code: " " * len(code[0]), line)
    boxes = [box for box in boxes if shown[box.start : box.end].strip()]
    if len({box.is_open for box in boxes}) != 1:  # none, or the line may explain what boxes mean
        return None
    is_labelled = (
        boxes[0] == first
        and (first.is_open or (first.is_tick and line[first.start] in _BRACKETS))
        and _is_label(before)
    )
    at_end = boxes[-1] == last and not line[last.end :].strip(" \t\r\n|*_~\ufe0f") and _is_apart(line[: last.start])
    if is_labelled or (at_end and (last.is_open or (listed and last.is_tick))):
        return line.strip()
    alone = any(box.is_open and _stands_alone(line, box) for box in boxes)
    return line.strip() if listed and alone else None


def without_box_in_prose(line: str) -> str | None:
    """As `without_box`, for text that is no checklist: there, a tick or cross makes an item only in a list or table."""
    words = without_box(line)
    if words is None or "|" in line or _ITEM.match(line):
        return words
    first = _boxes(line)[0]
    return words if first.is_open or line[first.start] in f"{_BRACKETS}<" else None


def _is_label(before: str) -> bool:
    label = before.rstrip(" \t*_")
    return label.endswith(":") and len(re.findall(r"\w+", label)) <= LABEL_WORDS


def _is_apart(before: str) -> bool:
    """Whether a box after this text is a word of its own, and no part of a formula."""
    return before[-1:].isspace() and before.rstrip()[-1:] not in _IN_TEXT


def _stands_alone(line: str, box: Box) -> bool:
    """Whether brackets are a word of their own; a sign may be only what the words are about."""
    return line[box.start] in _BRACKETS and _is_apart(line[: box.start]) and line[box.end : box.end + 1].isspace()


def _boxes(line: str) -> list[Box]:
    found = list[Box]()
    for match in _BOX.finditer(line):
        text = match[0]
        if text[0] == "&":
            text = html.unescape(text)
            if text not in _SIGNS or not text:
                continue
        blank = match["blank"] is not None or match["wide"] is not None
        is_open = blank or text[0] in _OPEN_SIGNS or (text[0] == ":" and "white" in text and "check" not in text)
        inner = "" if match["none"] is not None else text.strip(_FRAME)
        is_tick = is_open or (bool(inner) and (inner in "xXvV" or inner[0] in _SIGNS or text[0] in ":<"))
        found.append(Box(match.start(), match.end(), is_open, is_tick))
    return found
