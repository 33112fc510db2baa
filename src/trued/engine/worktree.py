"""The user's working tree, for the gate: read with git, without running anything of the repository."""

import hashlib
import itertools
import os
import subprocess
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from trued.errors import BadInput, TruedError
from trued.workspace.git.command import NO_FILE
from trued.workspace.git.commit_lookup import AmbiguousRevision, branch_point_order, refs_called
from trued.workspace.git.repository import open_repository
from trued.workspace.git.snapshot import Snapshot, Worktree, commit_merge, ignore_rules, take_snapshot

ASK_S = 60.0
MOST_INSIDE = 50  # at most this many nested repositories are read, because each takes several calls of git
# GIT_ variables that are passed on, because the user sets them; the others might come from a hook
_KEPT = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
# Makes git ignore replacements and grafts, with which anyone who can write to `.git` could give a commit another tree
# or other parents.
_BY_BYTES = {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": NO_FILE}


MOST_MOVES = 1000  # at most this many entries of a reflog are read, the newest
PUSHED = "update by push"  # what git writes into the reflog of a remote-tracking branch


@dataclass(frozen=True, slots=True)
class Move:
    """One entry of a reflog."""

    commit: str
    why: str


@dataclass(frozen=True, slots=True)
class Checkout:
    """A working tree, with queries to git about it."""

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
        return self._git_output("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")

    def named_commit(self, name: str) -> str:
        """Like `commit`, for a name that a person wrote. Raises BadInput if the name could mean different commits."""
        words = ("for-each-ref", "--format=%(refname) %(objectname) %(*objectname)", *refs_called(name))
        rows = [line.split(" ") for line in self._git_output(*words).splitlines()] if len(words) > 2 else []
        found = {row[0]: row[-1] or row[1] for row in rows if row[0] in words}
        if len(set(found.values())) > 1:
            raise AmbiguousRevision(name, str(self.root), found)
        return self.commit(name)

    def tree(self, commit: str) -> str:
        return self._git_output("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{tree}}")

    @property
    def is_shallow(self) -> bool:
        """Whether the repository has only the newest part of its history."""
        return (self.common / "shallow").is_file()

    def kind(self, name: str) -> str:
        return self._git_output("cat-file", "-t", name)

    def read(self, commit: str, path: str) -> bytes | None:
        code, out = _ask_git(self.root, self.environ, "cat-file", "blob", f"{commit}:{path}")
        return out if code == 0 else None

    def paths(self, commit: str) -> list[str]:
        """All files of a commit."""
        code, out = _ask_git(self.root, self.environ, "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
        return [name.decode(errors="replace") for name in out.split(b"\0") if name] if code == 0 else []

    def is_pushed_by(self, hook: Mapping[str, str]) -> bool:
        """Whether the git that started a hook works on this repository. `hook`: the hook's environment. With
        `--work-tree`, git may start a hook in a folder of another repository."""
        if not (given := hook.get("GIT_DIR", "")):
            return True
        words = (f"--git-dir={Path(given).absolute()}", "rev-parse", "--path-format=absolute", "--git-common-dir")
        code, out = _ask_git(self.root, self.environ, *words)
        return code == 0 and os.path.realpath(out.rstrip(b"\n")) == os.path.realpath(os.fsencode(self.common))

    def is_ignored(self, path: Path) -> bool:
        """Whether git ignores this file of the working tree."""
        return _ask_git(self.root, self.environ, "check-ignore", "--quiet", "--", str(path))[0] == 0

    def contains(self, commit: str, ancestor: str) -> bool:
        return _ask_git(self.root, self.environ, "merge-base", "--is-ancestor", ancestor, commit)[0] == 0

    def common_base(self, first: str, other: str) -> str:
        return self._git_output("merge-base", first, other)

    def start(self) -> str:
        """The commit at which the work on this branch began: the merge base of HEAD with the branch's upstream or with
        a main branch. These branches are tried in the order that `verify` uses. HEAD if there is no merge base."""
        branch, above = (self._full_name(name) for name in ("HEAD", "@{upstream}"))
        for name in branch_point_order(branch, above, "@{upstream}"):
            if self.commit(name) and (found := self.common_base("HEAD", name)):
                return found
        return self.worktree.head

    def _full_name(self, revision: str) -> str:
        named = self._git_output("rev-parse", "--symbolic-full-name", "--end-of-options", revision)
        return "".join(named.splitlines()[-1:])

    async def snapshot(self, private: Path, own: Mapping[str, bytes], ignored: bytes | None = None) -> Snapshot:
        """A snapshot of what would be committed now. `own`: the engine's own files (path → content); a file is left out
        as long as it has this content. `ignored`: ignore rules to use instead of the current ones."""
        return await take_snapshot(replace(self.worktree, engine_files=own, ignored=ignored), private)

    async def merged(self, private: Path, ours: str, theirs: str) -> str:
        """A commit in the repository `private` that merges `ours` and `theirs`. Raises BadInput if they conflict."""
        return await commit_merge(self.worktree, private, ours, theirs)

    @property
    def ignore_rules(self) -> bytes:
        """The user's ignore rules outside `.gitignore`: those for all repositories, then those for this one."""
        return ignore_rules(self.worktree)

    def tips(self, without: Collection[str] = ()) -> dict[str, str]:
        """Tree → a commit with this tree, for the tips of local branches and for the stash. `without`: refs to leave
        out."""
        words = ("for-each-ref", "--format=%(tree) %(objectname) %(refname)", "refs/heads", "refs/stash")
        rows = [line.split(" ", 2) for line in self._git_output(*words).splitlines()]
        found = {row[0]: row[1] for row in rows if len(row) == 3 and row[0] and row[2] not in without}
        stashed = self.commit("refs/stash^3")  # the stash's commit with the untracked files
        return found | ({self.tree(stashed): stashed} if stashed else {})

    def tags(self) -> dict[str, str]:
        """Tree → a commit with this tree, for the tags of commits."""
        words = ("for-each-ref", "--format=%(tree):%(objectname):%(*tree):%(*objectname)", "refs/tags")
        rows = [line.split(":") for line in self._git_output(*words).splitlines()]
        return {row[2] or row[0]: row[3] or row[1] for row in rows if len(row) == 4 and (row[2] or row[0])}

    def remote_branches(self) -> dict[str, str]:
        """Remote-tracking branch → commit."""
        words = ("for-each-ref", "--format=%(objectname) %(refname)", "refs/remotes")
        rows = [line.split(" ", 1) for line in self._git_output(*words).splitlines()]
        return {row[1]: row[0] for row in rows if len(row) == 2}

    def pushed(self, before: Collection[str]) -> set[str]:
        """The newest commits of remote-tracking branches, if they were pushed from this repository and not fetched,
        except those in `before`."""
        fetched = _words(self.common / "FETCH_HEAD")
        found = set[str]()
        for ref, commit in self.remote_branches().items():
            if commit not in before:
                *_, last = (Move("", ""), *_moves(self.common / "logs" / ref))
                if last.why == PUSHED if last.commit == commit else commit not in fetched:
                    found.add(commit)
        return found

    def left(self, before: Collection[str], busy: Collection[str] = ()) -> tuple[str, ...]:
        """The commits that were made in a worktree and then left by a checkout, except those in `before`, oldest first.
        `busy`: worktrees to leave out."""
        made = [made_commit for moves in self._moves_of_heads(busy) for made_commit in _left(moves)]
        return tuple(made_commit for made_commit in dict.fromkeys(made) if made_commit not in before)

    def _moves_of_heads(self, busy: Collection[str]) -> list[list[Move]]:
        """The newest reflog entries of HEAD in each worktree that is not `busy`."""
        logs = [(str(self.common.parent), self.common / "logs" / "HEAD")]  # a list: two logs may belong to one root
        for folder in self.common.glob("worktrees/*"):
            place = next(iter(_words(folder / "gitdir", lines=True)), "")
            root = os.path.realpath(Path(place).parent) if place else ""
            logs.append((root, folder / "logs" / "HEAD"))
        return [_moves(log) for root, log in logs if root not in busy]

    def not_on_a_remote(self, commits: Collection[str]) -> set[str]:
        """Those of `commits` that no remote-tracking branch contains."""
        if not commits:
            return set()
        code, out = _ask_git(self.root, self.environ, "rev-list", *commits, "--not", "--remotes")
        return {*commits} if code != 0 else {*commits} & {*out.decode("ascii", "replace").split()}

    def worktrees(self) -> dict[Path, str]:
        """All working trees of the repository that exist → the branch that is checked out there, or ""."""
        code, out = _ask_git(self.root, self.environ, "worktree", "list", "--porcelain", "-z")
        if code != 0:  # git before 2.36 does not know -z
            out = _ask_git(self.root, self.environ, "worktree", "list", "--porcelain")[1].replace(b"\n", b"\0")
        entries = [dict([*line.split(" ", 1), ""][:2] for line in entry.split("\0") if line) for entry in _entries(out)]
        trees = {
            Path(os.path.realpath(entry["worktree"])): entry.get("branch", "")
            for entry in entries
            if "bare" not in entry
        }
        return {root: branch for root, branch in trees.items() if os.path.lexists(root / ".git")}

    async def changed_inside(self, taken: Snapshot, private: Path) -> dict[str, str]:
        """Path → tree hash of each repository or submodule inside this one that has changed: its files are not those of
        the commit that this repository records for it. The hash is "" if the inner repository cannot be read, or is not
        among the first MOST_INSIDE. `private`: a folder for the engine's own git data."""
        there = [path for path in taken.inner if os.path.lexists(self.root / path / ".git")]
        trees = {path: await self._tree_inside(path, taken.inner[path], private) for path in there[:MOST_INSIDE]}
        return {path: tree for path, tree in trees.items() if tree is not None} | dict.fromkeys(there[MOST_INSIDE:], "")

    async def _tree_inside(self, path: str, named: str, private: Path) -> str | None:
        """The tree of the repository at `path`; "" if it cannot be read. None if its files are those of the commit
        `named`, or if `path` is another worktree of this repository."""
        place = private / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}.git"
        try:
            inside = open_checkout(self.root / path, self.environ)
            if not inside.root.samefile(self.root / path):  # its configuration points to another working tree
                return ""
            if inside.common == self.common:
                return None
            taken = await inside.snapshot(place, {})
        except (TruedError, OSError):  # for example, it has no commit yet
            return ""
        return None if taken.commit == named else taken.tree

    def _git_output(self, *words: str) -> str:
        code, out = _ask_git(self.root, self.environ, *words)
        return out.decode(errors="replace").strip() if code == 0 else ""


def _words(file: Path, *, lines: bool = False) -> list[str]:
    """The words in one of git's own files, or its lines if `lines` is true. Empty if there is no such file."""
    try:
        text = file.read_bytes().decode(errors="surrogateescape")
    except OSError:
        return []
    return text.splitlines() if lines else text.split()


def _moves(log: Path) -> list[Move]:
    """The newest entries of a reflog, oldest first."""
    rows = [line.partition("\t") for line in _words(log, lines=True)[-MOST_MOVES:]]
    return [Move(head.split(" ")[1], why) for head, _, why in rows if head.count(" ") > 1]


def _left(moves: list[Move]) -> Iterator[str]:
    """The commits that were made here, and that HEAD then left by a checkout.

    A commit was not made here if HEAD reached it by a checkout, reset, clone or fast-forward. A commit that was amended
    or undone was not left by a checkout.
    """
    for move, after in itertools.pairwise(moves):
        is_made = not move.why.startswith(("checkout:", "reset:", "clone:")) and not move.why.endswith("Fast-forward")
        if is_made and after.why.startswith("checkout:") and move.commit != after.commit:
            yield move.commit


def _entries(listed: bytes) -> list[str]:
    """The entries of `git worktree list --porcelain -z`."""
    return [entry for entry in listed.decode(errors="surrogateescape").split("\0\0") if entry.startswith("worktree ")]


def open_checkout(folder: Path, environ: Mapping[str, str]) -> Checkout:
    """The working tree that contains the folder. A branch without a commit is accepted: otherwise an agent could hide
    the working tree from the gate by checking out an empty branch. Raises BadInput if the folder is in no working
    tree."""
    found = open_repository(folder, status=False, empty=True)
    paths = ("--path-format=absolute", "--absolute-git-dir", "--git-path", "hooks")
    code, out = _ask_git(found.root, environ, "rev-parse", *paths)
    lines = out.decode(errors="surrogateescape").split("\n")
    if code != 0 or len(lines) != 3:
        raise BadInput(f"git cannot tell where the hooks of {found.root} are", then="look at core.hooksPath")
    worktree = Worktree(found.root, Path(lines[0]), found.common, found.head, _excludes(found.root, environ))
    return Checkout(worktree, Path(lines[1]), environ)


def _excludes(root: Path, environ: Mapping[str, str]) -> Path | None:
    code, out = _ask_git(root, environ, "config", "--type=path", "--get", "core.excludesFile")
    if code == 0:
        return Path(out.decode(errors="surrogateescape").rstrip("\n"))
    config = environ.get("XDG_CONFIG_HOME") or (f"{environ['HOME']}/.config" if environ.get("HOME") else "")
    return Path(config) / "git" / "ignore" if config else None


def _ask_git(root: Path, environ: Mapping[str, str], *words: str) -> tuple[int, bytes]:
    """Run git with the user's environment, except GIT_* variables that a calling git hook may have set. Returns the
    exit code and the output. Raises BadInput if git cannot be started, or does not end within ASK_S."""
    variables = {name: value for name, value in environ.items() if not name.startswith("GIT_") or name in _KEPT}
    command = ["git", "-C", str(root), "-c", "core.fsmonitor=false", "-c", "core.commitGraph=false", *words]
    try:
        done = subprocess.run(
            command, env=variables | _BY_BYTES, stdin=subprocess.DEVNULL, capture_output=True, timeout=ASK_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadInput(f"git does not answer in {root}: {error}", then="try `git status` there") from None
    return done.returncode, done.stdout
