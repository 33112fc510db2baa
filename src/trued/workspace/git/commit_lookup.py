"""Finds a commit by its name in any repository, and reads it without running anything of that repository."""

import asyncio
import os
import re
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trued.errors import BadInput
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
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_POINTER = "gitdir: "
_EXPLICIT = ("./", "../", "/", "~")  # what begins like this is a path, never a revision
AMBIGUOUS = "is ambiguous"  # in git's warning about a name that several refs have, or a ref and a hash
WARNING = "core.warnAmbiguousRefs=true"  # the repository's own settings may turn that warning off
_REFS_CALLED = ("refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}", "refs/remotes/{}/HEAD")
_AFTER_NAME = re.compile(r"[~^:]|@\{")  # what follows the name of a ref in a revision


class AmbiguousRevision(BadInput):
    """A revision that could mean different commits. Whoever creates a tag called like a branch must not decide which
    commit is meant."""

    def __init__(self, revision: str, place: str, refs: Collection[str]) -> None:
        named = ", ".join(refs) if len(refs) > 1 else "a ref, and something else"
        super().__init__(
            f"{revision!a} has several meanings in {place}: {named}", then="write the full name of the ref"
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


async def find_commit(given: str, here: Path) -> NamedCommit:
    """The commit that `REPO[@REV]`, `@REV` or `REV` names, seen from the folder `here`.

    A revision of the repository around `here` takes precedence over a folder of the same name. Otherwise a commit could
    add such a folder, with a repository in it, and so decide what the commit itself is compared with. A path may
    contain an '@': the longest existing path is the repository. Raises BadInput if nothing fits.
    """
    if not given:
        raise BadInput("no commit is named", then="write REPO[@REV], or a revision of this repository")
    inside = await _repository_around(here)
    # Git reads the `@` of `@`, `@~1`, `@^` and `@{1}` as HEAD. Any other `@REV` means REV here, even if there is a ref
    # called `@REV`: whoever creates such a ref must not decide what is meant.
    name = given[1:] if given.startswith("@") and given[1:2] not in ("", "~", "^", "{") else given
    if inside and (own := await _commit_if_any(inside, name)):
        return own
    for path, revision in _readings(given):
        place = _expanded(here, path)
        if place is None or not os.path.lexists(place):
            continue
        top = _enclosing_repository(place)
        if top is None or path.startswith(_EXPLICIT) or not await _comes_with_a_commit(top):
            return await _commit_in(place, revision)
    if given.startswith("@"):
        return await _commit_in(inside or here, name)
    what = f"{given!a} is neither a folder nor a revision of {inside}" if inside else f"{given} does not exist"
    raise BadInput(what, then="write REPO[@REV], or a revision of this repository")


def _readings(given: str) -> list[tuple[str, str]]:
    """All ways to split the text into path and revision, the longest path first."""
    spots = [at for at in range(len(given) - 1, 0, -1) if given[at] == "@"]
    return [(given, "HEAD"), *((given[:at], given[at + 1 :] or "HEAD") for at in spots)]


def _expanded(here: Path, path: str) -> Path | None:
    try:
        place = here / Path(path).expanduser()
        place.lstat()
    except (OSError, RuntimeError, ValueError):  # a missing path, an unknown ~user, a NUL in the path
        return None
    return place


async def _repository_around(here: Path) -> Path | None:
    """The nearest repository at or above this folder. Folders that look like a bare repository, but are files of a
    commit, are skipped."""
    real = Path(os.path.realpath(here))
    for folder in (real, *real.parents):
        found = _git_folder(folder)
        if found and (found != folder or not await _comes_with_a_commit(folder)):
            return folder
    return None


async def _comes_with_a_commit(folder: Path) -> bool:
    """Whether this repository is a part of the commit that a repository around it has checked out: a submodule, or a
    bare repository whose files are tracked. (Git tracks nothing called `.git`, so no other kind of repository can
    come with a commit.)"""
    for above in folder.parents:
        found = _git_folder(above)
        if found is None or found == above:
            continue
        words = ("ls-tree", "HEAD", "--", str(folder.relative_to(above)))
        literal = {"GIT_LITERAL_PATHSPECS": "1"}
        code, listed, _ = await Git(found).attempt(*words, variables=literal, within_s=LOOK_S)
        if code == 0 and listed:
            return True
    return False


async def _commit_if_any(top: Path, name: str) -> NamedCommit | None:
    """The commit of this name in this repository; None if there is none."""
    try:
        return await _commit_in(top, name)
    except AmbiguousRevision:
        raise
    except BadInput:
        return None


async def _commit_in(place: Path, revision: str) -> NamedCommit:
    top = _enclosing_repository(place)
    found = _git_folder(top) if top else None
    if found is None or top is None:
        raise BadInput(f"{printable_path(place)} is not in a git repository", then="name a folder inside one")
    git = Git(found)
    if both := await _objects_and_commit(git, top, revision):
        return NamedCommit(found, Path(both[0]), None if found == top else top, both[1], revision)
    code, out, stderr = await git.attempt("rev-parse", "--path-format=absolute", "--git-common-dir", within_s=LOOK_S)
    if code != 0:
        raise BadInput(f"git cannot read {printable_path(place)}: {last_line(stderr)}", then="name a git repository")
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    code, commit, stderr = await git.attempt(*words, within_s=LOOK_S) if "\0" not in revision else (1, b"", "")
    name = commit.decode(errors="replace").strip()
    if code != 0 or not _COMMIT.fullmatch(name):
        if revision == "HEAD" and not stderr.strip():
            raise BadInput(
                f"the repository {printable_path(top)} has no commit yet", then="commit something, or name a commit"
            )
        raise BadInput(
            f"{printable_path(top)} has no commit {revision!a}", then="`git log --all` there lists what it has"
        )
    root = None if found == top else top
    return NamedCommit(found, Path(os.fsdecode(out.rstrip(b"\n"))), root, name, revision)


async def _check_meaning(git: Git, top: Path, revision: str) -> None:
    """Raise AmbiguousRevision unless all refs that the revision could mean are at the same commit."""
    if not (refs := refs_called(revision)):
        return
    _, out, _ = await git.attempt("for-each-ref", "--format=%(refname) %(objectname) %(*objectname)", *refs)
    rows = [line.split(" ") for line in out.decode(errors="replace").splitlines()]
    found = {row[0]: row[-1] or row[1] for row in rows if row[0] in refs}
    if len(found) < 2 or len(set(found.values())) > 1:
        raise AmbiguousRevision(revision, printable_path(top), found)


async def _objects_and_commit(git: Git, top: Path, revision: str) -> tuple[str, str] | None:
    """Object folder and commit, from one git call. None if git's output is unexpected; then the caller asks for each
    separately."""
    if "\0" in revision:
        return None
    words = ("rev-parse", "--path-format=absolute", "--git-common-dir", "--end-of-options", f"{revision}^{{commit}}")
    code, out, stderr = await git.attempt(*words, settings=(*SENT, WARNING), within_s=LOOK_S)
    if AMBIGUOUS in stderr:
        await _check_meaning(git, top, revision)
    lines = [line for line in out.splitlines() if line != b"--end-of-options"]  # rev-parse prints this option, too
    if (
        code != 0
        or len(lines) != len(("folder", "commit"))
        or not _COMMIT.fullmatch(commit := lines[1].decode("latin-1"))
    ):
        return None
    return os.fsdecode(lines[0]), commit


def _enclosing_repository(place: Path) -> Path | None:
    """The nearest folder upwards that is a repository."""
    real = Path(os.path.realpath(place))
    return next((folder for folder in (real, *real.parents) if _git_folder(folder)), None)


def _git_folder(top: Path) -> Path | None:
    """The --git-dir of a folder. It is found without git, so that no configuration in the folder can influence this."""
    dot = top / ".git"
    try:
        if holds_git(dot):
            return dot
        if dot.is_file() and dot.stat().st_size < 10_000:
            text = dot.read_text(errors="surrogateescape")
            pointed = top / text.removeprefix(_POINTER).rstrip("\n")
            return pointed if text.startswith(_POINTER) and (pointed / "HEAD").is_file() else None
        return top if holds_git(top) else None
    except (OSError, ValueError):
        return None


def holds_git(folder: Path) -> bool:
    """Whether git would treat the folder itself as a repository: a bare one, or a `.git`."""
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()


# -- the history of a commit -----------------------------------------------------------------------------------------


async def is_in_history(sides: Sequence[NamedCommit], blobs: Collection[str]) -> bool:
    """Whether one of these contents is in the history of one of these commits, under any name."""
    there: dict[tuple[Path, int], set[str]] = {}
    for one in {(one.git, one.commit): one for one in sides}.values():
        repository = one.objects, len(one.commit)
        if repository not in there:
            there[repository] = await _present_blobs(one, blobs)
        if there[repository] and await _reaches_any(one, there[repository]):
            return True
    return False


async def _present_blobs(one: NamedCommit, blobs: Collection[str]) -> set[str]:
    """Those of the `blobs` that the repository has. Usually it has none, and its history need not be searched."""
    fitting = [blob for blob in blobs if len(blob) == len(one.commit)]
    asked = "".join(f"{blob}\n" for blob in fitting).encode()
    out = await Git(one.git)("cat-file", "--batch-check", stdin=asked, within_s=LOOK_S)
    return {line.split(" ")[0] for line in out.decode().splitlines() if line.split(" ")[1:2] == ["blob"]}


async def _reaches_any(one: NamedCommit, blobs: set[str]) -> bool:
    """Walk the history until one of these blobs is found."""
    words = git_command([f"--git-dir={one.git}", "rev-list", "--objects", "--no-object-names", one.commit])
    process = await start_process(
        *words, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        env=git_environment(),
    )  # fmt: skip
    try:
        assert process.stdout is not None  # noqa: S101
        async for line in process.stdout:
            if line.decode(errors="replace").strip() in blobs:
                return True
        return await process.wait() != 0  # true if git failed: what it could not read may contain such a blob
    finally:
        await end_process(process)


async def is_tracked(one: NamedCommit, path: Path) -> bool:
    """Whether the history of the commit has a file at this path of the working tree, whatever its content."""
    real = Path(os.path.realpath(path))
    if one.root is None or not real.is_relative_to(one.root):
        return False
    name = real.relative_to(one.root).as_posix()
    words = ("rev-list", "--max-count=1", one.commit, "--", f":(top,literal){name}")
    code, out, _ = await Git(one.git).attempt(*words)
    return code != 0 or bool(out.strip())


async def is_descendant(head: NamedCommit, base: NamedCommit) -> bool | None:
    """Whether the base is in the history of the head; None if the head's repository does not have the base."""
    code, _, _ = await Git(head.git).attempt("merge-base", "--is-ancestor", base.commit, head.commit)
    return code == 0 if code in (0, 1) else None


async def common_ancestor(head: NamedCommit, base: NamedCommit) -> str:
    """The newest commit that both have in their histories, as the head's repository knows it; "" if there is none."""
    code, out, _ = await Git(head.git).attempt("merge-base", base.commit, head.commit)
    found = out.decode(errors="replace").strip()
    return found if code == 0 and _COMMIT.fullmatch(found) else ""


async def find_branch_point(head: NamedCommit) -> NamedCommit:
    """The commit at which the work on a head began: its merge base with its upstream or the main branch. Raises
    BadInput if there is none.

    An upstream with the branch's own name is only a pushed copy of the same work, so main branches are tried first.
    """
    git = Git(head.git)
    upstream = f"{'' if head.revision == 'HEAD' else head.revision}@{{upstream}}"
    contained = ""
    branch, above = [await _full_name(git, one) for one in (head.revision, upstream)]
    for name in branch_point_order(branch, above, upstream):
        code, out, _ = await git.attempt("merge-base", head.commit, f"{name}^{{commit}}")
        found = out.decode(errors="replace").strip()
        if code == 0 and found != head.commit and _COMMIT.fullmatch(found):
            return replace(head, commit=found, revision=name)
        if code == 0 and found == head.commit and name != branch:
            contained = contained or name
    raise await _unknown_beginning(git, head, contained)


async def _unknown_beginning(git: Git, head: NamedCommit, contained: str) -> BadInput:
    """The error if nothing shows where the work on a head began, with what to do about it. `contained`: a main branch
    or upstream that already has the head."""
    what = f"cannot tell where the work at {head.commit[:12]} began"
    if is_shallow(head):
        then = "fetch it with `git fetch --unshallow`, in GitHub Actions with `fetch-depth: 0`, or name it: --base REV"
        return BadInput(f"{what}: this clone is shallow and lacks the history", then=then)
    code, _, _ = await git.attempt("rev-parse", "--verify", "--quiet", f"{head.commit}^")
    example = ", for example --base HEAD~1" if code == 0 and not contained else ""
    why = f"{contained} has this commit, too" if contained else "no upstream or main branch has an older commit"
    then = f"commit the work on a branch first (only commits are checked), or name where it began: --base REV{example}"
    return BadInput(f"{what}: {why}", then=then)


def branch_point_order(branch: str, above: str, upstream: str) -> tuple[str, ...]:
    """The names at which the work on a branch may have begun, the likeliest first. `branch`, `above`: the full names
    of the branch and of its upstream; `upstream`: the upstream as git is asked for it."""
    own = branch.removeprefix("refs/heads/")
    is_own_copy = bool(own) and branch not in MAIN and above.endswith(f"/{own}")
    return (*MAIN, upstream) if is_own_copy else (upstream, *MAIN)


async def _full_name(git: Git, revision: str) -> str:
    code, out, _ = await git.attempt("rev-parse", "--symbolic-full-name", "--end-of-options", revision)
    return "".join(out.decode(errors="replace").splitlines()[-1:]) if code == 0 else ""


async def uncommitted_files(one: NamedCommit, store: Store, scratch: Path) -> tuple[str, ...]:
    """Files of the working tree that differ from the commit. The engine's own store is used for the comparison, so that
    no filter or hook of the repository runs."""
    index = one.git / "index"
    if one.root is None or one.revision != "HEAD" or not index.is_file():
        return ()
    aside = scratch / "look"
    # copy2 keeps the index's time, so that git rechecks files that changed in the second when the index was written
    shutil.copy2(index, aside)
    ways = (
        ("update-index", "-q", "--refresh"),
        ("diff-index", "--name-only", "-z", "--no-renames", "--ignore-submodules=all", one.commit),
        ("ls-files", "--others", "--exclude-standard", "--directory", "--no-empty-directory", "-z"),
    )
    found: list[str] = []
    for words in ways:
        variables = {"GIT_INDEX_FILE": str(aside)}
        ended = await store.git.attempt(f"--work-tree={one.root}", *words, variables=variables, within_s=GLANCE_S)
        if words[0] != "update-index":  # update-index only refreshes the index, and fails if a file differs
            found += ended[1].decode(errors="backslashreplace").split("\0") if ended[0] == 0 else []
    aside.unlink(missing_ok=True)
    return tuple(dict.fromkeys(path for path in found if path))


def is_shallow(one: NamedCommit) -> bool:
    """Whether the repository has only a part of its history."""
    return (one.objects / "shallow").is_file()
