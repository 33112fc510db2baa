"""Compares runs: the same figures for each, from its journal, and notes on what makes the runs hard to compare."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias

from trued.engine.comparisons import without_front_matter
from trued.engine.role_spending import orchestrator_spending
from trued.model import Contract, Event, Grade, RunRecord, Ticket, Verdict
from trued.model.events import JournalEvent, of_kind, people, proof, run
from trued.model.records import ENDED_STATES
from trued.model.step_keys import is_landing
from trued.reporting.views.ledger import ledger
from trued.reporting.views.progress import Progress
from trued.reporting.views.rows import Call
from trued.reporting.views.run_rows import as_seen
from trued.support.durations import duration
from trued.support.hashing import digest
from trued.support.money import money
from trued.support.plurals import counted
from trued.support.token_count import token_count
from trued.workflows.registry import find_descriptor

if TYPE_CHECKING:
    from trued.engine.comparisons import Comparison
    from trued.engine.run_store import RunStore

Span: TypeAlias = tuple[float, float]

# These events do not count as work: they are emitted when a run is recorded, perhaps long before a process drives it.
BEGINNING = {
    kind.KIND
    for kind in (
        *(run.RunBegan, run.BranchContinued, run.TicketIncomplete),
        *(run.AgentsDetected, run.WorkingTreeDirty, run.ForeignRoleUsed),
    )
}
PAUSES = (run.RunResumed.KIND, run.RunEnded.KIND, people.QuestionAsked.KIND)
STARTS = (run.RunResumed.KIND, people.QuestionAnswered.KIND)
NONE = "–"
ROLES = 8  # the peak context is listed for at most this many roles


@dataclass(frozen=True, slots=True)
class Known:
    """One run, with all that its figures are computed from."""

    name: str
    record: RunRecord
    events: Sequence[Event]
    goal: str = ""
    contract: Contract | None = None
    verdict: Verdict | None = None
    accept: Grade = Grade.ATTESTED
    agents: Mapping[str, str] | None = None
    ticket: Ticket | None = None


def load_run(store: "RunStore", run: str, name: str = "") -> Known:
    journal, record = store.journal, store.journal.run(run)
    inputs = store.inputs(record.id)
    return Known(
        name=name or record.workflow,
        record=as_seen(record, journal),
        events=journal.events(record.id),
        goal=without_front_matter(inputs.goal.text),
        contract=store.contract(record.id),
        verdict=store.verdict(record.id),
        accept=inputs.settings.accept,
        agents=inputs.settings.agents,
        ticket=inputs.ticket,
    )


def comparison_data(store: "RunStore", comparison: "Comparison") -> dict[str, Any]:
    """The current figures of a stored comparison."""
    return compared([load_run(store, entry.run, entry.name) for entry in comparison.runs], comparison.id)


def compared(every: Sequence[Known], name: str = "") -> dict[str, Any]:
    """The data of `compare --json`: one entry per run, and notes to read before drawing a conclusion. `name`: the id of
    a stored comparison."""
    shared = _shared(known.contract for known in every)
    rows = [figures(known, shared) for known in every]
    spans = [working(known.events) for known in every]
    return {
        "id": name,
        "title": every[0].record.title,
        "base": every[0].record.base,
        "same_goal": len({known.goal for known in every}) == 1,
        "same_base": len({known.record.base for known in every}) == 1,
        "same_contract": bool(shared) and all(len(shared) == row["requirements"] for row in rows),
        "side_by_side": any(_overlap(*pair) for pair in combinations(spans, 2)),
        "over": all(known.record.has_ended for known in every),
        "runs": rows,
        "asked_alike": shared,
        "requirements": _requirements(rows),
        "notes": list(_notes(every, rows, shared)),
    }


def _requirement_hashes(contract: Contract | None) -> dict[str, str]:
    """Requirement → a hash of what decides its grade: its text, its checks and its caps. A cap is a reason why a
    requirement gets at most `examined` until a person approves."""
    if contract is None:
        return {}
    caps = contract.caps
    return {
        requirement.id: digest(
            requirement.model_dump(mode="json", exclude={"source", "covers"}), list(caps.get(requirement.id, ()))
        )
        for requirement in contract.requirements
    }


def _shared(contracts: Iterable[Contract | None]) -> list[str]:
    """The requirements that all contracts ask for in the same way."""
    first, *others = map(_requirement_hashes, contracts)
    return [name for name, fingerprint in first.items() if all(hashes.get(name) == fingerprint for hashes in others)]


# -- the table ---------------------------------------------------------------------------------------------------------


def cells(data: Mapping[str, Any], run: Mapping[str, Any]) -> dict[str, str]:
    """Name of a row → its cell for this run, in the table that the terminal, the report and the page show. `data`: the
    whole comparison."""
    tokens, gaps, shared = run["tokens"], run["gaps"], run["asked_alike"]
    has_shared = bool(data["asked_alike"]) and not data["same_contract"]
    least = "≥" if run["cost_untold"] and run["cost"] in ("", "reported") else ""  # some calls reported no cost
    return {
        "proven": f"{run['proven']}/{run['requirements']}" if run["requirements"] else NONE,
        **({"proven (shared)": f"{shared['proven']}/{shared['requirements']}"} if has_shared else {}),
        "gaps found": f"{gaps['found']}, {gaps['left']} left" if gaps["left"] else str(gaps["found"]),
        "rounds": NONE if run["rounds"] is None else str(run["rounds"]),
        "calls": f"{run['calls']:,}",
        "tokens": token_count(tokens["all"], estimated=tokens["estimated"]),
        "peak context": token_count(run["peak"]["tokens"], estimated=tokens["estimated"]),
        "cost": f"{least}{money(run['cost_usd'], run['cost'])}" if run["cost"] or run["cost_usd"] else NONE,
        "time": duration(run["time_s"]),
        "agents' time": duration(run["agents_s"]),
    }


# -- one run -----------------------------------------------------------------------------------------------------------


def figures(known: Known, shared: Collection[str] = ()) -> dict[str, Any]:
    record, seen = known.record, Progress(known.events, known.record.workflow)
    ledger_data = ledger(known.verdict, known.contract, over=False)
    grades = {row["id"]: row["grade"] for row in ledger_data["requirements"]}
    rounds, meaning = rounds_of(record.workflow, seen, known.events)
    return {
        "name": known.name,
        "id": record.id,
        "workflow": record.workflow,
        "agents": dict(known.agents or {}),
        "branch": record.branch,
        "state": record.state,
        "code": record.code,
        "why": record.why,
        "grade": ledger_data["grade"],
        "proven": sum(grade == Grade.PROVEN for grade in grades.values()),
        "asked_alike": {
            "proven": sum(grades[name] == Grade.PROVEN for name in shared),
            "requirements": len(shared),
        },
        "met": sum(Grade(grade).is_met(known.accept) for grade in grades.values()),
        "requirements": len(grades),
        "grades": grades,
        "accept": str(known.accept),
        "contract": digest(_requirement_hashes(known.contract)) if known.contract else "",
        "rounds": rounds,
        "rounds_are": meaning,
        "gaps": {"found": len(_gaps(known.events)), "left": len(known.verdict.gaps) if known.verdict else 0},
        "calls": len(seen.calls),
        "tokens": _tokens(seen),
        "peak": {
            "tokens": max((call.tokens.peak for call in seen.calls), default=0),
            "roles": _peaks(known, seen.calls),
        },
        "cost_usd": round(seen.cost_usd, 6),
        "cost": seen.cost,
        "cost_untold": sum(bool(call.tokens.total and not call.cost and not call.cost_usd) for call in seen.calls),
        "time_s": round(sum(end - start for start, end in working(known.events)), 3),
        "agents_s": round(sum(max(0.0, call.ended - call.began) for call in seen.calls if call.ended), 3),
    }


def _tokens(seen: Progress) -> dict[str, Any]:
    tokens, estimated = seen.tokens
    return {
        "all": tokens,
        "in": sum(call.tokens.tokens_in for call in seen.calls),
        "out": sum(call.tokens.tokens_out for call in seen.calls),
        "cached": sum(call.tokens.cached for call in seen.calls),
        "estimated": estimated,
    }


def _gaps(events: Sequence[Event]) -> set[str]:
    """Everything that a check or another agent ever found missing, each once, whether or not it was fixed."""
    verdicts = of_kind(events, proof.VerdictReached)
    return {gap for stored, verdict in verdicts if not is_landing(stored.key) for gap in verdict.gaps or ()}


def _peaks(known: Known, calls: Sequence[Call]) -> dict[str, int]:
    """The largest context of each role, and of the orchestrator of a ticket."""
    roles = dict.fromkeys(call.role for call in calls)
    peaks = {role: max(call.tokens.peak for call in calls if call.role == role) for role in roles}
    return {**{spending.role: spending.peak for spending in orchestrator_spending(known.ticket, known.events)}, **peaks}


# -- rounds ------------------------------------------------------------------------------------------------------------


def peak_contexts(runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line for each run with several roles: the peak context of each role, the largest first."""
    for figures_of_run in runs:
        roles, is_estimated = figures_of_run["peak"]["roles"], figures_of_run["tokens"]["estimated"]
        largest = sorted(roles, key=lambda role: roles[role], reverse=True)[:ROLES]
        if len(roles) > 1:
            each = ", ".join(f"{role} {token_count(roles[role], estimated=is_estimated)}" for role in largest)
            more = f", and less in {counted(len(roles) - ROLES, 'other role')}" if len(roles) > ROLES else ""
            yield f"peak context in {figures_of_run['name']}: {each}{more}"


def rounds_of(workflow: str, seen: Progress, events: Sequence[Event]) -> tuple[int | None, str]:
    """The number of rounds (None if the workflow counts none), and what a round means in this workflow."""
    descriptor = find_descriptor(workflow)
    if descriptor is None or descriptor.rounds is None:
        return None, ""
    rounds = descriptor.rounds
    calls = sum(call.role in rounds.roles for call in seen.calls)
    matching = [event for event in events if event.kind == rounds.event] if rounds.event else []
    fitting = sum(all(event.data.get(name) == value for name, value in rounds.fields.items()) for event in matching)
    return calls + fitting, rounds.meaning


# -- time --------------------------------------------------------------------------------------------------------------


def working(events: Sequence[Event]) -> list[Span]:
    """Spans in which the run worked: a process drove it, and it was not waiting for a person."""
    spans: list[Span] = []
    start: float | None = None
    last = 0.0
    for event in events:
        if event.kind in BEGINNING:
            continue
        if event.kind in PAUSES and start is not None:
            spans.append((start, last if event.kind == run.RunResumed.KIND else event.at))
            start = None
        if event.kind in STARTS or (start is None and not spans):
            start = event.at
        last = event.at
    if start is not None:
        spans.append((start, last))
    return [(start, end) for start, end in spans if end > start]


def _overlap(first: Sequence[Span], second: Sequence[Span]) -> bool:
    return any(start < to and begin < end for start, end in first for begin, to in second)


# -- notes -------------------------------------------------------------------------------------------------------------


def _requirements(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each requirement with its grade in each run; null if the run's contract has no requirement of this name."""
    ids = dict.fromkeys(name for row in rows for name in row["grades"])
    return [{"id": name, "grades": [row["grades"].get(name) for row in rows]} for name in ids]


def _notes(every: Sequence[Known], rows: Sequence[Mapping[str, Any]], shared: Sequence[str]) -> Iterator[str]:
    yield from _basis(every, rows, len(shared))
    yield from _times([working(known.events) for known in every])
    sealed = [known for known in every if known.contract]
    later = [known.name for known in sealed if _has_event(known, proof.BaseFactsReused)]
    if 0 < len(later) < len(sealed):
        yield f"the base's results were already known when {_join_names(later)} began, which saved time"
    if resumed := [known.name for known in every if _has_event(known, run.RunResumed)]:
        was = "was" if len(resumed) == 1 else "were"
        yield f"{_join_names(resumed)} {was} resumed: the time includes work that was lost"
    if unfinished := [row for row in rows if row["state"] not in ENDED_STATES]:
        states = ", ".join(f"{row['id']} is {row['state']}" for row in unfinished)
        yield f"not finished: {states}; the figures for {'it' if len(unfinished) == 1 else 'them'} may change"
    if lowered := [row for row in rows if Grade(row["accept"]).is_lowered_bar]:
        yield "the bar was lowered: " + ", ".join(f"{row['accept']} is enough for {row['name']}" for row in lowered)
    meanings = {row["workflow"]: row["rounds_are"] for row in rows if row["rounds_are"]}
    if meanings:
        yield "rounds: " + "; ".join(f"{name}: {meaning}" for name, meaning in meanings.items())
    yield from _scripted(every)


def _scripted(every: Sequence[Known]) -> Iterator[str]:
    """In which runs all agents, or some, are scripts."""
    scripts = {known.name: [*map(_is_script, (known.agents or {}).values())] for known in every}
    for did, names in (
        ("the work", [name for name, kinds in scripts.items() if kinds and all(kinds)]),
        ("part of the work", [name for name, kinds in scripts.items() if any(kinds) and not all(kinds)]),
    ):
        if names:
            where = "all of them" if len(names) == len(every) else _join_names(names)
            yield f"scripts, not models, did {did} in {where}: their tokens and cost are made up"


def _has_event(known: Known, kind: type[JournalEvent]) -> bool:
    return any(event.kind == kind.KIND for event in known.events)


def _join_names(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _is_script(agent: str) -> bool:
    return agent.startswith("scripted")


def _basis(every: Sequence[Known], rows: Sequence[Mapping[str, Any]], shared: int) -> Iterator[str]:
    """Sentences on whether the grades can be compared. `shared`: how many requirements all contracts have in common."""
    if len({known.goal for known in every}) > 1:
        yield "they had different goals: their figures are not about the same work"
    if len({known.record.base for known in every}) > 1:
        yield "they began at different commits: their figures are not about the same work"
    unsealed = [row["name"] for row in rows if not row["contract"]]
    if unsealed:
        yield f"no contract was sealed in {_join_names(unsealed)}: nothing was judged there"
    sealed = {row["contract"] for row in rows if row["contract"]}
    if len(sealed) > 1:
        alike = f"{shared} requirement{' is' if shared == 1 else 's are'}" if shared else "no requirement is"
        yield f"different contracts, so only grades of shared requirements can be compared: {alike} the same in all"
    elif sealed and not unsealed:
        yield "one contract for all"


def _times(spans: Sequence[Sequence[Span]]) -> Iterator[str]:
    at_work = [run_spans for run_spans in spans if run_spans]
    if len(at_work) > 1:
        beside = any(_overlap(*pair) for pair in combinations(at_work, 2))
        yield (
            "they ran side by side and competed for the machine: their times say little"
            if beside
            else "they ran one after the other and did not compete for the machine"
        )
