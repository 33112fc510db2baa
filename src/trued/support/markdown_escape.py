"""Escape text from outside for Markdown, so that no markup, link, mention or "fixes #12" in it takes effect."""

import re
from collections.abc import Iterator

from trued.support.lazy_regex import lazy_regex
from trued.support.plain_text import plain, plain_line
from trued.support.plurals import counted

LONGEST = 500  # characters of one cell
MOST_LINES = 80
_SPECIAL = lazy_regex(r"([\\`*_{}\[\]()#+.!|~$^=-])")
_CALLING = lazy_regex(r"([@#])(?=\w)")
_LINKING = lazy_regex(r"(?i)\b(https?|ftp|mailto|www|gh|xmpp)(?=[:.-])")
_CLOSING = lazy_regex(r"(?i)\b(clos(?:es?|ed)|fix(?:es|ed)?|resolv(?:es?|ed))(?=[:\s]+\S*(?:#|gh-)?\d)")
_ITEM = lazy_regex(r"(\s*)(?:[-*+]|\d{1,3}[.)])\s+(.*)")
_HEADING = lazy_regex(r"#{1,6}\s+(.*?)\s*#*")


def escaped(text: str, longest: int = LONGEST) -> str:
    """The text escaped, on one line, cut at `longest` characters."""
    flat = plain_line(text, longest) or "…"
    quiet = _LINKING.sub("\\1\u200b", _CALLING.sub("\\1\u200b", _CLOSING.sub("\\1\u200b", flat)))
    return _SPECIAL.sub(r"\\\1", quiet.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def code_block(text: str, kind: str = "") -> str:
    """A fenced code block that its content cannot close."""
    clean = plain(text)
    longest = max((len(run) for run in re.findall(r"`+", clean)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{kind}\n{clean}\n{fence}"


def folded(title: str, body: str) -> str:
    """A section that a reader has to open; "" if its body is empty."""
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>" if body else ""


def quotation(text: str) -> str:
    """Markdown as a quotation of at most MOST_LINES lines, which keeps only paragraphs, list items and headings."""
    lines = plain(text).strip().splitlines()
    shown = [
        *map(_escaped_line, lines[:MOST_LINES]),
        *([f"… {counted(len(lines) - MOST_LINES, 'line')} more"] if lines[MOST_LINES:] else []),
    ]
    return "\n".join(f"> {line}".rstrip() for line in _without_fences(shown))


def _escaped_line(line: str) -> str:
    if not line.strip():
        return ""
    if match := _ITEM.fullmatch(line):
        return f"{match[1].replace(chr(9), '  ')[:8]}- {escaped(match[2], 2000)}"
    if match := _HEADING.fullmatch(line):
        return f"**{escaped(match[1])}**"
    return escaped(line, 2000)


def _without_fences(lines: list[str]) -> Iterator[str]:
    return (line for line in lines if not line.startswith((r"\`\`\`", r"\~\~\~")))
