"""Counts the cases that a requirement lost since its contract was sealed."""

from collections import Counter
from collections.abc import Iterator

from trued.inputs.clauses import quoted_clauses
from trued.model import BrowserCheck, Contract, ExamplesCheck, LostCases, Requirement
from trued.model.step_keys import EXAMINERS
from trued.proof.cases.mutants import Shown
from trued.proof.cases.vacuous_cases import declared_entry
from trued.proof.hashes import check_hash
from trued.proof.verdict.case_status import Base, on_base

COUNTING = (Base.RED, Base.UNJUDGED)  # what could not be judged may still turn out to be red


def lost_cases(before: Contract, after: Contract, requirement: str, goal_text: str) -> tuple[LostCases, ...]:
    """How many of the agents' cases a requirement has lost since it was first sealed, by clause and entry point. Only
    cases that can prove something are counted: cases that do not pass on the base. A second examiner's own cases are
    counted apart, because no case of the examiner replaces them.

    If the requirement stands for the whole plan, ticket or specification, its cases may also quote `goal_text`.
    """
    requirement_then, requirement_now = (
        next(candidate for candidate in contract.requirements if candidate.id == requirement)
        for contract in (before, after)
    )
    text = f"{requirement_then.text}\n{goal_text}" if requirement_then.parts else requirement_then.text
    had = Counter({(lost.clause, lost.entry, lost.by_second): lost.number for lost in requirement_then.lost})
    for contract, version, sign in ((before, requirement_then, 1), (after, requirement_now, -1)):
        for case, by_second in _counting_cases(contract, version):
            entry = declared_entry(case, after.interface)
            for clause in quoted_clauses(text, case.quotes):
                had[clause, entry, by_second] += sign
    return tuple(
        LostCases(clause=clause, entry=entry, number=number, by_second=by_second)
        for (clause, entry, by_second), number in had.items()
        if number > 0
    )


def _counting_cases(contract: Contract, requirement: Requirement) -> Iterator[tuple[Shown, bool]]:
    """Each counting case, and whether the second examiner wrote it."""
    for check in requirement.checks:
        name = check_hash(check)
        if name not in contract.authors:
            continue
        by_second = contract.authors[name].role == EXAMINERS[1]
        facts = [fact for fact in contract.base_facts if (fact.requirement, fact.check) == (requirement.id, name)]
        states = on_base(facts)
        if isinstance(check, BrowserCheck) and any(state in COUNTING for state in states.values()):
            yield check, by_second
        for number, case in enumerate(check.cases if isinstance(check, ExamplesCheck) else (), 1):
            if states.get(f"case {number}") in COUNTING and not getattr(case, "setup", False):
                yield case, by_second
