"""Tries a commit: runs every check and objection in clean rooms, repeats what is in doubt, collects the evidence."""

import base64
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from trued.model import (
    BrowserCheck,
    CallCase,
    Check,
    CommandCheck,
    Contract,
    Evidence,
    ExamplesCheck,
    Finding,
    Outcomes,
    Requirement,
    TestsCheck,
    Tried,
)
from trued.model.events.proof import CheckRan, EnvironmentBuilding, ObjectionNotRun, ObjectionRan
from trued.proof.base_runs import run_on_base
from trued.proof.cases.objections import split_runnable, without_case
from trued.proof.checks.examples import with_time_limit
from trued.proof.hashes import check_hash
from trued.proof.implementer_tests import try_own_tests
from trued.proof.imported_by_tests import imported_by_tests
from trued.proof.new_modules import new_modules
from trued.proof.reach.replaced_product import new_product
from trued.proof.room.additions import added_packages, packages_to_install
from trued.proof.room.bench import ROOM, Bench, CaseSelection, Fact
from trued.proof.room.clean_room import clean_room
from trued.proof.room.declared_packages import NO_PACKAGES, AddedPackages
from trued.proof.room.environment import interpreter_of
from trued.proof.room.frozen_files import is_test
from trued.proof.room.held_out import DATA, hidden_files, is_held_out, is_hidden_data
from trued.proof.room.interpreter import Interpreter
from trued.proof.run_check import EvidenceRecorder, SharedRun, distinct_checks, run_check, shared_runs
from trued.proof.runners.counting import EQUALS_ALL
from trued.proof.turns import PlannedRun, Rooms, take_turns
from trued.proof.verdict.case_status import ENGINES, Base, conduct_on_base, full_name, lacking, on_base
from trued.proof.verdict.judge import (
    CheckedObjection,
    Facts,
    OwnTests,
    is_own_case,
    is_superseded,
)
from trued.proof.verdict.missing import awaited_packages, missing_modules, undeclared_imports
from trued.proof.verdict.notes import base_taken_again, files_used, kept_as_product
from trued.protocols import Emit, Workspace

TOOLS = ("node", "chromium")  # programs whose versions are recorded in evidence, besides Python and its packages
DAYS = ("<+14>-14", "<-12>12")  # time zones 26 hours apart: in at least one of them it is another day than here


@dataclass(frozen=True, slots=True)
class HeadRoom:
    """The room in which the head's checks ran: what it provides, and where it differs from a checkout of the commit."""

    added: AddedPackages = NO_PACKAGES  # packages that only the head declares
    packages: frozenset[str] = frozenset()  # packages that were installed or that the head declares
    standard: frozenset[str] = frozenset()  # modules of its Python's standard library
    library: str = ""  # the folder of that library
    modules: frozenset[str] = frozenset()  # `standard`, and modules of the project
    new_modules: frozenset[str] = frozenset()  # modules that the head adds to the project
    unseen: frozenset[str] = frozenset()  # files of which no check used the head's version (see `Graft.paths`)
    replaced: frozenset[str] = frozenset()  # of `unseen`, the files that were replaced or removed in the room
    edited: frozenset[str] = frozenset()  # of `unseen`, the files that the head has with other content than the base
    not_as_committed: tuple[str, ...] = ()  # files that tests did not have in the head's version (`Bench.replaced`)
    not_loaded: tuple[str, ...] = ()  # code of the head that was not in the room, but is loaded in a checkout


@dataclass(frozen=True, slots=True)
class CommitChange:
    """What the judge needs to know of the commit's change itself, besides the results of checks."""

    paths: Sequence[str]  # the changed files, without the engine's own
    unread: Sequence[str] = ()  # of `paths`, the files that may install a package without a manifest
    undeclared: Sequence[str] = ()  # sentences about packages that no registry has and imports that nothing provides


@dataclass(frozen=True, slots=True)
class DoubtedRun:
    """A run on the head with tests that passed with their own expected values, but also with other ones."""

    shared: SharedRun
    seed: str  # says which other values were expected
    ids: frozenset[str]  # the ids of these tests


class CommitTrial:
    """Runs the checks of these requirements and the objections on one commit, `turns` times each, and holds the
    results.

    Create a trial, call `run` once if the trial `has_work`, and then read the fields. No field is final before `run`
    has returned. A trial that is not run has only the contract's results on the base and the objections without a case.

    Only `run` and `_run_on_head` assign fields. Other steps return their results, or add to a list. After `run`, only
    `add_notes` and `leave_uncounted` change fields.
    """

    def __init__(
        self,
        workspace: Workspace,
        contract: Contract,
        due: tuple[Requirement, ...],
        commit: str,
        objections: tuple[Finding, ...],
        *,
        turns: int,
        tell: Emit,
    ) -> None:
        self.workspace, self.contract, self.commit = workspace, contract, commit
        self.due, self.turns, self.tell = due, turns, tell
        self.runnable = [finding for finding in objections if finding.case is not None]

        # Set before the head's checks run.
        # Results on the base: the contract's, until checks run there again. That happens up to twice: before the head's
        # checks run, because of packages, and afterwards, because of Node or Chromium.
        self.base_facts: Sequence[Evidence] = contract.base_facts
        self.retaken: list[Evidence] = []  # evidence of checks that were run on the base again, both times
        self.kept: list[str] = []  # new files of the head that stay beside tests (see `new_product`)

        # Set when the head's checks run.
        self.room = HeadRoom()
        self.evidence: list[Evidence] = []  # of checks, then of objections
        # Check → the project's files that it was seen to run. Guards that guard nothing are left out.
        self.ran: dict[str, frozenset[str]] = {}

        # Set after the head's checks ran.
        self.objected = [CheckedObjection(finding) for finding in objections if finding.case is None]
        # Check → what its tests import, if nobody sees which files its runner loads.
        self.imported: dict[str, frozenset[str]] = {}
        self.own_tests: dict[str, OwnTests] = {}  # by requirement
        self.own_test_evidence: list[Evidence] = []  # on base and head

        # May still grow after `run`.
        self.uncounted: frozenset[str] = frozenset()  # tests that are not counted (see `Facts.uncounted`)
        self.notes: list[str] = []  # notes for the verdict

    @property
    def has_work(self) -> bool:
        """Whether there is anything to run."""
        return bool(distinct_checks(self.due) or self.runnable)

    def add_notes(self, notes: Iterable[str]) -> None:
        """Add notes for the verdict."""
        self.notes += notes

    def leave_uncounted(self, tests: frozenset[str]) -> None:
        """Do not count these tests, which an earlier verdict on the same work did not count (see
        `Facts.uncounted`)."""
        self.uncounted |= tests

    async def run(self, interpreter: Interpreter) -> None:
        """Run everything and fill the fields. What is in doubt is run again, on the base or on the head.

        The order matters. The results on the base decide which ids run on the head. Objections must not run in a room
        that had something held out. What is in doubt is known only after all turns.
        """
        workspace, commit = self.workspace, self.commit
        recorder = EvidenceRecorder(self.contract, interpreter, commit, await workspace.tree(commit))
        carried = self.contract.carried
        known = {*await workspace.blobs(self.contract.base), *carried}
        runs = sorted(shared_runs(self.due, known, carried), key=self._run_order)
        if needed := await packages_to_install(workspace, self.contract.base, commit, interpreter):
            self.tell(EnvironmentBuilding(packages=needed))
        self.base_facts = await self._base_facts_with_packages(interpreter, runs)
        self.kept = await new_product(workspace, self.contract, commit)
        self.notes += map(kept_as_product, self.kept)
        doubted = await self._run_on_head(interpreter, runs, recorder)
        self.base_facts = await self._base_facts_with_tools(interpreter, runs)
        await self._run_objections(interpreter, recorder.with_versions(self.room.added.versions))
        self.uncounted |= await self._guards_failing_late_on_base(interpreter, runs)
        self.uncounted |= await self._tests_equal_to_anything_on_base(interpreter, doubted)
        self.uncounted |= await self._red_tests_bound_to_date(interpreter, runs)
        self.imported = await self._imports_of_kept_tests()
        # The implementer's own tests cannot raise the grade of a requirement that has cases or pages as checks, so they
        # run only for other requirements.
        without_data = tuple(
            requirement
            for requirement in self.due
            if not requirement.keep and not any(isinstance(check, DATA) for check in requirement.checks)
        )
        self.own_tests, self.own_test_evidence = await try_own_tests(
            workspace, self.contract, without_data, commit, interpreter, kept=self.kept
        )

    async def _run_on_head(
        self, interpreter: Interpreter, runs: Sequence[SharedRun], recorder: EvidenceRecorder
    ) -> list[DoubtedRun]:
        """Run the checks on the head in `turns` turns: sets `room` and fills `evidence` and `ran`. Returns the runs
        with tests that passed with other expected values, too."""
        carried = self.contract.carried
        head_room = partial(
            clean_room, self.workspace, self.contract, self.commit, interpreter, held_out_files=carried, kept=self.kept
        )
        async with head_room() as (bench, graft):
            here = await self.workspace.blobs(self.commit)
            self.notes += files_used(graft, carried, here)
            added = bench.added
            has_tests = any(isinstance(shared.check, TestsCheck | CommandCheck) for shared in runs)
            self.room = HeadRoom(
                added=added,
                packages=frozenset((*interpreter.versions, *added.versions, *added.unavailable, *added.unknown)),
                standard=interpreter.standard,
                library=interpreter.library,
                modules=bench.modules | interpreter.standard,
                new_modules=await new_modules(self.workspace, self.contract, self.base_facts, bench.modules),
                unseen=graft.paths,
                replaced=frozenset((*graft.restored, *graft.removed)),
                edited=frozenset(path for path in graft.restored if path in here),
                not_as_committed=tuple(sorted({*bench.replaced, *graft.merged})),
                not_loaded=graft.not_loaded if has_tests else (),
            )
            record = _HeadRecorder(self, recorder.with_versions(added.versions))
            rooms = Rooms(head_room, partial(head_room, as_committed=True), differ=graft.differs)
            self.notes += await take_turns(self._plan(runs), bench, self.turns, record, rooms)
        return record.doubted

    async def _imports_of_kept_tests(self) -> dict[str, frozenset[str]]:
        """Check → the scripts that its tests import on the base, for tests that pass on the base. Checks whose runner
        shows which files it loads are left out. {} if no requirement has `keep`."""
        if not any(requirement.keep for requirement in self.due if requirement not in self.contract.suites):
            return {}
        imported: dict[str, frozenset[str]] = {}
        for name, check in distinct_checks(self.due).items():
            if isinstance(check, TestsCheck) and not self.ran.get(name):
                states = on_base([fact for fact in self.base_facts if fact.check == name], self.room.new_modules)
                tests = {case.split("::")[0] for case, state in states.items() if state is Base.GUARD}
                imported[name] = await imported_by_tests(self.workspace, self.contract.base, tests)
        return imported

    async def _base_facts_with_packages(
        self, interpreter: Interpreter, runs: Sequence[SharedRun]
    ) -> Sequence[Evidence]:
        """The results on the base: the contract's, or new ones for checks that must run there again.

        Two kinds of checks run again on the base, with the head's packages: checks that lacked a module which these
        packages provide, and checks that an earlier version of the engine ran in another kind of room. So base and head
        are checked alike."""
        workspace, commit = self.workspace, self.commit
        outdated = [shared for shared in runs if any(fact.room != ROOM for fact in self._facts_when_sealed(shared))]
        lost = missing_modules(result for fact in self.contract.base_facts for result in fact.tried)
        added = await added_packages(workspace, self.contract.base, commit, interpreter) if lost else NO_PACKAGES
        provided = {kind for kind, module in lost.items() if added.provides(module)}
        again = [
            shared for shared in runs if any(kind in provided for _, kind in lacking(self._facts_when_sealed(shared)))
        ]
        facts = [_without_kinds(fact, provided) for fact in self.contract.base_facts]
        if outdated:
            self.notes.append(base_taken_again("an earlier version of trued checked it in other surroundings"))
            facts = _without_runs(facts, outdated)
        again = [shared for shared in runs if shared in outdated or shared in again]
        return [*facts, *await self._run_on_base(interpreter, again, added.versions)]

    async def _base_facts_with_tools(self, interpreter: Interpreter, runs: Sequence[SharedRun]) -> Sequence[Evidence]:
        """The results on the base. If a check used another version of Node or Chromium on the base than on the head,
        the check runs on the base again. Without that, a case could go from red to green only because of the new
        version."""
        before, now = (
            {(fact.check, name): fact.versions[name] for fact in facts for name in TOOLS if name in fact.versions}
            for facts in (self.base_facts, self.evidence)
        )
        changed = {key: f"{key[1]} {was}, not {now[key]}" for key, was in before.items() if now.get(key, was) != was}
        again = [shared for shared in runs if any(check in shared.serves for check, _ in changed)]
        if not again:
            return self.base_facts
        used = " and ".join(sorted(set(changed.values())))
        self.notes.append(base_taken_again(f"it was checked with {used}"))
        facts = _without_runs(self.base_facts, again)
        return [*facts, *await self._run_on_base(interpreter, again, self.room.added.versions)]

    async def _run_on_base(
        self, interpreter: Interpreter, again: Sequence[SharedRun], versions: Mapping[str, str]
    ) -> list[Evidence]:
        """Run these checks on the base, with the head's packages. Returns the results, and adds them to `retaken`."""
        if not again:
            return []
        workspace, commit = self.workspace, self.commit
        base, carried = self.contract.base, self.contract.carried
        recorder = EvidenceRecorder(self.contract, interpreter, base, await workspace.tree(base))
        recorder, taken = recorder.with_versions(versions), list[Evidence]()
        async with clean_room(
            workspace, self.contract, base, interpreter, held_out_files=carried, packages_of=commit
        ) as (
            bench,
            _,
        ):
            for shared in again:
                taken += await run_on_base(shared, bench, recorder)
        self.retaken += taken
        return taken

    def _facts_when_sealed(self, shared: SharedRun) -> list[Evidence]:
        return [fact for fact in self.contract.base_facts if fact.check in shared.serves]

    def _run_order(self, shared: SharedRun) -> tuple[int, bool]:
        """The sort key of a run. Visible checks come first, because agents get no output from a room once something
        held out has run in it. The contract's own tests come last, because the head's code could save what these tests
        reveal, and use it in cases that run later."""
        is_data = isinstance(shared.check, DATA)
        has_hidden_files = any(hidden_files(self.contract, check) for check in shared.serves.values())
        return 2 if has_hidden_files else int(is_hidden_data(shared.check)), is_data

    def guards_nothing(self, check: str) -> bool:
        """Whether the check is a guard of the contract of which no case passes on the base. Such a guard would not
        notice a mistake in the code that it runs."""
        facts = [fact for fact in self.base_facts if fact.check == check]
        return check in self.contract.guards and Base.GUARD not in on_base(facts).values()

    async def tests_failing_with(
        self, files: Mapping[str, str], texts: Mapping[str, str] | None = None, *, kept: Collection[str] = ()
    ) -> list[str]:
        """The existing tests that pass on the base, but fail twice on this commit with the base's version of `files`.

        `files`: path → blob on the base; "" removes the file. `texts`: path → text to use instead of the blob. `kept`:
        files of which tests get this commit's version, although they usually get the base's version.
        """
        carried = self.contract.carried
        known = {*await self.workspace.blobs(self.contract.base), *carried}
        contract = self.contract.model_copy(update={"frozen": {**self.contract.frozen, **files}})
        interpreter = await interpreter_of(self.workspace, self.contract)
        failing: list[str] = []
        over = {path: base64.b64encode(text.encode()).decode() for path, text in (texts or {}).items()}
        kept = (*kept, *self.kept)
        room = clean_room(
            self.workspace, contract, self.commit, interpreter, over=over, held_out_files=carried, kept=kept
        )
        async with room as (bench, _):
            for shared in shared_runs(contract.suites, known, carried):
                guards = {name for name, state in self._base_states(shared).items() if state is Base.GUARD}
                guards = {name for name in guards if not self._is_uncounted(shared, name)}
                for _ in range(2):
                    if guards:
                        fact = await run_check(shared.check, bench, CaseSelection(self._known_ids(shared)))
                        passed = {result.id for result in fact.tried if result.outcome is Outcomes.PASSED}
                        guards -= set() if fact.void else passed
                failing += sorted(guards)
        return failing

    async def tests_run_as_committed(self) -> frozenset[str]:
        """The tests that run in a room with this commit's own test files and test settings. Only their names are used;
        their results do not count."""
        known, carried = (
            {*await self.workspace.blobs(self.contract.base), *self.contract.carried},
            self.contract.carried,
        )
        interpreter = await interpreter_of(self.workspace, self.contract)
        ran, done = set[str](), set[str]()
        async with clean_room(self.workspace, self.contract, self.commit, interpreter, as_committed=True) as (bench, _):
            for shared in shared_runs((*self.contract.suites, *self.due), known, carried):
                check = shared.check
                if isinstance(check, TestsCheck) and not check.from_ and check.command not in done:
                    done.add(check.command)
                    whole = check.model_copy(update={"files": ()})
                    fact = await run_check(whole, replace(bench, base=self.commit), CaseSelection())
                    ran |= {one.id for one in fact.tried if one.outcome in (Outcomes.PASSED, Outcomes.FAILED)}
        return frozenset(ran)

    def _is_uncounted(self, shared: SharedRun, case: str) -> bool:
        """Whether this existing test does not count: a requirement supersedes it or proposes to, or its result is
        unreliable (see `Facts.uncounted`)."""
        replaced = [
            name
            for requirement in self.contract.requirements
            for name in (*requirement.supersedes, *requirement.proposed)
        ]
        names = {full_name(shared.check.kind, check, case) for check in shared.serves}
        return any(is_superseded(case, test) for test in replaced) or not names.isdisjoint(self.uncounted)

    async def _guards_failing_late_on_base(self, interpreter: Interpreter, runs: Sequence[SharedRun]) -> frozenset[str]:
        """The guards that fail on the base, too, in another order or with another date, time zone or user. They are not
        counted, because the change did not cause their failure.

        Suspects are guards that failed only in the head's second turn, in which all of this is different. The checks of
        the suspects run twice on the base, the second time with the same differences.
        """
        suspects = self._failing_second_time_only(runs, Base.GUARD)
        return await self._try_again(self.contract.base, interpreter, suspects)

    async def _tests_equal_to_anything_on_base(
        self, interpreter: Interpreter, doubted: Sequence[DoubtedRun]
    ) -> frozenset[str]:
        """The tests that passed with other expected values on the head and do so on the base, too. They are not
        counted, because they compare with something that is meant to be equal to everything."""
        if not doubted:
            return frozenset()
        carried, tests = self.contract.carried, set[str]()
        async with clean_room(
            self.workspace, self.contract, self.contract.base, interpreter, held_out_files=carried
        ) as (
            bench,
            _,
        ):
            for run in doubted:
                selection = CaseSelection(tuple(run.ids), doubted=run.seed)
                fact = await run_check(run.shared.check, bench, selection)
                alike = run.ids & {result.id for result in fact.tried if result.kind == EQUALS_ALL}
                tests |= _full_names(run.shared, alike)
        return frozenset(tests)

    async def _red_tests_bound_to_date(self, interpreter: Interpreter, runs: Sequence[SharedRun]) -> frozenset[str]:
        """The red tests that failed in the head's second turn only because of the date. They do not count.

        All red tests that failed only in the second turn run twice more, both times in the surroundings of the first
        turn. A test that passes now, and fails when only the date is changed, depends on the date. A test that depends
        on anything else (files left by the first run, the machine) still counts as failed.
        """
        test_runs = [shared for shared in runs if isinstance(shared.check, TestsCheck)]
        suspects = self._failing_second_time_only(test_runs, Base.RED)
        return await self._try_again(self.commit, interpreter, suspects, passing=True)

    async def _try_again(
        self,
        commit: str,
        interpreter: Interpreter,
        suspects: Sequence[tuple[SharedRun, frozenset[str]]],
        *,
        passing: bool = False,
    ) -> frozenset[str]:
        """Run the checks of the suspects twice in one room of this commit. Returns the suspects that must not be
        counted.

        Without `passing`, the second run has another order, date, time zone and user. The suspects that fail in it are
        returned. With `passing`, both runs are alike. Then the suspects are returned that pass in the second run, but
        fail when only the date is changed.
        """
        if not suspects:
            return frozenset()
        carried, tests = self.contract.carried, set[str]()
        room = clean_room(self.workspace, self.contract, commit, interpreter, held_out_files=carried, kept=self.kept)
        async with room as (bench, _):
            for shared, ids in suspects:
                known_ids = self._known_ids(shared)
                selections = [CaseSelection(known_ids, second=late and not passing) for late in (False, True)]
                facts = [await run_check(shared.check, bench, selection) for selection in selections]
                looked_for = Outcomes.PASSED if passing else Outcomes.FAILED
                bound = ids & {
                    result.id for result in facts[1].tried if result.outcome is looked_for and not facts[1].void
                }
                if passing and bound:
                    bound &= await _ids_failing_by_date(shared, bench, CaseSelection(known_ids))
                tests |= _full_names(shared, bound)
        return frozenset(tests)

    def _failing_second_time_only(
        self, runs: Sequence[SharedRun], on_base: Base
    ) -> list[tuple[SharedRun, frozenset[str]]]:
        """The ids that have the status `on_base` on the base, passed in the head's first turn and failed in its last
        turn."""
        suspects = []
        for shared in runs:
            check = next(iter(shared.serves))
            ids = {name for name, state in self._base_states(shared).items() if state is on_base}
            turns = [
                {result.id: result.outcome for result in fact.tried} for fact in self.evidence if fact.check == check
            ]
            first, last = (turns[0], turns[-1]) if turns else ({}, {})
            late_ids = {name for name in ids if (first.get(name), last.get(name)) == (Outcomes.PASSED, Outcomes.FAILED)}
            suspects += [(shared, frozenset(late_ids))] if late_ids else []
        return suspects

    def _known_ids(self, shared: SharedRun) -> tuple[str, ...] | None:
        return tuple(self._base_states(shared)) or None

    def _plan(self, runs: Sequence[SharedRun]) -> list[PlannedRun]:
        plan = []
        for shared in runs:
            facts = [fact for fact in self.base_facts if fact.check in shared.serves]
            seconds = max((fact.seconds for fact in facts), default=0.0)
            conduct = conduct_on_base(facts)
            plan.append(PlannedRun(shared, tuple(self._base_states(shared)), self._red_ids(shared), conduct, seconds))
        return [planned for planned in plan if planned.ids]

    def _red_ids(self, shared: SharedRun) -> tuple[str, ...]:
        return tuple(name for name, state in self._base_states(shared).items() if state is Base.RED)

    def _base_states(self, shared: SharedRun) -> dict[str, Base]:
        return on_base([fact for fact in self.base_facts if fact.check in shared.serves], self.room.new_modules)

    async def _run_objections(self, interpreter: Interpreter, recorder: EvidenceRecorder) -> None:
        """Run the cases of objections as checks. An objection whose case passes is closed. An objection whose case
        fails refutes its requirement.

        Agents learn the results, so these cases run in a room of their own that never contained anything held out.
        """
        runnable, others = await split_runnable(self.workspace, self.contract, self.runnable)
        for finding, why in others:
            self.objected.append(CheckedObjection(without_case(finding, why)))
            self.tell(ObjectionNotRun(what=finding.what, by=finding.by, why=why))
        if not runnable:
            return
        async with clean_room(self.workspace, self.contract, self.commit, interpreter) as (bench, _):
            ran: dict[str, list[Fact]] = {}
            for finding in runnable:
                assert finding.case is not None  # noqa: S101  (`runnable` has only objections with a case)
                check = ExamplesCheck(cases=(with_time_limit(finding.case),))
                name = check_hash(check)
                if name not in ran:  # one case may dispute several requirements
                    ran[name] = [
                        await run_check(check, bench, CaseSelection(second=turn > 1))
                        for turn in range(1, self.turns + 1)
                    ]
                self._record_objection(finding, check, ran[name], recorder)

    def _record_objection(
        self, finding: Finding, check: ExamplesCheck, facts: Sequence[Fact], recorder: EvidenceRecorder
    ) -> None:
        passed, broken = True, False
        for turn, fact in enumerate(facts, start=1):
            self.evidence.append(recorder.record(finding.requirement or "objection", check, fact, turn=turn))
            passed = passed and {result.outcome for result in fact.tried} == {Outcomes.PASSED}
            broken = broken or any(self._shows_nothing_of_head(result) for result in fact.tried)
        self.objected.append(CheckedObjection(finding, refutes=not passed and not broken, closed=passed))
        self.tell(ObjectionRan(what=finding.what, passed=passed))

    def _shows_nothing_of_head(self, result: Tried) -> bool:
        """Whether the result says nothing about the head: the case is malformed, the engine itself failed, or something
        is missing that is missing on the base, too."""
        if result.outcome is not Outcomes.UNJUDGED:
            return result.outcome is Outcomes.BROKEN
        return result.kind in ENGINES or result.kind in {kind for _, kind in lacking(self.base_facts)}

    def undeclared_imports(self, texts: Mapping[str, str]) -> list[str]:
        """Sentences about modules that the head's files import and nothing provides. [] if no check lacked a module."""
        if not any(result.missing_module for fact in self.evidence for result in fact.tried):
            return []
        product = {path: text for path, text in texts.items() if not is_test(path)}
        return undeclared_imports(product, self.room.modules, self.room.packages)

    def facts(self, requirement: Requirement, evidence: Sequence[Evidence], change: CommitChange) -> Facts:
        """Everything that the judge needs to know about one requirement. `evidence`: of this and of earlier trials."""
        contract = self.contract
        ran = guarded = self._files_run_by((requirement,))
        if requirement.keep and any(isinstance(check, CommandCheck) for check in requirement.checks):
            guarded |= self._files_run_by(contract.suites)  # nobody sees which files a command runs
        return Facts(
            base=[fact for fact in self.base_facts if fact.requirement == requirement.id],
            head=[fact for fact in evidence if fact.requirement == requirement.id],
            held_out=contract.held_out,
            held_out_why=contract.held_out_why,
            authors=contract.authors,
            guards=frozenset(contract.guards),
            caps=contract.caps.get(requirement.id, ()),
            changed=bool(change.paths),
            touched=not guarded.isdisjoint(set(change.paths) - self.room.unseen),
            traced=bool(ran),
            elsewhere=self._tests_of_others(requirement),
            left_out=sorted(path for path in self.room.unseen if is_test(path)),
            own_tests=self.own_tests.get(requirement.id, OwnTests()),
            superseded=[name for other in contract.requirements for name in other.supersedes],
            proposed=[name for other in contract.requirements for name in other.proposed],
            suite=requirement in contract.suites,
            edited=self.room.edited,
            new_modules=self.room.new_modules,
            awaited=awaited_packages(self.room.added, evidence, distinct_checks((requirement,))),
            undeclared=change.undeclared,
            unread=change.unread,
            uncounted=self.uncounted,
            objected=[objection for objection in self.objected if objection.finding.requirement == requirement.id],
        )

    def _files_run_by(self, requirements: tuple[Requirement, ...]) -> frozenset[str]:
        names = distinct_checks(requirements)
        return frozenset[str]().union(*(self.ran.get(name, ()) or self.imported.get(name, ()) for name in names))

    def has_untraced_pass(self) -> bool:
        """Whether something passed (a check, or the head's own test) while the engine could not see which code ran."""
        if self.own_test_evidence:
            return True
        passed = {
            fact.check for fact in self.evidence if any(result.outcome is Outcomes.PASSED for result in fact.tried)
        }
        checks = [(name, check) for requirement in self.due for name, check in distinct_checks((requirement,)).items()]
        return any(name in passed and (is_untraced(check) or not self.ran.get(name)) for name, check in checks)

    def _tests_of_others(self, requirement: Requirement) -> frozenset[str]:
        """Tests that belong to another requirement. Only that requirement reports their results."""
        facts = [fact for fact in self.base_facts if fact.kind == "tests"]
        others = [other for other in self.due if other.id != requirement.id]
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


class _HeadRecorder:
    """Records each run of a check on the head in the trial, as soon as it has ended."""

    def __init__(self, trial: CommitTrial, recorder: EvidenceRecorder) -> None:
        self._trial, self._recorder = trial, recorder
        self._tainted = False  # something held out has run in the room: from then on, output may quote it
        self.doubted: list[DoubtedRun] = []

    def __call__(self, turn: int, shared: SharedRun, fact: Fact) -> None:
        trial = self._trial
        self._tainted = self._tainted or any(is_held_out(trial.contract, check) for check in shared.serves.values())
        trial.notes += fact.notes
        for name in shared.serves:
            if not trial.guards_nothing(name):
                trial.ran[name] = trial.ran.get(name, frozenset()) | fact.ran
        trial.evidence += self._recorder.record_run(shared, fact, turn=turn, tainted=self._tainted)
        if equal := frozenset(result.id for result in fact.tried if result.kind == EQUALS_ALL):
            self.doubted.append(DoubtedRun(shared, fact.seed, equal))
        check_name = next(iter(shared.serves))[:12]
        trial.tell(CheckRan(check=check_name, sort=shared.check.kind, turn=turn, void=fact.void))


def _full_names(shared: SharedRun, ids: Iterable[str]) -> set[str]:
    return {full_name(shared.check.kind, check, name) for check in shared.serves for name in ids}


def _without_runs(facts: Iterable[Evidence], runs: Sequence[SharedRun]) -> list[Evidence]:
    served = {name for shared in runs for name in shared.serves}
    return [fact for fact in facts if fact.check not in served]


def _without_kinds(fact: Evidence, kinds: set[str]) -> Evidence:
    left = tuple(result for result in fact.tried if result.kind not in kinds)
    return fact if left == fact.tried else fact.model_copy(update={"tried": left})


def is_untraced(check: Check) -> bool:
    """Whether the check starts a program or a server, or opens a page. Then the engine cannot see which files are used.
    False for command and test checks: `CommitTrial.ran` shows which files they were seen to run."""
    if isinstance(check, ExamplesCheck):
        return any(not isinstance(case, CallCase) for case in check.cases)
    return isinstance(check, BrowserCheck)


async def _ids_failing_by_date(shared: SharedRun, bench: Bench, selection: CaseSelection) -> frozenset[str]:
    """The ids that fail if only the date is changed."""
    failed: set[str] = set()
    for zone in DAYS:
        fact = await run_check(shared.check, replace(bench, variables={**bench.variables, "TZ": zone}), selection)
        failed |= {result.id for result in fact.tried if result.outcome is Outcomes.FAILED}
    return frozenset(failed)
