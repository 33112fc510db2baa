"""Proves a commit against a sealed contract: runs every check twice in a clean room and judges the results."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from trued.errors import CannotJudge
from trued.model import (
    BrowserCheck,
    CallCase,
    Check,
    Contract,
    DependenciesCheck,
    Evidence,
    ExamplesCheck,
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
from trued.model.events.proof import CheckRan, EnvironmentBuilding, ObjectionNotRun, ObjectionRan, RequirementJudged
from trued.proof.altered_code import MODULE, altered_names, names_of_tests, reached_names
from trued.proof.case_status import ENGINES, GREEN_TURNS, Base, Head, full_name, lacking, on_base, on_head
from trued.proof.checks.dependencies import unread_additions
from trued.proof.checks.examples import with_time_limit
from trued.proof.conversions import converted_files
from trued.proof.disclosure import Scanner
from trued.proof.fact_cache import FactCache
from trued.proof.held_out_checks import DATA, is_held_out, is_hidden_data
from trued.proof.implementer_tests import try_own_tests
from trued.proof.judge import (
    CheckedObjection,
    Facts,
    OwnTests,
    cap_by_absent_code,
    cap_by_conversions,
    cap_by_failing_tests,
    is_own_case,
    is_superseded,
    judge,
    judge_by_parts,
    refute_by_existing_tests,
)
from trued.proof.missing import awaited_packages, undeclared_imports, unknown_packages
from trued.proof.notes import files_used, not_run, reported_notes, worst_counts
from trued.proof.objections import split_runnable, without_case
from trued.proof.own_modules import own_modules
from trued.proof.quick_verdict import QUICK_NOTE, QUICK_TURNS, cap_grade, count_twice
from trued.proof.reasons import ALREADY_SATISFIED, NOTHING_DONE
from trued.proof.red_suites import TurnedTests, turned_tests
from trued.proof.room.additions import added_packages, packages_to_install
from trued.proof.room.bench import Bench, CaseSelection, Fact, check_hash
from trued.proof.room.clean_room import clean_room
from trued.proof.room.dependencies import NO_PACKAGES
from trued.proof.room.environment import choose_environment
from trued.proof.room.frozen_files import is_among_tests, is_test
from trued.proof.room.held_out_tests import hidden_files
from trued.proof.room.interpreter import Interpreter, find_interpreter
from trued.proof.run_check import EvidenceRecorder, SharedRun, distinct_checks, run_check, shared_runs
from trued.proof.seal import run_three_times
from trued.proof.turns import PlannedRun, Room, take_turns
from trued.proof.unverified import CODE, Observed, list_warnings
from trued.protocols import Emit, Workspace
from trued.support.path_sets import paths_outside

MOST_FILES, MOST_BYTES = 1000, 2**20  # limits on reading: changed files (or the base's own), and bytes of one file
DAYS = ("<+14>-14", "<-12>12")  # time zones 26 hours apart: in at least one of them it is another day than here


async def prove(  # noqa: PLR0913 - each is a different thing that only the caller knows
    workspace: Workspace,
    contract: Contract,
    requirements: Iterable[str],
    commit: str,
    *,
    subject: str,
    objections: tuple[Finding, ...] = (),
    known: tuple[Evidence, ...] = (),
    owned: tuple[str, ...] = (),
    hurried: bool = False,
    tell: Emit,
) -> Verdict:
    """The verdict on these requirements at this commit. `owned`: the engine's own files, which do not count as changes.
    `hurried`: run every check only once, and cap grades as in a quick verdict."""
    ids = set(requirements)
    due = tuple(one for one in contract.requirements if one.id in ids)
    every = (*due, *contract.suites)
    changed = list(paths_outside(await workspace.changed_files(contract.base, commit), owned))
    trial = _Trial(contract, every, objections, turns=QUICK_TURNS if hurried else GREEN_TURNS)
    if distinct_checks(every) or trial.runnable:
        await trial.run(workspace, commit, await interpreter_of(workspace, contract), tell)
    kept = await _earlier_failures(workspace, contract, commit, trial)
    evidence = (*await _earlier_facts(workspace, known, commit, owned), *kept, *trial.evidence)
    texts = await _texts(workspace, commit, changed)
    if read := [check for one in due for check in one.checks if isinstance(check, DependenciesCheck)]:
        exact = any(one.unchanged for one in read)
        trial.unread = await unread_additions(workspace, contract.base, commit, changed, trial.modules, exact=exact)
    trial.undeclared = [*unknown_packages(trial.added), *trial.undeclared_imports(texts)]
    added = await _added(workspace, contract.base, texts)
    scan = Scanner(workspace, contract, commit, tell)
    counting = count_twice(evidence) if hurried else evidence
    suites = tuple([await scan.judged(judge(one, trial.facts(one, counting, changed))) for one in contract.suites])
    found = [judge(one, trial.facts(one, counting, changed)) for one in due]
    blind, absent = (
        await trial.blind_spots(workspace, commit, changed),
        await _absent_submodules(workspace, contract.base, commit),
    )
    found = [refute_by_existing_tests(one, suites, blind.get(one.id, ())) for one in found]
    behind = await trial.altered_behind_failing_tests(workspace, commit, changed)
    found = [cap_by_failing_tests(one, behind.get(one.id, ())) for one in found]
    converted = await converted_files(workspace, contract.base, commit, changed)
    found = [cap_by_conversions(cap_by_absent_code(one, absent), converted) for one in found]
    judged = _together(contract, tuple(found))
    judged = tuple([await scan.judged(one) for one in judged])
    remarks = () if changed or _already_satisfied(judged) else (Finding(what=NOTHING_DONE),)
    if hurried:
        judged = tuple(map(cap_grade, judged))
        trial.undecided.append(QUICK_NOTE)
    seen = Observed(added, frozenset[str]().union(*trial.ran.values()), trial.runs_out_of_sight())
    for one in judged:
        tell(RequirementJudged(requirement=one.id, grade=one.grade, why=one.why))
    notes = dict.fromkeys(
        [
            *map(not_run, contract.unguarded),
            *contract.undecided,
            *trial.undecided,
            *list_warnings(contract, due, judged, seen),
        ]
    )
    return Verdict(
        subject=subject,
        commit=commit,
        tree=await workspace.tree(commit),
        requirements=judged,
        suites=suites,
        evidence=(*kept, *trial.retaken, *trial.evidence, *trial.brought, *trial.turned),
        objections=tuple(one.finding for one in trial.objected if not one.closed),
        remarks=remarks,
        undecided=tuple(map(str, notes)),
        reported=reported_notes(contract, notes),
        owned=owned,
    )


async def _absent_submodules(workspace: Workspace, base: str, commit: str) -> list[str]:
    """Submodules that the head adds or moves to another commit: nothing has checked their content. Submodules among
    the tests are left out, because the base's version of them is used."""
    before, here = await workspace.submodules(base), await workspace.submodules(commit)
    return sorted(path for path in here if here[path] != before.get(path) and not is_among_tests(f"{path}/any"))


def _together(contract: Contract, judged: tuple[Judged, ...]) -> tuple[Judged, ...]:
    """Judge each requirement that is made of other requirements by these parts."""
    by_id = {one.id: one for one in judged}
    return tuple(
        judge_by_parts(one, [by_id[name] for name in one.parts if name in by_id], contract.caps.get(one.id, ()))
        for one in judged
    )


async def _earlier_failures(
    workspace: Workspace, contract: Contract, commit: str, trial: "_Trial"
) -> tuple[Evidence, ...]:
    """Failures kept from an earlier verdict on the same tree and contract, so that a retry cannot turn a failure into a
    pass. They are recorded for the commit that is judged now: the earlier commit may be gone."""
    baseline = FactCache(workspace.kept, workspace.repository)
    tree, level = await workspace.tree(commit), workspace.confinement().level
    before = baseline.of_head(contract, tree, level)
    due = {one.id for one in trial.due}
    baseline.keep_head(contract, tree, level, trial.evidence, trial.order_bound)
    trial.order_bound |= before.order_bound
    kept = tuple(one.model_copy(update={"commit": commit}) for one in before.evidence if one.requirement in due)
    if kept:
        trial.undecided.append(worst_counts())
    return kept


def recorded_versions(contract: Contract) -> dict[str, str]:
    """The packages that were installed when the checks ran on the base, by name, and the version of Python."""
    return next((dict(one.versions) for one in contract.base_facts if one.turn == 1 and "python" in one.versions), {})


async def interpreter_of(workspace: Workspace, contract: Contract) -> Interpreter:
    """The interpreter with which the contract's checks ran on the base. Raises CannotJudge if there is none like it."""
    interpreter = await find_interpreter()
    if contract.interpreter not in ("", interpreter.identity):
        packages, recorded = contract.environment.packages, recorded_versions(contract)
        interpreter = (await choose_environment(workspace, contract.base, packages, recorded)).interpreter
    if contract.interpreter and not interpreter.is_like(contract.interpreter):
        raise CannotJudge(
            f"red was taken with {contract.interpreter}, and the interpreter is now {interpreter.identity}: "
            "activate the same environment and resume, or start a new run"
        )
    return interpreter


async def _earlier_facts(
    workspace: Workspace, known: Sequence[Evidence], commit: str, owned: tuple[str, ...]
) -> list[Evidence]:
    """Earlier facts about the same work: commits that differ only in the engine's own files count as the same."""
    earlier = {one.commit for one in known if one.side == "head"}
    same = {one for one in earlier if not paths_outside(await workspace.changed_files(one, commit), owned)}
    return [one for one in known if one.side == "head" and one.commit in same]


class _Trial:
    """Everything that is run for one verdict, and what it showed."""

    def __init__(
        self, contract: Contract, due: tuple[Requirement, ...], objections: tuple[Finding, ...], *, turns: int
    ) -> None:
        self.contract, self.due, self.turns = contract, due, turns
        self.runnable = [one for one in objections if one.case is not None]
        self.objected = [CheckedObjection(one) for one in objections if one.case is None]
        self.evidence: list[Evidence] = []
        self.base_facts: Sequence[Evidence] = contract.base_facts
        self.retaken: list[Evidence] = []  # evidence on the base, run again with packages that only the head declares
        self.undecided: list[str] = []
        self.own_modules: frozenset[str] = frozenset()
        self.order_bound: frozenset[str] = frozenset()
        self.ran: dict[str, frozenset[str]] = {}
        self.unseen: frozenset[str] = frozenset()  # changed files that were replaced or removed before any check ran
        self.modules: frozenset[str] = frozenset()  # modules of the project and of Python's standard library
        self.packages: frozenset[str] = frozenset()  # packages that were installed or that the head declares
        self.unread: list[str] = []  # changed files that may install a package without a manifest
        self.undeclared: list[str] = []  # sentences about imports that nothing provides
        self.added = NO_PACKAGES  # what the head declares beyond the base
        self.own_tests: dict[str, OwnTests] = {}
        self.brought: list[Evidence] = []  # evidence of the head's own tests, on base and head
        self.turned: list[Evidence] = []  # evidence of existing suites of which no test passes on the base

    async def run(self, workspace: Workspace, commit: str, interpreter: Interpreter, tell: Emit) -> None:
        recorder = EvidenceRecorder(self.contract, interpreter, commit, await workspace.tree(commit))
        carried = self.contract.carried
        known = {*await workspace.blobs(self.contract.base), *carried}
        runs = sorted(shared_runs(self.due, known, carried), key=self._place)
        tainted = False
        if needed := await packages_to_install(workspace, self.contract.base, commit, interpreter):
            tell(EnvironmentBuilding(packages=needed))
        await self._retake_red(workspace, commit, interpreter, runs)
        async with clean_room(workspace, self.contract, commit, interpreter, withheld=carried) as (bench, graft):
            here = await workspace.blobs(commit)
            self.undecided += files_used(graft, carried, here)
            self.added = bench.added
            self.modules = bench.modules | interpreter.standard
            added = bench.added
            self.packages = frozenset((*interpreter.versions, *added.versions, *added.unavailable, *added.unknown))
            recorder = recorder.with_versions(self.added.versions)
            self.unseen = graft.paths
            self.own_modules = await own_modules(workspace, self.contract, self.base_facts, bench.modules)

            def record(turn: int, shared: SharedRun, fact: Fact) -> None:
                nonlocal tainted
                tainted = tainted or any(is_held_out(self.contract, one) for one in shared.serves.values())
                self._record(recorder, shared, fact, turn=turn, tainted=tainted)
                check = next(iter(shared.serves))[:12]
                tell(CheckRan(check=check, sort=shared.check.kind, turn=turn, void=fact.void))

            def fresh() -> Room:
                return clean_room(workspace, self.contract, commit, interpreter, withheld=carried)

            self.undecided += await take_turns(self._plan(runs), bench, self.turns, record, fresh)
        await self._run_objections(workspace, interpreter, recorder, tell)
        await self._retry_guards_on_base(workspace, interpreter, runs)
        await self._retry_without_changes(workspace, commit, interpreter, runs)
        # If a requirement is checked by data, the implementer's own tests could not raise its grade.
        alone = tuple(
            one for one in self.due if not one.keep and not any(isinstance(each, DATA) for each in one.checks)
        )
        self.own_tests, self.brought = await try_own_tests(workspace, self.contract, alone, commit, interpreter)

    async def _retake_red(
        self, workspace: Workspace, commit: str, interpreter: Interpreter, runs: Sequence[SharedRun]
    ) -> None:
        """Run a check on the base again, with the head's packages, if it lacked a module there that these provide: base
        and head are then checked with the same packages."""
        lost = {kind for _, kind in lacking(self.contract.base_facts) if kind.startswith("module ")}
        added = await added_packages(workspace, self.contract.base, commit, interpreter) if lost else NO_PACKAGES
        found = {one for one in lost if added.brings(one.removeprefix("module "))}
        again = [one for one in runs if any(kind in found for _, kind in lacking(self._facts_on_base(one)))]
        if not again:
            return
        base, carried = self.contract.base, self.contract.carried
        recorder = EvidenceRecorder(self.contract, interpreter, base, await workspace.tree(base))
        recorder = recorder.with_versions(added.versions)
        async with clean_room(workspace, self.contract, base, interpreter, withheld=carried, packages_of=commit) as (
            bench,
            _,
        ):
            for shared in again:
                for turn, fact in enumerate(await run_three_times(shared.check, bench), start=1):
                    self.retaken += [
                        recorder.record(one.id, check, fact, turn=turn)
                        for name, check in shared.serves.items()
                        for one in self.due
                        if name in distinct_checks((one,))
                    ]
        self.base_facts = [*(_without_kinds(one, found) for one in self.contract.base_facts), *self.retaken]

    def _facts_on_base(self, shared: SharedRun) -> list[Evidence]:
        return [one for one in self.contract.base_facts if one.check in shared.serves]

    def _place(self, shared: SharedRun) -> tuple[int, bool]:
        """The sort key of a run. Visible checks come first: once something held out has run in a room, agents get no
        output from it. The contract's own tests come last: head code could store what they reveal, for later cases."""
        data = isinstance(shared.check, DATA)
        held = any(hidden_files(self.contract, one) for one in shared.serves.values())
        return 2 if held else int(is_hidden_data(shared.check)), data

    def _record(self, recorder: EvidenceRecorder, shared: SharedRun, fact: Fact, *, turn: int, tainted: bool) -> None:
        self.undecided += fact.notes
        for name, check in shared.serves.items():
            owners = [one for one in self.due if name in distinct_checks((one,))]
            self.ran[name] = self.ran.get(name, frozenset()) | fact.ran
            self.evidence += [recorder.record(one.id, check, fact, turn=turn, tainted=tainted) for one in owners]

    async def _retry_guards_on_base(
        self, workspace: Workspace, interpreter: Interpreter, runs: Sequence[SharedRun]
    ) -> None:
        """Run guards that fail only the second time on the base in the same way: they may always have failed so."""
        await self._try_again(
            workspace, self.contract.base, interpreter, self._failing_second_time_only(runs, Base.GUARD)
        )

    async def _retry_without_changes(
        self, workspace: Workspace, commit: str, interpreter: Interpreter, runs: Sequence[SharedRun]
    ) -> None:
        """Run red tests that fail only the second time twice more, in the setting of the first run. A test that passes
        there and fails if only the date is changed depends on the date, and is not counted. A test that depends on
        anything else (files left by the first run, the machine) still counts as failed."""
        tests = [one for one in runs if isinstance(one.check, TestsCheck)]
        suspects = self._failing_second_time_only(tests, Base.RED)
        await self._try_again(workspace, commit, interpreter, suspects, passing=True)

    async def _try_again(
        self,
        workspace: Workspace,
        commit: str,
        interpreter: Interpreter,
        suspects: Sequence[tuple[SharedRun, frozenset[str]]],
        *,
        passing: bool = False,
    ) -> None:
        if not suspects:
            return
        carried = self.contract.carried
        async with clean_room(workspace, self.contract, commit, interpreter, withheld=carried) as (bench, _):
            for shared, ids in suspects:
                wanted = [CaseSelection(self._known_ids(shared), second=late and not passing) for late in (False, True)]
                facts = [await run_check(shared.check, bench, one) for one in wanted]
                looked_for = Outcomes.PASSED if passing else Outcomes.FAILED
                bound = ids & {one.id for one in facts[1].tried if one.outcome is looked_for and not facts[1].void}
                bound &= (
                    await _ids_failing_by_date(shared, bench, CaseSelection(self._known_ids(shared)))
                    if passing and bound
                    else bound
                )
                self.order_bound |= {
                    full_name(shared.check.kind, check, name) for check in shared.serves for name in bound
                }

    def _failing_second_time_only(
        self, runs: Sequence[SharedRun], stood: Base
    ) -> list[tuple[SharedRun, frozenset[str]]]:
        """Ids with this status on the base that passed the first time here and failed the second."""
        found = []
        for shared in runs:
            check = next(iter(shared.serves))
            ids = {name for name, state in self._on_base(shared).items() if state is stood}
            turns = [{one.id: one.outcome for one in fact.tried} for fact in self.evidence if fact.check == check]
            first, last = (turns[0], turns[-1]) if turns else ({}, {})
            late = {name for name in ids if (first.get(name), last.get(name)) == (Outcomes.PASSED, Outcomes.FAILED)}
            found += [(shared, frozenset(late))] if late else []
        return found

    def _known_ids(self, shared: SharedRun) -> tuple[str, ...] | None:
        return tuple(self._on_base(shared)) or None

    def _plan(self, runs: Sequence[SharedRun]) -> list[PlannedRun]:
        plan = []
        for one in runs:
            took = [fact.seconds for fact in self.base_facts if fact.check in one.serves]
            plan.append(PlannedRun(one, tuple(self._on_base(one)), self._red_ids(one), max(took, default=0.0)))
        return [one for one in plan if one.ids]

    def _red_ids(self, shared: SharedRun) -> tuple[str, ...]:
        return tuple(name for name, stood in self._on_base(shared).items() if stood is Base.RED)

    def _on_base(self, shared: SharedRun) -> dict[str, Base]:
        return on_base([one for one in self.base_facts if one.check in shared.serves], self.own_modules)

    async def _run_objections(
        self, workspace: Workspace, interpreter: Interpreter, recorder: EvidenceRecorder, tell: Emit
    ) -> None:
        """Run objections that have a case, as checks: one that passes is closed, one that fails refutes.

        Agents learn the results, so they run in a room of their own that never contained anything held out.
        """
        runnable, others = await split_runnable(workspace, self.contract, self.runnable)
        for finding, why in others:
            self.objected.append(CheckedObjection(without_case(finding, why)))
            tell(ObjectionNotRun(what=finding.what, by=finding.by, why=why))
        if not runnable:
            return
        async with clean_room(workspace, self.contract, recorder.commit, interpreter) as (bench, _):
            ran: dict[str, list[Fact]] = {}
            for finding in runnable:
                assert finding.case is not None  # noqa: S101  (that is how they were chosen)
                check = ExamplesCheck(cases=(with_time_limit(finding.case),))
                name = check_hash(check)
                if name not in ran:  # one case may dispute several requirements
                    ran[name] = [
                        await run_check(check, bench, CaseSelection(second=turn > 1))
                        for turn in range(1, self.turns + 1)
                    ]
                self._record_objection(finding, check, ran[name], recorder, tell)

    def _record_objection(
        self, finding: Finding, check: ExamplesCheck, facts: Sequence[Fact], recorder: EvidenceRecorder, tell: Emit
    ) -> None:
        passed, broken = True, False
        for turn, fact in enumerate(facts, start=1):
            self.evidence.append(recorder.record(finding.requirement or "objection", check, fact, turn=turn))
            passed = passed and {one.outcome for one in fact.tried} == {Outcomes.PASSED}
            broken = broken or any(self._shows_nothing_of_head(one) for one in fact.tried)
        self.objected.append(CheckedObjection(finding, refutes=not passed and not broken, closed=passed))
        tell(ObjectionRan(what=finding.what, passed=passed))

    def _shows_nothing_of_head(self, one: Tried) -> bool:
        """Whether the result says nothing about the head: the case is malformed, or the base lacks the same thing."""
        if one.outcome is not Outcomes.UNJUDGED:
            return one.outcome is Outcomes.BROKEN
        return one.kind in ENGINES or one.kind in {kind for _, kind in lacking(self.base_facts)}

    def undeclared_imports(self, texts: Mapping[str, str]) -> list[str]:
        """Sentences about imports of the head's files that nothing provides; none if no check lacked a module."""
        kinds = {one.kind for fact in self.evidence for one in fact.tried}
        if not any(one.startswith("module ") for one in kinds):
            return []
        own = {path: text for path, text in texts.items() if not is_test(path)}
        return undeclared_imports(own, self.modules, self.packages)

    def _awaited_modules(self, evidence: Sequence[Evidence]) -> dict[str, MissingFromEnvironment]:
        """Failure kind → the package that the head declares and that could not be installed."""
        return awaited_packages(self.added, evidence)

    def facts(self, requirement: Requirement, evidence: Sequence[Evidence], changed: Sequence[str]) -> Facts:
        contract = self.contract
        ran = frozenset[str]().union(*(self.ran.get(name, ()) for name in distinct_checks((requirement,))))
        return Facts(
            base=[one for one in self.base_facts if one.requirement == requirement.id],
            head=[one for one in evidence if one.requirement == requirement.id],
            held_out=contract.held_out,
            held_out_why=contract.held_out_why,
            authors=contract.authors,
            guards=frozenset(contract.guards),
            caps=contract.caps.get(requirement.id, ()),
            changed=bool(changed),
            touched=not ran.isdisjoint(set(changed) - self.unseen),
            elsewhere=self._tests_of_others(requirement),
            left_out=sorted(one for one in self.unseen if is_test(one)),
            own_tests=self.own_tests.get(requirement.id, OwnTests()),
            superseded=[name for one in contract.requirements for name in one.supersedes],
            proposed=[name for one in contract.requirements for name in one.proposed],
            suite=requirement in contract.suites,
            own_modules=self.own_modules,
            awaited=self._awaited_modules(evidence),
            undeclared=self.undeclared,
            unread=self.unread,
            order_bound=self.order_bound,
            objected=[one for one in self.objected if one.finding.requirement == requirement.id],
        )

    def runs_out_of_sight(self) -> bool:
        """Whether something passed (a check, or the head's own test) without a trace of the code that it ran."""
        if self.brought:
            return True
        passed = {fact.check for fact in self.evidence if any(one.outcome is Outcomes.PASSED for one in fact.tried)}
        checks = [(name, check) for one in self.due for name, check in distinct_checks((one,)).items()]
        return any(name in passed and (_is_out_of_sight(check) or not self.ran.get(name)) for name, check in checks)

    async def blind_spots(self, workspace: Workspace, commit: str, changed: Sequence[str]) -> dict[str, list[str]]:
        """Requirement → changed code that was not seen to run, if tests that may reach it could not be run. What a
        command line, server or page runs cannot be seen, so requirements with such cases are left out."""
        if not self.contract.unguarded:
            return {}
        left = await self._unwatched(workspace, commit, changed, TurnedTests())
        if left and self.contract.red_suites:
            interpreter = await interpreter_of(workspace, self.contract)
            turned = await turned_tests(workspace, self.contract, commit, interpreter)
            self.turned += turned.facts
            left = await self._unwatched(workspace, commit, changed, turned)
        return {one.id: left for one in self.due if left and not any(map(_is_out_of_sight, one.checks))}

    async def _unwatched(
        self, workspace: Workspace, commit: str, changed: Sequence[str], turned: TurnedTests
    ) -> list[str]:
        ran = turned.ran.union(*self.ran.values())
        code = [one for one in changed if one.endswith(CODE) and not is_test(one)]
        left = [one for one in code if one not in ran]
        return left + await self._altered_out_of_reach(workspace, commit, [one for one in code if one in ran], turned)

    async def _altered_out_of_reach(
        self, workspace: Workspace, commit: str, changed: Sequence[str], turned: TurnedTests
    ) -> list[str]:
        """Code of the base that the head altered, in files that no test ran, and that no entry point of a case or of a
        red test that passes now reaches on the base. That a file was loaded does not show that it works."""
        checks = {name: check for one in self.due for name, check in distinct_checks((one,)).items()}
        tested = [self.ran.get(name, frozenset()) for name, one in checks.items() if isinstance(one, TestsCheck)]
        paths = [one for one in changed if one.endswith(".py") and one not in frozenset[str]().union(*tested)]
        altered = await self._altered(workspace, commit, paths)
        if not altered:
            return []
        reached = reached_names(await self._own_texts(workspace), [*self._called_names(), *turned.names])
        return [f"{path} ({name})" for path, name in altered if name.rpartition(".")[2] not in reached]

    async def altered_behind_failing_tests(
        self, workspace: Workspace, commit: str, changed: Sequence[str]
    ) -> dict[str, list[str]]:
        """Requirement → code of the base that the head altered and that is reached only by existing tests that pass
        neither on the base nor here: such a test cannot notice a mistake."""
        failing, passing = await self._tested_names(workspace)
        if not failing:
            return {}
        paths = [one for one in changed if one.endswith(".py") and not is_test(one)]
        altered = [one for one in await self._altered(workspace, commit, paths) if one[1] != MODULE]
        if not altered:
            return {}
        texts = await self._own_texts(workspace, tests=True)
        behind = reached_names(texts, failing) - reached_names(texts, [*self._called_names(), *passing])
        left = [f"{path} ({name})" for path, name in altered if name.rpartition(".")[2] in behind]
        return {one.id: left for one in self.due if left and not any(map(_is_out_of_sight, one.checks))}

    async def _tested_names(self, workspace: Workspace) -> tuple[frozenset[str], frozenset[str]]:
        """The names used by existing tests that pass neither on the base nor here, and those used by all others."""
        failing, passing = list[str](), list[str]()
        for check in (check for one in self.contract.suites for check in one.checks):
            base = [one for one in self.base_facts if one.check == check_hash(check)]
            here = [one for one in self.evidence if one.check == check_hash(check)]
            for name, stood in on_base(base, self.own_modules).items():
                idle = stood is not Base.GUARD and on_head(name, here)[0] is not Head.PASSED
                (failing if idle and not self._is_superseded(name) else passing).append(name)
        files = {name.split("::")[0] for name in failing}
        if not any(path.endswith(".py") for path in files):
            return frozenset(), frozenset()
        files |= {name.split("::")[0] for name in passing}
        texts = {
            path: _read(content) for path, content in (await workspace.read_all(self.contract.base, files)).items()
        }
        return names_of_tests(texts, failing), names_of_tests(texts, passing)

    def _is_superseded(self, name: str) -> bool:
        return any(is_superseded(name, test) for one in self.contract.requirements for test in one.supersedes)

    async def _altered(self, workspace: Workspace, commit: str, paths: Sequence[str]) -> list[tuple[str, str]]:
        """File and name of each piece of the base's code that the head altered. A new file alters it, too, if it runs
        more than definitions when it is loaded."""
        before = await workspace.read_all(self.contract.base, paths)
        after = await workspace.read_all(commit, paths)
        return [
            (path, name)
            for path in paths
            for name in sorted(altered_names(_read(before.get(path, b"")), _read(after.get(path, b""))))
        ]

    async def _own_texts(self, workspace: Workspace, *, tests: bool = False) -> list[str]:
        """The texts of the base's Python files, with or without tests and their helpers."""
        known = [path for path in await workspace.blobs(self.contract.base) if path.endswith(".py")]
        own = [path for path in known if tests or not is_test(path)][:MOST_FILES]
        return [_read(one) for one in (await workspace.read_all(self.contract.base, own)).values()]

    def _called_names(self) -> list[str]:
        """The names of the entry points that call cases name."""
        checks = [check for one in self.due for check in one.checks if isinstance(check, ExamplesCheck)]
        called = [case.call.partition(":")[2] for one in checks for case in one.cases if isinstance(case, CallCase)]
        return [part for one in called for part in one.split(".")]

    def _tests_of_others(self, requirement: Requirement) -> frozenset[str]:
        """Tests that belong to another requirement: their results are reported only for that one."""
        facts = [one for one in self.base_facts if one.kind == "tests"]
        others = [one for one in self.due if one.id != requirement.id]
        return frozenset(
            case.id
            for other in others
            for check in other.checks
            if isinstance(check, TestsCheck) and check.files
            for fact in facts
            if fact.requirement == other.id and fact.check == check_hash(check)
            for case in fact.tried
            if is_own_case(other, check, case.id)
        )


def _without_kinds(fact: Evidence, kinds: set[str]) -> Evidence:
    left = tuple(one for one in fact.tried if one.kind not in kinds)
    return fact if left == fact.tried else fact.model_copy(update={"tried": left})


def _is_out_of_sight(check: Check) -> bool:
    if isinstance(check, ExamplesCheck):
        return any(not isinstance(case, CallCase) for case in check.cases)
    return isinstance(check, BrowserCheck)


async def _ids_failing_by_date(shared: SharedRun, bench: Bench, wanted: CaseSelection) -> frozenset[str]:
    """The ids that fail if only the date is changed."""
    failed: set[str] = set()
    for zone in DAYS:
        fact = await run_check(shared.check, replace(bench, variables={**bench.variables, "TZ": zone}), wanted)
        failed |= {one.id for one in fact.tried if one.outcome is Outcomes.FAILED}
    return frozenset(failed)


def _already_satisfied(judged: Sequence[Judged]) -> bool:
    return bool(judged) and all(one.grade is Grade.PROVEN or one.why[0].startswith(ALREADY_SATISFIED) for one in judged)


async def _texts(workspace: Workspace, commit: str, changed: Sequence[str]) -> dict[str, str]:
    """Path → text of the changed code, on this commit."""
    paths = [one for one in changed if one.endswith(CODE)][:MOST_FILES]
    found = await workspace.read_all(commit, paths)
    return {path: _read(content) for path, content in found.items() if content}


async def _added(workspace: Workspace, base: str, texts: Mapping[str, str]) -> dict[str, list[tuple[int, str]]]:
    """The lines of changed code that the base does not have."""
    found: dict[str, list[tuple[int, str]]] = {}
    there = await workspace.read_all(base, texts)
    for path, text in texts.items():
        before = set(_read(there.get(path, b"")).splitlines())
        found[path] = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line not in before]
    return found


def _read(content: bytes) -> str:
    return content[:MOST_BYTES].decode("utf-8", "replace")
