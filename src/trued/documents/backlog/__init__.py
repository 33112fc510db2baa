"""`backlog.md`: what a team has to do, written for people, read back with whatever they changed."""

from .edits import honoured
from .items import (
    ATTEMPTS,
    Acceptance,
    Accepted,
    Backlog,
    BacklogFeature,
    BacklogTask,
    Priority,
    Progress,
    State,
    Story,
)
from .lines import ARCHIVE, written
from .reading import NAME, parse_backlog

__all__ = [
    "ARCHIVE",
    "ATTEMPTS",
    "NAME",
    "Acceptance",
    "Accepted",
    "Backlog",
    "BacklogFeature",
    "BacklogTask",
    "Priority",
    "Progress",
    "State",
    "Story",
    "honoured",
    "parse_backlog",
    "render",
]


def render(backlog: Backlog) -> str:
    """The whole file."""
    text = written(backlog)
    parts = [text, *(feature.text for feature in backlog.features)]
    return "".join(
        part if part.endswith("\n") or at == len(parts) - 1 or not part else f"{part}\n"
        for at, part in enumerate(parts)
    )
