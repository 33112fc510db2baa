"""What people are shown about a run, computed only from its journal."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from trued.model import Event, Grade, Outcomes, Question, RunRecord

if TYPE_CHECKING:
    from trued.model import Contract, Evidence, Judged, Verdict
    from trued.protocols import JournalStore
    from trued.reporting.views.cases import CaseNumbers
    from trued.reporting.views.rows import Call

NOT_CHECKED_YET = ("no check has been run on it yet",)


def as_seen(record: RunRecord, journal: "JournalStore") -> RunRecord:
    """The run with the state to show to people, and its reason. It can differ from the recorded state: a run without a
    driver is not `running`, and one that waits for a worker is `queued`."""
    return _as_seen(record, journal.driver(record.id), journal.queued(record.id))


def all_as_seen(records: Iterable[RunRecord], journal: "JournalStore") -> list[RunRecord]:
    """Like `as_seen`, for many runs with as few queries as for one."""
    drivers, queued = journal.drivers(), journal.queued()
    return [_as_seen(one, drivers.get(one.id, 0), queued) for one in records]


def _as_seen(record: RunRecord, driver: int, queued: Mapping[str, str]) -> RunRecord:
    if record.id in queued and not record.has_ended:
        return record.model_copy(update={"state": "queued", "why": queued[record.id]})
    if record.state == "running" and not driver:
        return record.model_copy(update={"state": "interrupted"})
    return record


def run_row(record: RunRecord, landed: Iterable[str] = ()) -> dict[str, Any]:
    """One run as `ls --json` lists it; also a part of `run_data`. `record`: has the state that people see (see
    `as_seen`). `landed`: branches that contain its work."""
    queued = record.why if record.state == "queued" else ""
    return {**record.model_dump(mode="json"), "landed": list(landed), "queued": queued}


def run_data(record: RunRecord, events: Iterable[Event], questions: Iterable[Question] = ()) -> dict[str, Any]:
    """What `show RUN --json` has from the record, the events and the questions; `run_as_json` of the command line adds
    the rest. `record`: has the state that people see (see `as_seen`)."""
    from trued.reporting.views.progress import Progress

    seen = Progress(events, record.workflow)
    at_work = record.state == "running"
    asks = [{"key": one.key, "text": one.text, "options": list(one.options)} for one in questions if not one.answer]
    quotas = {kind: one.model_dump(exclude={"agent"}) for kind, one in seen.quotas.items()}
    more: dict[str, Any] = {"questions": asks, "quotas": quotas}
    own = seen.view.data(seen.calls) if seen.view.KEY else None
    more |= {seen.view.KEY: own} if own else {}
    return {
        **run_row(record, seen.landed),
        **more,
        "calls": [_call_data(one, at_work=at_work) for one in seen.calls],
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


def ledger(verdict: "Verdict | None", contract: "Contract | None", *, over: bool) -> dict[str, Any]:
    """The data of `ledger RUN --json`: every requirement of the contract, whether or not it was checked yet. `over`: no
    agent will work on the run any more, so held-out cases may be shown."""
    from trued.model import Judged, Verdict  # imported here, because `ls` needs no verdict
    from trued.proof.verdict.notes import facts_of

    verdict = verdict or Verdict.open("nothing yet")
    facts = {one.id: one for one in (*(contract.base_facts if contract else ()), *verdict.evidence)}
    judged = {one.id: one for one in verdict.requirements}
    unseen = [
        Judged(id=one.id, text=one.text, source=str(one.source), grade=Grade.UNPROVEN, why=NOT_CHECKED_YET, holds=False)
        for one in (contract.requirements if contract else ())
        if one.id not in judged
    ]
    every = [*judged.values(), *unseen]
    failed = [one.grade for one in verdict.suites if not one.holds]
    return {
        "grade": str(min([*(one.grade for one in every), *failed]) if every else verdict.grade),
        "commit": verdict.commit,
        "requirements": [_judged_row(one, facts, over=over) for one in every],
        "existing_tests": [_ungraded(_judged_row(one, facts, over=over)) for one in verdict.suites],
        "undecided": list(verdict.undecided),
        "reported": list(facts_of(verdict)),
    }


def ledger_for_agents(verdict: "Verdict", contract: "Contract | None") -> dict[str, Any]:
    """`ledger` for the gate, whose reader may be the agent whose work is checked. For a requirement that does not hold,
    it gives only the reason that agents may read (see `Judged.reason`): other reasons may name held-out tests."""
    found = ledger(verdict, contract, over=False)
    unmet = {one.id: one.reason for one in (*verdict.requirements, *verdict.suites) if not one.holds}
    for row in (*found["requirements"], *found["existing_tests"]):
        row["why"] = unmet.get(row["id"], row["why"])
    return found


def _judged_row(one: "Judged", facts: "Mapping[str, Evidence]", *, over: bool) -> dict[str, Any]:
    from trued.reporting.views.cases import case_numbers  # imported here, because `ls` shows no evidence

    own = [facts[name] for name in one.evidence if name in facts]
    numbers = case_numbers(own)
    return {
        "id": one.id,
        "grade": str(one.grade),
        "why": "; ".join(one.why),
        "evidence": [evidence(fact, numbers, over=over) for fact in own],
        "pictures": _pictures(own, over=over),
        "text": one.text,
        "source": one.source,
        "holds": one.holds,
        "lacks": one.lacks,
        "missing": [part.model_dump(mode="json") for part in one.missing],
    }


def _ungraded(row: dict[str, Any]) -> dict[str, Any]:
    """The row of existing tests, which have no grade: they pass (`holds`) or not."""
    return {name: value for name, value in row.items() if name != "grade"}


def _pictures(facts: "Iterable[Evidence]", *, over: bool) -> list[dict[str, Any]]:
    """Pictures before and after, as far as they may be shown (see `Evidence.shown`)."""
    # imported here, because the command line imports this package even to print help
    from trued.proof.screenshots import evidence_pictures

    return [one.model_dump(mode="json") for one in evidence_pictures(fact.shown(over=over) for fact in facts)]


def evidence(fact: "Evidence", numbers: "CaseNumbers", *, over: bool) -> dict[str, Any]:
    """One run of one check. `numbers`: see `case_numbers`. Unless the run is `over` (see `ledger`), what may quote
    held-out cases is left out."""
    from trued.reporting.views.cases import in_order  # imported here, because `ls` shows no evidence

    shown, tried = fact.shown(over=over), in_order(fact, numbers)
    row = shown.model_dump(mode="json", exclude={"tried", "output"})
    row["passed"] = sum(one.outcome is Outcomes.PASSED for one in fact.tried)
    row["skipped"] = sum(one.outcome is Outcomes.SKIPPED for one in fact.tried)
    row["failed"] = len(fact.tried) - row["passed"] - row["skipped"]
    if shown is fact:
        row["tried"] = [one.model_dump(mode="json") for one in tried]
    else:
        bare = [one.without_text(f"case {numbers[fact.check, one.id]}") for one in tried]
        row["tried"] = [one.model_dump(mode="json", include={"id", "outcome", "kind"}) for one in bare]
    row["output"] = shown.output
    row.setdefault("pictures", [])
    return row
