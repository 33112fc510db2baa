"""Syntax highlighting for diffs: each token gets a CSS class. Tokens stay text and are escaped like all text."""

import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any, TypeAlias

from trued.page.work_diff import DiffParts
from trued.support.lazy_regex import lazy_regex

# File suffix → lexer. Agents choose file names, so only these few lexers may read an agent's text.
LANGUAGES = {
    **dict.fromkeys((".py", ".pyi"), "python"),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), "javascript"),
    **dict.fromkeys((".ts", ".tsx"), "typescript"),
    **dict.fromkeys((".c", ".h"), "c"),
    **dict.fromkeys((".cc", ".cpp", ".hpp"), "cpp"),
    **dict.fromkeys((".yaml", ".yml"), "yaml"),
    **dict.fromkeys((".html", ".htm"), "html"),
    **dict.fromkeys((".sh", ".bash"), "bash"),
    **{".json": "json", ".toml": "toml", ".css": "css", ".go": "go", ".rs": "rust", ".java": "java"},
    **{".rb": "ruby", ".sql": "sql", ".php": "php", ".cs": "csharp", ".kt": "kotlin", ".swift": "swift"},
}
LONGEST = 60_000  # characters; a longer diff is not coloured
HUNK, LINE = 20_000, 400  # characters; a longer hunk, or one with a longer line, stays plain
WORDS = 2_500  # coloured words in one diff, because each is an element of the page
WITHIN_S = 0.3  # the time for colouring one diff; after that the rest stays plain
_LINES = lazy_regex(r"[^\n]*\n|[^\n]+")

Word: TypeAlias = tuple[str, str]  # class ("" for plain text), and text
ColouredParts: TypeAlias = tuple[tuple[str, tuple[Word, ...]], ...]  # kind of line (+, -, @ or ""), and the words


@lru_cache(maxsize=64)
def coloured(path: str, parts: DiffParts, within_s: float = WITHIN_S) -> ColouredParts:
    """The lines of the diff, each split into words with CSS classes. A line that is not coloured is a single word. No
    line is coloured if the language is unknown. Hunks that would take too long or need too many elements are not
    coloured either."""
    lexer = _lexer(path) if sum(len(text) for _, text in parts) <= LONGEST else None
    until, left = time.monotonic() + within_s, WORDS
    found: list[tuple[str, tuple[Word, ...]]] = []
    for hunk in _hunks(parts):
        made = _coloured_hunk(lexer, hunk) if lexer and left > 0 and time.monotonic() < until else None
        used = sum(bool(kind) for _, words in made or () for kind, _ in words)
        left -= used
        found += made if made and left >= 0 else [(sort, (("", text),)) for sort, text in hunk]
    return tuple(found)


def _lexer(path: str) -> Any:
    language = LANGUAGES.get(PurePosixPath(path).suffix.lower())
    if language is None:
        return None
    from pygments.lexers import get_lexer_by_name  # imported here, because only a viewed diff needs it

    return get_lexer_by_name(language)


def _hunks(parts: DiffParts) -> Iterator[list[tuple[str, str]]]:
    """The hunks of a diff: each a heading and the lines below it."""
    hunk: list[tuple[str, str]] = []
    for sort, text in parts:
        if sort == "@" and hunk:
            yield hunk
            hunk = []
        hunk.append((sort, text))
    if hunk:
        yield hunk


def _coloured_hunk(lexer: Any, hunk: list[tuple[str, str]]) -> list[tuple[str, tuple[Word, ...]]] | None:
    """Highlight the hunk's old text as a whole, and its new text as a whole, since a string may span many lines. None
    if the hunk or one of its lines is too long."""
    lines = [(sort, line) for sort, text in hunk if sort != "@" for line in _LINES.findall(text)]
    if sum(len(line) for _, line in lines) > HUNK or any(len(line) > LINE for _, line in lines):
        return None
    sides = {side: iter(_lines(lexer, [line[1:] for sort, line in lines if sort in ("", side)])) for side in ("-", "+")}
    found = []
    for sort, text in hunk:
        words: list[Word] = []
        for line in _LINES.findall(text) if sort != "@" else ():
            every = {side: next(sides[side]) for side in sides if sort in ("", side)}
            words += [("", line[:1]), *every["-" if sort == "-" else "+"]]
        found.append((sort, tuple(_joined(words)) if sort != "@" else (("", text),)))
    return found


def _lines(lexer: Any, lines: list[str]) -> list[list[Word]]:
    """The words of each line."""
    found: list[list[Word]] = [[]]
    for _, token, text in lexer.get_tokens_unprocessed("".join(lines)):
        kind = _kind(token)
        for part in _LINES.findall(text):
            found[-1].append((kind if part.strip() else "", part))
            if part.endswith("\n"):
                found.append([])
    read = ["".join(text for _, text in words) for words in found[: len(lines)]]
    return found if read == lines else [[("", line)] for line in lines]  # plain lines if the lexer changed the text


def _kind(token: Any) -> str:
    from pygments.token import Comment, Keyword, Name, Number, String

    for sort, kind in (
        *((Comment, "t-comment"), (String, "t-string"), (Number, "t-number"), (Keyword, "t-keyword")),
        *((Name.Tag, "t-keyword"), (Name.Function, "t-name"), (Name.Class, "t-name"), (Name.Attribute, "t-name")),
    ):
        if token in sort:
            return kind
    return ""


def _joined(words: list[Word]) -> Iterator[Word]:
    """Join neighbouring words of one class."""
    last, text = "", ""
    for kind, part in words:
        if kind != last and text:
            yield last, text
            text = ""
        last, text = kind, text + part
    if text:
        yield last, text
