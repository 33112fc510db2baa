"""The typed form of any stored event: those of the engine and of every workflow."""

from trued.model import Event
from trued.model.events import JournalEvent, call, kinds, landing, parse, people, proof, run
from trued.workflows.handoff import events as handoff
from trued.workflows.pipeline import events as pipeline
from trued.workflows.team import events as team
from trued.workflows.ticket import events as ticket

GROUPS = (run, call, proof, landing, people, ticket, handoff, pipeline, team)
KINDS = kinds(*(one for group in GROUPS for one in group.EVENTS))


def typed(stored: Event) -> JournalEvent:
    """The event as one of its classes; an `UnknownEvent` if it is of no known kind."""
    return parse(stored, KINDS)
