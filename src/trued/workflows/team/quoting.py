"""Quotes agents' texts in files that people read, so that the texts cannot look like parts of the file."""

from typing import Annotated, TypeAlias

from pydantic import AfterValidator

from trued.support.plain_text import plain, unix_lines
from trued.workflows.team.backlog.items import escaped, limited_line

LINES = 400  # lines of one text; the rest is cut
WIDTH = 4000
CUT = "[… cut here …]"


def tidy(text: str) -> str:
    """Remove control characters and surrounding space, and cut to size. A second call changes nothing."""
    rows = [row[:WIDTH].rstrip() for row in plain(unix_lines(text)).split("\n")]
    while rows and not rows[0]:
        rows.pop(0)
    while rows and not rows[-1]:
        rows.pop()
    return "\n".join(rows if len(rows) <= LINES else [*rows[: LINES - 1], CUT])


Text: TypeAlias = Annotated[str, AfterValidator(tidy)]


def quoted(text: str) -> str:
    """The text as a Markdown quotation, whatever it contains."""
    return "\n".join(f"> {row}".rstrip() for row in tidy(text).split("\n"))


def line(text: str) -> str:
    """The text on one line, with Markdown escaped."""
    return escaped(limited_line(text))


def titled_list(title: str, entries: "tuple[str, ...] | list[str]") -> str:
    """A titled list; "" if there are no entries."""
    rows = "\n".join(f"- {line(entry)}" for entry in entries if entry.strip())
    return f"{title}:\n\n{rows}\n" if rows else ""
