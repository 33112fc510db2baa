"""Notes of a verdict that change no grade: which files and which environment the checks used. Pure.

A verdict keeps all its notes in `undecided`. `is_fact` tells notes that only report what was done from those that
point out something that no check covers, so that each can be shown under its own heading.
"""

import base64
import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from trued.support.plurals import counted

if TYPE_CHECKING:  # reports import this module, and need no clean room
    from trued.proof.room.clean_room import Graft

# How notes begin or end that only report what the engine did. All others name something that was not checked.
FACT_BEGINNINGS = (
    "checks ran in an environment built from",
    "checks of the change also found packages",
    "dependencies changed:",
    "quick:",
    "the same code failed earlier",
    "passed one after the other",
    "objection closed",
)
FACT_PHRASES = (
    ": the contract's version was used",
    ": the base's version was used",
    ": added by the change, not used for checks",
    ": added by the change, not run",
    ": its test scripts and settings are the base's",
    ": only a build writes it",
    ", as the base's package.json says",
    "the engine chooses the environment itself",
    " also passes with the base's own ",
    "that the base does not have was not run",
    "that the base does not have were not run",
)


def is_fact(note: str) -> bool:
    """Does the note only report what the engine did? Otherwise it names something that no check covers."""
    return note.startswith(FACT_BEGINNINGS) or any(one in note for one in FACT_PHRASES)


def files_used(graft: "Graft", carried: Mapping[str, str], here: Mapping[str, str]) -> list[str]:
    """Whose version of a file was used, wherever it was not the head's.

    `carried` are the contract's own files (path → base64), which go before the base's; `here` are the head's blobs.
    """
    theirs = [path for path in carried if path in here and here[path] not in _blobs(carried[path])]
    based = [path for path in graft.restored if path not in carried]
    added = [path for path in graft.removed if path not in carried]
    return [
        *(f"{path}: the contract's version was used, not the change's" for path in theirs),
        *(f"{path}: the base's version was used; the change edits or removes it" for path in based),
        *(f"{path}: added by the change, not used for checks" for path in added),
        *(f"{path}: its test scripts and settings are the base's, the rest the change's" for path in graft.merged),
        *(f"{path}: added by the change, not run" for path in graft.added),
        *(f"{path}: only a build writes it; a placeholder was used" for path in graft.made_up),
        *graft.lacking,
    ]


def not_run(suite: str) -> str:
    """A test suite of the base that could not be run: `suite` says which, and why."""
    return f"existing tests not run: {suite}"


def worst_counts() -> str:
    """The same tree was judged before, and something failed then."""
    return "the same code failed earlier under the same contract: the worst result counts"


def passed_alone(cases: int, turns: int) -> str:
    """Something failed while two turns shared the machine, and passed in all turns that were taken alone."""
    return (
        f"passed one after the other, {turns} times: {counted(cases, 'case')} that failed while two turns ran at once, "
        "perhaps for want of time"
    )


def _blobs(carried: str) -> tuple[str, str]:
    """What git calls a file of the contract, in repositories of either hash."""
    data = base64.b64decode(carried)
    whole = b"blob %d\0%s" % (len(data), data)
    return hashlib.sha1(whole, usedforsecurity=False).hexdigest(), hashlib.sha256(whole).hexdigest()
