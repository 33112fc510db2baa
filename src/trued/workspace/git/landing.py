"""Moves one of the user's branches forward, together with the working trees in which it is checked out, never by
force."""

import asyncio
import contextlib
import os
import shutil
import stat
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from trued.errors import BadInput, Busy
from trued.support.lazy_regex import lazy_regex
from trued.support.plurals import few
from trued.workspace.git.command import TIMED_OUT, end_process, last_line
from trued.workspace.git.store import ENGINE, CommitAuthor, Store
from trued.workspace.sandbox.process_start import start_process

WITHIN_S = 600.0
MOST_NAMED = 5
# The user's filters and line endings apply, so that files look as the user's own git would write them. Hooks do not
# run, because agents could have written them if core.hooksPath is inside the working tree.
QUIET = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.diverging=false",
)
_KEPT = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
_UNDER_WAY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
USAGE = 129  # git's exit code for options that it does not know
_NOT_READ = ("alias.", "branch.", "safe.", "maintenance.")  # settings without a file that git runs or reads
# Settings whose whole value is a path. Other values can be commands, and are split into words (`_BETWEEN_WORDS`).
_HOOKS_PATH = "core.hookspath"
_PATHS = (_HOOKS_PATH, "core.attributesfile")
# The hooks of `git help hooks` that a user's own git runs
_HOOKS = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg"),
    *("commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "reference-transaction"),
    *("pre-auto-gc", "post-rewrite", "sendemail-validate", "fsmonitor-watchman", "post-index-change"),
)
_BETWEEN_WORDS = lazy_regex(r"[\s\"'!=;|&()<>]+")
_HELD = ("rebase-merge/head-name", "rebase-apply/head-name")


class TargetBranch:
    """The branch of the user's repository on which a commit of the store lands."""

    def __init__(self, store: Store, branch: str, environ: Mapping[str, str]) -> None:
        self.store, self.branch, self.ref = store, branch, f"refs/heads/{branch}"
        self._environ = {name: value for name, value in environ.items() if not name.startswith("GIT_") or name in _KEPT}

    async def tip(self) -> str:
        """The commit of the branch; "" if there is no such branch."""
        # `show-ref`, because it takes the name literally: `rev-parse` would read `x~1` as an expression.
        code, out, _ = await self._git("show-ref", "--verify", "--hash", self.ref)
        return out.strip() if code == 0 else ""

    async def branches(self) -> list[str]:
        """The user's branches, the newest first."""
        _, out, _ = await self._git("for-each-ref", "--format=%(refname:short)", "--sort=-committerdate", "refs/heads/")
        return out.split()

    async def person(self, when: float) -> dict[str, str]:
        """Git's environment variables for author and committer: the user, or the engine if the user's git has no
        identity."""
        who = CommitAuthor(ENGINE, when).variables()
        code, out, _ = await self._git("var", "GIT_AUTHOR_IDENT")
        name, _, rest = out.strip().partition(" <")
        mail = rest.rpartition(">")[0]
        if code == 0 and name and mail:
            who |= {
                f"GIT_{role}_{what}": value
                for role in ("AUTHOR", "COMMITTER")
                for what, value in (("NAME", name), ("EMAIL", mail))
            }
        return who

    async def used_by_git(self) -> set[str]:
        """Files and folders of the project that the user's own git runs or reads by itself: hooks, included settings,
        and paths in other settings.

        Aliases are left out, because git runs them only if the user asks for them. Settings that list repositories are
        left out, because a value such as `/app` (of `safe.directory`) could be mistaken for the project's folder `app`.
        """
        roots = [path for path, _ in await self._worktrees()]
        settings = await self._settings(roots)
        paths = [origin.removeprefix("file:") for origin, _ in settings]
        for origin, setting in settings:
            key, _, value = setting.partition("\n")
            if key.startswith("include") and key.endswith(".path"):  # relative to the file that includes it
                paths.append(str(Path(origin.removeprefix("file:")).parent / self._expanded(value)))
            elif not key.startswith(_NOT_READ):
                path_words = [path for path in _BETWEEN_WORDS.split(value) if "/" in path or "." in path]
                paths += [self._expanded(path) for path in (*path_words, *([value] if key in _PATHS else []))]
                # A word can begin with a variable or command: $PWD/tools/x, $(git rev-parse --show-toplevel)/tools/x.
                # What follows its first slash can be a path in the project.
                paths += [
                    word.partition("/")[2] for word in path_words if word.startswith(("/", "$")) and len(word) > 1
                ]
            if key == _HOOKS_PATH:
                # Also list each hook: it can be a link into the project, and the folder can be the project itself.
                paths += [f"{self._expanded(value)}/{hook}" for hook in _HOOKS]
        hooks = Path(await self.store.source()) / "hooks"  # this folder or its files can be links into the project
        paths += map(str, (hooks, *hooks.glob("*")))
        return {inside for path in paths for root in roots for inside in _inside(root, path)}

    async def _settings(self, roots: Sequence[Path]) -> list[tuple[str, str]]:
        """The settings of the user's git, including those of single working trees: pairs of file and setting."""
        settings_by_origin = dict[tuple[str, str], None]()
        for within in (None, *(root for root in roots if root.is_dir())):
            arguments = ("config", "--list", "--includes", "--show-origin", "-z")
            _, out, _ = await self._git(*arguments, within=within)
            origins, settings = (out.split("\0")[first::2] for first in (0, 1))
            settings_by_origin |= dict.fromkeys(zip(origins, settings, strict=False))
        return [*settings_by_origin]

    def _expanded(self, path: str) -> str:
        """The path, with the user's home folder in place of `~`."""
        return f"{self._environ.get('HOME', '~')}{path[1:]}" if path.startswith("~/") else path

    # -- before anything is changed ------------------------------------------------------------------------------------

    async def ready(self, old: str, new: str) -> tuple[Path, ...]:
        """The working trees to move with the branch. Raises BadInput if the branch cannot be moved now."""
        code, real, _ = await self._git("symbolic-ref", "--quiet", "--short", self.ref)
        if code == 0:  # a symbolic ref: git would move its target, but not the working tree of the target branch
            raise BadInput(f"{self.branch} is another name for {real.strip()}", then=f"use --onto {real.strip()}")
        await self._require_no_rebase()
        trees = await self._trees()
        changed = await self.store.changed_files(old, new)
        for tree in trees:
            await self._require_clean(tree, new)
            if occupied := await asyncio.to_thread(_in_the_way, tree, changed, set(await self.store.entries(old))):
                what = f"landing would overwrite uncommitted files in {tree}: {_few_paths(occupied)}"
                raise BadInput(what, then="commit them or move them away, then land again")
        return trees

    async def _require_no_rebase(self) -> None:
        """Raise BadInput if the branch is being rebased."""
        common = Path(await self.store.source())
        for folder in (common, *(common / "worktrees").glob("*")):
            for name in _HELD:
                file = folder / name
                if file.is_file() and file.read_text(errors="replace").strip() == self.ref:
                    raise BadInput(f"{self.branch} is being rebased", then="finish it first: git rebase --continue")

    async def _trees(self) -> tuple[Path, ...]:
        """Working trees that have the branch checked out. Raises BadInput if one of them no longer exists."""
        trees = [path for path, ref in await self._worktrees() if ref == self.ref]
        for tree in trees:
            if not (tree / ".git").exists():
                what = f"{self.branch} is checked out in {tree}, which does not exist"
                raise BadInput(what, then="run `git worktree prune`, then land again")
        return tuple(trees)

    async def _worktrees(self) -> list[tuple[Path, str]]:
        """All working trees of the repository, each with the branch that is checked out there ("" for none)."""
        code, out, stderr = await self._git("worktree", "list", "--porcelain", "-z")
        if code == USAGE:  # git before 2.36 does not know -z
            code, out, stderr = await self._git("worktree", "list", "--porcelain")
            out = out.replace("\n", "\0")
        if code != 0:
            raise BadInput(f"git cannot list the working trees of {self.store.repo}: {last_line(stderr)}")
        entries = [
            dict([*line.split(" ", 1), ""][:2] for line in entry.split("\0") if line) for entry in out.split("\0\0")
        ]
        # Git also lists a bare repository, which has no working tree.
        trees = [entry for entry in entries if "worktree" in entry and "bare" not in entry]
        return [(Path(tree["worktree"]), tree.get("branch", "")) for tree in trees]

    async def _require_clean(self, tree: Path, new: str) -> None:
        """Raise BadInput if the tree has uncommitted changes or an unfinished operation."""
        code, out, stderr = await self._git("rev-parse", "--absolute-git-dir", within=tree)
        if code != 0:
            raise BadInput(f"git cannot read {tree}: {last_line(stderr)}", then="try `git status` there")
        if busy := [name for name in _UNDER_WAY if (Path(out.rstrip("\n")) / name).exists()]:
            what = f"{tree}, where {self.branch} is checked out, has an unfinished operation ({busy[0]})"
            raise BadInput(what, then="finish or abort it, then land again")
        rows = await self._status(tree)
        if rows and not await self._is_at(tree, rows, new):
            changed = _few_paths([row[3:] for row in rows])
            what = f"{tree}, where {self.branch} is checked out, has changes that are not committed: {changed}"
            raise BadInput(what, then="commit them or `git stash` them, then land again")

    async def _status(self, tree: Path) -> list[str]:
        arguments = (
            "status",
            "--porcelain=v1",
            "-z",
            "--no-renames",
            "--untracked-files=no",
            "--ignore-submodules=all",
        )
        code, out, stderr = await self._git(*arguments, within=tree)
        if code != 0:
            raise BadInput(f"git cannot read {tree}: {last_line(stderr)}", then="try `git status` there")
        return [row for row in out.split("\0") if row]

    async def _is_at(self, tree: Path, rows: Sequence[str], new: str) -> bool:
        """Whether files and index of the tree are already those of the commit `new`. That happens if an earlier landing
        was interrupted before it moved the branch."""
        if any(row[1] != " " for row in rows) or (await self._git("cat-file", "-e", f"{new}^{{commit}}"))[0] != 0:
            return False
        return (await self._git("diff-index", "--cached", "--quiet", new, within=tree))[0] == 0

    # -- moving --------------------------------------------------------------------------------------------------------

    async def bring(self, commit: str) -> None:
        """Copy the commit into the user's repository without touching a ref. Raises BadInput if git cannot."""
        name = f"landing/{commit}"
        await self.store.set_ref(name, commit)
        quiet = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules")
        arguments = ("-c", "fetch.writeCommitGraph=false", "-c", "protocol.version=2", "fetch", *quiet, "--refmap=")
        more = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
        code, _, stderr = await self._git(*arguments, str(self.store.folder), self.store.ref(name), more=more)
        if code != 0:
            raise BadInput(f"git cannot copy {commit[:12]} to {self.store.repo}: {last_line(stderr)}")

    async def move(self, old: str, new: str, trees: Collection[Path], why: str) -> None:
        """Move files first and the branch last, while git locks the branch. If another process moved the branch
        meanwhile, its move is not overwritten. If moving fails, restores the files and raises BadInput."""
        done: list[Path] = []
        async with self._locked(old, new, why) as commit:
            try:
                for tree in trees:
                    await self._forward(tree, old, new)
                    done.append(tree)
                await commit()
            except BadInput:
                for tree in done:
                    await self._git("read-tree", "-m", "-u", new, old, within=tree)
                raise

    async def _forward(self, tree: Path, old: str, new: str) -> None:
        if rows := await self._status(tree):
            if await self._is_at(tree, rows, new):
                return
            raise BadInput(
                f"files in {tree} were changed just now: {_few_paths([row[3:] for row in rows])}", then="land again"
            )
        await self._git("update-index", "-q", "--refresh", within=tree)
        code, _, stderr = await self._git("read-tree", "-m", "-u", old, new, within=tree)
        if code != 0:
            raise BadInput(
                f"git cannot update the working tree {tree}: {last_line(stderr)}",
                then="nothing has landed; fix that, then land again",
            )

    @asynccontextmanager
    async def _locked(self, old: str, new: str, why: str) -> AsyncIterator["_RefTransaction"]:
        """A transaction on the branch's ref. It changes nothing unless it is committed."""
        argv = await self._git_command("update-ref", "-m", why, "--stdin")
        process = await start_process(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._variables(),
        )
        commit = _RefTransaction(process, self.branch)
        begins = not await self.store.entries(old) and not await self.tip()  # the branch has no commit yet
        stands = "0" * len(old) if begins else old
        try:
            await commit.send(f"start\nupdate {self.ref} {new} {stands}\nprepare\n", "prepare: ok")
            yield commit
        finally:
            await commit.end()

    # -- git -----------------------------------------------------------------------------------------------------------

    def _variables(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        fixed = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_REPLACE_OBJECTS": "1", "GIT_OPTIONAL_LOCKS": "0"}
        return {**self._environ, **fixed, **(more or {})}

    async def _git_command(self, *arguments: str, within: Path | None = None) -> list[str]:
        location = ["-C", str(within)] if within else [f"--git-dir={await self.store.source()}"]
        settings = [word for setting in QUIET for word in ("-c", setting)]
        return [shutil.which("git", path=self._environ.get("PATH")) or "git", *location, *settings, *arguments]

    async def _git(
        self, *arguments: str, within: Path | None = None, more: Mapping[str, str] | None = None
    ) -> tuple[int, str, str]:
        """Run the user's own git; return exit code, output and stderr."""
        process = await start_process(
            *await self._git_command(*arguments, within=within),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._variables(more),
        )
        try:
            out, stderr = await asyncio.wait_for(process.communicate(), WITHIN_S)
        except TimeoutError:
            return TIMED_OUT, "", f"git did not end within {WITHIN_S:g} s"
        finally:
            await end_process(process)
        return process.returncode or 0, out.decode(errors="surrogateescape"), stderr.decode(errors="replace")


class _RefTransaction:
    """A transaction in a running `git update-ref --stdin`. Calling this object commits the transaction."""

    def __init__(self, process: Process, branch: str) -> None:
        self._process, self._branch = process, branch

    async def __call__(self) -> None:
        await self.send("commit\n", "commit: ok")

    async def send(self, commands: str, answer: str) -> None:
        """Send commands and wait for the answer. Raises BadInput if git refuses."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise Busy("git was started without its pipes")
        answered = b""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            stdin.write(commands.encode())
            await stdin.drain()
        while line := await asyncio.wait_for(stdout.readline(), WITHIN_S):
            answered = line
            if line.decode().strip() == answer:
                return
        stderr = await self._process.stderr.read() if self._process.stderr else answered
        raise BadInput(*_refusal(self._branch, stderr.decode(errors="replace")))

    async def end(self) -> None:
        if self._process.stdin:
            self._process.stdin.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), WITHIN_S)
        await end_process(self._process)


def _refusal(branch: str, stderr: str) -> tuple[str, str, str]:
    if "expected" in stderr and "is at" in stderr:
        return f"somebody moved {branch} just now; it is not overwritten", "", "land again"
    if "File exists" in stderr:
        return (
            f"git could not move {branch}: it is locked",
            "",
            "wait until no other git runs there, then land again",
        )
    return f"git could not move {branch}: {last_line(stderr)}", "", "nothing was changed"


def _inside(root: Path, path: str) -> Iterator[str]:
    """Yield the path relative to the working tree `root`: once as written, and once with links followed. A path outside
    `root`, or in its `.git`, is left out."""
    whole = root / path
    for top, absolute in ((root, os.path.normpath(whole)), (os.path.realpath(root), os.path.realpath(whole))):
        inside = os.path.relpath(absolute, top)
        if inside.split("/")[0] not in (".", "..", ".git"):
            yield inside


def _in_the_way(tree: Path, changed: Collection[str], before: Collection[str]) -> list[str]:
    """Paths at which landing would create a file, but something untracked is in the way. This includes ignored files,
    which git would overwrite."""
    folders = {path.rpartition("/")[0] for path in before}
    return [path for path in changed if path not in before and _is_occupied(tree, path, before, folders)]


def _is_occupied(tree: Path, path: str, before: Collection[str], folders: Collection[str]) -> bool:
    parts = path.split("/")
    for depth in range(1, len(parts) + 1):
        ancestor = "/".join(parts[:depth])
        try:
            mode = os.lstat(tree / ancestor).st_mode
        except OSError:
            return False
        if ancestor in before:  # a tracked file is not in the way: the landing removes it
            return False
        if not stat.S_ISDIR(mode):
            return True
    return not any(folder == path or folder.startswith(f"{path}/") for folder in folders)


def _few_paths(paths: Sequence[str]) -> str:
    return few([path.encode(errors="surrogateescape").decode(errors="backslashreplace") for path in paths], MOST_NAMED)
