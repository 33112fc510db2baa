"""Reads what history needs of all runs, in three queries of few columns: no brief, no reply, no evidence is loaded."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from trued.engine.run_store import RunStore
from trued.model import Grade, RunRecord
from trued.model.events.call import CallAnswered
from trued.model.events.proof import ContractSealed, VerdictReached
from trued.model.step_keys import is_final_verdict, is_landing
from trued.reporting.views import state_of
from trued.reporting.views.claims import CallEnd, VerdictFact, done_claims
from trued.reporting.views.stats import HistoryFilter, RunFacts
from trued.wire import Amount, Spend

FIELDS = ("result", "decision", "status", "passes", "passed")  # of a reply, by which it claims something
OF_THESE = "run in (select id from run where created_at >= ? and workflow = coalesce(?, workflow))"
ANSWERS = f"""
    select run, key, at, json_extract(data, '$.role') as role, json_extract(data, '$.agent') as agent,
        json_extract(data, '$.state') as state, json_extract(data, '$.ended') as ended,
        json_array({", ".join(f"substr(json_extract(data, '$.reply.{name}'), 1, 40)" for name in FIELDS)}) as claims,
        json_array({", ".join(f"json_type(data, '$.reply.{name}')" for name in FIELDS)}) as types,
        json_type(data, '$.reply.asks') as asks
    from event where kind = '{CallAnswered.KIND}' and {OF_THESE} order by id"""  # noqa: S608  (constants)
VERDICTS = f"""
    select run, key, at, (
        select json_group_object(json_extract(value, '$.id'), json_extract(value, '$.grade'))
        from json_each(data, '$.requirements') where json_extract(value, '$.id') is not null
    ) as grades, json_extract(data, '$.grade') as worst
    from event where kind = '{VerdictReached.KIND}' and {OF_THESE} order by id"""  # noqa: S608  (constants)

ACCEPTS = """
    select id, case when json_valid(inputs) then json_extract(inputs, '$.settings.accept') end as accept
    from run where ? in ('', id)"""
SEALED = f"""
    select run, json_extract(data, '$.requirements') as requirements, max(id)
    from event where kind = '{ContractSealed.KIND}' and {OF_THESE} group by run"""  # noqa: S608  (constants)
SPENDS = f"""
    select run, step, role, agent, spent_usd, spent_tokens, spent_seconds, cost from spend where {OF_THESE}
    order by rowid"""  # noqa: S608  (constants)


def history(store: RunStore, wanted: HistoryFilter) -> list[RunFacts]:
    """The facts of every run that fits, newest first."""
    runs = [one for one in store.journal.runs() if wanted.fits(one)]
    if not runs:
        return []
    these = (wanted.since, wanted.workflow or None)
    answers, verdicts, spends = _answers(store, these), _verdicts(store, these), _spends(store, these)
    approved, accepts = store.journal.runs_with_approvals(), accepted_grades(store)
    sealed = {row["run"]: int(row["requirements"] or 0) for row in store.journal.lean_rows(SEALED, these)}
    found = []
    for one in runs:
        own = verdicts.get(one.id, [])
        grades = (one.id in approved and grades_with_approvals(store, one)) or _last_grades(own)
        met = met_of(grades, accepts.get(one.id))
        claims = tuple(done_claims(answers.get(one.id, ()), (each for each in own if not is_landing(each.key))))
        record = one.model_copy(update={"state": state_of(one, store.journal.driver(one.id))})
        found.append(RunFacts(record, met, max(len(grades), sealed.get(one.id, 0)), spends.get(one.id, ()), claims))
    return [kept for one in found if (kept := wanted.part_of(one)) is not None]


def met_of(grades: Mapping[str, str], accept: Grade | None) -> int:
    """How many requirements are met, by the grade that the run's user accepts."""
    known = [Grade(grade) for grade in grades.values() if grade in {*map(str, Grade)}]  # of other versions: not met
    return sum(grade.is_met(accept) for grade in known)


def accepted_grades(store: RunStore, run: str = "") -> dict[str, Grade]:
    """Run → the grade that its user accepts; of one run, if it is named."""
    rows = store.journal.lean_rows(ACCEPTS, (run,))
    return {str(row["id"]): Grade(row["accept"]) for row in rows if row["accept"] in list(Grade)}


def choices(store: RunStore) -> dict[str, list[str]]:
    """What each filter can be, by name: repositories, workflows, agents and roles of all runs."""
    runs, rows = store.journal.runs(), store.journal.lean_rows("select distinct agent, role from spend")
    return {
        "repository": sorted({str(Path(one.repository)) for one in runs}),
        "workflow": sorted({one.workflow for one in runs}),
        "agent": sorted({str(row["agent"]) for row in rows}),
        "role": sorted({str(row["role"]) for row in rows}),
    }


def _answers(store: RunStore, these: Sequence[object]) -> dict[str, list[CallEnd]]:
    found: dict[str, list[CallEnd]] = defaultdict(list)
    read: dict[tuple[str, str, str], dict[str, Any]] = {}  # thousands of replies claim the same in the same words
    for row in store.journal.lean_rows(ANSWERS, these):
        given = (row["claims"], row["types"], row["asks"] or "")
        if given not in read:
            asks = {} if given[2] in ("", "null", "false") else {"asks": True}
            read[given] = {**dict(_claimed(json.loads(given[0]), json.loads(given[1]))), **asks}
        names = (row["role"] or "", row["agent"] or "", row["state"] or "")
        found[row["run"]].append(CallEnd(row["key"], *names, float(row["ended"] or row["at"]), read[given]))
    return found


def _spends(store: RunStore, these: Sequence[object]) -> dict[str, list[Spend]]:
    found: dict[str, list[Spend]] = defaultdict(list)
    nothing = Amount()
    for row in store.journal.lean_rows(SPENDS, these):
        spent = Amount(usd=row["spent_usd"], tokens=row["spent_tokens"], seconds=row["spent_seconds"])
        names = (row["step"], "", row["role"], row["agent"])
        found[row["run"]].append(Spend("", 1, *names, "done", nothing, spent, row["cost"]))
    return found


def _claimed(values: Sequence[Any], types: Sequence[str | None]) -> Iterator[tuple[str, Any]]:
    """The fields of a reply that are there; SQLite says true and false as 1 and 0."""
    for name, value, kind in zip(FIELDS, values, types, strict=True):
        if kind not in (None, "null"):
            yield name, kind == "true" if kind in ("true", "false") else value


def _verdicts(store: RunStore, these: Sequence[object]) -> dict[str, list[VerdictFact]]:
    found: dict[str, list[VerdictFact]] = defaultdict(list)
    read: dict[str, dict[str, str]] = {}
    for row in store.journal.lean_rows(VERDICTS, these):
        given = row["grades"] or "{}"
        if given not in read:
            read[given] = {name: str(grade) for name, grade in json.loads(given).items() if grade}
        found[row["run"]].append(VerdictFact(row["key"], row["at"], read[given], row["worst"] or ""))
    return found


def _last_grades(verdicts: Sequence[VerdictFact]) -> dict[str, str]:
    """Those of the last verdict on all of the work; before there is one, the newest of each requirement."""
    final = [one for one in verdicts if is_final_verdict(one.key)]
    if final:
        return dict(final[-1].grades)
    return {name: grade for one in verdicts if not is_landing(one.key) for name, grade in one.grades.items()}


def grades_with_approvals(store: RunStore, record: RunRecord) -> dict[str, str]:
    """Requirement → its grade, with what people attested."""
    verdict = store.verdict(record.id)
    return {one.id: str(one.grade) for one in verdict.requirements} if verdict else {}
