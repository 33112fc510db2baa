"""Moves the run's branches in the user's repository, forward only, and touches nothing else there."""

import hashlib
from pathlib import Path

from trued.workspace.git.command import SENT, Git, last_line
from trued.workspace.git.store import Store, is_older

STALE_S = 60.0  # moving a branch takes less than a minute, so an older lock belongs to a dead process


async def publish(store: Store, branch: str, head: str, *, began: tuple[str, ...], side: bool = False) -> str:
    """Fast-forward `branch` to `head`, or create it. Returns "", or the reason why that failed.

    `began`: the commits of the user from which the run can have started the branch. The branch is only moved if it is
    at one of these commits, or at a commit of this run. `side`: whether `branch` is not the run's main branch.
    """
    ref, under = f"refs/heads/{branch}", f"side/{hashlib.sha256(branch.encode()).hexdigest()[:12]}/" if side else ""
    mine, newest = f"{under}published", f"{under}head"
    user = Git(Path(await store.source()), store.git.lock)
    store.remove_broken_refs(mine, newest)
    _, listed, _ = await user.attempt("rev-parse", "--verify", "--quiet", ref)
    now = listed.decode().strip()
    if now == head:
        return ""
    # The ref `head` is set before the branch moves, the ref `published` after it. So an earlier call left the branch at
    # one of these two commits.
    ours = await store.refs(mine, newest)
    if now and len(ours) < 2:  # a power cut can lose one of them: the branch could be at any commit of this run
        ours |= await store.refs("record/", "taken/")
    if now and now not in (*ours.values(), *began):
        return f"somebody else moved {branch} to {now[:12]}; the work of this run is {head[:12]}"
    await store.git("update-ref", store.ref(newest), head)
    lock = user.folder / f"{ref}.lock"
    if is_older(lock, STALE_S):  # left by a dead process; `begin` has waited for the engine's own git processes
        lock.unlink(missing_ok=True)
    quiet = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules")
    settings = (*SENT, "protocol.version=2", "fetch.writeCommitGraph=false", "core.logAllRefUpdates=true")
    code, _, stderr = await user.attempt(
        *("fetch", *quiet, "--no-prune", "--refmap=", str(store.folder), f"{store.ref(newest)}:{ref}"),
        settings=settings,
        variables={"GIT_CONFIG_GLOBAL": str(store.folder / "trusting")},
    )
    if code != 0:
        return _why_not(branch, stderr, lock)
    await store.git("update-ref", store.ref(mine), head)
    return ""


def _why_not(branch: str, stderr: str, lock: Path) -> str:
    if lock.exists() or f"{lock.name}': File exists" in stderr:
        return f"git could not move {branch}: it is locked; if no git is running there, delete {lock}"
    if "checked out" in stderr or "current branch" in stderr:
        return f"{branch} is checked out in a working tree; switch that working tree to another branch"
    if not stderr.strip() or "rejected" in stderr or "non-fast-forward" in stderr:  # --quiet can hide why
        return f"somebody else moved {branch}; it is not overwritten"
    return f"git could not move {branch}: {last_line(stderr)}"
