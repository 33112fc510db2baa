"""The typed form of any stored event: those of the engine and of its workflow."""

from collections.abc import Mapping
from functools import cache

from trued.model import Event
from trued.model.events import JournalEvent, call, kinds, landing, parse, people, proof, run

GROUPS = (run, call, proof, landing, people)


def typed(stored: Event, own: tuple[type[JournalEvent], ...] = ()) -> JournalEvent:
    """The event as one of its classes, the engine's or the workflow's `own`; an `UnknownEvent` for any other kind."""
    return parse(stored, known_kinds(own))


@cache
def known_kinds(own: tuple[type[JournalEvent], ...]) -> Mapping[str, type[JournalEvent]]:
    """The engine's kinds of events and the workflow's own; of two with one name the engine's counts."""
    return kinds(*own, *(one for group in GROUPS for one in group.EVENTS))
