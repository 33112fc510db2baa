"""Finds the files that a turn changed: in the working tree, in its commits and in other worktrees.

A turn that changed no file is not blocked.
"""

import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from trued.engine.worktree import open_checkout
from trued.errors import BadInput, CannotJudge, StateFailed
from trued.gate.judge import SNAPSHOTS, Judge
from trued.gate.turns import Beginning
from trued.workspace.git.command import Git
from trued.workspace.git.snapshot import Snapshot

INSIDE = "inside"  # folder of private repositories, one for each repository inside the working tree
# When a turn begins, at most this many other worktrees are read, for about this many seconds: the user's prompt waits.
MOST_WORKTREES, LOOK_S = 10, 10.0


@dataclass(frozen=True, slots=True)
class TurnWork:
    """What a turn changed."""

    to_judge: tuple[Snapshot | str, ...]  # working trees and commits
    inside: tuple[str, ...] = ()  # nested repositories, which no contract of this repository judges


async def beginning_now(judge: Judge, busy: Collection[str] = ()) -> Beginning:
    """The working tree as it is now, and what it does not show: the trees of local branches, tags, the stash and other
    worktrees, changed repositories nested in the working tree, ignore rules outside it, commits of remote-tracking
    branches, and commits that a checkout left behind.

    Other worktrees are read up to the limits `MOST_WORKTREES` and `LOOK_S`. `busy`: worktrees in which other sessions
    work; their trees are not read.
    """
    checkout, taken = judge.checkout, await judge.snapshot()
    others = [root for root in map(str, checkout.worktrees()) if root != str(checkout.root)]
    seen = [root for root in others if root not in busy][:MOST_WORKTREES]
    elsewhere, until = dict.fromkeys(others, ""), time.monotonic() + LOOK_S
    for root in seen:
        if time.monotonic() < until:
            elsewhere[root] = await _tree_at(root, judge)
    return Beginning(
        root=str(checkout.root),
        tree=taken.tree,
        at=time.time(),
        head=checkout.worktree.head,
        tips=tuple(sorted({*checkout.tips(), *checkout.tags()})),
        inside=await checkout.changed_inside(taken, judge.store.folder / INSIDE),
        elsewhere=elsewhere,
        busy=tuple(sorted({*others} & {*busy})),
        ignored=checkout.ignore_rules.decode("latin-1"),
        remotes=tuple(sorted({*checkout.remote_branches().values()})),
        left=checkout.left(()),
    )


async def work_since(began: Beginning, judge: Judge, taken: Snapshot, busy: Collection[str] = ()) -> TurnWork:
    """What to judge: the worktree in which the turn ends and the worktree in which it began, if they changed. Nothing
    if the turn changed no file.

    If neither worktree has new files, the work may be elsewhere. Then other worktrees that changed, and commits with
    new files, are judged, too. `busy`: worktrees in which other sessions work. They are left out here, and judged when
    the turns of those sessions end.
    """
    root_here = str(judge.checkout.root)
    started = judge if began.root == root_here else _judge_at(began.root, judge)
    taken_there = taken if started is judge else await started.snapshot() if started else None
    inside = await _changed_inside(began, started, taken_there) if started and taken_there else ()
    trees = [taken] if await _has_changed(began, judge, taken) else []
    if started and taken_there and started is not judge and (inside or await _has_changed(began, started, taken_there)):
        trees.append(taken_there)
    elif inside and not trees:
        trees = [taken]
    # A tree that existed at the beginning was only checked out: the work may be elsewhere.
    if any(snapshot.tree not in began.known for snapshot in trees):
        return TurnWork((*trees,), inside)
    for root in map(str, judge.checkout.worktrees()):
        other = (
            None
            if root in (root_here, began.root, *busy) or began.elsewhere.get(root) == ""
            else _judge_at(root, judge)
        )
        if other and await _has_changed(began, other, snapshot := await other.snapshot()):
            trees.append(snapshot)
    return TurnWork((*trees, *await _new_commits(began, judge)), inside)


async def _changed_inside(began: Beginning, judge: Judge, taken: Snapshot) -> tuple[str, ...]:
    """Nested repositories that changed in the worktree in which the turn began."""
    trees_now = await judge.checkout.changed_inside(taken, judge.store.folder / INSIDE)
    return tuple(sorted(path for path in trees_now | began.inside if trees_now.get(path) != began.inside.get(path)))


async def _has_changed(began: Beginning, judge: Judge, snapshot: Snapshot) -> bool:
    """Whether the worktree has work that it did not have at the beginning: other files, or files that new ignore rules
    hide. Checking out a commit that existed before is no work."""
    checkout = judge.checkout
    before = {**began.elsewhere, began.root: began.tree}.get(str(checkout.root))
    if snapshot.tree != before:
        # No work: a commit from before was checked out, and a ref still has the files of the beginning.
        is_old = not snapshot.dirty and (
            snapshot.tree in began.tips or (bool(began.head) and checkout.contains(began.head, snapshot.commit))
        )
        if not is_old or not (before is None or before in {*checkout.tips(), *checkout.tags()}):
            return True
    return await _hides_files(began, judge, snapshot)


async def _hides_files(began: Beginning, judge: Judge, snapshot: Snapshot) -> bool:
    """Whether there are new files that git ignores only because the turn added ignore rules."""
    rules = began.ignored.encode("latin-1")
    return rules != judge.checkout.ignore_rules and (await judge.snapshot(rules)).tree != snapshot.tree


def _judge_at(root: str, judge: Judge) -> Judge | None:
    """The judge of another worktree of the same repository; None if the worktree no longer exists."""
    try:
        checkout = open_checkout(Path(root), judge.checkout.environ)
    except BadInput:
        return None
    if checkout.common != judge.checkout.common or str(checkout.root) != root:
        return None
    return Judge(checkout, judge.store, judge.gate, judge.strictness, judge.tell)


async def _tree_at(root: str, judge: Judge) -> str:
    """The tree of another worktree; "" if it cannot be read."""
    other = _judge_at(root, judge)
    try:
        return (await other.snapshot()).tree if other else ""
    except (CannotJudge, StateFailed):
        return ""


async def _new_commits(began: Beginning, judge: Judge) -> list[str]:
    """The turn's new commits: they contain a file whose content did not exist when the turn began.

    Such commits are looked for among the tips of local branches, tags, stashed commits and pushed commits. If there are
    none, the last commit that was left by a checkout is looked at. Left out are branches of worktrees in which other
    sessions worked when the turn began, and tags of commits that a remote has.
    """
    checkout = judge.checkout
    tags = {tree: commit for tree, commit in checkout.tags().items() if tree not in began.known}
    others = {*began.busy} - {str(checkout.root)}
    branches = {ref for root, ref in checkout.worktrees().items() if str(root) in others and ref}
    not_pushed = checkout.not_on_a_remote(tags.values())
    tags = {tree: commit for tree, commit in tags.items() if commit in not_pushed}
    pushed = set[str]() if began.remotes is None else checkout.pushed(began.remotes)
    pushed = {commit for commit in pushed if not any(checkout.contains(branch, commit) for branch in branches)}
    gone = {checkout.tree(commit): commit for commit in pushed}
    if with_new_files := await _with_new_files(gone | tags | checkout.tips(branches), began, judge):
        return with_new_files
    left_commits = () if began.left is None else checkout.left(began.left, others)[-1:]
    return await _with_new_files({checkout.tree(commit): commit for commit in left_commits}, began, judge)


async def _with_new_files(commits: dict[str, str], began: Beginning, judge: Judge) -> list[str]:
    """Those of `commits` (tree → commit) that contain a file whose content did not exist when the turn began."""
    new = {tree: commit for tree, commit in commits.items() if tree and tree not in began.known}
    if not new:
        return []
    git = Git(judge.store.folder / SNAPSHOTS)
    try:
        entries = await _tree_entries(git, began.tree) | (await _tree_entries(git, began.head) if began.head else set())
        return [commit for tree, commit in new.items() if not await _tree_entries(git, tree) <= entries]
    except StateFailed:  # the files of the beginning are no longer known: every new commit counts
        return [*new.values()]


async def _tree_entries(git: Git, tree: str) -> set[str]:
    """Every file of a tree with its mode and the hash of its content, as git lists it."""
    return {*(await git("ls-tree", "-r", "-z", "--full-tree", tree)).decode(errors="surrogateescape").split("\0")}
