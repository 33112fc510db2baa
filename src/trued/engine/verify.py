"""Judges any commit against any other, without agents or a run, and writes nothing into the user's repositories."""

import asyncio
import fcntl
import os
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO

from trued.engine import requirements_source
from trued.engine.named_requirements import folder_in_commits, with_words_of_base
from trued.errors import BadInput, StateFailed
from trued.model import Contract, Grade, Judged, Outcome, Requirements, Value, Verdict
from trued.model.events.proof import ProvingStarted, SealingStarted
from trued.model.events.run import WorkingTreeDirty
from trued.proof.advice import with_advice
from trued.proof.prove import prove
from trued.proof.room.interpreter import find_interpreter
from trued.proof.seal import SealTerms, seal
from trued.proof.verdict.conclusion import conclude, exit_code_of_run
from trued.proof.without_requirements import judge_without_requirements
from trued.protocols import Emit
from trued.run.examination.existing_tests import with_existing_tests
from trued.run.examination.start_command import find_server, with_server
from trued.run.examination.suites import suites_of
from trued.support.file_lock import take_lock
from trued.support.redaction import Redactor, in_json, secrets_in
from trued.wire import Confinement
from trued.workspace.git import commit_lookup
from trued.workspace.git.commit_lookup import NamedCommit
from trued.workspace.git.removal import remove_tree
from trued.workspace.git.store import Store
from trued.workspace.git.workspace import GitWorkspace
from trued.workspace.sandbox.levels import choose_level

SUBJECT = "verify"
PLACES = "verifications"  # a folder in the state folder; each verification has a folder there while it runs


class VerifyRequest(Value):
    """Which commit to judge, against which base, and by which requirements."""

    base: str  # REPO[@REV], or a revision of the repository in the current folder
    head: str
    requirements: Requirements | None = None
    requirements_file: Path | None = None
    accept: Grade = Grade.ATTESTED
    sandbox: str = "auto"
    allow_unsandboxed: bool = False
    quick: bool = False  # run every check only once on the head; the grade is `tested` at most
    here: Path = Path()  # the folder that relative paths and bare revisions refer to


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """The contract, the verdict and the outcome of a verification."""

    contract: Contract
    verdict: Verdict
    outcome: Outcome
    places: tuple[Path, Path] = (Path(), Path())  # the repositories of base and head

    @property
    def code(self) -> int:
        return exit_code_of_run(self.outcome)


async def verify(request: VerifyRequest, *, home: Path, environ: Mapping[str, str], tell: Emit) -> VerifyResult:
    """Seal the contract on the base and prove the head against it, as in a run. If there are no requirements, the
    verdict says whether existing tests still pass, and what the change's own tests show."""
    given = _callers_requirements(request)
    async with _probe_machine(request):
        base, head = await resolve_commits(request)
        held_out, why = await _held_out(request, base, head)
        said = await _undecided(base, head, request.requirements_file)
        async with temporary_workspace(request, home, base, head) as workspace:
            await _look_at_trees(workspace, base, head, tell)
            given, more = await _due(workspace, request, given, base, head)
            said += more
            tell(SealingStarted(base=base.commit, requirements=len(given.requirements)))
            contract = await _sealed(workspace, given, SealTerms(held_out, why, undecided=said), tell)
            tell(ProvingStarted(head=head.commit))
            verdict = await _proven(workspace, contract, head, tell, quick=request.quick)
            if not given.requirements:
                suites = {
                    *await suites_of(workspace, base.commit),
                    *await suites_of(workspace, head.commit),
                }
                verdict = await judge_without_requirements(workspace, contract, verdict, sorted(suites, key=str))
                verdict = await with_advice(workspace, verdict)
            if any(suite.grade is Grade.REFUTED for suite in verdict.suites):
                verdict = _because_tests_fail(verdict, await _lacking_commits(base, head))
    return replace(_verified(contract, verdict, request, environ), places=(base.place, head.place))


@asynccontextmanager
async def _probe_machine(request: VerifyRequest) -> AsyncIterator[None]:
    """Try the sandbox and find the interpreter while the `async with` block reads the commits. The results are cached
    for the whole process, so that later callers get them at once. Errors are ignored here: a later call raises them."""
    level = asyncio.to_thread(choose_level, request.sandbox, request.allow_unsandboxed)
    probes = asyncio.gather(level, find_interpreter(), return_exceptions=True)
    try:
        yield
    finally:
        await probes


async def seal_contract(request: VerifyRequest, *, home: Path, tell: Emit) -> Contract:
    """Seal the contract without judging anything: the request's `head` is ignored. Raises BadInput if the request names
    no requirements."""
    given = _callers_requirements(request)
    if given is None:
        raise BadInput("no file with requirements is named", then="--requirements FILE")
    base = await _side(request.base, request)
    held_out, why = await _held_out(request, base)
    async with temporary_workspace(request, home, base) as workspace:
        return await _sealed(workspace, given, SealTerms(held_out, why), tell)


async def verify_against(
    contract: Contract, head: str, request: VerifyRequest, *, home: Path, environ: Mapping[str, str], tell: Emit
) -> VerifyResult:
    """Prove a head against a sealed contract. The contract's cases count as visible if the history of base or head
    contains the requirements file. Raises BadInput if the contract was sealed on another base."""
    base, side = await _side(request.base, request), await _side(head, request)
    if base.commit != contract.base:
        what = f"the contract was sealed on {contract.base[:12]}, but the base is {base.commit[:12]}"
        raise BadInput(what, then="seal a new contract, or name the base of this one")
    if contract.held_out and request.requirements_file:
        held_out, why = await _held_out(request, base, side)
        contract = contract.model_copy(update={"held_out": held_out, "held_out_why": why})
    async with temporary_workspace(request, home, base, side) as workspace:
        verdict = await _proven(workspace, contract, side, tell)
    said = tuple(dict.fromkeys((*await _undecided(base, side), *verdict.undecided)))
    return _verified(contract, verdict.model_copy(update={"undecided": said}), request, environ)


async def resolve_commits(request: VerifyRequest) -> tuple[NamedCommit, NamedCommit]:
    """The commits of base and head. If the request names no base, the base is the commit from which the head branched
    off."""
    head = await _side(request.head or "@HEAD", request)
    return (await _side(request.base, request) if request.base else await commit_lookup.find_branch_point(head)), head


# -- the two sides -----------------------------------------------------------------------------------------------------


async def _side(given: str, request: VerifyRequest) -> NamedCommit:
    return await commit_lookup.find_commit(given, request.here.absolute())


def _callers_requirements(request: VerifyRequest) -> Requirements | None:
    """The requirements that the caller gave; None if `verify` has to look for them in the repository or a folder of
    it."""
    file = request.requirements_file
    if request.requirements is not None:
        return request.requirements
    return requirements_source.load_named_requirements(file) if file and not file.is_dir() else None


async def _due(
    workspace: GitWorkspace, request: VerifyRequest, given: Requirements | None, base: NamedCommit, head: NamedCommit
) -> tuple[Requirements, tuple[str, ...]]:
    """The requirements to judge (the caller's, or those in the repository), and remarks for people. The head cannot
    take away requirements of the base. Raises BadInput if the caller's checks name a file that neither commit has."""
    file = request.requirements_file
    if given is None:
        within = await folder_in_commits(workspace, head.commit, file, (head.root, base.root)) if file else ""
        return await requirements_source.find_requirements(workspace, head.commit, within)
    await requirements_source.refuse_missing_files(workspace, given, head.commit)
    if request.requirements is None and file:
        return await with_words_of_base(workspace, given, file, (head, base))
    return given, ()


async def _held_out(request: VerifyRequest, *both: NamedCommit) -> tuple[bool, str]:
    """Whether the cases count as held out, and why. They do if no version of the requirements file is in the history of
    base or head."""
    file = request.requirements_file
    if file is None or file.is_dir():
        return False, "the requirements are not in a separate file: their cases are visible"
    visible = "its cases count as visible"
    if await commit_lookup.is_in_history(both, requirements_source.blobs_of(file.read_bytes())):
        return False, f"the history of base or head holds the requirements file: {visible}"
    if any([await commit_lookup.is_tracked(side, file) for side in both]):
        return False, f"the history of base or head holds an earlier {file.name}: {visible}"
    return True, "the requirements file is in neither commit's history"


async def _undecided(base: NamedCommit, head: NamedCommit, file: Path | None = None) -> list[str]:
    said = []
    descends = base.commit == head.commit or await commit_lookup.is_descendant(head, base)
    if descends is False:
        undone = "commits of the base that the head lacks are judged as if the head had undone them"
        said.append(f"the head does not descend from the base: {undone}")
    if descends is None:
        said.append("the head's history does not contain the base: nothing shows that the work began there")
    if any(commit_lookup.is_shallow(side) for side in (base, head)):
        said.append("a history is shallow: an older commit may contain the requirements")
    if (
        file
        and not file.is_dir()
        and any(side.root and file.resolve().is_relative_to(side.root) for side in (base, head))
    ):
        said.append(f"{file.name} is in a working tree: an agent that worked there could have read it")
    return said


async def _lacking_commits(base: NamedCommit, head: NamedCommit) -> str:
    """If the head lacks commits of the base, a sentence that says so and what to do; else ""."""
    if await commit_lookup.is_descendant(head, base) is not False:
        return ""
    began = await commit_lookup.common_ancestor(head, base)
    way = f", or use --base {began[:12]}" if began and began != head.commit else ""
    return f"{base.revision} has commits that the head lacks: rebase{way}"


def _because_tests_fail(verdict: Verdict, why: str) -> Verdict:
    """Add the reason `why` wherever existing tests fail: to the suites that fail, and to the requirements that only
    existing tests refute. The tests may belong to other people's commits that the head lacks. If `why` is "", the
    verdict stays as it is."""
    if not why:
        return verdict

    def with_reason(judged: Judged) -> Judged:
        return judged.model_copy(update={"why": (*judged.why[:1], why, *judged.why[1:])})

    suites = [with_reason(suite) if suite.grade is Grade.REFUTED else suite for suite in verdict.suites]
    told = [with_reason(one) if one.basis == "existing tests" else one for one in verdict.requirements]
    return verdict.model_copy(update={"suites": tuple(suites), "requirements": tuple(told)})


async def _look_at_trees(workspace: GitWorkspace, base: NamedCommit, head: NamedCommit, tell: Emit) -> None:
    """Emit an event for each working tree with uncommitted files, because these files are not judged."""
    for side in {side.root: side for side in (base, head)}.values():
        if files := await commit_lookup.uncommitted_files(side, workspace.store, workspace.folder):
            tell(WorkingTreeDirty(place=str(side.root), files=tuple(files)))


# -- the place ---------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def temporary_workspace(
    request: VerifyRequest, home: Path, base: NamedCommit, *others: NamedCommit
) -> AsyncIterator[GitWorkspace]:
    """A workspace whose private store has only these commits. Workspace and store are removed at the end of the
    `async with` block."""
    hidden = [str(home.resolve()), *([str(request.requirements_file.resolve())] if request.requirements_file else [])]
    async with _verification_folder(home) as place:
        repository = base.root or base.git
        await _bring(Store(repository, place, SUBJECT), base, others)
        # chosen only now: `_probe_machine` tries the sandbox while the git commands above run
        level = await asyncio.to_thread(choose_level, request.sandbox, request.allow_unsandboxed)
        confinement = Confinement(level=level, hidden=tuple(hidden))
        workspace = GitWorkspace(repository, place, SUBJECT, "", base.commit, confinement)
        workspace.kept = workspace.environments = home.resolve()
        await workspace.begin()
        yield workspace


async def _bring(store: Store, base: NamedCommit, others: Sequence[NamedCommit]) -> None:
    """Copy these commits into the store."""
    if unlike := [other for other in others if len(other.commit) != len(base.commit)]:
        what = f"{base.place} and {unlike[0].place} use different hashes (SHA-1 and SHA-256)"
        raise BadInput(what, then="compare two repositories with the same kind of hash")
    named = {f"head{number}": other for number, other in enumerate(others)}
    same = {name: side.commit for name, side in named.items() if side.objects == base.objects}
    await store.begin(base.commit, depth=1, beside=same)
    for name in named.keys() - same.keys():
        await store.bring(str(named[name].objects), named[name].commit, name, depth=1)


@asynccontextmanager
async def _verification_folder(home: Path) -> AsyncIterator[Path]:
    """A folder for one verification. Folders of verifications that were killed are removed first."""
    places = home / PLACES
    name = secrets.token_hex(6)
    try:
        # two calls, because `mode` applies only to the last folder of a path
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        places.mkdir(exist_ok=True, mode=0o700)
        lock = hold_lock(places / f"{name}.lock")
    except OSError as error:
        raise StateFailed(f"cannot write {places}: {error.strerror}; free space or make it writable") from error
    with lock:
        try:
            await _remove_leftovers(places, name)
            (places / name).mkdir(mode=0o700)
            yield places / name
        finally:
            await remove_tree(places / name)
            (places / f"{name}.lock").unlink(missing_ok=True)


def hold_lock(path: Path) -> IO[bytes]:
    """Create this file, lock it and return it open. Another process may take the file for a leftover, and remove it
    before it is locked. Then the file is created again."""
    while True:
        lock = path.open("wb")
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _is_at(lock, path):
            return lock
        lock.close()


def _is_at(file: IO[bytes], path: Path) -> bool:
    """Whether the path still leads to this open file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


async def _remove_leftovers(places: Path, own: str) -> None:
    for lock in places.glob("*.lock"):
        if lock.stem == own:
            continue
        try:
            file = lock.open("r+b")
        except FileNotFoundError:
            continue
        with file:
            if not take_lock(file):
                continue  # the other verification still runs
            if not _is_at(file, lock):
                continue  # removed meanwhile; its verification may have made it again
            await remove_tree(places / lock.stem)
            lock.unlink(missing_ok=True)


async def _sealed(workspace: GitWorkspace, given: Requirements, terms: SealTerms, tell: Emit) -> Contract:
    """Seal the requirements. The base's own tests become guards: they can refute, but never prove."""
    given = await with_server(given, partial(find_server, workspace, given.environment, emit=tell))
    made, guards = await with_existing_tests(workspace, given)
    return await seal(workspace, made, replace(terms, guards=guards), tell=tell)


async def _proven(
    workspace: GitWorkspace, contract: Contract, head: NamedCommit, tell: Emit, *, quick: bool = False
) -> Verdict:
    ids = [requirement.id for requirement in contract.requirements]
    return await prove(workspace, contract, ids, head.commit, subject=SUBJECT, quick=quick, tell=tell)


def _verified(contract: Contract, verdict: Verdict, request: VerifyRequest, environ: Mapping[str, str]) -> VerifyResult:
    redact = Redactor(secrets_in(environ)).within
    verdict = Verdict.model_validate_json(in_json(redact, verdict.model_dump_json()))
    return VerifyResult(contract, verdict, conclude(verdict, contract, request.accept))
