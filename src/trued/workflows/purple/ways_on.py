"""How a run of purple continues that ended without proof: more rounds for what fails, and landing what is proven."""

from collections.abc import Iterator, Sequence
from itertools import takewhile

from trued.model import Event
from trued.model.events import of_kind
from trued.model.events.proof import VerdictReached

ROUNDS = 3  # as many as a chunk had before


def ways_on(run: str, events: Sequence[Event]) -> Iterator[tuple[str, str]]:
    """Commands, each with what it does, by the newest verdict on each chunk."""
    newest: dict[str, VerdictReached] = {}
    for stored, one in of_kind(events, VerdictReached):
        if stored.key.startswith(f"chunk {one.subject}/"):
            newest[one.subject] = one
    failing = [name for name, one in newest.items() if not one.holds]
    about = ", ".join(failing[:5]) or "what fails"
    yield f"trued resume {run} --rounds {ROUNDS}", f"gives more rounds to {about}"
    met = [*takewhile(_is_met, newest.values())]
    if met and len(met) < len(newest):
        yield f"trued land {run} --through {met[-1].subject}", "merges the chunks that are proven, without the rest"


def _is_met(one: VerdictReached) -> bool:
    return one.holds and one.grade != "" and one.grade.is_met()
