"""Rebases a run's commits onto another commit, or merges them, in the private store, without running any code of the
repository."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from trued.errors import BadInput
from trued.support.lazy_regex import lazy_regex
from trued.support.path_sets import includes_path
from trued.support.plain_text import plain_line
from trued.workspace.git.command import GitFailed
from trued.workspace.git.store import CommitAuthor, Store

_VERSION = lazy_regex(r"(\d+)\.(\d+)")
NEEDED = (2, 38)  # the first git that merges without a working tree
CONFLICT = 1  # git's exit code for a conflict
# Header lines that a rewritten commit keeps. A signature is dropped, because it is valid only for the original commit.
KEPT = (b"author ", b"committer ", b"encoding ")


@dataclass(frozen=True, slots=True)
class RebaseResult:
    """The commit that was made, or the files in conflict."""

    commit: str = ""
    conflicts: tuple[str, ...] = ()
    at: str = ""  # first line of the message of the commit that could not be applied
    replaced: tuple[str, ...] = ()  # the target's files that were replaced by the head's


@dataclass(frozen=True, slots=True)
class HeadViews:
    """Files of a head that describe how it was made, such as plans and logs. If the target has such a file from another
    run, the head's file replaces it, because two logs cannot be merged as text. The target's file stays in the
    history."""

    paths: tuple[str, ...]
    scratch: Path

    @classmethod
    async def of(cls, store: Store, base: str, head: str, owned: Collection[str], scratch: Path) -> "HeadViews":
        """The changed files of the head that are in `owned` (files and folders)."""
        return cls(tuple(path for path in await store.changed_files(base, head) if includes_path(owned, path)), scratch)


async def rebase_commits(store: Store, base: str, head: str, onto: str, views: HeadViews | None = None) -> RebaseResult:
    """Apply the commits from `base` to `head` on top of `onto`, one after another. A commit whose changes `onto`
    already has is skipped. At the first conflict the rebase ends, and the result has the files in conflict.

    The result is always the same for the same commits: authors, dates and messages stay.
    """
    await require_merge_tree(store)
    out = await store.git("rev-list", "--first-parent", "--reverse", "--parents", f"{base}..{head}")
    new, gone = onto, dict[str, None]()
    for line in out.decode().splitlines():
        commit, *parents = line.split(" ")
        ours, replaced = await _on_parent(store, new, (parents or [base])[0], views)
        made = await _merge_trees(store, ours, commit)
        if made.conflicts:
            return RebaseResult(conflicts=made.conflicts, at=await _subject(store, commit))
        if made.commit != await store.tree(new):
            new = await _rewrite_commit(store, commit, made.commit, new)
        gone |= dict.fromkeys(replaced)
    await store.set_ref(f"landing/{new}", new)
    return RebaseResult(new, replaced=await _replaced_files(store, gone, onto, new))


async def merge_into(
    store: Store, onto: str, head: str, message: str, who: Mapping[str, str], views: HeadViews | None = None
) -> RebaseResult:
    """Merge `head` into `onto`; return the merge commit, or the files in conflict. `who`: git's environment variables
    for the author."""
    await require_merge_tree(store)
    ours, replaced = await _on_parent(store, onto, await merge_base(store, onto, head), views) if views else (onto, ())
    made = await _merge_trees(store, ours if replaced else onto, head)
    if made.conflicts:
        return replace(made, at=await _subject(store, head))
    arguments = ("commit-tree", made.commit, "-p", onto, "-p", head)
    commit = await store.git.line(*arguments, stdin=f"{message}\n".encode(), variables=who)
    await store.set_ref(f"landing/{commit}", commit)
    return RebaseResult(commit, replaced=await _replaced_files(store, replaced, onto, commit))


async def merge_base(store: Store, commit: str, other: str) -> str:
    """The newest commit that two histories have in common; "" if there is none."""
    code, out, _ = await store.git.attempt("merge-base", commit, other)
    return out.decode().strip() if code == 0 else ""


async def has_ancestor(store: Store, commit: str, ancestor: str) -> bool:
    """Whether `ancestor` is in the history of `commit`."""
    code, _, stderr = await store.git.attempt("merge-base", "--is-ancestor", ancestor, commit)
    if code not in (0, 1):
        raise GitFailed(("merge-base",), stderr)
    return code == 0


async def require_merge_tree(store: Store) -> None:
    """Raise BadInput if this git is too old to merge without a working tree."""
    version = await store.git.line("version")
    version_match = _VERSION.search(version)
    if version_match and (int(version_match[1]), int(version_match[2])) < NEEDED:
        raise BadInput(f"{version} cannot merge without a working tree", then="install git 2.38 or newer")


async def _on_parent(store: Store, commit: str, parent: str, views: HeadViews | None) -> tuple[str, tuple[str, ...]]:
    """Make a commit with the files of `commit` on top of `parent`, so that git uses `parent` as the merge base.

    Only the files in `views` are taken from `parent`: a merge then finds that only the head changed them, and takes the
    head's version. Returns the new commit, and the paths in `views` at which `commit` differs from `parent`.
    """
    tree, gone = await store.tree(commit), dict[str, bytes | None]()
    if views and views.paths:
        tree, gone = await store.restore_paths(tree, parent, views.paths, views.scratch)
    return await store.commit(tree, (parent,), CommitAuthor("trued", 0), "for a comparison"), tuple(gone)


async def _replaced_files(store: Store, paths: Collection[str], before: str, after: str) -> tuple[str, ...]:
    """Return the `paths` at which `before` has a file that `after` lacks or has with other content."""
    had, has = await store.entries(before), await store.entries(after)
    return tuple(path for path in paths if path in had and had[path] != has.get(path))


async def _merge_trees(store: Store, ours: str, theirs: str) -> RebaseResult:
    """Merge two commits; the result contains a tree instead of a commit."""
    arguments = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs)
    code, out, stderr = await store.git.attempt(*arguments)
    tree, *files = out.decode(errors="backslashreplace").split("\0")
    if code == 0:
        return RebaseResult(tree)
    if code == CONFLICT:
        return RebaseResult(conflicts=tuple(dict.fromkeys(name for name in files if name)))
    if "unrelated histories" in stderr:
        raise BadInput("the branch has no history in common with the run", then="choose another one with --onto")
    raise GitFailed(arguments, stderr)


async def _rewrite_commit(store: Store, commit: str, tree: str, parent: str) -> str:
    """The same commit with another tree and parent."""
    raw = await store.git("cat-file", "commit", commit)
    head, _, message = raw.partition(b"\n\n")
    kept_lines = [line for line in head.split(b"\n") if line.startswith(KEPT)]
    lines = [f"tree {tree}".encode(), f"parent {parent}".encode(), *kept_lines]
    return await store.git.line(
        "hash-object", "-t", "commit", "-w", "--stdin", stdin=b"\n".join(lines) + b"\n\n" + message
    )


async def _subject(store: Store, commit: str) -> str:
    text = (await store.git("log", "-1", "--format=%s", commit)).decode(errors="replace").strip()
    return plain_line(text, 100)
