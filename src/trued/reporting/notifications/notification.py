"""Selects the events of a journal that a person is notified of: waits, ends, limits, and refutations at the end.

A notification names the run, what happened, and ids of requirements. It never contains an agent's text: notifications
are shown outside of trued, where readers would not recognise an agent's words.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from trued.errors import Waiting
from trued.model import Event, Grade, RunRecord
from trued.model.events.people import QuestionAsked
from trued.model.events.proof import VerdictReached
from trued.model.events.run import RunEnded
from trued.model.step_keys import is_final_verdict
from trued.model.titles import cut_title
from trued.support.lazy_regex import lazy_regex
from trued.support.plain_text import plain_line
from trued.support.plurals import counted

if TYPE_CHECKING:
    from trued.engine.run_store import RunStore
    from trued.model.settings import NotifyKind

TITLE = 120  # maximum length of the goal's title, which may be shown because a person wrote it
IDS = 5  # at most this many requirements are named; the others are counted
ID = lazy_regex(r"[\w.:#-]{1,40}", re.ASCII)  # only ids of this form are named, because an agent may have chosen them
NOTIFIED = (RunEnded.KIND, QuestionAsked.KIND)
ENDS = {
    "done": "is done",
    "waiting": "waits for you",
    "limited": "has reached a limit",
    "failed": "failed",
    "not proven": "ended, not proven",
    "unjudged": "could not be judged",
    "interrupted": "was interrupted",
    "stopped": "was stopped",
    "cancelled": "was cancelled",
}


@dataclass(frozen=True)
class Notification:
    """A message to a person about one event."""

    id: int  # the event's id in the journal
    at: float
    event: str  # ended | asks
    kind: "NotifyKind"
    run: str
    title: str
    repository: str
    state: str
    grade: str
    code: int
    requirements: tuple[str, ...]  # refuted requirements; if the run waits for a person, all that are not met
    text: str  # one sentence

    @property
    def data(self) -> dict[str, Any]:
        return {**asdict(self), "requirements": list(self.requirements)}


def notifications(store: "RunStore", after: int) -> list[Notification]:
    """The notifications of all runs for events after this event id, oldest first."""
    records = {record.id: record for record in store.journal.runs()}
    messages = [
        made
        for run in store.journal.runs_changed(after)
        if run in records
        for event in store.journal.events_of_kind(run, *NOTIFIED, lean=True)
        if event.id > after and (made := notification_of(store, records[run], event))
    ]
    return sorted(messages, key=lambda message: message.id)


def notification_of(store: "RunStore", record: RunRecord, event: Event) -> Notification | None:
    """The notification of an event; None for most events."""
    asks = Notification(
        id=event.id,
        at=event.at,
        event="asks",
        kind="waits",
        run=record.id,
        title=cut_title(plain_line(record.title), TITLE),
        repository=record.repository,
        state="waiting",
        grade=str(record.grade),
        code=Waiting.code,
        requirements=(),
        text=f"{record.id} waits for your answer: trued answer {record.id}",
    )
    if QuestionAsked.read(event):
        return asks
    if not (ended := RunEnded.read(event)):
        return None
    grades = _last_grades(store.journal.events_of_kind(record.id, VerdictReached.KIND, lean=True), event.id)
    kind, named = _notification_kind(ended.state, grades, store.accepted(record.id))
    state = ended.state if ended.state in ENDS else "ended"
    number = f", {len(named)} refuted" if kind == "refuted" else ""
    return replace(
        asks,
        event="ended",
        kind=kind,
        state=state,
        grade=str(ended.grade),
        code=ended.code,
        requirements=tuple(name for name in named if ID.fullmatch(name)),
        text=f"{record.id} {ENDS.get(state, state)}{number}{_names_suffix(named)}",
    )


def _notification_kind(state: str, grades: Mapping[str, Grade], accept: Grade) -> tuple["NotifyKind", list[str]]:
    """The kind of notification for a run's end, and the requirements that it is about."""
    refuted = [name for name, grade in grades.items() if grade is Grade.REFUTED]
    if state == "waiting":
        return "waits", [name for name, grade in grades.items() if not grade.is_met(accept)]
    if state == "limited":
        return "limits", []
    return ("refuted", refuted) if refuted and state != "done" else ("ends", [])


def _last_grades(verdicts: Iterable[Event], until: int) -> dict[str, Grade]:
    """Requirement → grade, from the last verdict on the whole work. `until`: only verdicts before the event with this
    id count; 0: all count."""
    final = [event for event in verdicts if is_final_verdict(event.key) and (not until or event.id < until)]
    last = VerdictReached.read(final[-1]) if final else None
    return {row.id: Grade(row.grade) for row in (last.requirements or ()) if row.grade} if last else {}


def _names_suffix(names: Sequence[str]) -> str:
    if not names:
        return ""
    shown = [name for name in names[:IDS] if ID.fullmatch(name)]
    remaining = len(names) - len(shown)
    more = [f"{remaining} more" if shown else counted(remaining, "requirement")] if remaining else []
    return f": {', '.join([*shown, *more])}"
