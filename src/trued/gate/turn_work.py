"""Finds the files that a turn changed, including those in its commits and in other worktrees. A turn that changed none
is not blocked."""

import time
from pathlib import Path

from trued.engine.worktree import open_checkout
from trued.errors import BadInput, StateFailed
from trued.gate.judge import SNAPSHOTS, Judge
from trued.gate.turns import Beginning
from trued.workspace.git.command import Git
from trued.workspace.git.snapshot import Snapshot

INSIDE = "inside"  # folder of private repositories, one for each repository inside the working tree


async def beginning_now(judge: Judge) -> Beginning:
    """The working tree as it is now, and the work that this tree does not contain: on branches, and in repositories
    nested in the working tree."""
    checkout, taken = judge.checkout, await judge.snapshot()
    return Beginning(
        root=str(checkout.root),
        tree=taken.tree,
        at=time.time(),
        head=checkout.worktree.head,
        tips=tuple(sorted(checkout.tips())),
        inside=await checkout.changed_inside(taken, judge.store.folder / INSIDE),
        ignored=checkout.ignore_rules.decode("latin-1"),
    )


async def work_since(began: Beginning, judge: Judge, taken: Snapshot) -> list[Snapshot | str]:
    """What to judge: working trees that changed, and commits with new files unless one of those trees is new; empty if
    the turn changed no file."""
    trees = [taken] if await _has_changed(began, judge, taken) else []
    if began.root != str(judge.checkout.root):  # the agent went to another worktree, and may have worked in both
        trees += await _left_behind(began, judge)
    # A tree that existed at the beginning was only checked out: the work may be in a commit.
    if any(one.tree not in (began.tree, *began.tips) for one in trees):
        return [*trees]
    return [*trees, *await _new_commits(began, judge)]


async def _has_changed(began: Beginning, judge: Judge, taken: Snapshot) -> bool:
    """Whether the files of the worktree differ from those at the beginning. The ignore rules of the beginning apply, so
    that a new file counts even if the turn made git ignore it."""
    checkout = judge.checkout
    if not began.is_still(checkout.root, taken.tree):
        return True
    if await checkout.changed_inside(taken, judge.store.folder / INSIDE) != began.inside:
        return True
    rules = began.ignored.encode("latin-1")
    if rules == checkout.ignore_rules:
        return False
    return (await judge.snapshot(rules)).tree != began.tree


async def _left_behind(began: Beginning, judge: Judge) -> list[Snapshot]:
    """The worktree in which the turn began, if the agent has left it with changed files; else empty."""
    try:
        there = open_checkout(Path(began.root), judge.checkout.environ)
    except BadInput:  # the worktree is gone
        return []
    if there.common != judge.checkout.common:
        return []
    other = Judge(there, judge.store, judge.gate, judge.strictness, judge.tell)
    taken = await other.snapshot()
    return [taken] if await _has_changed(began, other, taken) else []


async def _new_commits(began: Beginning, judge: Judge) -> list[str]:
    """Tips of local branches, and stashed commits, with a file whose content did not exist at the beginning. Committing
    existing files is not new work."""
    known = {began.tree, *began.tips}
    new = {tree: commit for tree, commit in judge.checkout.tips().items() if tree not in known}
    if not new:
        return []
    git = Git(judge.store.folder / SNAPSHOTS)
    try:
        there = await _tree_entries(git, began.tree) | (await _tree_entries(git, began.head) if began.head else set())
        return [commit for tree, commit in new.items() if not await _tree_entries(git, tree) <= there]
    except StateFailed:  # the files of the beginning are no longer known: every new commit counts
        return [*new.values()]


async def _tree_entries(git: Git, tree: str) -> set[str]:
    """Every file of a tree with its mode and the hash of its content, as git lists it."""
    return {*(await git("ls-tree", "-r", "-z", "--full-tree", tree)).decode(errors="surrogateescape").split("\0")}
