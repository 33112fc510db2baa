"""The ends of calls and the verdicts of many runs, with only the few fields that statistics need."""

from collections.abc import Mapping
from typing import NamedTuple

# The fields of a reply that claim a result.
CLAIMING_FIELDS = ("result", "decision", "status", "passes", "passed")

# Named tuples in a module of their own: `stats` reads thousands of them, and needs no other value.


class StoredAnswer(NamedTuple):
    """How one agent call ended, and what its reply claims."""

    run: str
    key: str
    role: str
    agent: str
    state: str
    ended: float
    claims: Mapping[str, object]  # CLAIMING_FIELDS that the reply has, shortened; `asks` if it asks something
    is_estimated: bool = True  # the agent did not report its tokens, so their number is an estimate


class StoredVerdict(NamedTuple):
    """The grades of one verdict."""

    run: str
    key: str
    at: float
    grades: Mapping[str, str]  # requirement → grade
    worst: str


def claim_of(reply: Mapping[str, object]) -> str:
    """The result that a reply claims: PASS or "not yet" if the reply has `passes` or `passed`, otherwise the agent's
    own word, such as DONE. "" if the reply claims no result."""
    passed = [reply[name] for name in ("passes", "passed") if isinstance(reply.get(name), bool)]
    if passed:
        return "PASS" if all(passed) else "not yet"
    return str(reply.get("result") or reply.get("decision") or reply.get("status") or "")
