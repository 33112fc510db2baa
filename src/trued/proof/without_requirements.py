"""`verify` without requirements: it can judge only the change's own tests, run on base and head, and the tests of the
base that the change turns from failing to passing."""

import base64
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from types import MappingProxyType

from trued.model import (
    Check,
    Contract,
    Evidence,
    Finding,
    Grade,
    Judged,
    MissingFromEnvironment,
    Outcomes,
    Requirement,
    TestsCheck,
    Tried,
    Verdict,
)
from trued.proof.base_runs import run_and_repeat_failures
from trued.proof.checks.tests import runner_on_base
from trued.proof.dependencies.check import newly_declared
from trued.proof.hashes import check_hash
from trued.proof.implementer_tests import BothSides, ResultsOnBothSides, run_on_both_sides
from trued.proof.room.bench import WHOLE_CHECK, CaseSelection
from trued.proof.room.environment import interpreter_of
from trued.proof.room.frozen_files import (
    TESTS_MODULES,
    is_below,
    is_named_like_a_script_test,
    is_named_like_a_test,
    is_test,
)
from trued.proof.run_check import run_check
from trued.proof.text.command_parser import RunnerCall, package_folder
from trued.proof.verdict.caps import lower_for_existing_tests
from trued.proof.verdict.case_status import Base, Head, number_of_tests, on_base, on_head
from trued.proof.verdict.missing import each_once
from trued.proof.verdict.reasons import (
    EMPTY_DIFF,
    base_tests_turned,
    fail_before,
    not_judged,
    own_tests_fail,
    own_tests_turned,
)
from trued.protocols import Workspace

OWN_TESTS = "own tests"  # no requirement can have this id, because it contains a space
TEXT = "no requirements were given: the change's own tests are all that can be checked"
NOTHING_ASKED = "no requirements were given, and neither commit contains any (name a file with --requirements FILE)"


async def judge_without_requirements(
    workspace: Workspace, contract: Contract, verdict: Verdict, suites: Iterable[Check]
) -> Verdict:
    """The verdict with one requirement: that the head's own tests, or tests of the base, fail on the base and pass on
    the head."""
    commit = verdict.commit
    before, here = await workspace.blobs(contract.base), await workspace.blobs(commit)
    modules = _passing_test_modules(contract)
    changed = [path for path in here if before.get(path) != here[path] and (is_test(path) or path in modules)]
    tests = [path for path in changed if is_named_like_a_test(path) or path in modules]
    by_suite, fail_anyway = list[ResultsOnBothSides](), set[str]()
    for check, runnable in await _tests_by_suite(workspace, contract, suites, tests):
        results, failing_before = await _try_tests(workspace, contract, check, commit, changed, runnable)
        by_suite.append(results)
        fail_anyway |= failing_before
    facts = [fact for results in by_suite for fact in results.facts]
    turned = await _turned_by_change(workspace, contract, verdict)
    judged = _judge_results(by_suite, changed=before != here, fail_anyway=fail_anyway, turned=turned)
    judged = lower_for_existing_tests(judged, verdict.suites)
    return verdict.model_copy(
        update={
            "requirements": (judged,),
            "evidence": (*verdict.evidence, *facts),
            "undecided": (NOTHING_ASKED, *verdict.undecided),
        }
    )


async def _turned_by_change(workspace: Workspace, contract: Contract, verdict: Verdict) -> dict[str, list[Evidence]]:
    """Each existing test that failed on the base and passes on the head, with the evidence of its suite. None counts
    if the head declares further packages: on the base, a test may have lacked nothing but such a package."""
    if await newly_declared(workspace, contract.base, verdict.commit):
        return {}
    turned: dict[str, list[Evidence]] = {}
    for name in {check_hash(check) for suite in contract.suites for check in suite.checks}:
        every = {fact.id: fact for fact in (*contract.base_facts, *verdict.evidence) if fact.check == name}
        here = [fact for fact in every.values() if fact.side == "head"]
        before = [fact for fact in every.values() if fact.side == "base"]
        states = on_base(before)
        red = [test for test, state in states.items() if state is Base.RED]
        turned |= {test: [*every.values()] for test in red if on_head(test, here)[0] is Head.PASSED}
    return turned


def _passing_test_modules(contract: Contract) -> set[str]:
    """The files `test.py` and `tests.py` in which an existing test passes on the base. Only there is it known that the
    suite can run the file: the tests of a Django app, for example, need more than pytest."""
    passed = {
        result.id.split("::")[0]
        for fact in contract.base_facts
        for result in fact.tried
        if result.outcome is Outcomes.PASSED
    }
    return {path for path in passed if PurePosixPath(path).name in TESTS_MODULES}


async def _tests_by_suite(
    workspace: Workspace, contract: Contract, suites: Iterable[Check], tests: Iterable[str]
) -> list[tuple[TestsCheck, list[str]]]:
    """Each suite with the test files that it runs. Suites without test files are left out. A file goes to the suite
    whose runner can run it and whose project folder is the nearest one above the file."""
    calls = [
        (check, await runner_on_base(check.command, workspace, contract.base, contract.carried))
        for check in suites
        if isinstance(check, TestsCheck)
    ]
    runs: list[tuple[TestsCheck, list[str]]] = [(check, []) for check, _ in calls]
    for path in tests:
        folders = [_folder_above(path, check, call) if _can_run(call, path) else None for check, call in calls]
        nearest = max((folder for folder in folders if folder is not None), key=len, default=None)
        for (_, paths), folder in zip(runs, folders, strict=True):
            if folder is not None and folder == nearest:
                paths.append(path)
    return [(check, paths) for check, paths in runs if paths]


def _can_run(call: RunnerCall | None, path: str) -> bool:
    """Whether the suite's runner can run this file, judged by the file's language."""
    if call and call.runner in ("pytest", "unittest"):
        return path.endswith(".py")
    return path.endswith("_test.go") if call and call.runner == "go" else is_named_like_a_script_test(path)


def _folder_above(path: str, check: TestsCheck, call: RunnerCall | None) -> str | None:
    """The folder of the suite's project ("" is the top); None if the file is not in that folder."""
    folder = call.folder if call else package_folder(check.command)
    return folder if not folder or is_below(path, folder) else None


async def _try_tests(
    workspace: Workspace, contract: Contract, check: TestsCheck, commit: str, changed: Sequence[str], named: list[str]
) -> tuple[ResultsOnBothSides, set[str]]:
    """Run the head's new and changed tests (`named`) on base and head, both with all test files that the head changed.
    Returns the results, and the tests that fail without the change, too."""
    contents = {path: await workspace.read(commit, path) or b"" for path in changed}
    carried = {path: base64.b64encode(content).decode() for path, content in contents.items()}
    check_of_these = check.model_copy(update={"files": tuple(named)})
    still_frozen = {path: blob for path, blob in contract.frozen.items() if blob and path not in carried}
    thawed = contract.model_copy(update={"frozen": still_frozen, "held_out": False})
    interpreter = await interpreter_of(workspace, contract)
    requirement = Requirement(id=OWN_TESTS, text=TEXT, checks=(check_of_these,))
    sides = BothSides(workspace, thawed, commit, interpreter, carried)
    results, names = await run_on_both_sides(sides, requirement, check_of_these), tuple(named)
    facts = [
        fact.model_copy(update={"tried": tuple(result for result in fact.tried if _is_in_files(result, names))})
        for fact in results.facts
    ]
    results = replace(results, facts=facts)
    known = await workspace.blobs(contract.base)
    check_on_base = check.model_copy(update={"files": tuple(path for path in named if path in known)})
    before = replace(sides, own_files={}, commit=contract.base)  # with the base's tests and packages
    return results, await _failing_before(before, check_on_base, results.head_facts)


async def _failing_before(sides: BothSides, check: TestsCheck, here: Sequence[Evidence]) -> set[str]:
    """The tests that fail on the head and failed on the base already. The change did not break these tests.

    The base's version of the tests runs on the base: first as in the first turn, and then once with the date, time zone
    and user of the second turn. A failure with the second turn's date, time zone and user counts only if the test
    passed in the head's first turn.
    """
    failing = [_failing_in_files(fact.tried, check.files) for fact in here]
    if not any(failing):
        return set()
    async with sides.room(sides.contract.base) as (bench, _):
        first = await run_and_repeat_failures(check, bench)
        ids = tuple(dict.fromkeys(result.id for fact in first for result in fact.tried))
        second = await run_check(check, bench, CaseSelection(ids, second=True))
    always = set[str]().union(*(_failing_in_files(fact.tried, check.files) for fact in first))
    late_failures = _failing_in_files(second.tried, check.files) - failing[0]
    return set[str]().union(*failing) & (always | late_failures)


def _failing_in_files(results: Iterable[Tried], files: tuple[str, ...]) -> set[str]:
    fine = (Outcomes.PASSED, Outcomes.SKIPPED)
    return {result.id for result in results if result.outcome not in fine and result.id.split("::")[0] in files}


def _is_in_files(result: Tried, files: tuple[str, ...]) -> bool:
    return result.id == WHOLE_CHECK or result.id.split("::")[0] in files


def _ids_of_failed_tests(failed: Sequence[str], shown: Mapping[str, tuple[Head, list[Tried]]]) -> list[str]:
    """The ids of failed tests. If the base could not import a file, `failed` has the file's id. The file's id is
    replaced by the ids of the tests in the file that do not pass."""
    inside = {name: [result.id for result in shown[name][1] if result.id.startswith(f"{name}::")] for name in failed}
    return list(dict.fromkeys(test for name in failed for test in inside[name] or [name]))


def _without_results(fact: Evidence, ids: Collection[str]) -> Evidence:
    return fact.model_copy(update={"tried": tuple(result for result in fact.tried if result.id not in ids)})


def _why_not_run_on_base(results: ResultsOnBothSides) -> list[MissingFromEnvironment]:
    """Why no own test of this suite could be run on the base; nothing if one was run, or if there are none."""
    if any(name != WHOLE_CHECK for name in results.base_states):
        return []
    tried = [result for fact in results.facts if fact.side == "base" for result in fact.tried]
    return [results.missing(result) for result in tried if result.kind != "nothing collected"]


def _judge_results(
    by_suite: Sequence[ResultsOnBothSides],
    *,
    changed: bool,
    fail_anyway: Collection[str] = (),
    turned: Mapping[str, Sequence[Evidence]] = MappingProxyType({}),
) -> Judged:
    """The verdict on the change's own tests, from the results of each suite. `fail_anyway`: tests that fail without the
    change, too. Such tests are not counted, whatever they show: perhaps the change did not even touch them.

    `turned`: existing tests that failed on the base and pass now, with their evidence. They show no more than own
    tests, because the implementer may have committed them first, and nobody said what else the change had to do.
    """
    by_suite = [
        replace(results, facts=[_without_results(fact, fail_anyway) for fact in results.facts]) for results in by_suite
    ]
    facts = [fact for results in by_suite for fact in results.facts]
    here = [fact for results in by_suite for fact in results.head_facts]
    before: dict[str, Base] = {}
    shown: dict[str, tuple[Head, list[Tried]]] = {}
    unjudged: list[MissingFromEnvironment] = []
    for results in by_suite:
        for name, status in results.base_states.items():
            if name != WHOLE_CHECK:
                state, deciding = on_head(name, results.head_facts, results.lacks)
                unjudged += map(results.missing, deciding) if state is Head.UNJUDGED else ()
                if name not in shown or state is not Head.PASSED:  # of a test that two suites run, the failure counts
                    before[name], shown[name] = status, (state, deciding)
    missing = each_once(unjudged)
    states = {name: state for name, (state, _) in shown.items()}
    failed = [name for name, state in states.items() if state is Head.FAILED]
    green = [name for name, state in states.items() if state is Head.PASSED and before[name] is Base.RED]
    not_run = each_once(part for results in by_suite for part in _why_not_run_on_base(results))
    grade, why, lacks = (
        Grade.UNPROVEN,
        ["no requirements were given, and the change brings no test that fails without it"],
        "attest",
    )
    gaps: tuple[Finding, ...] = ()
    if failed:
        grade, lacks, why = Grade.REFUTED, "", [own_tests_fail(_ids_of_failed_tests(failed, shown))]
        gaps = (Finding(what=why[0], requirement=OWN_TESTS),)
    elif missing:
        grade, lacks, why = Grade.UNJUDGED, "", [not_judged(str(part)) for part in missing]
    elif green or turned:
        grade = Grade.SELF_TESTED
        number = sum(number_of_tests(name, here) for name in green)
        why = [own_tests_turned(number)] if green else []
        why += [base_tests_turned(sorted(turned))] if turned else []
        why += ["no requirements were given"]
    elif not_run:
        missing, grade, lacks = not_run, Grade.UNJUDGED, ""
        why = [not_judged(f"the change's own tests: {part}") for part in not_run]
    elif not changed:
        why, lacks = [EMPTY_DIFF], ""
    if fail_anyway:
        why.append(fail_before(sorted(fail_anyway)))
    holds = not gaps and not missing and changed
    ids = tuple(dict.fromkeys(fact.id for fact in (*facts, *(fact for several in turned.values() for fact in several))))
    return Judged(
        id=OWN_TESTS,
        text=TEXT,
        grade=grade,
        why=tuple(why),
        evidence=ids,
        gaps=gaps,
        holds=holds,
        lacks=lacks if holds else "",
        rests_on="the change's own tests" if facts else "tests of the base" if turned else "",
        missing=() if failed else missing,
    )
