"""Make a browser check from a criterion that names a page and what it shows, using only the user's words."""

import re

from trued.model import BrowserCheck, Criterion
from trued.support.lazy_regex import lazy_regex

_QUOTED = lazy_regex(r"\"([^\"\n]{1,200})\"|“([^”\n]{1,200})”|(?<!\w)'([^'\n]{1,200})'(?!\w)|‘([^’\n]{1,200})’")
_PAGE = lazy_regex(
    r"`(/[^\s`]*)`|(?:(?<=page )|(?<=on )|(?<=at ))(/)(?=[\s,;.]|$)|(?<![\w/.:~`-])(/[\w~%][\w\-./~%?=&+,@]*)"
)
_FILE = lazy_regex(r"\.(?!html?$|php$)\w{1,8}$")
_SEES = lazy_regex(
    r"\b(?:shows?|shown|displays?|displayed|sees?|seen|visible|appears?|reads?|says?|contains?|lists?|renders?|"
    r"hides?|hidden|disappears?|gone|removed)\b",
    re.IGNORECASE,
)
_NOT = lazy_regex(
    r"\b(?:not|no longer|never|without|instead of|rather than|hides?|hidden|disappears?|gone|removed|nor|no)\b|"
    r"n['’]t\b",
    re.IGNORECASE,
)
# These words may ask for more than opening one page, so a criterion with one of them gets no check.
_DOUBT = lazy_regex(
    r"\b(?:if|when|whenever|while|unless|until|after|before|once|click(?:s|ed|ing)?|press\w*|hover\w*|select\w*|enter\w*|"
    r"typ(?:e|es|ed|ing)|submit\w*|log(?:s|ged)?|sign(?:s|ed)?|or|either|may|might|could|except|only|mobile|tablet|"
    r"title|placeholder|alt|attribute|tooltip|json|api|endpoint|status|header|response|returns?|redirect\w*|each|every|"
    r"any|other|similar|like|times?|twice)\b|e\.g\.",
    re.IGNORECASE,
)
_HOLE = lazy_regex(r"\b[XYZN]\b|[{}<>]|…|\.\.\.|\bxx+\b|%[sd]|\*")  # a placeholder, not the text itself


def page_check(criterion: Criterion) -> BrowserCheck | None:
    """The check that the criterion's words ask for; None if in doubt."""
    text = " ".join(criterion.text.split())
    quotes = [(match, next(part for part in match.groups() if part)) for match in _QUOTED.finditer(text)]
    bare = _QUOTED.sub(lambda match: "\0" * len(match[0]), text)
    pages = {_path(match) for match in _PAGE.finditer(bare)}
    unsafe = _DOUBT.search(bare) or any(_HOLE.search(words) or not words.strip() for _, words in quotes)
    if len(pages) != 1 or not quotes or unsafe or not _SEES.search(bare):
        return None
    page = pages.pop()
    if _FILE.search(page.partition("?")[0]):
        return None
    sees, hides = _sort_quotes(bare, quotes)
    if set(sees) & set(hides):
        return None
    return BrowserCheck(page=page, sees=sees, hides=hides, quotes=text, visible=True)


def _path(match: re.Match[str]) -> str:
    return match[1] or match[2] or match[3].rstrip(".,;:?")


def _sort_quotes(bare: str, quotes: list[tuple[re.Match[str], str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The quoted texts that must be seen on the page, and the quoted texts that must not. The words around a quotation
    decide."""
    sees: list[str] = []
    hides: list[str] = []
    end, denied = 0, False
    for number, (match, words) in enumerate(quotes):
        before = bare[end : match.start()]
        following = quotes[number + 1][0].start() if number + 1 < len(quotes) else len(bare)
        after = re.split(r"[,;.]|\b(?:and|but)\b", bare[match.end() : following])[0]
        if before.strip(" ,") not in ("", "and"):  # otherwise a list continues, and its first negation still applies
            denied = bool(_NOT.search(re.split(r"[;.]|\bbut\b", before)[-1]))
        (hides if denied or _denies(after) else sees).append(words)
        end = match.end()
    return tuple(sees), tuple(hides)


def _denies(after: str) -> bool:
    """Whether the words after a quotation negate it, as in `"A" is no longer shown`. A negation at the end of these
    words, as in `"A" instead of "B"`, is about the next quotation."""
    words = re.sub(r"\b(?:instead of|rather than|and not|not|without)\s*$", "", after.rstrip(" \0"))
    return bool(_NOT.search(words))
