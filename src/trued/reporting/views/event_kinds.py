"""Converts stored events of the engine and of a workflow to their classes."""

import json
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from pydantic import ValidationError

from trued.model import Event
from trued.model.events import JournalEvent, call, kinds, landing, parse, people, proof, run

GROUPS = (run, call, proof, landing, people)


def typed(stored: Event, own: tuple[type[JournalEvent], ...] = ()) -> JournalEvent:
    """The event as one of its classes, the engine's or the workflow's `own`; an `UnknownEvent` for any other kind."""
    return parse(stored, known_kinds(own))


class EventHead(NamedTuple):
    """A stored event without its data."""

    id: int
    at: float
    key: str
    kind: str


def typed_from_json(stored: EventHead, data: str, own: tuple[type[JournalEvent], ...] = ()) -> JournalEvent:
    """Like `typed`, from JSON that has not been parsed yet; takes half the time."""
    found = known_kinds(own).get(stored.kind)
    if found is not None:
        try:
            return found.model_validate_json(data)
        except ValidationError:
            pass  # written by another version: read it field by field
    return typed(Event(id=stored.id, at=stored.at, key=stored.key, kind=stored.kind, data=json.loads(data)), own)


@cache
def known_kinds(own: tuple[type[JournalEvent], ...]) -> Mapping[str, type[JournalEvent]]:
    """The engine's kinds of events and the workflow's own; if two have the same name, the engine's counts."""
    return kinds(*own, *(one for group in GROUPS for one in group.EVENTS))
