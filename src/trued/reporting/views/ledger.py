"""The ledger as data: every requirement with its grade, its reasons and the evidence."""

from collections.abc import Iterable, Mapping
from typing import Any

from trued.model import Contract, Evidence, Grade, Judged, Outcomes, Requirement, Verdict
from trued.model.evidence import HELD_BACK
from trued.proof.screenshots import evidence_pictures
from trued.proof.verdict.for_agents import reason_for_agents, reasons_for_agents
from trued.proof.verdict.notes import fact_notes, not_collected, not_run
from trued.proof.verdict.reasons import on_one_line
from trued.reporting.views.cases import CaseNumbers, case_numbers, in_order
from trued.support.plurals import counted

NOT_CHECKED_YET = ("no check has been run on it yet",)


def ledger(verdict: Verdict | None, contract: Contract | None, *, over: bool) -> dict[str, Any]:
    """The data of `ledger RUN --json`: every requirement of the contract, whether or not it was checked yet. `over`: no
    agent will work on the run again, so held-out cases may be shown."""
    verdict = verdict or Verdict.open("nothing yet")
    facts = {fact.id: fact for fact in (*(contract.base_facts if contract else ()), *verdict.evidence)}
    judged = {judgement.id: judgement for judgement in verdict.requirements}
    unseen = [
        not_judged_yet(requirement)
        for requirement in (contract.requirements if contract else ())
        if requirement.id not in judged
    ]
    every = [*judged.values(), *unseen]
    failed = [suite.grade for suite in verdict.suites if not suite.holds]
    return {
        "grade": str(min([*(judgement.grade for judgement in every), *failed]) if every else verdict.grade),
        "commit": verdict.commit,
        "requirements": [_judged_row(judgement, facts, over=over) for judgement in every],
        "existing_tests": [_ungraded(_judged_row(suite, facts, over=over)) for suite in verdict.suites],
        "undecided": list(verdict.undecided),
        "reported": list(fact_notes(verdict)),
    }


def not_judged_yet(requirement: Requirement) -> Judged:
    """The judgement on a requirement that no verdict contains yet."""
    return Judged(
        id=requirement.id,
        text=requirement.text,
        source=str(requirement.source),
        grade=Grade.UNPROVEN,
        why=NOT_CHECKED_YET,
        holds=False,
    )


def ledger_for_agents(verdict: Verdict, contract: Contract | None) -> dict[str, Any]:
    """The data of `ledger`, as the agent whose work is checked may read it. Used by the gate.

    The field `why` has only reasons that agents may read. Notes can quote a held-out case. So if cases are held out,
    only notes on existing tests that did not run are shown, and all other notes are only counted."""
    ledger_data = ledger(verdict, contract, over=False)
    if contract and contract.held_out:
        left_out = {*map(on_one_line, (*map(not_run, contract.unguarded), *not_collected(contract.uncollected)))}
        shown_notes = [note for note in verdict.undecided if note in left_out]
        hidden = len(verdict.undecided) - len(shown_notes)
        number = [f"{counted(hidden, 'other note' if shown_notes else 'note')} {HELD_BACK}"] if hidden else []
        ledger_data |= {"undecided": [*shown_notes, *number], "reported": []}
    shown = {
        judged.id: "; ".join(reasons_for_agents(judged)) if judged.holds else reason_for_agents(judged)
        for judged in (*verdict.requirements, *verdict.suites)
    }
    for row in (*ledger_data["requirements"], *ledger_data["existing_tests"]):
        row["why"] = shown.get(row["id"], row["why"])
    return ledger_data


def _judged_row(judged: Judged, facts: Mapping[str, Evidence], *, over: bool) -> dict[str, Any]:
    row_facts = [facts[name] for name in judged.evidence if name in facts]
    numbers = case_numbers(row_facts)
    return {
        "id": judged.id,
        "grade": str(judged.grade),
        "why": "; ".join(judged.why),
        "evidence": [evidence(fact, numbers, over=over) for fact in row_facts],
        "pictures": _pictures(row_facts, over=over),
        "text": judged.text,
        "source": judged.source,
        "holds": judged.holds,
        "lacks": judged.lacks,
        "basis": judged.basis,
        "missing": [part.model_dump(mode="json") for part in judged.missing],
    }


def _ungraded(row: dict[str, Any]) -> dict[str, Any]:
    """The row of existing tests, without a grade: the field `holds` says whether they pass."""
    return {name: value for name, value in row.items() if name != "grade"}


def _pictures(facts: Iterable[Evidence], *, over: bool) -> list[dict[str, Any]]:
    """Pictures before and after, as far as they may be shown (see `Evidence.shown`)."""
    return [picture.model_dump(mode="json") for picture in evidence_pictures(fact.shown(over=over) for fact in facts)]


def evidence(fact: Evidence, numbers: CaseNumbers, *, over: bool) -> dict[str, Any]:
    """One run of one check. `numbers`: see `case_numbers`. Texts that may quote held-out cases are left out, unless the
    run is `over` (see `ledger`)."""
    shown, tried = fact.shown(over=over), in_order(fact, numbers)
    row = shown.model_dump(mode="json", exclude={"tried", "output"})
    row["passed"] = sum(case.outcome is Outcomes.PASSED for case in fact.tried)
    row["skipped"] = sum(case.outcome is Outcomes.SKIPPED for case in fact.tried)
    row["failed"] = len(fact.tried) - row["passed"] - row["skipped"]
    if shown is fact:
        row["tried"] = [case.model_dump(mode="json") for case in tried]
    else:
        bare = [case.without_text(f"case {numbers[fact.check, case.id]}") for case in tried]
        row["tried"] = [case.model_dump(mode="json", include={"id", "outcome", "kind"}) for case in bare]
    row["output"] = shown.output
    row.setdefault("pictures", [])
    return row
