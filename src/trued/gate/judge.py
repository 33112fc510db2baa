"""Seals a gate's contract and judges working trees and commits against it, each tree once."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from trued.engine.verify import VerifyRequest, seal_contract, verify_against
from trued.engine.worktree import Checkout
from trued.errors import CannotJudge
from trued.gate.state import CLAUDE_LOCAL, Gate, GateStore, is_inside
from trued.model import Contract, Grade, Outcome, Verdict
from trued.proof.advice import MANIFEST, ProjectFiles
from trued.proof.room.declared_packages import is_dependency_manifest, read_declarations
from trued.proof.room.project_folders import project_folders
from trued.proof.verdict.conclusion import apply_approvals, conclude
from trued.proof.verdict.missing import missing_on_base
from trued.protocols import Emit
from trued.workspace.git.snapshot import Snapshot

LOOK_AGAIN_S = 0.2
# private repositories for snapshots: one for the present ignore rules, one for earlier rules
SNAPSHOTS, BY_RULES = "snapshots.git", "snapshots-by-rules.git"
OPEN = "a gate does not sandbox agents: trued cannot tell whether one has read the held-out cases"
IN_SIGHT = "the requirements file is in the working tree: its cases count as visible"


@dataclass(frozen=True, slots=True)
class JudgedTree:
    """The gate's verdict on one tree."""

    verdict: Verdict
    outcome: Outcome
    tree: str
    commit: str
    dirty: bool = False
    notes: tuple[str, ...] = ()
    # nothing failed, and everything that the checks lack here was already missing for the checks on the base
    lacks_machine: bool = False

    @property
    def passed(self) -> bool:
        return self.outcome.state == "done"

    @property
    def needs_person(self) -> bool:
        """Whether only a person, not an agent, can add what is missing: an approval, or a program on this machine."""
        return self.outcome.state == "waiting" or self.lacks_machine


@dataclass(frozen=True, slots=True)
class Strictness:
    """How strictly to judge, from the command line or the user's own settings."""

    accept: Grade = Grade.ATTESTED
    sandbox: str = "auto"
    allow_unsandboxed: bool = False


async def seal(
    checkout: Checkout,
    requirements: Path,
    base: str,
    *,
    named: Path,
    store: GateStore,
    strictness: Strictness,
    emit: Emit,
) -> Contract:
    """Run the checks of the requirements on `base`, and return the sealed contract without saving it.

    `named`: the user's own requirements file. `requirements`: the same file, or the gate's copy if that file is gone.
    """
    request = _request(checkout, base, requirements, strictness)
    contract = await seal_contract(request, home=store.home, tell=emit)
    if contract.held_out and is_inside(named, checkout.root):
        contract = contract.model_copy(update={"held_out": False, "held_out_why": IN_SIGHT})
    return contract.model_copy(update={"undecided": (*contract.undecided, OPEN)}) if contract.held_out else contract


class Judge:
    """Judges work in one checkout against one gate's contract."""

    def __init__(self, checkout: Checkout, store: GateStore, gate: Gate, strictness: Strictness, emit: Emit) -> None:
        self.checkout, self.store, self.gate, self.strictness, self.tell = checkout, store, gate, strictness, emit

    async def judge_worktree(self) -> JudgedTree:
        """Judge the working tree, with uncommitted changes and new files."""
        return await self.judge_snapshot(await self.snapshot())

    async def snapshot(self, ignored: bytes | None = None) -> Snapshot:
        """The working tree as it is now, without the gate's own files and the user's own settings of Claude Code. Runs
        no check. `ignored`: ignore rules to use instead of the present ones."""
        installed_files = {
            str(Path(installed.path).relative_to(self.checkout.root)): installed.after
            for installed in self.gate.installed.values()
            if Path(installed.path).is_relative_to(self.checkout.root)
        }
        installed_files |= self._own_settings()
        return await self.checkout.snapshot(
            self.store.folder / (SNAPSHOTS if ignored is None else BY_RULES), installed_files, ignored
        )

    def _own_settings(self) -> dict[str, bytes]:
        """The user's own settings file of Claude Code as it is now, which a snapshot leaves out: Claude Code writes
        permissions there, even in a turn that only answers a question. {} if the file is committed or missing."""
        path, head = self.checkout.root / CLAUDE_LOCAL, self.checkout.worktree.head
        committed = head and self.checkout.read(head, CLAUDE_LOCAL) is not None
        try:
            return {} if committed or path.is_symlink() or not path.is_file() else {CLAUDE_LOCAL: path.read_bytes()}
        except OSError:  # not left out then: unless git ignores the file, git reports that it cannot be read
            return {}

    async def judge_snapshot(self, taken: Snapshot) -> JudgedTree:
        return await self._judge_in_time(
            f"{taken.repository}@{taken.commit}", taken.commit, taken.tree, taken.notes, taken.dirty
        )

    async def judge_commit(self, commit: str) -> JudgedTree:
        return await self._judge_in_time(commit, commit, self.checkout.tree(commit))

    async def judge_each(self, work: Sequence[Snapshot | str]) -> JudgedTree:
        """Judge working trees and commits one after another. Returns the first that an agent has to fix, else the first
        that is not accepted, else the last. `work` must not be empty."""
        judged = list[JudgedTree]()
        for snapshot_or_commit in work:
            tree = await (
                self.judge_commit(snapshot_or_commit)
                if isinstance(snapshot_or_commit, str)
                else self.judge_snapshot(snapshot_or_commit)
            )
            if not tree.passed and not tree.needs_person:
                return tree
            judged.append(tree)
        return next((tree for tree in judged if not tree.passed), judged[-1])

    def is_known(self, tree: str) -> bool:
        """Whether the tree was judged before, so that asking again costs nothing."""
        return self.store.verdict(self.gate.contract, tree) is not None

    async def _judge_in_time(
        self, head: str, commit: str, tree: str, notes: tuple[str, ...] = (), dirty: bool = False
    ) -> JudgedTree:
        """The verdict on `tree`, with the approvals that apply to it. Raises CannotJudge if judging takes longer than
        the gate's time limit."""
        try:
            async with asyncio.timeout(self.gate.within_s):
                verdict = await self._verdict_on(head, tree)
        except TimeoutError:
            what = f"the checks did not end within {self.gate.within_s:g} s"
            raise CannotJudge(f"{what}: give them more time with `trued gate amend --within SECONDS`") from None
        attested = [
            attested.approval
            for attested in self.gate.attested
            if (attested.tree, attested.approval.contract) == (tree, self.gate.contract)
        ]
        verdict = apply_approvals(verdict, attested).model_copy(update={"commit": commit})
        outcome = conclude(verdict, self.store.contract(self.gate), self.gate.accept)
        self.store.record("judged", tree=tree, commit=commit, grade=str(outcome.grade), state=outcome.state)
        return JudgedTree(verdict, outcome, tree, commit, dirty, notes, self._lacks_machine(verdict))

    def _lacks_machine(self, verdict: Verdict) -> bool:
        """Whether only this machine keeps the requirements from being judged: nothing failed, and everything that is
        missing was also missing when the checks ran on the base. False if something else is missing, for example a
        package that this work declares: otherwise an agent could avoid a failure by making the checks impossible."""
        if not verdict.lacks_only_environment:
            return False
        on_base = self.checkout.paths(self.gate.base)
        folders = project_folders(on_base).python
        paths = [path for path in on_base if is_dependency_manifest(path, folders)]
        texts = {path: (self.checkout.read(self.gate.base, path) or b"").decode(errors="replace") for path in paths}
        before = missing_on_base(self.store.contract(self.gate), read_declarations(texts).names).values()
        manifest = (self.checkout.read(self.gate.base, MANIFEST) or b"").decode(errors="replace")
        files = ProjectFiles(self.checkout.paths(self.gate.base), manifest)
        advised = [files.advise(part) for parts in before for part in parts]
        known = {(fix.name, fix.fix) for fix in advised}  # not `what`: it may quote output that varies
        return all((fix.name, fix.fix) in known for fix in verdict.missing_from_environment)

    async def _verdict_on(self, head: str, tree: str) -> Verdict:
        """The verdict on a tree. It is saved, so that each tree is judged only once. A verdict with an `unjudged`
        requirement is not saved: that tree is judged again."""
        if known := self.store.verdict(self.gate.contract, tree):
            return known
        contract = self.store.contract(self.gate)
        async with self._locked():
            if known := self.store.verdict(self.gate.contract, tree):
                return known
            file = self._requirements_file()
            request = _request(self.checkout, self.gate.base, file, self.strictness)
            done = await verify_against(
                contract, head, request, home=self.store.home, environ=self.checkout.environ, tell=self.tell
            )
            verdict = done.verdict
            if verdict.tree != tree:
                raise CannotJudge(f"the files of {verdict.tree[:12]} were checked, not those of {tree[:12]}")
            if not any(requirement.grade is Grade.UNJUDGED for requirement in verdict.requirements):
                self.store.save_verdict(self.gate.contract, verdict)
            return verdict

    def _requirements_file(self) -> Path | None:
        """The user's requirements file, or the gate's copy if that file is gone; None if both are gone. Judging looks
        for the file's text in git's history, because agents could read the held-out cases there."""
        named = Path(self.gate.requirements_file)
        return next((path for path in (named, self.store.folder / "requirements") if path.is_file()), None)

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[None]:
        """Hold the gate's lock: one process judges at a time, and the next one reuses its verdict."""
        while (lock := self.store.lock()) is None:  # noqa: ASYNC110 (another process has it)
            await asyncio.sleep(LOOK_AGAIN_S)
        with lock:
            yield


def _request(checkout: Checkout, base: str, requirements: Path | None, strictness: Strictness) -> VerifyRequest:
    return VerifyRequest(
        base=base,  # only the hash: PATH@HASH could also be the name of a folder, which would be used instead
        head="",
        requirements_file=requirements,
        accept=strictness.accept,
        sandbox=strictness.sandbox,
        allow_unsandboxed=strictness.allow_unsandboxed,
        here=checkout.root,
    )
