"""Makes sentences for people about a page: what was expected, and what was there instead. Does no I/O."""

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

LONGEST = 160  # at most this many characters of a page are quoted in one sentence
MOST_PIECES = 3000  # at most this many pieces of a page are compared
ALIKE = 0.35  # texts with less similarity count as unrelated


def collapse_spaces(text: str) -> str:
    """The text with every run of white space replaced by one space, and without white space at its ends."""
    return re.sub(r"[\s\u00a0\u200b]+", " ", text).strip()


def quote(text: str) -> str:
    """The text in quotation marks, on one line, cut to a readable length."""
    short = collapse_spaces(text)
    return f'"{short[:LONGEST]}{"…" if len(short) > LONGEST else ""}"'


def expected_to_see(words: str, page: str, lines: Sequence[str]) -> str:
    """The sentence `expected to see "Earn 40 points" on /collection; it shows "+ loyalty points"`."""
    return f"expected to see {quote(words)} on {page}; {_shown_instead(words, lines)}"


def expected_not_to_see(unwanted: str, page: str, lines: Sequence[str]) -> str:
    """The sentence `expected not to see "Error" on /cart; it shows "Error: no stock"`."""
    words = collapse_spaces(unwanted)
    line_with_words = next((line for line in lines if words in line), unwanted)
    instead = f"it shows {quote(_excerpt(words, line_with_words))}" if words != line_with_words else "it is there"
    return f"expected not to see {quote(unwanted)} on {page}; {instead}"


def before_actions(sentence: str) -> str:
    """The sentence, marked as being about the page before the actions, such as `before the actions: expected not to see
    "1 item" on /; it is there`."""
    return f"before the actions: {sentence}"


def could_not(action: str, page: str, why: str) -> str:
    """The sentence `could not click "Add to cart" on /: there is no such button, link or text`."""
    return f"could not {collapse_spaces(action)[:LONGEST]} on {page}: {collapse_spaces(why)[:LONGEST]}"


def expected_url(target: str, page: str, url: str) -> str:
    """The sentence `expected /old to lead to /new; it leads to /`."""
    return (
        f"expected {page} to lead to {collapse_spaces(target)[:LONGEST]}; it leads to {collapse_spaces(url)[:LONGEST]}"
    )


def expected_in_tree(expected_line: str, page: str, tree: Sequence[str]) -> str:
    """The sentence `expected button "Buy" in the accessibility tree of /cart; …`, with the nearest line that is
    there."""
    nearest = nearest_text(expected_line, tree)
    instead = f"the nearest line in it is {nearest[:LONGEST]}" if nearest else "no line in it is similar"
    return f"expected {collapse_spaces(expected_line)[:LONGEST]} in the accessibility tree of {page}; {instead}"


def expected_no_errors(page: str, errors: Sequence[str]) -> str:
    """The sentence `expected no errors on /cart; it reports "TypeError …" and 2 more`."""
    more = f" and {len(errors) - 1} more" if len(errors) > 1 else ""
    return f"expected no errors on {page}; it reports {quote(errors[0])}{more}"


def nearest_text(expected: str, lines: Iterable[str]) -> str:
    """The line, or part of a long line, that is most similar to the expected text; "" if none is similar."""
    folded = collapse_spaces(expected).casefold()
    words = frozenset(_words(folded))
    best, nearest = ALIKE, ""
    for piece in list(_pieces(lines, len(folded.split())))[:MOST_PIECES]:
        score = _likeness(folded, words, piece.casefold())
        best, nearest = (score, piece) if score > best else (best, nearest)
    return nearest


def _likeness(folded: str, words: frozenset[str], piece: str) -> float:
    other_words = frozenset(_words(piece))
    shared = len(words & other_words) / len(words | other_words) if words | other_words else 0.0
    return shared + SequenceMatcher(None, folded, piece[:LONGEST], autojunk=False).ratio() / 2


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def _pieces(lines: Iterable[str], many: int) -> Iterable[str]:
    """The lines that are not empty. A long line is cut into overlapping parts, each a few words longer than the
    expected text, which has `many` words."""
    for line in lines:
        words = line.split()
        if len(line) <= LONGEST or not words:
            yield from [line] if line.strip() else []
            continue
        width = max(many + 3, 6)
        yield from (" ".join(words[start : start + width]) for start in range(0, len(words), max(width // 2, 1)))


def _shown_instead(expected: str, lines: Sequence[str]) -> str:
    shown = [line for line in lines if line]
    if not shown:
        return "the page shows no text at all"
    if nearest := nearest_text(expected, shown):
        return f"it shows {quote(nearest)}"
    return f"it shows nothing similar, and begins with {quote(' '.join(shown[:4]))}"


def _excerpt(words: str, line: str) -> str:
    start = max(line.find(words) - 40, 0)
    return line[start : start + LONGEST] if words in line else words
