"""Counts the cases that a requirement lost since its contract was sealed. Pure."""

from collections import Counter
from collections.abc import Iterator

from trued.inputs.clauses import quoted_clauses
from trued.model import BrowserCheck, Contract, ExamplesCheck, LostCases, Requirement
from trued.proof.cases.mutants import Shown
from trued.proof.cases.vacuous_cases import declared_entry
from trued.proof.hashes import check_hash
from trued.proof.verdict.case_status import Base, on_base

COUNTING = (Base.RED, Base.UNJUDGED)  # what could not be judged may still turn out to be red


def lost_cases(before: Contract, after: Contract, requirement: str, words: str) -> tuple[LostCases, ...]:
    """For each clause and entry point of the requirement: how many agents' cases it had when it was first sealed, and
    has no more. Only cases count that can prove something: those that do not pass on the base.

    `words`: the goal. The cases of a requirement that consists of others may quote it.
    """
    then, now = (next(one for one in each.requirements if one.id == requirement) for each in (before, after))
    text = f"{then.text}\n{words}" if then.parts else then.text
    had = Counter({(one.clause, one.entry): one.number for one in then.lost})
    for contract, one, sign in ((before, then, 1), (after, now, -1)):
        for shown in _counting_cases(contract, one):
            entry = declared_entry(shown, after.interface)
            for clause in quoted_clauses(text, shown.quotes):
                had[clause, entry] += sign
    return tuple(
        LostCases(clause=clause, entry=entry, number=number) for (clause, entry), number in had.items() if number > 0
    )


def _counting_cases(contract: Contract, requirement: Requirement) -> Iterator[Shown]:
    for check in requirement.checks:
        name = check_hash(check)
        if name not in contract.authors:
            continue
        facts = [one for one in contract.base_facts if (one.requirement, one.check) == (requirement.id, name)]
        states = on_base(facts)
        if isinstance(check, BrowserCheck) and any(one in COUNTING for one in states.values()):
            yield check
        for number, case in enumerate(check.cases if isinstance(check, ExamplesCheck) else (), 1):
            if states.get(f"case {number}") in COUNTING and not getattr(case, "setup", False):
                yield case
