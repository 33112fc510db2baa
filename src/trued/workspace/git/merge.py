"""Merges the work of two agents in the private store."""

from trued.protocols import MergeResult
from trued.workspace.git.command import GitFailed
from trued.workspace.git.rebase import CONFLICT, has_ancestor, require_merge_tree
from trued.workspace.git.store import CommitAuthor, Store


async def merge_commits(store: Store, ours: str, theirs: str, author: CommitAuthor, message: str) -> MergeResult:
    """Merge two commits. Files in conflict get both sides between markers, and are listed in the result.

    If one commit is in the history of the other, the other is the result. The same two commits always give the same
    merge.
    """
    await require_merge_tree(store)
    if await has_ancestor(store, theirs, ours):
        return MergeResult(theirs)
    if await has_ancestor(store, ours, theirs):
        return MergeResult(ours)
    arguments = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs)
    code, out, stderr = await store.git.attempt(*arguments)
    if code not in (0, CONFLICT):
        raise GitFailed(arguments, stderr)
    tree, *files = out.decode(errors="backslashreplace").split("\0")
    commit = await store.commit(tree, (ours, theirs), author, message)
    await store.set_ref(f"joined/{commit}", commit)
    both = dict.fromkeys(name for name in files if name)
    return MergeResult(
        commit, {path: (await _side(store, ours, path), await _side(store, theirs, path)) for path in both}
    )


async def _side(store: Store, commit: str, path: str) -> bytes | None:
    """The content that a file in conflict has in `commit`; None if `commit` does not have the file. `path`: the file's
    path in the merge. Git adds `~` and the commit to it if the other commit has a folder at the file's path."""
    return await store.read(commit, path.removesuffix(f"~{commit}"))
