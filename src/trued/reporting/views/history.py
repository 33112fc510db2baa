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
    runs = all_as_seen((one for one in store.journal.runs() if wanted.fits(one)), store.journal)
    if not runs:
        return []
    these = (wanted.since, wanted.workflow)
    ended, verdicts, spends = store.journal.answers_since(*these), _verdicts(store, these), _spends(store, these)
    answers, estimated = _answers(ended), _estimated_calls(ended)
    approved, accepts = store.journal.runs_with_approvals(), accepted_grades(store)
    sealed = store.journal.sealed_since(*these)
    found = []
    for one in runs:
        own = verdicts.get(one.id, [])
        grades = (one.id in approved and grades_with_approvals(store, one)) or _last_grades(own)
        met = met_of(grades, accepts.get(one.id))
        claims = tuple(done_claims(answers.get(one.id, ()), (each for each in own if not is_landing(each.key))))
        total = max(len(grades), sealed.get(one.id, 0))
        found.append(RunFacts(one, met, total, spends.get(one.id, ()), claims, estimated.get(one.id, frozenset())))
    return [kept for one in found if (kept := wanted.part_of(one)) is not None]


def met_of(grades: Mapping[str, str], accept: Grade | None) -> int:
    """How many requirements are met, by the grade that the run's user accepts."""
    # a grade that this version does not know is not met
    known = [Grade(grade) for grade in grades.values() if grade in {*map(str, Grade)}]
    return sum(grade.is_met(accept) for grade in known)


def accepted_grades(store: RunStore, run: str = "") -> dict[str, Grade]:
    """Run → the grade that its user accepts; only for `run`, if it is given."""
    return {one: Grade(grade) for one, grade in store.journal.accepted(run).items() if grade in list(Grade)}


def choices(store: RunStore) -> dict[str, list[str]]:
    """Filter → its possible values: the repositories, workflows, agents and roles of all runs."""
    runs, played = store.journal.runs(), store.journal.agents_and_roles()
    return {
        "repository": sorted({str(Path(one.repository)) for one in runs}),
        "workflow": sorted({one.workflow for one in runs}),
        "agent": sorted({agent for agent, _ in played}),
        "role": sorted({role for _, role in played}),
    }


def _answers(ended: Sequence[StoredAnswer]) -> dict[str, list[CallEnd]]:
    found: dict[str, list[CallEnd]] = defaultdict(list)
    for one in ended:
        found[one.run].append(CallEnd(one.key, one.role, one.agent, one.state, one.ended, one.claims))
    return found


def _estimated_calls(ended: Sequence[StoredAnswer]) -> dict[str, set[str]]:
    """Run → the keys of its calls whose tokens are estimated."""
    found: dict[str, set[str]] = defaultdict(set)
    for one in ended:
        if one.is_estimated:
            found[one.run].add(one.key)
    return found


def _spends(store: RunStore, these: tuple[float, str]) -> dict[str, list[Spend]]:
    found: dict[str, list[Spend]] = defaultdict(list)
    for run, spend in store.journal.spends_since(*these):
        found[run].append(spend)
    return found


def _verdicts(store: RunStore, these: tuple[float, str]) -> dict[str, list[VerdictFact]]:
    found: dict[str, list[VerdictFact]] = defaultdict(list)
    for one in store.journal.verdicts_since(*these):
        found[one.run].append(VerdictFact(one.key, one.at, one.grades, one.worst))
    return found


def _last_grades(verdicts: Sequence[VerdictFact]) -> dict[str, str]:
    """The grades of the last verdict on all of the work; before there is one, each requirement's newest grade."""
    final = [one for one in verdicts if is_final_verdict(one.key)]
    if final:
        return dict(final[-1].grades)
    return {name: grade for one in verdicts if not is_landing(one.key) for name, grade in one.grades.items()}


def grades_with_approvals(store: RunStore, record: RunRecord) -> dict[str, str]:
    """Requirement → its grade, including people's attestations."""
    verdict = store.verdict(record.id)
    return {one.id: str(one.grade) for one in verdict.requirements} if verdict else {}
