"""Continues an earlier run from its branch.

The files on the branch are not trusted. What they mark as passed is proven again. The base comes from the user, the
journal or git.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trued.errors import BadInput
from trued.model import Goal, RunRecord
from trued.workflows.descriptor import BranchState, load
from trued.workflows.registry import descriptors
from trued.workspace.git.repository import (
    BranchStart,
    EarlierRunBranch,
    find_branch_start,
    find_earlier_run,
    list_branches,
    resolve_ancestor,
)

PREFIX = "trued/"
ASIDE = "-failed-"  # part of the name of a branch that keeps the work on a failed feature


@dataclass(frozen=True)
class KnownRuns:
    """Branches and bases of the runs in the journal."""

    # of all runs that were not cancelled; a new run continues one of these branches only if the user names it
    branches: Collection[str] = ()
    bases: Mapping[str, str] = field(default_factory=dict)  # branch → the base that was recorded when its run began

    @classmethod
    def of(cls, runs: Sequence[RunRecord], root: Path) -> "KnownRuns":
        """Build from the records of runs, newest first. Of several runs with the same branch, the newest counts."""
        bases = {run.branch: run.base for run in reversed(runs) if run.repository == str(root)}
        return cls({run.branch for run in runs if run.state != "cancelled"}, bases)


@dataclass(frozen=True)
class ForgottenRun:
    """A run that the journal does not know, as its branch describes it."""

    branch: str
    specification: str
    workflow: str


@dataclass(frozen=True)
class ContinuedBranch:
    """The branch that a run continues: its tip, and the user's commit that its work started from."""

    branch: str
    tip: str
    base: str


def find_branch_to_continue(
    root: Path, state: BranchState, goal: Goal, named: str, known: KnownRuns, base: str = ""
) -> ContinuedBranch | None:
    """The branch to continue; None to start at HEAD.

    If the user named no branch, an earlier run with the same specification is continued, if it was cancelled. It is
    also continued if the journal does not know it and its work has not landed.

    `state`: describes the file that the workflow keeps on its branches. `base`: the commit that the user named as the
    branch's base. If it is "", the base comes from the journal or else from git (`find_branch_start`). Raises BadInput
    if the named branch is not an earlier run's, or if its base is unknown or not an ancestor of the branch.
    """
    if base and named in ("", "HEAD"):
        raise BadInput(
            "this commit is where the branch of an earlier run started, but no branch is named",
            "--base",
            "name it: --from BRANCH",
        )
    if named:
        return (
            None
            if named == "HEAD"
            else _continued_branch(root, _earlier_run_branch(root, named, state.file), known, base)
        )
    wanted = hashlib.sha256(goal.text.encode(errors="surrogateescape")).hexdigest()
    for branch in list_branches(root, PREFIX):
        found = _find_earlier_run(root, branch, state.file) if branch not in known.branches else None
        left = load(state.read)(found.state) if found else None
        if not found or not left or left.digest != wanted or f"{PREFIX}{left.run}" in known.branches:
            continue
        if branch in known.bases or not find_branch_start(root, found.tip).landed:
            return _continued_branch(root, found, known, "")
    return None


def _continued_branch(root: Path, left: EarlierRunBranch, known: KnownRuns, base: str) -> ContinuedBranch:
    if base:
        if not (commit := resolve_ancestor(root, left.tip, base)):
            raise BadInput(f"{base} is not an ancestor of {left.branch}", "--base", "name the commit it started from")
        return ContinuedBranch(left.branch, left.tip, commit)
    recorded = known.bases.get(left.branch, "")
    found = BranchStart(resolve_ancestor(root, left.tip, recorded)) if recorded else find_branch_start(root, left.tip)
    if not found.base:
        why = found.why or f"it does not contain {recorded[:12]}, from which its run began"
        what = f"cannot tell which of your commits {left.branch} started from: {why}"
        raise BadInput(what, then=f"name it: --from {left.branch} --base COMMIT; or start over: --from HEAD")
    return ContinuedBranch(left.branch, left.tip, found.base)


def _find_earlier_run(root: Path, branch: str, file: str) -> EarlierRunBranch | None:
    """What an earlier run left on this branch. None if no run left anything on it, if the branch is the user's own, or
    if the branch keeps work that a run set aside."""
    return find_earlier_run(root, branch, file) if branch.startswith(PREFIX) and ASIDE not in branch else None


def _earlier_run_branch(root: Path, branch: str, file: str) -> EarlierRunBranch:
    found = _find_earlier_run(root, branch, file)
    if found is None:
        what = f"{branch} is not a branch of an earlier run that can be continued"
        raise BadInput(what, "--from", f"name a branch that has the engine's {file}, or HEAD to start over")
    return found


def find_forgotten_run(root: Path, run: str) -> ForgottenRun | None:
    """The run with this id, known only from its branch in this repository; None if there is none."""
    for descriptor in descriptors():
        state = descriptor.branch_state
        if state and (found := _find_earlier_run(root, f"{PREFIX}{run}", state.file)):
            return ForgottenRun(found.branch, load(state.read)(found.state).specification, descriptor.name)
    return None
