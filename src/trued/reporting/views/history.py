"""Reads the facts of all runs for statistics, in a few queries, without briefs, replies and evidence."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from trued.engine.run_store import RunStore
from trued.model import Grade, RunRecord
from trued.model.history import StoredAnswer
from trued.model.step_keys import is_final_verdict, is_landing
from trued.reporting.views.claims import CallEnd, VerdictFact, done_claims
from trued.reporting.views.run_rows import all_as_seen
from trued.reporting.views.stats import HistoryFilter, RunFacts
from trued.wire import Spend


def history(store: RunStore, wanted: HistoryFilter) -> list[RunFacts]:
    """The facts of every run that the filter selects, newest first."""
    runs = all_as_seen((run for run in store.journal.runs() if wanted.fits(run)), store.journal)
    if not runs:
        return []
    selection = (wanted.since, wanted.workflow)
    ended, verdicts, spends = (
        store.journal.answers_since(*selection),
        _verdicts(store, selection),
        _spends(store, selection),
    )
    answers, estimated = _answers(ended), estimated_calls(ended)
    approved, accepts = store.journal.runs_with_approvals(), accepted_grades(store)
    sealed = store.journal.sealed_since(*selection)
    facts = []
    for run in runs:
        run_verdicts = verdicts.get(run.id, [])
        grades = (run.id in approved and grades_with_approvals(store, run)) or _last_grades(run_verdicts)
        met = met_of(grades, accepts.get(run.id, Grade.ATTESTED))
        claims = tuple(done_claims(answers.get(run.id, ()), run_verdicts))
        total = max(len(grades), sealed.get(run.id, 0))
        facts.append(RunFacts(run, met, total, spends.get(run.id, ()), claims, estimated.get(run.id, frozenset())))
    return [part for run_facts in facts if (part := wanted.part_of(run_facts)) is not None]


def met_of(grades: Mapping[str, str], accept: Grade) -> int:
    """How many requirements are met, by the grade that the run's user accepts."""
    # a grade that this version does not know is not met
    known = [Grade(grade) for grade in grades.values() if grade in {*map(str, Grade)}]
    return sum(grade.is_met(accept) for grade in known)


def accepted_grades(store: RunStore, run: str = "") -> dict[str, Grade]:
    """Run → the grade that its user accepts, for all runs or only for `run`."""
    return {run_id: Grade(grade) for run_id, grade in store.journal.accepted(run).items() if grade in list(Grade)}


def choices(store: RunStore) -> dict[str, list[str]]:
    """Filter → its possible values: the repositories, workflows, agents and roles of all runs."""
    runs, played = store.journal.runs(), store.journal.agents_and_roles()
    return {
        "repository": sorted({str(Path(run.repository)) for run in runs}),
        "workflow": sorted({run.workflow for run in runs}),
        "agent": sorted({agent for agent, _ in played}),
        "role": sorted({role for _, role in played}),
    }


def _answers(ended: Sequence[StoredAnswer]) -> dict[str, list[CallEnd]]:
    by_run: dict[str, list[CallEnd]] = defaultdict(list)
    for answer in ended:
        by_run[answer.run].append(
            CallEnd(answer.key, answer.role, answer.agent, answer.state, answer.ended, answer.claims)
        )
    return by_run


def estimated_calls(ended: Sequence[StoredAnswer]) -> dict[str, set[str]]:
    """Run → the keys of its calls whose tokens are estimated."""
    by_run: dict[str, set[str]] = defaultdict(set)
    for answer in ended:
        if answer.is_estimated:
            by_run[answer.run].add(answer.key)
    return by_run


def _spends(store: RunStore, selection: tuple[float, str]) -> dict[str, list[Spend]]:
    by_run: dict[str, list[Spend]] = defaultdict(list)
    for run, spend in store.journal.spends_of_runs_since(*selection):
        by_run[run].append(spend)
    return by_run


def _verdicts(store: RunStore, selection: tuple[float, str]) -> dict[str, list[VerdictFact]]:
    by_run: dict[str, list[VerdictFact]] = defaultdict(list)
    for verdict in store.journal.verdicts_since(*selection):
        by_run[verdict.run].append(VerdictFact(verdict.key, verdict.at, verdict.grades, verdict.worst))
    return by_run


def _last_grades(verdicts: Sequence[VerdictFact]) -> dict[str, str]:
    """The grades of the last verdict on all of the work; before there is one, each requirement's newest grade."""
    final = [verdict for verdict in verdicts if is_final_verdict(verdict.key)]
    if final:
        return dict(final[-1].grades)
    return {
        name: grade for verdict in verdicts if not is_landing(verdict.key) for name, grade in verdict.grades.items()
    }


def grades_with_approvals(store: RunStore, record: RunRecord) -> dict[str, str]:
    """Requirement → its grade, including people's attestations."""
    verdict = store.verdict(record.id)
    return {judged.id: str(judged.grade) for judged in verdict.requirements} if verdict else {}
