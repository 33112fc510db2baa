"""A run as `ls` and `show` list it: its current state, and its data for `--json`."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from trued.model import Event, Question, RunRecord

if TYPE_CHECKING:
    from trued.protocols import JournalStore
    from trued.reporting.views.rows import Call


def as_seen(record: RunRecord, journal: "JournalStore") -> RunRecord:
    """The run with the state to show to people, and the reason for this state. A run recorded as `running` is shown as
    `interrupted` if no process drives it. A run that waits for a worker is shown as `queued`."""
    return _as_seen(record, journal.driver(record.id), journal.queued(record.id))


def all_as_seen(records: Iterable[RunRecord], journal: "JournalStore") -> list[RunRecord]:
    """Like `as_seen`, for many runs with as few queries as for one."""
    drivers, queued = journal.drivers(), journal.queued()
    return [_as_seen(record, drivers.get(record.id, 0), queued) for record in records]


def _as_seen(record: RunRecord, driver: int, queued: Mapping[str, str]) -> RunRecord:
    if record.id in queued and not record.has_ended:
        return record.model_copy(update={"state": "queued", "why": queued[record.id]})
    if record.state == "running" and not driver:
        return record.model_copy(update={"state": "interrupted"})
    return record


def run_row(record: RunRecord, landed: Iterable[str] = ()) -> dict[str, Any]:
    """The fields that `ls --json` and `run_data` take from a run's record. `ls` adds the usage, and how many things
    wait for a person (`waits`). `record`: with the state that people see (see `as_seen`). `landed`: branches that
    contain the run's work."""
    queued = record.why if record.state == "queued" else ""
    return {**record.model_dump(mode="json"), "landed": list(landed), "queued": queued}


def run_data(record: RunRecord, events: Iterable[Event], questions: Iterable[Question] = ()) -> dict[str, Any]:
    """The fields of `show RUN --json` that come from the record, the events and the questions; `run_as_json` of the
    command line adds all other fields. `record`: with the state that people see (see `as_seen`)."""
    from trued.reporting.views.progress import Progress

    seen = Progress(events, record.workflow)
    at_work = record.state == "running"
    asks = [
        {"key": question.key, "text": question.text, "options": list(question.options)}
        for question in questions
        if not question.answer
    ]
    quotas = {kind: quota.model_dump(exclude={"agent"}) for kind, quota in seen.quotas.items()}
    more: dict[str, Any] = {"questions": asks, "quotas": quotas}
    workflow_data = seen.view.data(seen.calls) if seen.view.KEY else None
    more |= {seen.view.KEY: workflow_data} if workflow_data else {}
    return {
        **run_row(record, seen.landed),
        **more,
        "calls": [_call_data(call, at_work=at_work) for call in seen.calls],
    }


def _call_data(call: "Call", *, at_work: bool) -> dict[str, Any]:
    state, used = "unfinished" if call.state == "running" and not at_work else call.state, call.tokens
    return {
        "key": call.key,
        "role": call.role,
        "agent": call.agent,
        "state": state,
        "attempts": call.attempts,
        "tokens": {"in": used.tokens_in, "out": used.tokens_out, "cached": used.cached, "peak": used.peak},
        "tokens_estimated": used.estimated,
        "cost_usd": call.cost_usd,
        "cost": call.cost,
        "requests": call.requests,
        "compactions": call.compactions,
        "began": call.began,
        "ended": call.ended,
        "changed": len(call.changed),
        "why": call.why,
        "remarks": list(call.remarks),
        "waits_until": call.waits_until,
        "waits_for": call.waits_for,
        "waited_s": round(call.waited, 1),
    }
