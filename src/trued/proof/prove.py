"""Proves a commit against a sealed contract: runs every check twice in a clean room and judges the results."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from trued.model import (
    Contract,
    DependenciesCheck,
    Evidence,
    Finding,
    Grade,
    Judged,
    Requirement,
    Verdict,
)
from trued.model.events.proof import RequirementJudged
from trued.proof.advice import places_of_modules, with_advice
from trued.proof.checks.command import BY_SUPERSEDED
from trued.proof.dependencies.undeclared_packages import InstalledPackages, undeclared_in_node, undeclared_packages
from trued.proof.fact_cache import FactCache, tree_with_content
from trued.proof.git_conversions import converted_files, unconverted_files
from trued.proof.hashes import check_hash
from trued.proof.modules_of_checks import modules_of_checks
from trued.proof.room.additions import packages_behind
from trued.proof.room.declared_packages import package_name, surroundings_of
from trued.proof.room.environment import interpreter_of
from trued.proof.room.frozen_files import is_among_tests, is_below
from trued.proof.scanner import Scanner
from trued.proof.text.commit_texts import added_lines, changed_texts
from trued.proof.text.languages import CODE
from trued.proof.trial import CommitChange, CommitTrial
from trued.proof.unguarded.change.tried_change import TriedChange
from trued.proof.unguarded.first_imports_from_top import first_imports_from_top
from trued.proof.unguarded.hidden_from_tests import hidden_from_tests
from trued.proof.unguarded.hiding_from_tests import hiding_from_tests
from trued.proof.unguarded.hiding_modules import hiding_modules
from trued.proof.unguarded.in_place_of_others import in_place_of_others
from trued.proof.unguarded.known_by_exit_code_only import known_by_exit_code_only
from trued.proof.unguarded.not_run_by_any_check import not_run_by_any_check
from trued.proof.unguarded.reached_by_failing_tests import reached_by_failing_tests
from trued.proof.unguarded.tests_need_base_version import tests_need_base_version
from trued.proof.unguarded.tests_vanished import tests_vanished
from trued.proof.unguarded.used_by_tests_only import used_by_tests_only
from trued.proof.verdict import reasons
from trued.proof.verdict.caps import (
    allow_for_versions,
    cap,
    fail_with_product,
    lower_for_existing_tests,
    without_submodules,
)
from trued.proof.verdict.case_status import FORGED, GREEN_TURNS
from trued.proof.verdict.judge import judge, judge_by_parts
from trued.proof.verdict.missing import other_versions, unknown_packages
from trued.proof.verdict.notes import checked_unconverted, not_collected, not_run, reported_notes, worst_counts
from trued.proof.verdict.quick_verdict import QUICK_NOTE, QUICK_TURNS, cap_grade, count_twice
from trued.proof.verdict.reasons import NOTHING_DONE, on_one_line
from trued.proof.verdict.unverified import Observed, list_warnings
from trued.protocols import Emit, Workspace
from trued.support.path_sets import paths_outside


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
    quick: bool = False,
    tell: Emit,
) -> Verdict:
    """The verdict on these requirements at this commit.

    `known`: evidence of earlier verdicts, used if it is about the same work.
    `owned`: the engine's own files, which do not count as changes.
    `quick`: run every check only once, and cap the grades (a quick verdict).
    """
    ids = set(requirements)
    due = tuple(requirement for requirement in contract.requirements if requirement.id in ids)
    changed = list(paths_outside(await workspace.changed_files(contract.base, commit), owned))
    changed += await _changed_in_submodules(workspace, contract.base, commit)
    turns = QUICK_TURNS if quick else GREEN_TURNS
    trial = CommitTrial(workspace, contract, (*due, *contract.suites), commit, objections, turns=turns, tell=tell)
    if trial.has_work:
        await trial.run(await interpreter_of(workspace, contract))
    failures = await _earlier_failures(trial)
    evidence = (*await _earlier_facts(workspace, known, commit, owned), *failures, *trial.evidence)
    texts = await changed_texts(workspace, commit, [path for path in changed if path.endswith(CODE)])
    change = await _change_with_packages(trial, due, changed, texts)
    trial.add_notes(await places_of_modules(workspace, contract, due, evidence))
    trial.add_notes(map(checked_unconverted, await unconverted_files(workspace, contract.base)))

    tried = TriedChange(trial, changed)
    verdicts, suites = await _judge(tried, due, count_twice(evidence) if quick else evidence, change, quick=quick)
    remarks = () if changed or _is_already_satisfied(verdicts) else (Finding(what=NOTHING_DONE),)
    if quick:
        verdicts = tuple(map(cap_grade, verdicts))
        trial.add_notes([QUICK_NOTE])
    for judged in verdicts:
        tell(RequirementJudged(requirement=judged.id, grade=judged.grade, why=judged.why))

    added = await added_lines(workspace, contract.base, texts)
    observed = Observed(added, frozenset[str]().union(*trial.ran.values()), trial.has_untraced_pass())
    warnings = list_warnings(contract, due, verdicts, observed)
    tests_left_out = [*map(not_run, contract.unguarded), *(not_collected(contract.uncollected))]
    notes = dict.fromkeys([*tests_left_out, *contract.undecided, *trial.notes, *warnings])
    verdict = Verdict(
        subject=subject,
        commit=commit,
        tree=await workspace.tree(commit),
        requirements=verdicts,
        suites=suites,
        evidence=(*failures, *trial.retaken, *trial.evidence, *trial.own_test_evidence, *tried.evidence),
        objections=tuple(objection.finding for objection in trial.objected if not objection.closed),
        remarks=remarks,
        undecided=tuple(map(on_one_line, notes)),
        reported=tuple(map(on_one_line, reported_notes(contract, notes))),
        owned=owned,
    )
    return await with_advice(workspace, verdict)


async def _change_with_packages(
    trial: CommitTrial, due: Sequence[Requirement], changed: Sequence[str], texts: Mapping[str, str]
) -> CommitChange:
    """What the judge needs to know of the change itself: the changed paths, and sentences about declared packages that
    no registry has and about imports that nothing provides. If a dependencies check is due, also the files that may
    install a package without a manifest."""
    unread: list[str] = []
    checks = [check for requirement in due for check in requirement.checks if isinstance(check, DependenciesCheck)]
    if checks:
        # imported here, because few changes need it, and it is large
        from trued.proof.dependencies.undeclared_additions import unread_additions

        unread = await unread_additions(
            trial.workspace,
            trial.contract.base,
            trial.commit,
            changed,
            (trial.contract.environment.path, trial.room.standard),
            projects=trial.contract.project_roots,
            exact=any(check.unchanged for check in checks),
        )
    undeclared = [*unknown_packages(trial.room.added), *trial.undeclared_imports(texts)]
    return CommitChange(changed, unread, undeclared)


async def _judge(
    tried: TriedChange, due: Sequence[Requirement], evidence: Sequence[Evidence], change: CommitChange, *, quick: bool
) -> tuple[tuple[Judged, ...], tuple[Judged, ...]]:
    """Judge each requirement by its own evidence, then lower grades for flaws of the whole change. Returns the verdicts
    on the requirements and on the suites.

    The order matters. Requirements that consist of others come last: they get the lowered grades of their parts.
    """
    trial, contract = tried.trial, tried.contract
    scanner = Scanner(trial.workspace, contract, trial.commit, trial.tell)
    absent, moved = await _altered_submodules(trial.workspace, contract.base, trial.commit)
    without_tests, _ = await _altered_submodules(trial.workspace, contract.base, trial.commit, of_tests=True)
    suites = await _judge_suites(trial, evidence, change, absent)
    verdicts = [judge(requirement, trial.facts(requirement, evidence, change)) for requirement in due]
    # This comes before suites can refute requirements, because a suite that fails may become unjudged here.
    suites = await _allow_for_unused_versions(trial, due, evidence, suites)
    verdicts = await _allow_for_unused_versions(trial, due, evidence, verdicts)
    verdicts = [lower_for_existing_tests(judged, suites) for judged in verdicts]
    verdicts = await _lower_for_change(tried, verdicts, moved=moved, absent=[*absent, *without_tests], quick=quick)
    wholes = _judge_wholes(contract, tuple(map(_on_one_line, verdicts)))
    scanned = tuple([await scanner.judged(judged) for judged in wholes])
    return scanned, tuple([await scanner.judged(suite) for suite in suites])


async def _undeclared_imports(tried: TriedChange) -> list[str]:
    """Sentences about imports of packages that are installed for the checks, and that the commit does not declare."""
    workspace, contract, commit, changed = tried.workspace, tried.contract, tried.sides.head, tried.files.every
    interpreter = await interpreter_of(workspace, contract)
    folders = filter(None, (*interpreter.site, tried.trial.room.added.site))
    installed = InstalledPackages(folders, interpreter.standard, surroundings_of(interpreter.version))
    found = [
        *await undeclared_packages(workspace, contract, commit, changed, installed),
        *await undeclared_in_node(workspace, contract, commit, changed),
    ]
    return list(map(str, found))


async def _judge_suites(
    trial: CommitTrial, evidence: Sequence[Evidence], change: CommitChange, absent: Sequence[str]
) -> list[Judged]:
    """The verdicts on the base's own test suites. If suites fail only because submodules are absent, they are unjudged,
    not refuted."""
    suites = [_on_one_line(judge(suite, trial.facts(suite, evidence, change))) for suite in trial.contract.suites]
    if any(suite.grade is Grade.REFUTED for suite in suites) and await _would_pass_with(trial, absent):
        return [without_submodules(suite, absent) for suite in suites]
    return suites


async def _lower_for_change(
    tried: TriedChange, verdicts: list[Judged], *, moved: Sequence[str], absent: Sequence[str], quick: bool
) -> list[Judged]:
    """The verdicts, lowered for what no check would notice in the change. Each line has the reason that people read,
    and the search for what the reason names.

    The first cap that applies is the one that people read about. Two searches run existing tests again. They are
    skipped in quick verdicts, and if all grades are too low to be lowered. `moved`: submodules that the head moves.
    `absent`: submodules that rooms lack.
    """
    sides = tried.sides
    converted = await converted_files(tried.workspace, sides.base, sides.head, tried.files.every)
    verdicts = _cap_each(verdicts, reasons.not_run_by_any_check, await not_run_by_any_check(tried))
    verdicts = _cap_each(verdicts, reasons.known_by_exit_code_only, await known_by_exit_code_only(tried))
    verdicts = _cap_all(verdicts, reasons.passes_with_superseded_tests, _passing_with_superseded_tests(tried.trial))
    verdicts = _cap_all(verdicts, reasons.not_loaded_by_tests, tried.trial.room.not_loaded)
    verdicts = _cap_each(verdicts, reasons.reached_by_failing_tests, await reached_by_failing_tests(tried))
    if not quick and _is_any_above(Grade.TESTED, verdicts):
        verdicts = _cap_all(verdicts, reasons.used_by_tests_only, await used_by_tests_only(tried))
    verdicts = _cap_all(verdicts, reasons.in_place_of_others, await in_place_of_others(tried))
    verdicts = _cap_each(verdicts, reasons.hiding_modules, await hiding_modules(tried))
    verdicts = _cap_all(verdicts, reasons.first_imports_from_top, await first_imports_from_top(tried))
    if not quick and _is_any_above(Grade.UNPROVEN, verdicts):
        tests, files = await tests_need_base_version(tried)
        verdicts = [fail_with_product(judged, tests, files) for judged in verdicts]
    if _is_any_above(Grade.TESTED, verdicts):
        verdicts = _cap_all(verdicts, reasons.packages_undeclared, await _undeclared_imports(tried))
    verdicts = _cap_all(verdicts, reasons.submodules_moved, moved)
    verdicts = _cap_all(verdicts, reasons.submodules_not_there, absent)
    verdicts = _cap_all(verdicts, reasons.converted_at_checkout, converted)
    verdicts = _cap_all(verdicts, reasons.hiding_from_tests, await hiding_from_tests(tried))
    verdicts = _cap_each(verdicts, reasons.hidden_from_tests, await hidden_from_tests(tried))
    return _cap_all(verdicts, reasons.tests_vanished, await tests_vanished(tried))


def _passing_with_superseded_tests(trial: CommitTrial) -> list[str]:
    """The commands among the existing tests that pass only with the change's version of superseded tests."""
    commands = {check_hash(check): check for suite in trial.contract.suites for check in suite.checks}
    marked = {
        fact.check: fact.command for fact in trial.evidence if any(one.kind == BY_SUPERSEDED for one in fact.tried)
    }
    return sorted(command for check, command in marked.items() if check in commands)


def _cap_all(
    verdicts: Sequence[Judged], sentence: Callable[[Sequence[str]], str], paths: Sequence[str]
) -> list[Judged]:
    """The verdicts, each capped at `tested` if there are any paths. `sentence`: makes the reason from the paths."""
    return [cap(judged, sentence, paths) for judged in verdicts]


def _cap_each(
    verdicts: Sequence[Judged], sentence: Callable[[Sequence[str]], str], code: Mapping[str, Sequence[str]]
) -> list[Judged]:
    """The verdicts, each capped at `tested` if there is any code for its requirement. `code`: requirement → code.
    `sentence`: makes the reason from the code."""
    return [cap(judged, sentence, code.get(judged.id, ())) for judged in verdicts]


def _is_any_above(grade: Grade, verdicts: Sequence[Judged]) -> bool:
    return any(judged.grade > grade for judged in verdicts)


async def _allow_for_unused_versions(
    trial: CommitTrial, due: Sequence[Requirement], evidence: Sequence[Evidence], verdicts: list[Judged]
) -> list[Judged]:
    """The verdicts on requirements or suites, changed by `allow_for_versions` if the head declares versions of packages
    that the checks did not use. Two sorts of failures stay, because no version excuses them: an objection whose case
    fails, and a head that manipulates its checks."""
    if not trial.room.added.unused or trial.contract.environment.prepare:  # a preparation may have installed them
        return verdicts
    by_id = {requirement.id: requirement for requirement in (*due, *trial.contract.suites)}
    settled = {objection.finding.requirement for objection in trial.objected if objection.refutes}
    settled |= {fact.requirement for fact in evidence if any(result.kind in FORGED for result in fact.tried)}
    return [
        judged if judged.id in settled else await _allow_for_versions(trial, judged, by_id[judged.id])
        for judged in verdicts
    ]


async def _allow_for_versions(trial: CommitTrial, judged: Judged, requirement: Requirement) -> Judged:
    """The verdict after `allow_for_versions`, for the versions that the head declares and the checks did not use. For a
    refuted requirement, only the packages that its checks may use on the base count, because the version of any other
    package is no excuse."""
    unused = trial.room.added.unused
    if judged.grade is Grade.REFUTED:
        interpreter = await interpreter_of(trial.workspace, trial.contract)
        used = packages_behind(interpreter, await modules_of_checks(trial.workspace, trial.contract, requirement))
        unused = {declared: version for declared, version in unused.items() if package_name(declared) in used}
    return allow_for_versions(judged, other_versions(unused), keep=requirement.keep) if unused else judged


def _on_one_line(judged: Judged) -> Judged:
    return judged.model_copy(update={"why": tuple(map(on_one_line, judged.why))})


async def _altered_submodules(
    workspace: Workspace, base: str, commit: str, *, of_tests: bool = False
) -> tuple[list[str], list[str]]:
    """The submodules that the head adds or moves to another commit, in two lists: those that clean rooms lack, and
    those that clean rooms have. With `of_tests`, only submodules among tests are listed; otherwise only submodules
    elsewhere."""
    on_base, on_head = await workspace.submodules(base), await workspace.submodules(commit)
    altered = sorted(
        submodule
        for submodule in on_head
        if on_head[submodule] != on_base.get(submodule) and is_among_tests(f"{submodule}/any") == of_tests
    )
    files = await workspace.blobs(commit) if altered else {}
    present = [submodule for submodule in altered if any(is_below(path, submodule) for path in files)]
    return [submodule for submodule in altered if submodule not in present], present


async def _changed_in_submodules(workspace: Workspace, base: str, commit: str) -> list[str]:
    """The files that differ in the submodules that the head moves to another commit, as far as rooms have them."""
    _, moved = await _altered_submodules(workspace, base, commit)
    if not moved:
        return []
    on_base, on_head = await workspace.blobs(base), await workspace.blobs(commit)
    differing = [path for path in {**on_base, **on_head} if on_base.get(path) != on_head.get(path)]
    return sorted(path for path in differing if any(is_below(path, submodule) for submodule in moved))


async def _would_pass_with(trial: CommitTrial, absent: Sequence[str]) -> bool:
    """Whether existing tests fail only because these submodules are absent, so that all tests pass with the base's
    version of the submodules. False if the base has no file of them."""
    on_base = await trial.workspace.blobs(trial.contract.base) if absent else {}
    files = {path: blob for path, blob in on_base.items() if any(is_below(path, submodule) for submodule in absent)}
    return bool(files) and not await trial.tests_failing_with(files)


def _judge_wholes(contract: Contract, verdicts: tuple[Judged, ...]) -> tuple[Judged, ...]:
    """The verdicts, in which each requirement that consists of others has the worst grade of its parts and of its own
    checks."""
    by_id = {judged.id: judged for judged in verdicts}
    return tuple(
        judge_by_parts(
            judged, [by_id[part] for part in judged.parts if part in by_id], contract.caps.get(judged.id, ())
        )
        for judged in verdicts
    )


async def _earlier_failures(trial: CommitTrial) -> tuple[Evidence, ...]:
    """Failures kept from an earlier verdict on the same tree and contract, so that a retry cannot turn a failure into a
    pass. They are returned as evidence of the commit that is judged now, because the earlier commit may be gone.

    Also keeps this trial's own failures, and tells the trial which tests an earlier verdict did not count.
    """
    workspace, contract, commit = trial.workspace, trial.contract, trial.commit
    cache = FactCache(workspace.kept, workspace.repository)
    tree, level = await tree_with_content(workspace, commit), workspace.confinement().level
    earlier = cache.of_head(contract, tree, level)  # before this trial's own facts are kept
    due = {requirement.id for requirement in trial.due}
    cache.keep_head(contract, tree, level, trial.evidence, trial.uncounted)
    trial.leave_uncounted(earlier.uncounted)
    failures = tuple(fact.model_copy(update={"commit": commit}) for fact in earlier.evidence if fact.requirement in due)
    if failures:
        trial.add_notes([worst_counts()])
    return failures


async def _earlier_facts(
    workspace: Workspace, known: Sequence[Evidence], commit: str, owned: tuple[str, ...]
) -> list[Evidence]:
    """The facts in `known` about heads with the same work as this commit. Two commits have the same work if they differ
    only in the engine's own files (`owned`)."""
    earlier = {fact.commit for fact in known if fact.side == "head"}
    same = {other for other in earlier if not paths_outside(await workspace.changed_files(other, commit), owned)}
    return [fact for fact in known if fact.side == "head" and fact.commit in same]


def _is_already_satisfied(verdicts: Sequence[Judged]) -> bool:
    return bool(verdicts) and all(
        judged.grade is Grade.PROVEN or judged.basis == "already satisfied" for judged in verdicts
    )
