"""Runs the implementer's own tests: test files that a check uses, that the base lacks, and that the head has added."""

import base64
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace

from trued.model import Contract, Evidence, MissingFromEnvironment, Requirement, TestsCheck, Tried
from trued.proof.base_runs import run_and_repeat_failures
from trued.proof.checks.tests import files_of_check, runner_on_base
from trued.proof.hashes import check_hash
from trued.proof.new_modules import new_modules
from trued.proof.room.bench import WHOLE_CHECK, Bench, CaseSelection
from trued.proof.room.clean_room import Graft, clean_room
from trued.proof.room.frozen_files import is_below, is_test
from trued.proof.room.interpreter import Interpreter
from trued.proof.run_check import EvidenceRecorder, run_check
from trued.proof.text.commit_texts import MOST_FILES, texts_at
from trued.proof.verdict.case_status import GREEN_TURNS, Base, Head, number_of_tests, on_base, on_head
from trued.proof.verdict.judge import OwnTests
from trued.proof.verdict.missing import awaited_packages, each_once, lacked_by_base, missing_modules, missing_part
from trued.protocols import Workspace

MOST_BYTES = 4 * 2**20


async def try_own_tests(
    workspace: Workspace,
    contract: Contract,
    due: tuple[Requirement, ...],
    commit: str,
    interpreter: Interpreter,
    *,
    kept: Collection[str] = (),
) -> tuple[dict[str, OwnTests], list[Evidence]]:
    """Run the head's own tests on base and head. Returns what they show, by requirement, and the evidence. Requirements
    without a `tests` check are left out. `kept`: new files of the head that lie among tests but belong to the
    product."""
    by_requirement: dict[str, OwnTests] = {}
    evidence: list[Evidence] = []
    for requirement in due:
        for check in requirement.checks:
            if not isinstance(check, TestsCheck):
                continue
            own_files = await _own_test_files(workspace, contract, commit, check)
            if not own_files:
                before = by_requirement.get(requirement.id, OwnTests())
                absent = await _files_lacking_on_both(workspace, contract, commit, check)
                by_requirement[requirement.id] = replace(before, absent=(*before.absent, *absent))
                continue
            sides = BothSides(workspace, _without_absent_files(contract), commit, interpreter, own_files, kept)
            results = await run_on_both_sides(sides, requirement, check)
            by_requirement[requirement.id] = _add_results(
                by_requirement.get(requirement.id, OwnTests()), results, own_files
            )
            evidence += results.facts
    return by_requirement, evidence


def _add_results(before: OwnTests, results: "ResultsOnBothSides", own_files: Collection[str]) -> OwnTests:
    states = {
        name: state
        for name, state in results.base_states.items()
        if name == WHOLE_CHECK or name.split("::")[0] in own_files
    }
    on_this_head = {name: on_head(name, results.head_facts, results.lacks) for name in states}
    green = [name for name, (state, _) in on_this_head.items() if state is Head.PASSED]
    failed_results = [
        result for state, deciding in on_this_head.values() if state is Head.FAILED for result in deciding
    ]
    missing = [
        results.missing(result)
        for state, deciding in on_this_head.values()
        if state is Head.UNJUDGED
        for result in deciding
    ]
    turned = sum(number_of_tests(name, results.head_facts) for name in green if states[name] is Base.RED)
    return OwnTests(
        turned=before.turned + turned,
        failing=(*before.failing, *dict.fromkeys(result.id for result in failed_results)),
        idle=(*before.idle, *(name for name in green if states[name] is Base.GUARD)),
        output=before.output or next((result.detail for result in failed_results if result.detail), ""),
        missing=each_once((*before.missing, *missing)),
        absent=before.absent,
    )


async def _own_test_files(workspace: Workspace, contract: Contract, commit: str, check: TestsCheck) -> dict[str, str]:
    """Path → content (base64) of the check's files that the base lacks. Empty if the head lacks one of them, too, or if
    together they are too large."""
    named_files = await _files_lacking_on_base(workspace, contract, commit, check)
    here = await workspace.blobs(commit) if named_files else {}
    if not all(any(is_below(path, named) for path in here) for named in named_files):
        return {}
    contents = {
        path: await workspace.read(commit, path) or b""
        for path in here
        if any(is_below(path, named) for named in named_files)
    }
    if sum(map(len, contents.values())) > MOST_BYTES:
        return {}
    return {path: base64.b64encode(content).decode() for path, content in contents.items()}


async def _files_lacking_on_both(workspace: Workspace, contract: Contract, commit: str, check: TestsCheck) -> list[str]:
    """Test files that the check names, but that neither base nor head has."""
    named_files = await _files_lacking_on_base(workspace, contract, commit, check)
    here = await workspace.blobs(commit) if named_files else {}
    return [named for named in named_files if not any(is_below(path, named) for path in here)]


async def _files_lacking_on_base(workspace: Workspace, contract: Contract, commit: str, check: TestsCheck) -> list[str]:
    """The files that the check names and the base lacks. If the check names no files and collected no test on the base,
    these are all new test files of the head."""
    known = {*await workspace.blobs(contract.base), *contract.carried}
    call = await runner_on_base(check.command, workspace, contract.base, contract.carried)
    if files := files_of_check(check, call):
        return [named for named in files if not any(is_below(path, named) for path in known)]
    results_on_base = [
        result for fact in contract.base_facts if fact.check == check_hash(check) for result in fact.tried
    ]
    if not results_on_base or any(result.kind != "nothing collected" for result in results_on_base):
        return []
    return [path for path in await workspace.blobs(commit) if path not in known and is_test(path)]


def _without_absent_files(contract: Contract) -> Contract:
    """The contract without the frozen paths at which the base has no file, so that the head may add files there."""
    return contract.model_copy(update={"frozen": {path: blob for path, blob in contract.frozen.items() if blob}})


@dataclass(frozen=True, slots=True)
class BothSides:
    """Makes rooms of base and head in which the same tests run.

    Both get `own_files` (path → base64), the head's own tests. Neither gets the tests that came with the contract.
    `kept`: new files of the head that lie among tests but belong to the product (see `new_product`): they stay in the
    head's room.
    """

    workspace: Workspace
    contract: Contract
    commit: str
    interpreter: Interpreter
    own_files: Mapping[str, str]
    kept: Collection[str] = ()

    def room(self, commit: str) -> AbstractAsyncContextManager[tuple[Bench, Graft]]:
        """A clean room of base or head, with the tests in `own_files` and the head's packages."""
        return clean_room(
            self.workspace,
            self.contract,
            commit,
            self.interpreter,
            over=self.own_files,
            packages_of=self.commit,
            kept=self.kept,
        )


@dataclass(frozen=True, slots=True)
class ResultsOnBothSides:
    """What a check's tests showed on base and head."""

    facts: Sequence[Evidence]
    new_modules: frozenset[str]  # modules that only the head has: on the base, a test file that imports one is red
    awaited: Mapping[str, MissingFromEnvironment]  # kind of failure → package or module that the machine lacks
    ran: frozenset[str] = frozenset()  # files of the head that the tests loaded

    @property
    def base_states(self) -> dict[str, Base]:
        return on_base([fact for fact in self.facts if fact.side == "base"], self.new_modules)

    @property
    def head_facts(self) -> list[Evidence]:
        return [fact for fact in self.facts if fact.side == "head"]

    @property
    def lacks(self) -> frozenset[tuple[str, str]]:
        return frozenset((WHOLE_CHECK, kind) for kind in self.awaited)

    def missing(self, result: Tried) -> MissingFromEnvironment:
        """Why this test could not be judged on the head."""
        return self.awaited.get(result.kind) or missing_part(TestsCheck(), result)


async def run_on_both_sides(sides: BothSides, requirement: Requirement, check: TestsCheck) -> ResultsOnBothSides:
    """Run the check's tests on the base (failed tests at least `RED_TURNS` times) and on the head (`GREEN_TURNS`
    times), both with the head's packages."""
    contract, carried = sides.contract, sides.contract.carried
    files = tuple(named for named in check.files if not any(is_below(path, named) for path in carried))
    check_to_run = check.model_copy(update={"files": files}) if files else check
    async with sides.room(contract.base) as (bench, _):
        base_facts = await run_and_repeat_failures(check_to_run, bench)
    ids = tuple(dict.fromkeys(result.id for fact in base_facts for result in fact.tried))
    async with sides.room(sides.commit) as (bench, _):
        modules, added = bench.modules, bench.added
        head_facts = [
            await run_check(check_to_run, bench, CaseSelection(ids, second=turn > 0)) for turn in range(GREEN_TURNS)
        ]
    evidence: list[Evidence] = []
    for side, facts in ((contract.base, base_facts), (sides.commit, head_facts)):
        recorder = EvidenceRecorder(contract, sides.interpreter, side, await sides.workspace.tree(side))
        recorder = recorder.with_versions(added.versions)
        evidence += [
            recorder.record(requirement.id, check, fact, turn=turn) for turn, fact in enumerate(facts, start=1)
        ]
    before = [fact for fact in evidence if fact.side == "base"]
    ran = frozenset[str]().union(*(fact.ran for fact in head_facts))
    awaited = {**await _lacked_by_base(sides, before), **awaited_packages(added, evidence, {check_hash(check): check})}
    new = await new_modules(sides.workspace, contract, before, modules)
    return ResultsOnBothSides(evidence, new, awaited, ran)


async def _lacked_by_base(sides: BothSides, before: Sequence[Evidence]) -> dict[str, MissingFromEnvironment]:
    if not missing_modules(result for fact in before for result in fact.tried):
        return {}
    python = [path for path in await sides.workspace.blobs(sides.contract.base) if path.endswith(".py")]
    texts = await texts_at(sides.workspace, sides.contract.base, python[:MOST_FILES])
    return lacked_by_base(before, texts.values(), sides.interpreter.versions)
