"""Finds how the work changed between two commits of a store, for views of a run."""

import subprocess
from functools import lru_cache
from pathlib import Path

from trued.workspace.git.command import git_command, git_environment
from trued.workspace.git.store import Store

WITHIN_S = 60.0


def changes_since(repo: Path, home: Path, run: str, before: str, after: str) -> tuple[int, tuple[str, ...]] | None:
    """The number of commits from `before` to `after`, and the files that differ between these commits. None if the
    store lacks one of them, or if git fails."""
    try:
        return _changes_between(Store(repo, home, run).folder, before, after)
    except LookupError:
        return None


@lru_cache(maxsize=256)
def _changes_between(store: Path, before: str, after: str) -> tuple[int, tuple[str, ...]]:
    """Like `changes_since`, cached, because commits never change. Raises LookupError, which is not cached, for a commit
    that the store does not have yet."""
    names = _git(store, "diff-tree", "-r", "-z", "--name-only", "--no-renames", before, after)
    number = _git(store, "rev-list", "--count", f"{before}..{after}")
    if names is None or number is None:
        raise LookupError(f"{before}..{after}")
    files = tuple(name.decode(errors="replace") for name in names.split(b"\0") if name)
    return int(number), files


def _git(store: Path, *arguments: str) -> bytes | None:
    try:
        done = subprocess.run(
            git_command([f"--git-dir={store}", *arguments]),
            env=git_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=WITHIN_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
