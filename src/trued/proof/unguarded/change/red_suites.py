"""Runs red suites on base and head, to find test files that pass on the head, and the code that these files use.

A red suite is a suite in which no test passes on the base. Test-first projects have only red suites. Red suites guard
nothing, but once they pass, the code that they test counts as checked.
"""

from dataclasses import dataclass, replace

from trued.model import Evidence, TestsCheck
from trued.proof.fact_cache import FactCache, tree_with_content
from trued.proof.hashes import check_hash
from trued.proof.implementer_tests import BothSides, ResultsOnBothSides, run_on_both_sides
from trued.proof.room.bench import WHOLE_CHECK
from trued.proof.room.environment import interpreter_of
from trued.proof.text.commit_texts import texts_at
from trued.proof.text.python_names import used_names
from trued.proof.trial import CommitTrial
from trued.proof.verdict.case_status import Base, Head, on_head


@dataclass(frozen=True, slots=True)
class TurnedTests:
    """What is known of test files that fail on the base, and in which every test passes twice on the head."""

    ran: frozenset[str] = frozenset()  # files of the head that suites loaded in which every test file passes now
    names: frozenset[str] = frozenset()  # names that these test files use, by their text on the base
    facts: tuple[Evidence, ...] = ()


async def turned_tests(trial: CommitTrial) -> TurnedTests:
    """Run the contract's red suites on base and head, both with the base's test files and test settings."""
    workspace, contract = trial.workspace, trial.contract
    interpreter = await interpreter_of(workspace, contract)
    ran, names, facts = frozenset[str](), frozenset[str](), list[Evidence]()
    for suite in contract.red_suites:
        for check in suite.checks:
            if not isinstance(check, TestsCheck):
                continue
            sides = BothSides(workspace, contract, trial.commit, interpreter, {}, trial.kept)
            results = await run_on_both_sides(sides, suite, check)
            facts += results.facts
            results = replace(results, facts=[*results.facts, *await _earlier_failures(sides, check, results)])
            files = _passing_files(results)
            ran |= results.ran if files and all(files.values()) else frozenset()
            texts = await texts_at(workspace, contract.base, [path for path, turned in files.items() if turned])
            names |= frozenset[str]().union(*map(used_names, texts.values()))
    return TurnedTests(ran, names, tuple(facts))


async def _earlier_failures(sides: BothSides, check: TestsCheck, results: ResultsOnBothSides) -> list[Evidence]:
    """This check's failures that were recorded earlier for the same tree, so that a retry does not turn them into a
    pass. Also stores the failures of this run."""
    workspace, contract = sides.workspace, sides.contract
    cache, tree = FactCache(workspace.kept, workspace.repository), await tree_with_content(workspace, sides.commit)
    level = workspace.confinement().level
    before = cache.of_head(contract, tree, level).evidence
    cache.keep_head(contract, tree, level, results.head_facts, frozenset())
    return [fact for fact in before if fact.check == check_hash(check)]


def _passing_files(results: ResultsOnBothSides) -> dict[str, bool]:
    """Test file that the runner reported → True if each of its tests passes on the head and had a clear result (passed
    or failed) on the base. Tests that were skipped on the base do not count, unless they fail on the head."""
    passing: dict[str, bool] = {}
    for name, base_state in results.base_states.items():
        head_state = on_head(name, results.head_facts, results.lacks)[0]
        if base_state is Base.UNREACHED and head_state is not Head.FAILED:
            continue
        path = name.split("::")[0]
        passes = name != WHOLE_CHECK and head_state is Head.PASSED
        passing[path] = passing.get(path, True) and passes and base_state in (Base.RED, Base.GUARD)
    return passing
