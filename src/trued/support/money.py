"""Sums of money as text for people, the same in the terminal, the report and on the page."""

from collections.abc import Iterable

# How a sum is known → its mark. "computed": from a price table. "ceiling": at most this much, as the price is unknown.
MARKS = {"computed": "~", "ceiling": "≤"}
LEAST_CERTAIN_FIRST = ("ceiling", "computed", "reported")


def least_certain(costs: Iterable[str]) -> str:
    """How a sum is known: `ceiling` if any of its costs is a ceiling, else `computed` if any is computed, else
    `reported`. `costs`: how each cost is known. "" if this is known of no cost."""
    known = set(costs)
    return next((kind for kind in LEAST_CERTAIN_FIRST if kind in known), "")


def money(usd: float, known: str = "") -> str:
    """The amount in dollars, marked by how it is known: `$1.50` was reported, `~$0.25` is computed, and `≤$0.0012` is
    an upper bound."""
    return f"{MARKS.get(known, '')}${usd:.{4 if 0 < usd < 0.005 else 2}f}"
