"""Somebody's words in a file that people read: quoted, bounded, and unable to pose as the file's own."""

from typing import Annotated, TypeAlias

from pydantic import AfterValidator

from trued.support.redaction import plain
from trued.workflows.team.backlog.items import escaped, one_line

LINES = 400  # of one text: a longer one is read where it was written
WIDTH = 4000
CUT = "[… cut here …]"


def tidy(text: str) -> str:
    """Without controls, without space around it, not endless; the same when done twice."""
    rows = [row[:WIDTH].rstrip() for row in plain(text.replace("\r\n", "\n").replace("\r", "\n")).split("\n")]
    while rows and not rows[0]:
        rows.pop(0)
    while rows and not rows[-1]:
        rows.pop()
    return "\n".join(rows if len(rows) <= LINES else [*rows[: LINES - 1], CUT])


Text: TypeAlias = Annotated[str, AfterValidator(tidy)]


def quoted(text: str) -> str:
    """Whatever stands in it, it stays inside the quotation."""
    return "\n".join(f"> {row}".rstrip() for row in tidy(text).split("\n"))


def unquoted(text: str) -> str:
    return "\n".join(row.removeprefix(">").removeprefix(" ") for row in text.split("\n"))


def line(text: str) -> str:
    """On one line, and nothing but words."""
    return escaped(one_line(text))


def listed(title: str, entries: "tuple[str, ...] | list[str]") -> str:
    """A named list, or nothing."""
    rows = "\n".join(f"- {line(entry)}" for entry in entries if entry.strip())
    return f"{title}:\n\n{rows}\n" if rows else ""
