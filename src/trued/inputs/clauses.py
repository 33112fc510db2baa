"""Split sentences into clauses, and find the clauses that no case quotes."""

import re
from collections.abc import Callable, Iterator

from trued.support.lazy_regex import lazy_regex

SHORTEST = 2  # fewest words of a clause; a shorter piece is an item of an enumeration, and stays with the clause before
MEANINGFUL = 2  # an unquoted remainder counts as a clause if it has at least this many words that mean something
_ENDS = lazy_regex(r"(?<=[.;!?])\s+|;\s*|,\s+(?:and\s+|but\s+|or\s+)?|\s+(?:and|but)\s+|\n+")
NESTED = 3  # this many levels of brackets inside brackets are kept whole: code in requirements has no more


def _in_brackets(begin: str, end: str) -> str:
    """A pattern for text between the brackets `begin` and `end`. The text may contain more pairs of these brackets."""
    outside = rf"[^\{begin}\{end}]"
    pattern = rf"\{begin}{outside}*\{end}"
    for _ in range(NESTED):
        pattern = rf"\{begin}(?:{outside}|{pattern})*\{end}"
    return pattern


_KEPT = lazy_regex(
    "|".join((*(_in_brackets(*pair) for pair in ("()", "[]", "{}")), r"`[^`]*`|\"[^\"]*\"|“[^”]*”|'[^'\s][^']*'"))
)
# A route, a function or a file: GET /books/<id>, `slug(text)`, slug(text), src/slug.js, slug.py
_NAME = lazy_regex(
    r"`?\b(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) /[^\s`]*`?"
    r"|`?\b[A-Za-z_][\w.]*\([^()`]*\)`?"
    r"|`?(?:[\w.-]+/)*[\w-]+\.[A-Za-z]{1,4}\b`?"
)
_LETTERS = lazy_regex(r"[^\W\d_]{3,}")
_JOINING = (
    "and but the for with its are has have that this then than also too was can must should shall will may all any"
)
_SMALL = frozenset(_JOINING.split())


def clauses(text: str) -> list[str]:
    """Split a sentence into parts that can each be true or false; when in doubt, split.

    Code, quotations and text in brackets (round, square or curly) are never cut, unless brackets are nested deeper than
    `NESTED`.
    """
    flat = one_line(text)
    shelter = [(match.start(), match.end()) for match in _KEPT.finditer(flat)]
    cuts = [match for match in _ENDS.finditer(flat) if not any(begin < match.start() < end for begin, end in shelter)]
    pieces, begins, start = list[str](), list[int](), 0
    for begin, end in [*((cut.start(), cut.end()) for cut in cuts), (len(flat), len(flat))]:
        piece = flat[start:begin].strip(" ,;")
        if pieces and len(piece.split()) < SHORTEST:
            pieces[-1] = flat[begins[-1] : begin].strip(" ,;")
        elif piece:
            pieces.append(piece)
            begins.append(start)
        start = end
    return pieces


def unquoted_clauses(text: str, quotes: list[str]) -> tuple[str, ...]:
    """The parts of the text that no quotation covers, verbatim.

    Words such as "and" and "the" do not count as words here. The text before or after a quotation is returned if it has
    at least MEANINGFUL words outside code. A clause that no quotation touches is returned if it has at least one word,
    or code.
    """
    flat = one_line(text)
    open_ = [True] * len(flat)
    for quote in filter(None, map(one_line, quotes)):
        at = flat.find(quote)
        while at >= 0:
            open_[at : at + len(quote)] = [False] * len(quote)
            at = flat.find(quote, at + 1)
    rests = "".join(char if free else "\0" for char, free in zip(flat, open_, strict=True)).split("\0")
    uncovered = [rest for rest in rests if _is_meaningful(rest)]
    uncovered += [clause for clause in _untouched_clauses(flat, open_) if not any(clause in rest for rest in uncovered)]
    return tuple(rest.strip(" ,;.:–-") for rest in sorted(uncovered, key=flat.find))


def quoted_clauses(text: str, quote: str) -> tuple[str, ...]:
    """The clauses of the text that a quotation touches. If it touches no clause, the quotation itself."""
    flat, quoted = one_line(text), one_line(quote)
    found, at = list[str](), 0
    begin = flat.find(quoted)
    for clause in clauses(flat):
        at = flat.find(clause, at)
        if begin >= 0 and at < begin + len(quoted) and begin < at + len(clause):
            found.append(clause)
        at += len(clause)
    return tuple(found) or (quoted,)


def _untouched_clauses(flat: str, open_: list[bool]) -> Iterator[str]:
    at = 0
    for clause in clauses(flat):
        at = flat.find(clause, at)
        if all(open_[at : at + len(clause)]) and ("`" in clause or _meaningful_words(clause)):
            yield clause
        at += len(clause)


def _is_meaningful(rest: str) -> bool:
    return len(_meaningful_words(re.sub(r"`[^`]*`", " ", rest))) >= MEANINGFUL


def _meaningful_words(text: str) -> list[str]:
    return [word for word in _LETTERS.findall(text) if word.lower() not in _SMALL]


def is_only_names(rest: str, is_used: Callable[[str], bool]) -> bool:
    """Whether the text `rest` only says where something is: "`slug(text)` in src/slug.js".

    The text must name at least one route, function or file, and `is_used` must be true for each of these names. All
    other words must be words such as "in" or "the".
    """
    names = [found.strip("`") for found in _NAME.findall(rest)]
    return bool(names) and all(map(is_used, names)) and not _meaningful_words(_NAME.sub(" ", rest))


def one_line(text: str) -> str:
    """The text on one line."""
    return " ".join(text.split())


def comparable(text: str) -> str:
    """The text in the form in which two sentences are compared: on one line, without case and final period."""
    return one_line(text).rstrip(".").rstrip().casefold()
