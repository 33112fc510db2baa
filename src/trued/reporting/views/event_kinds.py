"""Converts stored events of the engine and of a workflow to their classes."""

import json
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from pydantic import ValidationError

from trued.model import Event
from trued.model.events import JournalEvent, call, kinds, landing, parse, people, proof, run

GROUPS = (run, call, proof, landing, people)


def typed(stored: Event, workflow_events: tuple[type[JournalEvent], ...] = ()) -> JournalEvent:
    """Return the event as one of the engine's classes or of `workflow_events`; any other kind as `UnknownEvent`."""
    return parse(stored, known_kinds(workflow_events))


class EventHead(NamedTuple):
    """A stored event without its data."""

    id: int
    at: float
    key: str
    kind: str


def typed_from_json(stored: EventHead, data: str, workflow_events: tuple[type[JournalEvent], ...] = ()) -> JournalEvent:
    """Like `typed`, for data that is still JSON text. This takes half the time."""
    kind = known_kinds(workflow_events).get(stored.kind)
    if kind is not None:
        try:
            return kind.model_validate_json(data)
        except ValidationError:
            pass  # written by another version: read it field by field
    return typed(
        Event(id=stored.id, at=stored.at, key=stored.key, kind=stored.kind, data=json.loads(data)), workflow_events
    )


@cache
def known_kinds(workflow_events: tuple[type[JournalEvent], ...]) -> Mapping[str, type[JournalEvent]]:
    """The engine's kinds of events and the workflow's own. If two kinds have the same name, the engine's kind is
    used."""
    return kinds(*workflow_events, *(event_class for group in GROUPS for event_class in group.EVENTS))
