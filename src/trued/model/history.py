"""The ends of calls and the verdicts of many runs, with the few fields that statistics need."""

from collections.abc import Mapping
from typing import NamedTuple

# The fields of a reply that claim a result.
CLAIMING_FIELDS = ("result", "decision", "status", "passes", "passed")

# Named tuples, away from everything else: `stats` reads thousands of them, and needs no other value.


class StoredAnswer(NamedTuple):
    """The end of a call."""

    run: str
    key: str
    role: str
    agent: str
    state: str
    ended: float
    claims: Mapping[str, object]  # CLAIMING_FIELDS that the reply has, shortened; `asks` if it asks something


class StoredVerdict(NamedTuple):
    """A verdict."""

    run: str
    key: str
    at: float
    grades: Mapping[str, str]  # requirement → grade
    worst: str
