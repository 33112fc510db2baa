"""`verify` without requirements: it can judge only the change's own tests, run on base and head."""

import base64
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from trued.model import (
    Check,
    Contract,
    Evidence,
    Finding,
    Grade,
    Judged,
    Outcomes,
    Requirement,
    TestsCheck,
    Tried,
    Verdict,
)
from trued.proof.implementer_tests import BothSides, TriedOnBothSides, run_on_both_sides
from trued.proof.room.bench import WHOLE_CHECK, CaseSelection
from trued.proof.room.environment import interpreter_of
from trued.proof.room.frozen_files import is_named_like_a_script_test, is_named_like_a_test, is_test
from trued.proof.run_check import run_check
from trued.proof.seal import run_and_repeat_failures
from trued.proof.verdict.caps import refute_by_existing_tests
from trued.proof.verdict.case_status import Base, Head, number_of_tests, on_head
from trued.proof.verdict.missing import each_once
from trued.proof.verdict.reasons import EMPTY_DIFF, fail_before, not_judged, own_tests_fail, own_tests_turned
from trued.protocols import Workspace

OWN_TESTS = "own tests"  # no requirement can have this id, because it contains a space
TEXT = "no requirements were given: the change's own tests are all that can be checked"
NOTHING_ASKED = "no requirements were given, and neither commit contains any (name a file with --requirements FILE)"


async def judge_without_requirements(
    workspace: Workspace, contract: Contract, verdict: Verdict, suites: Iterable[Check]
) -> Verdict:
    """The verdict with one requirement: that the head's own tests fail on the base and pass on the head."""
    commit = verdict.commit
    before, here = await workspace.blobs(contract.base), await workspace.blobs(commit)
    changed = [path for path in here if before.get(path) != here[path] and is_test(path)]
    tried, before_too = list[TriedOnBothSides](), set[str]()
    for check in [one for one in suites if isinstance(one, TestsCheck)]:
        runnable = [path for path in changed if is_named_like_a_test(path) and _can_run(check, path)]
        if runnable:
            one, failing_before = await _try_tests(workspace, contract, check, commit, changed, runnable)
            tried.append(one)
            before_too |= failing_before
    facts = [fact for one in tried for fact in one.facts]
    whole = TriedOnBothSides(
        facts,
        frozenset[str]().union(*(one.own_modules for one in tried)),
        {kind: part for one in tried for kind, part in one.awaited.items()},
    )
    judged = _judged(whole, changed=before != here, before_too=before_too)
    judged = refute_by_existing_tests(judged, verdict.suites)
    return verdict.model_copy(
        update={
            "requirements": (judged,),
            "evidence": (*verdict.evidence, *facts),
            "undecided": (NOTHING_ASKED, *verdict.undecided),
        }
    )


def _can_run(check: TestsCheck, path: str) -> bool:
    """Whether the suite's runner can run this file, judged by the file's language."""
    if "pytest" in check.command:
        return path.endswith(".py")
    return path.endswith("_test.go") if check.command.startswith("go ") else is_named_like_a_script_test(path)


async def _try_tests(
    workspace: Workspace, contract: Contract, check: TestsCheck, commit: str, changed: Sequence[str], named: list[str]
) -> tuple[TriedOnBothSides, set[str]]:
    """Run the head's new and changed tests (`named`) on base and head, both with all test files that the head changed.
    Also returns the tests that fail without the change, too."""
    contents = {path: await workspace.read(commit, path) or b"" for path in changed}
    carried = {path: base64.b64encode(content).decode() for path, content in contents.items()}
    own = check.model_copy(update={"files": tuple(named)})
    kept = {path: blob for path, blob in contract.frozen.items() if blob and path not in carried}
    both = contract.model_copy(update={"frozen": kept, "held_out": False})
    interpreter = await interpreter_of(workspace, contract)
    requirement = Requirement(id=OWN_TESTS, text=TEXT, checks=(own,))
    sides = BothSides(workspace, both, commit, interpreter, carried)
    tried, names = await run_on_both_sides(sides, requirement, own), tuple(named)
    facts = [
        one.model_copy(update={"tried": tuple(each for each in one.tried if _is_in_files(each, names))})
        for one in tried.facts
    ]
    tried = replace(tried, facts=facts)
    known = await workspace.blobs(contract.base)
    there = check.model_copy(update={"files": tuple(one for one in named if one in known)})
    before = replace(sides, own_files={}, commit=contract.base)  # with the base's tests and packages
    return tried, await _failing_before(before, there, tried.here)


async def _failing_before(sides: BothSides, check: TestsCheck, here: Sequence[Evidence]) -> set[str]:
    """Of the tests that fail on the head, those that fail on the base, too, as the base has them: in the surroundings
    of the first run, or if they passed there on the head, in those of the second. The change did not break them."""
    failing = [_failing(fact.tried, check.files) for fact in here]
    if not any(failing):
        return set()
    async with sides.room(sides.contract.base) as (bench, _):
        first = await run_and_repeat_failures(check, bench)
        ids = tuple(dict.fromkeys(one.id for fact in first for one in fact.tried))
        second = await run_check(check, bench, CaseSelection(ids, second=True))
    always = set[str]().union(*(_failing(fact.tried, check.files) for fact in first))
    late = _failing(second.tried, check.files) - failing[0]
    return set[str]().union(*failing) & (always | late)


def _failing(tried: Iterable[Tried], files: tuple[str, ...]) -> set[str]:
    fine = (Outcomes.PASSED, Outcomes.SKIPPED)
    return {one.id for one in tried if one.outcome not in fine and one.id.split("::")[0] in files}


def _is_in_files(tried: Tried, files: tuple[str, ...]) -> bool:
    return tried.id == WHOLE_CHECK or tried.id.split("::")[0] in files


def _named(failed: Sequence[str], shown: Mapping[str, tuple[Head, list[Tried]]]) -> list[str]:
    """The ids of failed tests. If the base could not import a file, `failed` has the file's id: it is replaced by the
    ids of the tests in the file that do not pass."""
    inside = {name: [one.id for one in shown[name][1] if one.id.startswith(f"{name}::")] for name in failed}
    return list(dict.fromkeys(one for name in failed for one in inside[name] or [name]))


def _without(fact: Evidence, ids: Collection[str]) -> Evidence:
    return fact.model_copy(update={"tried": tuple(one for one in fact.tried if one.id not in ids)})


def _judged(whole: TriedOnBothSides, *, changed: bool, before_too: Collection[str] = ()) -> Judged:
    """The verdict on the change's own tests. `before_too`: tests that fail without the change, too. They are not
    counted, whatever they show: the change may not even have touched them."""
    tried = replace(whole, facts=[_without(fact, before_too) for fact in whole.facts])
    facts, before, here = tried.facts, tried.on_base, tried.here
    shown = {name: on_head(name, here, tried.lacks) for name in before if name != WHOLE_CHECK}
    missing = each_once(tried.missing(one) for state, bad in shown.values() if state is Head.UNJUDGED for one in bad)
    stands = {name: state for name, (state, _) in shown.items()}
    failed = [name for name, state in stands.items() if state is Head.FAILED]
    green = [name for name, state in stands.items() if state is Head.PASSED and before[name] is Base.RED]
    grade, why, lacks = (
        Grade.UNPROVEN,
        ["no requirements were given, and the change brings no test that fails without it"],
        "attest",
    )
    gaps: tuple[Finding, ...] = ()
    if failed:
        grade, lacks, why = Grade.REFUTED, "", [own_tests_fail(_named(failed, shown))]
        gaps = (Finding(what=why[0], requirement=OWN_TESTS),)
    elif missing:
        grade, lacks, why = Grade.UNJUDGED, "", [not_judged(str(one)) for one in missing]
    elif green:
        grade = Grade.SELF_TESTED
        number = sum(number_of_tests(name, here) for name in green)
        why = [own_tests_turned(number), "no requirements were given"]
    elif not changed:
        why, lacks = [EMPTY_DIFF], ""
    if before_too:
        why.append(fail_before(sorted(before_too)))
    holds = not gaps and not missing and changed
    ids = tuple(one.id for one in facts)
    return Judged(
        id=OWN_TESTS,
        text=TEXT,
        grade=grade,
        why=tuple(why),
        evidence=ids,
        gaps=gaps,
        holds=holds,
        lacks=lacks if holds else "",
        rests_on="the change's own tests" if facts else "",
        missing=() if failed else missing,
    )
