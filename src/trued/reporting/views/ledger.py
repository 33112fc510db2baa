"""The ledger as data: every requirement with its grade, its reasons and the evidence."""

from collections.abc import Iterable, Mapping
from typing import Any

from trued.model import Contract, Evidence, Grade, Judged, Outcomes, Requirement, Verdict
from trued.proof.screenshots import evidence_pictures
from trued.proof.verdict.notes import facts_of
from trued.reporting.views.cases import CaseNumbers, case_numbers, in_order

NOT_CHECKED_YET = ("no check has been run on it yet",)


def ledger(verdict: Verdict | None, contract: Contract | None, *, over: bool) -> dict[str, Any]:
    """The data of `ledger RUN --json`: every requirement of the contract, whether or not it was checked yet. `over`: no
    agent will work on the run any more, so held-out cases may be shown."""
    verdict = verdict or Verdict.open("nothing yet")
    facts = {one.id: one for one in (*(contract.base_facts if contract else ()), *verdict.evidence)}
    judged = {one.id: one for one in verdict.requirements}
    unseen = [
        not_judged_yet(requirement)
        for requirement in (contract.requirements if contract else ())
        if requirement.id not in judged
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
    """`ledger` for the gate, whose reader may be the agent whose work is checked. For a requirement that does not hold,
    it gives only the reason that agents may read (see `Judged.reason`): other reasons may name held-out tests."""
    found = ledger(verdict, contract, over=False)
    unmet = {one.id: one.reason for one in (*verdict.requirements, *verdict.suites) if not one.holds}
    for row in (*found["requirements"], *found["existing_tests"]):
        row["why"] = unmet.get(row["id"], row["why"])
    return found


def _judged_row(one: Judged, facts: Mapping[str, Evidence], *, over: bool) -> dict[str, Any]:
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


def _pictures(facts: Iterable[Evidence], *, over: bool) -> list[dict[str, Any]]:
    """Pictures before and after, as far as they may be shown (see `Evidence.shown`)."""
    return [one.model_dump(mode="json") for one in evidence_pictures(fact.shown(over=over) for fact in facts)]


def evidence(fact: Evidence, numbers: CaseNumbers, *, over: bool) -> dict[str, Any]:
    """One run of one check. `numbers`: see `case_numbers`. Unless the run is `over` (see `ledger`), what may quote
    held-out cases is left out."""
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
