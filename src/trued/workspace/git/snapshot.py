"""Commits the user's working tree to a private repository. The user's index, refs and files stay as they are."""

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trued.errors import BadInput, CannotJudge, StateFailed
from trued.support import atomic_files
from trued.support.plurals import few
from trued.workspace.git.command import TIMED_OUT, Git, last_line, printable_path
from trued.workspace.git.removal import remove_tree_now
from trued.workspace.git.store import ATTRIBUTES, CommitAuthor
from trued.workspace.git.tree_of_folder import is_content

NAMED = 5
EXCLUDES_BYTES = 1 << 20
CONFLICT = 1  # git's exit code for a conflict


@dataclass(frozen=True, slots=True)
class Worktree:
    """A working tree and the repository that it belongs to."""

    root: Path
    git: Path  # the worktree's own .git folder
    common: Path  # the .git folder that all worktrees share
    head: str  # "" if the branch has no commit yet
    excludes: Path | None = None  # the user's global ignore file
    ignored: bytes | None = None  # ignore rules outside the tree; None: the current ones (`ignore_rules`)
    # path → content that the engine wrote there; a file that still has this content is left out of the snapshot
    engine_files: Mapping[str, bytes] = field(default_factory=dict)
    hang_timeout_s: float = 120.0  # a git that takes longer is taken to hang, on a pipe or a network folder


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The commit that `git add --all && git commit` would make now."""

    repository: Path
    commit: str
    tree: str
    dirty: bool  # the working tree differs from HEAD
    notes: tuple[str, ...] = ()
    inner: Mapping[str, str] = field(default_factory=dict)  # repositories in the tree → their commit in HEAD, or ""


async def take_snapshot(worktree: Worktree, private: Path) -> Snapshot:
    """Commit all changes of the working tree and all new files that are not ignored. If there are none, returns HEAD.

    `private` is a bare repository of the engine that also reads the user's objects. Hooks, filters, fsmonitor and the
    repository's configuration are not used, so files are stored byte for byte. Submodules stay at the commit in HEAD;
    links are not followed. Raises CannotJudge if git cannot read the working tree.
    """
    git = await _repository(worktree, private)
    index = private / f"index.{secrets.token_hex(6)}"
    variables = {"GIT_INDEX_FILE": str(index)}
    try:
        await git("read-tree", worktree.head or "--empty", variables=variables)
        present, gone, inner = await _list_paths(git, worktree, variables)
        await _update(git, worktree, "--force-remove", paths=gone, variables=variables)
        await _update(git, worktree, "--add", "--replace", paths=present, variables=variables)
        tree = await git.line("write-tree", variables=variables)
    finally:
        index.unlink(missing_ok=True)
        index.with_name(f"{index.name}.lock").unlink(missing_ok=True)
    notes = _notes([path for path, named in inner.items() if not named])
    if worktree.head and tree == await git.line("rev-parse", f"{worktree.head}^{{tree}}"):
        return Snapshot(private, worktree.head, tree, dirty=False, notes=notes, inner=inner)
    # The date is fixed, so that the same files on the same HEAD give the same commit.
    arguments = ("commit-tree", tree, *(("-p", worktree.head) if worktree.head else ()))
    commit = await git.line(
        *arguments, stdin=b"uncommitted work\n", variables=CommitAuthor("trued gate", 0).variables()
    )
    return Snapshot(private, commit, tree, dirty=True, notes=notes, inner=inner)


async def commit_merge(worktree: Worktree, private: Path, ours: str, theirs: str) -> str:
    """Merge two commits as a forge would, in the private repository. Returns the new commit. No code of the user's
    repository is run. Raises BadInput if the two conflict, CannotJudge if git fails."""
    git = await _repository(worktree, private)
    cut = worktree.common / "shallow"  # the file in which git lists where a shallow clone's history ends
    known = {"GIT_SHALLOW_FILE": str(cut)} if cut.is_file() else {}
    arguments = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs)
    code, out, stderr = await git.attempt(*arguments, variables=known)
    tree, *conflicts = out.decode(errors="backslashreplace").split("\0")
    if code == CONFLICT:
        named = few([name for name in conflicts if name], NAMED)
        raise BadInput(f"{theirs[:12]} conflicts with {ours[:12]} in {named}", then="rebase it, or merge by hand")
    if code != 0:
        raise CannotJudge(f"git cannot merge {theirs[:12]} into {ours[:12]}: {last_line(stderr)}")
    merged = ("commit-tree", tree, "-p", ours, "-p", theirs)
    return await git.line(*merged, stdin=b"merged\n", variables=CommitAuthor("trued gate", 0).variables())


async def _repository(worktree: Worktree, private: Path) -> Git:
    """Return the private repository, created if it does not exist. Two processes that create it at the same time share
    it."""
    try:
        if not (private / "HEAD").is_file():
            await _make(worktree, private)
        (private / "objects" / "info").mkdir(exist_ok=True)
        _write_if_changed(private / "objects" / "info" / "alternates", _alternates_line(worktree.common / "objects"))
        _write_if_changed(private / "info" / "exclude", ignore_rules(worktree))
    except OSError as error:
        raise StateFailed(f"cannot write {error.filename or private}: {error.strerror}") from error
    return Git(private)


async def _make(worktree: Worktree, private: Path) -> None:
    """Create the repository under another name, and then rename it. If another process has created it meanwhile, that
    repository stays."""
    private.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    aside = private.with_name(f".{private.name}.{secrets.token_hex(4)}")
    try:
        hashes = await Git(worktree.common).line("rev-parse", "--show-object-format")
        await Git(aside)("init", "--quiet", "--bare", f"--object-format={hashes}", str(aside))
        (aside / "info").mkdir(exist_ok=True)
        (aside / "info" / "attributes").write_text(ATTRIBUTES)
        if private.exists() and not (private / "HEAD").is_file():
            remove_tree_now(private)  # a power cut left it without HEAD
        try:
            aside.rename(private)
        except OSError:
            if not (private / "HEAD").is_file():
                raise
    finally:
        remove_tree_now(aside)


def _write_if_changed(path: Path, content: bytes) -> None:
    """Write atomically, and only if needed, because the git of another process might be reading the file."""
    if not path.is_file() or path.read_bytes() != content:
        atomic_files.write(path, content, sync=False)


def _alternates_line(path: Path) -> bytes:
    """The path as a line for `alternates`. A path that begins with a quotation mark gets `./`
    before it, because git would take it as a quoted path."""
    name = os.fsencode(path)
    return (b"./" + name if name.startswith(b'"') else name) + b"\n"


def ignore_rules(worktree: Worktree) -> bytes:
    """The user's ignore rules besides `.gitignore`: those for all repositories, then those for this one."""
    if worktree.ignored is not None:
        return worktree.ignored
    texts = [b""]
    for path in (worktree.excludes, worktree.common / "info" / "exclude"):
        if path and path.is_file() and path.stat().st_size <= EXCLUDES_BYTES:
            texts.append(path.read_bytes())
    return b"\n".join(texts)


async def _list_paths(
    git: Git, worktree: Worktree, variables: dict[str, str]
) -> tuple[list[str], list[str], dict[str, str]]:
    """The paths to add (they exist, and may be unchanged), the paths to remove (they are gone), and the repositories
    inside the working tree (path → the commit that HEAD has for it, or ""). Paths inside these repositories are left
    out."""
    arguments = ("ls-files", "-z", "-t", "-s", "-m", "-o", "--exclude-standard")
    code, out, stderr = await git.attempt(
        f"--work-tree={worktree.root}", *arguments, variables=variables, within_s=worktree.hang_timeout_s
    )
    _check_git(code, stderr, worktree)
    present, gone, inner = list[str](), list[str](), dict[str, str]()
    absent = await _sparse(worktree)
    for entry in out.decode(errors="surrogateescape").split("\0"):
        if entry.startswith("? "):
            if entry.endswith("/"):
                inner[entry[2:]] = ""
            else:
                present.append(entry[2:])
        elif entry:
            about, _, path = entry[2:].partition("\t")
            if about.startswith("160000"):
                inner[path] = about.split(" ")[1]
                continue
            if is_content(worktree.root, path):
                present.append(path)
            elif path not in absent:
                gone.append(path)
    present = [path for path in present if not _is_unchanged_engine_file(worktree, path)]
    return present, gone, inner


def _notes(nested: list[str]) -> tuple[str, ...]:
    shown = ", ".join(printable_path(path) for path in nested[:NAMED])
    return (f"repositories inside this one are left out: {shown}",) if nested else ()


def _is_unchanged_engine_file(worktree: Worktree, path: str) -> bool:
    file = worktree.root / path
    return path in worktree.engine_files and not file.is_symlink() and file.read_bytes() == worktree.engine_files[path]


async def _sparse(worktree: Worktree) -> set[str]:
    """Paths that a sparse checkout leaves out. They are absent, but not removed."""
    if not (worktree.git / "info" / "sparse-checkout").is_file():
        return set()
    code, out, _ = await Git(worktree.git).attempt("ls-files", "-z", "-t", "--sparse", within_s=worktree.hang_timeout_s)
    entries = out.decode(errors="surrogateescape").split("\0") if code == 0 else []
    return {entry[2:] for entry in entries if entry.startswith("S ")}


async def _update(git: Git, worktree: Worktree, *options: str, paths: list[str], variables: dict[str, str]) -> None:
    if not paths:
        return
    names = b"".join(path.encode(errors="surrogateescape") + b"\0" for path in paths)
    arguments = (f"--work-tree={worktree.root}", "update-index", "-z", *options, "--stdin")
    code, _, stderr = await git.attempt(*arguments, stdin=names, variables=variables, within_s=worktree.hang_timeout_s)
    _check_git(code, stderr, worktree)


def _check_git(code: int, stderr: str, worktree: Worktree) -> None:
    if code == TIMED_OUT:
        raise CannotJudge(f"git hangs on the working tree {worktree.root}: is there a pipe or a dead network folder?")
    if code != 0 or "Permission denied" in stderr:
        raise CannotJudge(f"the working tree {worktree.root} cannot be read: {last_line(stderr)}")
