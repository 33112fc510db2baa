"""Find the pictures of a Markdown text, with their lines."""

import re
from functools import cache
from urllib.parse import unquote

from markdown_it import MarkdownIt

from trued.support.lazy_regex import lazy_regex

_TAG = lazy_regex(r"<img\b[^>]{0,2000}?\bsrc\s*=\s*[\"']([^\"'\s>]+)", re.IGNORECASE)


def picture_references(text: str) -> list[tuple[str, int]]:
    """Path or address of each picture as written, with its line; code is ignored."""
    found: list[tuple[str, int]] = []
    if "![" not in text and not _TAG.search(text):
        return found
    for token in _markdown().parse(text):
        line = token.map[0] + 1 if token.map else 1
        if token.type == "html_block":
            found += [(tag, line) for tag in _TAG.findall(token.content)]
        for part in token.children or ():
            if part.type == "image" and (address := str(part.attrs.get("src") or "")):
                found.append((address if "://" in address else unquote(address), line))
            elif part.type == "html_inline":
                found += [(tag, line) for tag in _TAG.findall(part.content)]
    return found


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"maxNesting": 60}).enable("table")
