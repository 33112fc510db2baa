"""The user's working tree, for the gate: read with git, running nothing of the repository."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from trued.errors import BadInput
from trued.workspace.git.repository import open_repository
from trued.workspace.git.snapshot import Snapshot, Worktree, take_snapshot

ASK_S = 60.0
_KEPT = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")  # the user's; all others are a hook's


@dataclass(frozen=True, slots=True)
class Checkout:
    """A working tree, and questions to git about it."""

    worktree: Worktree
    hooks: Path
    environ: Mapping[str, str]

    @property
    def root(self) -> Path:
        return self.worktree.root

    @property
    def common(self) -> Path:
        return self.worktree.common

    def commit(self, name: str) -> str:
        """The commit of a revision or tag; "" if there is none."""
        return self._said("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")

    def tree(self, commit: str) -> str:
        return self._said("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{tree}}")

    def kind(self, name: str) -> str:
        return self._said("cat-file", "-t", name)

    def read(self, commit: str, path: str) -> bytes | None:
        code, out = ask_git(self.root, self.environ, "cat-file", "blob", f"{commit}:{path}")
        return out if code == 0 else None

    def paths(self, commit: str) -> list[str]:
        """All files of a commit."""
        code, out = ask_git(self.root, self.environ, "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
        return [name.decode(errors="replace") for name in out.split(b"\0") if name] if code == 0 else []

    def is_ignored(self, path: Path) -> bool:
        """Whether git ignores this file of the working tree."""
        return ask_git(self.root, self.environ, "check-ignore", "--quiet", "--", str(path))[0] == 0

    def contains(self, commit: str, ancestor: str) -> bool:
        return ask_git(self.root, self.environ, "merge-base", "--is-ancestor", ancestor, commit)[0] == 0

    def common_base(self, one: str, other: str) -> str:
        return self._said("merge-base", one, other)

    def start(self) -> str:
        """Where the work on this branch began: its merge base with the upstream, else HEAD."""
        for upstream in ("@{upstream}", "refs/remotes/origin/HEAD"):
            if self.commit(upstream) and (found := self.common_base("HEAD", upstream)):
                return found
        return self.worktree.head

    async def snapshot(self, private: Path, own: Mapping[str, bytes]) -> Snapshot:
        """A snapshot of what would be committed now, without the engine's own files."""
        return await take_snapshot(replace(self.worktree, own=own), private)

    def _said(self, *words: str) -> str:
        code, out = ask_git(self.root, self.environ, *words)
        return out.decode(errors="replace").strip() if code == 0 else ""


def open_checkout(folder: Path, environ: Mapping[str, str]) -> Checkout:
    """The working tree that contains the folder. Raises BadInput if there is none."""
    found = open_repository(folder, status=False)
    paths = ("--path-format=absolute", "--absolute-git-dir", "--git-path", "hooks")
    code, out = ask_git(found.root, environ, "rev-parse", *paths)
    lines = out.decode(errors="surrogateescape").split("\n")
    if code != 0 or len(lines) != 3:
        raise BadInput(f"git cannot tell where the hooks of {found.root} are", then="look at core.hooksPath")
    worktree = Worktree(found.root, Path(lines[0]), found.common, found.head, _excludes(found.root, environ))
    return Checkout(worktree, Path(lines[1]), environ)


def _excludes(root: Path, environ: Mapping[str, str]) -> Path | None:
    code, out = ask_git(root, environ, "config", "--type=path", "--get", "core.excludesFile")
    if code == 0:
        return Path(out.decode(errors="surrogateescape").rstrip("\n"))
    config = environ.get("XDG_CONFIG_HOME") or (f"{environ['HOME']}/.config" if environ.get("HOME") else "")
    return Path(config) / "git" / "ignore" if config else None


def ask_git(root: Path, environ: Mapping[str, str], *words: str) -> tuple[int, bytes]:
    """Run git with the user's environment, except GIT_* variables that a calling git hook may have set."""
    variables = {name: value for name, value in environ.items() if not name.startswith("GIT_") or name in _KEPT}
    command = ["git", "-C", str(root), "-c", "core.fsmonitor=false", *words]
    try:
        done = subprocess.run(command, env=variables, stdin=subprocess.DEVNULL, capture_output=True, timeout=ASK_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadInput(f"git does not answer in {root}: {error}", then="try `git status` there") from None
    return done.returncode, done.stdout
