"""Finds a commit by its name in any repository, and reads it without running anything of that repository."""

import asyncio
import os
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trued.errors import BadInput
from trued.support.lazy_regex import lazy_regex
from trued.support.symbolic_links import name_inside
from trued.workspace.git.command import SENT, Git, end_process, git_command, git_environment, last_line, printable_path
from trued.workspace.git.store import Store
from trued.workspace.sandbox.process_start import start_process

LOOK_S = 120.0  # seconds for one search in a repository; a git that takes longer is taken to hang
GLANCE_S = 30.0  # seconds for a search that can only add a warning
# Names of the main branch, the remote's first. Many clones lack origin/HEAD, and their own main is old or missing.
MAIN = (
    *("refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master"),
    *("refs/heads/main", "refs/heads/master", "refs/heads/trunk", "refs/heads/develop"),
)
_COMMIT = lazy_regex(r"[0-9a-f]{40}|[0-9a-f]{64}")
_POINTER = "gitdir: "
_EXPLICIT = ("./", "../", "/", "~")  # text that begins like this is a path, never a revision
AMBIGUOUS = "is ambiguous"  # in git's warning about a name that several refs have, or a ref and a hash
WARNING = "core.warnAmbiguousRefs=true"  # the repository's own settings can turn that warning off
_REFS_CALLED = ("refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}", "refs/remotes/{}/HEAD")
_AFTER_NAME = lazy_regex(r"[~^:]|@\{")  # what follows the name of a ref in a revision


class AmbiguousRevision(BadInput):
    """A revision that could mean different commits. It is refused: somebody who creates a tag with the name of a branch
    must not decide which commit is meant."""

    def __init__(self, revision: str, repository: str, refs: Collection[str]) -> None:
        named = ", ".join(refs) if len(refs) > 1 else "a ref, and something else"
        super().__init__(
            f"{revision!a} has several meanings in {repository}: {named}", then="use the full name of the ref"
        )


def refs_called(revision: str) -> tuple[str, ...]:
    """The full names of refs that git tries for a revision; empty for HEAD and full hashes, which have one meaning."""
    name = _AFTER_NAME.split(revision)[0]
    return (
        ()
        if name in ("", "@", "HEAD") or _COMMIT.fullmatch(name)
        else tuple(form.format(name) for form in _REFS_CALLED)
    )


@dataclass(frozen=True, slots=True)
class NamedCommit:
    """One commit of one repository, with the name that the user gave."""

    git: Path  # the --git-dir; a linked worktree has one of its own
    objects: Path  # the folder with the objects, which all worktrees share
    root: Path | None  # the working tree; None if there is none
    commit: str
    revision: str  # as the user wrote it

    @property
    def place(self) -> Path:
        """The repository's path for messages."""
        return self.root or self.git


async def find_commit(reference: str, folder: Path) -> NamedCommit:
    """Find the commit that `reference` names: `REPO[@REV]`, `@REV` or `REV`, relative to `folder`.

    The name is first tried as a revision of the repository around `folder`, then as a path. If paths came first, the
    commit to check could add a repository named like a revision, and so decide what it is compared with. In a path that
    contains an '@', the longest existing path is the repository. Raises BadInput if nothing fits.
    """
    if not reference:
        raise BadInput("the commit is empty", then="use REPO[@REV], or a revision of this repository")
    inside = await _repository_around(folder)
    # Git reads the `@` of `@`, `@~1`, `@^` and `@{1}` as HEAD. Any other `@REV` means REV here, even if there is a ref
    # called `@REV`: a person who creates such a ref must not decide what is meant.
    name = reference[1:] if reference.startswith("@") and reference[1:2] not in ("", "~", "^", "{") else reference
    if inside and (commit := await _commit_if_any(inside, name)):
        return commit
    for path, revision in _readings(reference):
        location = _expanded(folder, path)
        if location is None or not os.path.lexists(location):
            continue
        top = _enclosing_repository(location)
        if top is None or path.startswith(_EXPLICIT) or not await _comes_with_a_commit(top):
            return await _find_in_repository(location, revision)
    if reference.startswith("@"):
        return await _find_in_repository(inside or folder, name)
    what = f"{reference!a} is neither a folder nor a revision of {inside}" if inside else f"{reference} does not exist"
    raise BadInput(what, then="use REPO[@REV], or a revision of this repository")


def _readings(reference: str) -> list[tuple[str, str]]:
    """All ways to split the reference into path and revision, the longest path first."""
    at_signs = [index for index in range(len(reference) - 1, 0, -1) if reference[index] == "@"]
    return [(reference, "HEAD"), *((reference[:index], reference[index + 1 :] or "HEAD") for index in at_signs)]


def _expanded(folder: Path, path: str) -> Path | None:
    try:
        location = folder / Path(path).expanduser()
        location.lstat()
    except (OSError, RuntimeError, ValueError):  # a missing path, an unknown ~user, a NUL in the path
        return None
    return location


async def _repository_around(start: Path) -> Path | None:
    """The nearest repository at or above the folder `start`; None if there is none. A bare repository is skipped if its
    files are part of a commit of a repository around it."""
    real = Path(os.path.realpath(start))
    for folder in (real, *real.parents):
        git_folder = _git_folder(folder)
        if git_folder and (git_folder != folder or not await _comes_with_a_commit(folder)):
            return folder
    return None


async def _comes_with_a_commit(folder: Path) -> bool:
    """Whether this repository is in the HEAD commit of a repository around it: as a submodule, or as a bare repository
    whose files are tracked. (Git tracks nothing called `.git`, so there is no other way.)"""
    for above in folder.parents:
        git_folder = _git_folder(above)
        if git_folder is None or git_folder == above:
            continue
        arguments = ("ls-tree", "HEAD", "--", str(folder.relative_to(above)))
        literal = {"GIT_LITERAL_PATHSPECS": "1"}
        code, listed, _ = await Git(git_folder).attempt(*arguments, variables=literal, within_s=LOOK_S)
        if code == 0 and listed:
            return True
    return False


async def _commit_if_any(top: Path, name: str) -> NamedCommit | None:
    """The commit that the revision `name` names in this repository; None if there is no such commit. Raises
    AmbiguousRevision."""
    try:
        return await _find_in_repository(top, name)
    except AmbiguousRevision:
        raise
    except BadInput:
        return None


async def _find_in_repository(path: Path, revision: str) -> NamedCommit:
    top = _enclosing_repository(path)
    git_folder = _git_folder(top) if top else None
    if git_folder is None or top is None:
        raise BadInput(f"{printable_path(path)} is not in a git repository", then="use a folder inside one")
    git = Git(git_folder)
    if both := await _objects_and_commit(git, top, revision):
        return NamedCommit(git_folder, Path(both[0]), None if git_folder == top else top, both[1], revision)
    code, out, stderr = await git.attempt("rev-parse", "--path-format=absolute", "--git-common-dir", within_s=LOOK_S)
    if code != 0:
        raise BadInput(f"git cannot read {printable_path(path)}: {last_line(stderr)}", then="use a git repository")
    arguments = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    code, commit, stderr = await git.attempt(*arguments, within_s=LOOK_S) if "\0" not in revision else (1, b"", "")
    name = commit.decode(errors="replace").strip()
    if code != 0 or not _COMMIT.fullmatch(name):
        if revision == "HEAD" and not stderr.strip():
            raise BadInput(
                f"the repository {printable_path(top)} has no commit yet",
                then="commit something, or use another commit",
            )
        raise BadInput(
            f"{printable_path(top)} has no commit {revision!a}",
            then="`git log --all` in that repository lists its commits",
        )
    root = None if git_folder == top else top
    return NamedCommit(git_folder, Path(os.fsdecode(out.rstrip(b"\n"))), root, name, revision)


async def _check_meaning(git: Git, top: Path, revision: str) -> None:
    """Raise AmbiguousRevision, unless all meanings of the revision are refs at the same commit. Call this only if git
    finds the revision ambiguous: if only one ref has this name, the other meaning is a hash."""
    if not (refs := refs_called(revision)):
        return
    _, out, _ = await git.attempt("for-each-ref", "--format=%(refname) %(objectname) %(*objectname)", *refs)
    rows = [line.split(" ") for line in out.decode(errors="replace").splitlines()]
    commits = {row[0]: row[-1] or row[1] for row in rows if row[0] in refs}
    if len(commits) < 2 or len(set(commits.values())) > 1:
        raise AmbiguousRevision(revision, printable_path(top), commits)


async def _objects_and_commit(git: Git, top: Path, revision: str) -> tuple[str, str] | None:
    """The repository's object folder and the commit, from one git call. None if git's output is unexpected: the caller
    then makes one call for each."""
    if "\0" in revision:
        return None
    arguments = (
        "rev-parse",
        "--path-format=absolute",
        "--git-common-dir",
        "--end-of-options",
        f"{revision}^{{commit}}",
    )
    code, out, stderr = await git.attempt(*arguments, settings=(*SENT, WARNING), within_s=LOOK_S)
    if AMBIGUOUS in stderr:
        await _check_meaning(git, top, revision)
    lines = [line for line in out.splitlines() if line != b"--end-of-options"]  # rev-parse also prints this option
    if (
        code != 0
        or len(lines) != len(("folder", "commit"))
        or not _COMMIT.fullmatch(commit := lines[1].decode("latin-1"))
    ):
        return None
    return os.fsdecode(lines[0]), commit


def _enclosing_repository(path: Path) -> Path | None:
    """The nearest repository at or above this path; None if there is none."""
    real = Path(os.path.realpath(path))
    return next((folder for folder in (real, *real.parents) if _git_folder(folder)), None)


def _git_folder(top: Path) -> Path | None:
    """The --git-dir of a folder; None if it is no repository. Found without git, so that no configuration in the folder
    has an effect."""
    dot = top / ".git"
    try:
        if is_git_folder(dot):
            return dot
        if dot.is_file() and dot.stat().st_size < 10_000:
            text = dot.read_text(errors="surrogateescape")
            pointed = top / text.removeprefix(_POINTER).rstrip("\n")
            return pointed if text.startswith(_POINTER) and (pointed / "HEAD").is_file() else None
        return top if is_git_folder(top) else None
    except (OSError, ValueError):
        return None


def is_git_folder(folder: Path) -> bool:
    """Whether git would treat the folder itself as a repository: a bare one, or a `.git`."""
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()


# -- the history of a commit -----------------------------------------------------------------------------------------


async def is_in_history(sides: Sequence[NamedCommit], blobs: Collection[str]) -> bool:
    """Whether any of the `blobs` is in the history of any of the commits `sides`, under any file name."""
    present: dict[tuple[Path, int], set[str]] = {}
    for side in {(side.git, side.commit): side for side in sides}.values():
        repository = side.objects, len(side.commit)
        if repository not in present:
            present[repository] = await _present_blobs(side, blobs)
        if present[repository] and await _reaches_any(side, present[repository]):
            return True
    return False


async def _present_blobs(named: NamedCommit, blobs: Collection[str]) -> set[str]:
    """Return the `blobs` that the repository has. Usually it has none, and its history need not be searched."""
    fitting = [blob for blob in blobs if len(blob) == len(named.commit)]
    queries = "".join(f"{blob}\n" for blob in fitting).encode()
    out = await Git(named.git)("cat-file", "--batch-check", stdin=queries, within_s=LOOK_S)
    return {line.split(" ")[0] for line in out.decode().splitlines() if line.split(" ")[1:2] == ["blob"]}


async def _reaches_any(named: NamedCommit, blobs: set[str]) -> bool:
    """Whether the history of the commit contains any of the `blobs`."""
    argv = git_command([f"--git-dir={named.git}", "rev-list", "--objects", "--no-object-names", named.commit])
    process = await start_process(
        *argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        env=git_environment(),
    )  # fmt: skip
    try:
        assert process.stdout is not None  # noqa: S101
        async for line in process.stdout:
            if line.decode(errors="replace").strip() in blobs:
                return True
        # True if git failed: the part that it could not read might contain such a blob.
        return await process.wait() != 0
    finally:
        await end_process(process)


async def is_tracked(named: NamedCommit, path: Path) -> bool:
    """Whether a commit in the history has or had a file at this path of the working tree. If the path leads through
    links, the path behind them is also looked for. The file's content does not matter. True if git cannot tell."""
    names = {name_inside(named.root, one) for one in (path, path.resolve())} if named.root else set[str | None]()
    if not (inside := sorted(name for name in names if name)):
        return False
    arguments = ("rev-list", "--max-count=1", named.commit, "--", *(f":(top,literal){name}" for name in inside))
    code, out, _ = await Git(named.git).attempt(*arguments)
    return code != 0 or bool(out.strip())


async def is_descendant(head: NamedCommit, base: NamedCommit) -> bool | None:
    """Whether the base is in the history of the head; None if the head's repository does not have the base."""
    code, _, _ = await Git(head.git).attempt("merge-base", "--is-ancestor", base.commit, head.commit)
    return code == 0 if code in (0, 1) else None


async def common_ancestor(head: NamedCommit, base: NamedCommit) -> str:
    """The newest commit that is in both histories, as far as the head's repository knows them; "" if there is none."""
    code, out, _ = await Git(head.git).attempt("merge-base", base.commit, head.commit)
    ancestor = out.decode(errors="replace").strip()
    return ancestor if code == 0 and _COMMIT.fullmatch(ancestor) else ""


async def find_branch_point(head: NamedCommit) -> NamedCommit:
    """The commit at which the work on a head began: its merge base with its upstream or the main branch. Raises
    BadInput if there is none.

    If the upstream has the branch's own name, it is only a pushed copy of the same work, so the main branches are tried
    before it.
    """
    git = Git(head.git)
    upstream = f"{'' if head.revision == 'HEAD' else head.revision}@{{upstream}}"
    contained = ""
    branch, above = [await _full_name(git, name) for name in (head.revision, upstream)]
    for name in branch_point_order(branch, above, upstream):
        code, out, _ = await git.attempt("merge-base", head.commit, f"{name}^{{commit}}")
        merge_base = out.decode(errors="replace").strip()
        if code == 0 and merge_base != head.commit and _COMMIT.fullmatch(merge_base):
            return replace(head, commit=merge_base, revision=name)
        if code == 0 and merge_base == head.commit and name != branch:
            contained = contained or name
    raise await _unknown_beginning(git, head, contained)


async def _unknown_beginning(git: Git, head: NamedCommit, contained: str) -> BadInput:
    """The error if nothing shows where the work on a head began, with what to do about it. `contained`: a main branch
    or upstream that already has the head."""
    what = f"cannot tell where the work at {head.commit[:12]} began"
    if is_shallow(head):
        then = "fetch it with `git fetch --unshallow`, in GitHub Actions with `fetch-depth: 0`, or set it: --base REV"
        return BadInput(f"{what}: this clone is shallow and lacks the history", then=then)
    code, _, _ = await git.attempt("rev-parse", "--verify", "--quiet", f"{head.commit}^")
    example = ", for example --base HEAD~1" if code == 0 and not contained else ""
    why = f"{contained} also has this commit" if contained else "no upstream or main branch has an older commit"
    then = f"commit the work on a branch first (only commits are checked), or set where it began: --base REV{example}"
    return BadInput(f"{what}: {why}", then=then)


def branch_point_order(branch: str, above: str, upstream: str) -> tuple[str, ...]:
    """The names at which the work on a branch could have begun, the likeliest first. `branch`, `above`: the full names
    of the branch and of its upstream; `upstream`: the upstream in git's syntax, such as `main@{upstream}`."""
    short_name = branch.removeprefix("refs/heads/")
    is_own_copy = bool(short_name) and branch not in MAIN and above.endswith(f"/{short_name}")
    return (*MAIN, upstream) if is_own_copy else (upstream, *MAIN)


async def _full_name(git: Git, revision: str) -> str:
    code, out, _ = await git.attempt("rev-parse", "--symbolic-full-name", "--end-of-options", revision)
    return "".join(out.decode(errors="replace").splitlines()[-1:]) if code == 0 else ""


async def uncommitted_files(named: NamedCommit, store: Store, scratch: Path) -> tuple[str, ...]:
    """Files of the working tree that differ from the commit; empty unless the commit was named as HEAD. The engine's
    own store is used for the comparison, so that no filter or hook of the repository runs."""
    index = named.git / "index"
    if named.root is None or named.revision != "HEAD" or not index.is_file():
        return ()
    aside = scratch / "look"
    # copy2 keeps the index's time, so that git rechecks files that changed in the second when the index was written
    shutil.copy2(index, aside)
    ways = (
        ("update-index", "-q", "--refresh"),
        ("diff-index", "--name-only", "-z", "--no-renames", "--ignore-submodules=all", named.commit),
        ("ls-files", "--others", "--exclude-standard", "--directory", "--no-empty-directory", "-z"),
    )
    names: list[str] = []
    for arguments in ways:
        variables = {"GIT_INDEX_FILE": str(aside)}
        ended = await store.git.attempt(f"--work-tree={named.root}", *arguments, variables=variables, within_s=GLANCE_S)
        if arguments[0] != "update-index":  # update-index only refreshes the index, and fails if a file differs
            names += ended[1].decode(errors="backslashreplace").split("\0") if ended[0] == 0 else []
    aside.unlink(missing_ok=True)
    return tuple(dict.fromkeys(path for path in names if path))


def is_shallow(named: NamedCommit) -> bool:
    """Whether the repository has only a part of its history."""
    return (named.objects / "shallow").is_file()
