"""Proves a commit against a sealed contract: runs every check twice in a clean room and judges the results."""

from collections.abc import Iterable, Mapping, Sequence

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
from trued.proof.checks.dependencies import unread_additions
from trued.proof.conversions import converted_files, unconverted_files
from trued.proof.disclosure import Scanner
from trued.proof.fact_cache import FactCache, tree_with_content
from trued.proof.modules_of_checks import modules_of_checks
from trued.proof.own_files import places_of_modules, with_advice
from trued.proof.room.additions import packages_behind
from trued.proof.room.dependencies import package_name
from trued.proof.room.environment import interpreter_of
from trued.proof.room.frozen_files import is_among_tests, is_below
from trued.proof.text.commit_texts import added_lines, changed_texts
from trued.proof.text.languages import CODE
from trued.proof.trial import CommitChange, CommitTrial
from trued.proof.unguarded_code import UnguardedCode
from trued.proof.verdict import reasons
from trued.proof.verdict.caps import (
    allow_for_versions,
    cap,
    fail_with_product,
    refute_by_existing_tests,
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
    due = tuple(one for one in contract.requirements if one.id in ids)
    changed = list(paths_outside(await workspace.changed_files(contract.base, commit), owned))
    changed += await _changed_in_submodules(workspace, contract.base, commit)
    turns = QUICK_TURNS if quick else GREEN_TURNS
    trial = CommitTrial(workspace, contract, (*due, *contract.suites), commit, objections, turns=turns, tell=tell)
    if trial.has_work:
        await trial.run(await interpreter_of(workspace, contract))
    kept = await _earlier_failures(trial)
    evidence = (*await _earlier_facts(workspace, known, commit, owned), *kept, *trial.evidence)
    texts = await changed_texts(workspace, commit, [path for path in changed if path.endswith(CODE)])
    change = await _look_for_packages(trial, due, changed, texts)
    trial.add_notes(await places_of_modules(workspace, contract, due, evidence))

    unguarded = UnguardedCode(trial, changed)
    judged, suites = await _judge(
        trial, due, count_twice(evidence) if quick else evidence, change, unguarded, quick=quick
    )
    remarks = () if changed or _is_already_satisfied(judged) else (Finding(what=NOTHING_DONE),)
    if quick:
        judged = tuple(map(cap_grade, judged))
        trial.add_notes([QUICK_NOTE])
    for one in judged:
        tell(RequirementJudged(requirement=one.id, grade=one.grade, why=one.why))

    added = await added_lines(workspace, contract.base, texts)
    seen = Observed(added, frozenset[str]().union(*trial.ran.values()), trial.has_untraced_pass())
    warnings = list_warnings(contract, due, judged, seen)
    left_out = [*map(not_run, contract.unguarded), *(not_collected(contract.uncollected))]
    notes = dict.fromkeys([*left_out, *contract.undecided, *trial.notes, *warnings])
    verdict = Verdict(
        subject=subject,
        commit=commit,
        tree=await workspace.tree(commit),
        requirements=judged,
        suites=suites,
        evidence=(*kept, *trial.retaken, *trial.evidence, *trial.own_test_evidence, *unguarded.turned),
        objections=tuple(one.finding for one in trial.objected if not one.closed),
        remarks=remarks,
        undecided=tuple(map(on_one_line, notes)),
        reported=tuple(map(on_one_line, reported_notes(contract, notes))),
        owned=owned,
    )
    return await with_advice(workspace, verdict)


async def _look_for_packages(
    trial: CommitTrial, due: Sequence[Requirement], changed: Sequence[str], texts: Mapping[str, str]
) -> CommitChange:
    """The change, with: changed files that may install a package without a manifest, if a dependencies check is due;
    declared packages that no registry has; and imported modules that neither the project nor a package provides."""
    unread: list[str] = []
    if asked := [check for one in due for check in one.checks if isinstance(check, DependenciesCheck)]:
        exact = any(one.unchanged for one in asked)
        unread = await unread_additions(
            trial.workspace,
            trial.contract.base,
            trial.commit,
            changed,
            (trial.contract.environment.path, trial.room.standard),
            projects=trial.contract.project_roots,
            exact=exact,
        )
    undeclared = [*unknown_packages(trial.room.added), *trial.undeclared_imports(texts)]
    return CommitChange(changed, unread, undeclared)


async def _judge(
    trial: CommitTrial,
    due: Sequence[Requirement],
    evidence: Sequence[Evidence],
    change: CommitChange,
    unguarded: UnguardedCode,
    *,
    quick: bool,
) -> tuple[tuple[Judged, ...], tuple[Judged, ...]]:
    """Judge each requirement by its own evidence. Then lower its grade for each of these reasons: existing tests fail,
    or ran without code of the head; no check guards some of the changed code; submodules were not checked; git changes
    files at checkout; one of its parts has a lower grade. Returns the verdicts on the requirements and on the
    suites."""
    contract, scan = trial.contract, Scanner(trial.workspace, trial.contract, trial.commit, trial.tell)
    absent, moved = await _altered_submodules(trial.workspace, contract.base, trial.commit)
    suites = [_on_one_line(judge(one, trial.facts(one, evidence, change))) for one in contract.suites]
    if any(one.grade is Grade.REFUTED for one in suites) and await _fail_for_lack_of(trial, absent):
        suites = [without_submodules(one, absent) for one in suites]
    found = [judge(one, trial.facts(one, evidence, change)) for one in due]
    if trial.room.added.unused and not contract.environment.prepare:  # a preparation may have installed them
        asked = {one.id: one for one in (*due, *contract.suites)}
        fixed = {one.finding.requirement for one in trial.objected if one.refutes}
        fixed |= {one.requirement for one in evidence if any(each.kind in FORGED for each in one.tried)}
        suites, found = [
            [one if one.id in fixed else await _allow_for_versions(trial, one, asked[one.id]) for one in verdicts]
            for verdicts in (suites, found)
        ]
    found = [refute_by_existing_tests(one, suites) for one in found]
    never_run = await unguarded.never_run()
    found = [cap(one, reasons.not_run_by_any_check, never_run.get(one.id, ())) for one in found]
    uncounted = await unguarded.known_by_exit_code_only()
    found = [cap(one, reasons.known_by_exit_code_only, uncounted.get(one.id, ())) for one in found]
    found = [cap(one, reasons.not_loaded_by_tests, trial.room.not_loaded) for one in found]
    behind = await unguarded.behind_failing_tests()
    found = [cap(one, reasons.reached_by_failing_tests, behind.get(one.id, ())) for one in found]
    above = not quick and any(one.grade > Grade.TESTED for one in found)
    helpers = await unguarded.blinding_helpers() if above else []
    found = [cap(one, reasons.used_by_tests_only, helpers) for one in found]
    shadows = await unguarded.taking_the_place_of_others()
    found = [cap(one, reasons.in_place_of_others, shadows) for one in found]
    hiding = await unguarded.hiding_modules()
    found = [cap(one, reasons.hiding_modules, hiding.get(one.id, ())) for one in found]
    passing = not quick and any(one.grade > Grade.UNPROVEN for one in found)
    failing, replaced = await unguarded.failing_with_product() if passing else ([], [])
    found = [fail_with_product(one, failing, replaced) for one in found]
    found = [cap(cap(one, reasons.submodules_moved, moved), reasons.submodules_not_there, absent) for one in found]
    converted = await converted_files(trial.workspace, contract.base, trial.commit, change.paths)
    trial.add_notes(map(checked_unconverted, await unconverted_files(trial.workspace, contract.base)))
    found = [cap(one, reasons.converted_at_checkout, converted) for one in found]
    judged = _judge_wholes(contract, tuple(map(_on_one_line, found)))
    return tuple([await scan.judged(one) for one in judged]), tuple([await scan.judged(one) for one in suites])


async def _allow_for_versions(trial: CommitTrial, judged: Judged, asked: Requirement) -> Judged:
    """`allow_for_versions` with the versions that the head declares and its checks did not use. For a failure, only
    those of packages that the checks may use on the base: any other version is no excuse."""
    unused = trial.room.added.unused
    if judged.grade is Grade.REFUTED:
        interpreter = await interpreter_of(trial.workspace, trial.contract)
        used = packages_behind(interpreter, await modules_of_checks(trial.workspace, trial.contract, asked))
        unused = {one: version for one, version in unused.items() if package_name(one) in used}
    return allow_for_versions(judged, other_versions(unused), keep=asked.keep) if unused else judged


def _on_one_line(judged: Judged) -> Judged:
    return judged.model_copy(update={"why": tuple(map(on_one_line, judged.why))})


async def _altered_submodules(workspace: Workspace, base: str, commit: str) -> tuple[list[str], list[str]]:
    """Submodules that the head adds or moves to another commit: first those that rooms lack, then those that they have.
    Submodules among the tests are left out, because checks use the base's version of them."""
    before, here = await workspace.submodules(base), await workspace.submodules(commit)
    found = sorted(path for path in here if here[path] != before.get(path) and not is_among_tests(f"{path}/any"))
    files = await workspace.blobs(commit) if found else {}
    there = [path for path in found if any(is_below(one, path) for one in files)]
    return [path for path in found if path not in there], there


async def _changed_in_submodules(workspace: Workspace, base: str, commit: str) -> list[str]:
    """The files that differ in the submodules that the head moves to another commit, as far as rooms have them."""
    _, moved = await _altered_submodules(workspace, base, commit)
    if not moved:
        return []
    before, here = await workspace.blobs(base), await workspace.blobs(commit)
    differ = [path for path in {**before, **here} if before.get(path) != here.get(path)]
    return sorted(path for path in differ if any(is_below(path, one) for one in moved))


async def _fail_for_lack_of(trial: CommitTrial, absent: Sequence[str]) -> bool:
    """Whether existing tests fail only because these submodules are absent: with the base's version of them, all
    pass."""
    before = await trial.workspace.blobs(trial.contract.base) if absent else {}
    files = {path: blob for path, blob in before.items() if any(is_below(path, one) for one in absent)}
    return bool(files) and not await trial.tests_failing_with(files)


def _judge_wholes(contract: Contract, judged: tuple[Judged, ...]) -> tuple[Judged, ...]:
    """The verdicts; each requirement that consists of others gets the worst grade of these parts and of its own
    checks."""
    by_id = {one.id: one for one in judged}
    return tuple(
        judge_by_parts(one, [by_id[name] for name in one.parts if name in by_id], contract.caps.get(one.id, ()))
        for one in judged
    )


async def _earlier_failures(trial: CommitTrial) -> tuple[Evidence, ...]:
    """Failures kept from an earlier verdict on the same tree and contract, so that a retry cannot turn a failure into a
    pass. They are recorded for the commit that is judged now, because the earlier commit may be gone."""
    workspace, contract, commit = trial.workspace, trial.contract, trial.commit
    baseline = FactCache(workspace.kept, workspace.repository)
    tree, level = await tree_with_content(workspace, commit), workspace.confinement().level
    before = baseline.of_head(contract, tree, level)
    due = {one.id for one in trial.due}
    baseline.keep_head(contract, tree, level, trial.evidence, trial.order_bound)
    trial.leave_uncounted(before.order_bound)
    kept = tuple(one.model_copy(update={"commit": commit}) for one in before.evidence if one.requirement in due)
    if kept:
        trial.add_notes([worst_counts()])
    return kept


async def _earlier_facts(
    workspace: Workspace, known: Sequence[Evidence], commit: str, owned: tuple[str, ...]
) -> list[Evidence]:
    """Earlier facts about the same work. Two commits that differ only in the engine's own files are the same work."""
    earlier = {one.commit for one in known if one.side == "head"}
    same = {one for one in earlier if not paths_outside(await workspace.changed_files(one, commit), owned)}
    return [one for one in known if one.side == "head" and one.commit in same]


def _is_already_satisfied(judged: Sequence[Judged]) -> bool:
    return bool(judged) and all(
        judgement.grade is Grade.PROVEN or judgement.basis == "already satisfied" for judgement in judged
    )
