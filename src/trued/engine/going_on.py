"""A run that goes on from the branch that an earlier one left: its files are hints, and git knows where it began."""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from ..documents.agent_state import NAME, parse_agent_state
from ..errors import BadInput
from ..types import Goal
from ..workspaces.repository import Left, branches, left_on

PREFIX = "trued/"
ASIDE = "-failed-"  # in the name of a branch that holds the work of a feature that failed


@dataclass(frozen=True)
class Unknown:
    """A run that private state knows nothing of, as its branch tells of it."""

    branch: str
    specification: str


def going_on(root: Path, goal: Goal, named: str, known: Collection[str]) -> Left | None:
    """The branch that is named; else one of a run that nobody remembers, begun with the very same specification."""
    if named:
        return None if named == "HEAD" else _named(root, named)
    wanted = hashlib.sha256(goal.text.encode(errors="surrogateescape")).hexdigest()
    for branch in branches(root, PREFIX):
        found = _left(root, branch) if branch not in known else None
        state = parse_agent_state(found.state) if found else None
        if found and state and state.digest == wanted and f"{PREFIX}{state.run}" not in known:
            return found
    return None


def _left(root: Path, branch: str) -> Left | None:
    """Neither the user's own branch, where a run was landed, nor what a run set aside is one to go on with."""
    own = branch.startswith(PREFIX) and ASIDE not in branch
    return left_on(root, branch, NAME, lambda text: parse_agent_state(text).base) if own else None


def _named(root: Path, branch: str) -> Left:
    found = _left(root, branch)
    if found is None:
        what = f"{branch} is no branch that a handoff run left here"
        raise BadInput(what, "--from", f"name one that holds {NAME}, or HEAD to begin anew")
    return found


def unknown(root: Path, run: str) -> Unknown | None:
    """A run that is only known from its branch in this repository."""
    found = _left(root, f"{PREFIX}{run}")
    if found is None:
        return None
    return Unknown(found.branch, parse_agent_state(found.state).specification)
