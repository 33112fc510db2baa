"""Clones for agents, made from the store, and removed only when nothing in them would be lost. The engine itself
commits the files in a clone, and trusts nothing in an agent's `.git`.

clones/<name>/   work and home (for the agent) · index (the engine's index of the files as the agent received them)
                 making (exists until the clone is complete) · state.json (exists from then on)
                 moving (exists while the clone is moved to another head)
                 taken.json (the tree committed last) · taken.index (the engine's index of that tree)
damaged/         clones with an unreadable state or index, which the engine neither uses nor removes
"""

import asyncio
import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path

from trued.errors import StateFailed
from trued.protocols import AgentCommit
from trued.support import atomic_files
from trued.support.lazy_regex import lazy_regex
from trued.support.plain_text import inert
from trued.workspace.git import agent_commits
from trued.workspace.git.removal import remove_tree, remove_tree_now
from trued.workspace.git.store import ATTRIBUTES, CommitAuthor, Store
from trued.workspace.git.tree_of_folder import write_tree_of_folder

BRANCH = "work"  # the only branch of a clone
_HASH = lazy_regex(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class CloneState:
    """What a complete clone started from; stored as state.json."""

    head: str
    tree: str
    token: str
    when: float
    packs: tuple[tuple[str, int], ...] = ()  # name and size of each pack in the clone's object folder


class Clone:
    """The folder of one clone."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.work, self.home = folder, folder / "work", folder / "home"
        self.git, self.index = self.work / ".git", folder / "index"
        self.making, self.moving = folder / "making", folder / "moving"
        self.taken_index = folder / "taken.index"

    @property
    def state(self) -> CloneState | None:
        """The state that the clone started from. None if it cannot be read; then the clone is unusable."""
        try:
            read = json.loads((self.folder / "state.json").read_bytes())
            state = CloneState(**{**read, "packs": tuple((str(name), int(size)) for name, size in read["packs"])})
            hashes = all(_HASH.fullmatch(name) for name in (state.head, state.tree))
            return state if hashes and _index_hash(self.index, state.head) and state.when >= 0 else None
        except (OSError, ValueError, TypeError, KeyError):
            return None

    @property
    def is_half_made(self) -> bool:
        """Whether creating this clone was interrupted. No agent has worked in such a clone."""
        return self.making.exists() or (self.folder.is_dir() and not any(self.folder.iterdir()))

    def begin(self, state: CloneState) -> None:
        """Record that the clone is complete and can be handed to an agent."""
        atomic_files.write(self.folder / "state.json", json.dumps(asdict(state)), sync=False)
        self.making.unlink(missing_ok=True)

    @property
    def taken_tree(self) -> str:
        """The tree that was committed or rescued last; "" if unknown."""
        try:
            return str(json.loads((self.folder / "taken.json").read_bytes())["tree"])
        except (OSError, ValueError, KeyError):
            return ""  # then the tree is committed or rescued again, with the same result

    def record_taken(self, tree: str, index: str = "") -> None:
        """Record that this tree is safe in the store. `index`: the hash of the file `taken_index` if that is the index
        of this tree; else ""."""
        atomic_files.write(self.folder / "taken.json", json.dumps({"tree": tree, "index": index}), sync=False)

    def newest_index(self, state: CloneState) -> tuple[Path, str]:
        """An index to compare the files with, and its tree. This is the index of the last commit or, if that file is
        missing or incomplete, the index of the files as the agent received them."""
        try:
            read = json.loads((self.folder / "taken.json").read_bytes())
            if read["index"] and read["index"] == _index_hash(self.taken_index, state.head):
                return self.taken_index, str(read["tree"])
        except (OSError, ValueError, TypeError, KeyError):
            pass
        return self.index, state.tree


class Clones:
    """All clones of one run, by name."""

    def __init__(self, store: Store, folder: Path, branch: str = BRANCH) -> None:
        self.store, self.folder, self.branch = store, folder, branch
        # Only a few clones are made at a time, so that the first agent need not wait until all are made.
        self._making = asyncio.Semaphore(os.cpu_count() or 1)

    def __getitem__(self, name: str) -> Clone:
        return Clone(self.folder / name)

    def names(self) -> list[str]:
        """Names of the clones that exist."""
        return sorted(path.name for path in self.folder.iterdir()) if self.folder.is_dir() else []

    # -- creating ---------------------------------------------------------------------------------------------------

    async def provide(self, name: str, head: str, token: str) -> Clone:
        """Return the clone of this name; create it at `head` if there is none. `token` says which use of the clone this
        is: a clone with the same token stays as its agent left it, and a clone with another token is moved to `head`
        and gets the new token."""
        clone = self[name]
        state = clone.state
        if state and state.token == token and not clone.moving.exists():
            clone.making.unlink(missing_ok=True)
            return clone
        if state:
            await self._move(name, clone, state, head, token)
        else:
            async with self._making:
                await self._clear(clone)
                await self._make(clone, head, token)
        return clone

    async def _make(self, clone: Clone, head: str, token: str) -> None:
        clone.folder.mkdir(parents=True)
        clone.making.touch()
        for folder in (clone.work, clone.home):
            folder.mkdir(mode=0o700)
        tree, _, git = await asyncio.gather(
            self.store.tree(head),
            self.store.check_out(head, clone.work, clone.index),
            self._git_folder(clone, head),
        )
        clone.begin(CloneState(head, tree, token, time.time(), self._hand_over(clone, git)))

    async def _clear(self, clone: Clone) -> None:
        """Make room for a new clone. A damaged clone can contain work, so it is moved aside."""
        if clone.is_half_made:
            await remove_tree(clone.folder)
        elif os.path.lexists(clone.folder):
            damaged = self.folder.with_name("damaged")
            damaged.mkdir(exist_ok=True, mode=0o700)
            clone.folder.rename(damaged / f"{clone.folder.name}-{secrets.token_hex(4)}")

    async def _move(self, name: str, clone: Clone, old: CloneState, head: str, token: str) -> None:
        """Move a used clone to another head, after rescuing its work. Ignored files stay, as in any checkout."""
        async with self.store.index(clone.folder) as aside:
            tree = await write_tree_of_folder(self.store, clone.work, *clone.newest_index(old), aside)
            if not clone.moving.exists():
                await self._rescue(name, tree, "the session continued from another commit")
                atomic_files.write(clone.moving, head, sync=False)
            await self.store.check_out(head, clone.work, aside)
            git = await self._git_folder(clone, head, old)
            aside.replace(clone.index)
        (clone.folder / "taken.json").unlink(missing_ok=True)
        clone.begin(CloneState(head, await self.store.tree(head), token, time.time(), self._hand_over(clone, git)))
        clone.moving.unlink()

    async def _git_folder(self, clone: Clone, head: str, old: CloneState | None = None) -> Path:
        """Make a `.git` with the one commit `head`: no history, no other refs, no remotes, no link to the store."""
        made = clone.folder / f"git.{secrets.token_hex(4)}"
        pack = made / "objects" / "pack"
        branch = made / "refs" / "heads" / self.branch
        branch.parent.mkdir(parents=True)
        reused = old is not None and _has_all(clone.git / "objects" / "pack", old)
        if reused:  # this folder can contain objects of the agent; they do no harm, because only the agent uses it
            (clone.git / "objects").rename(made / "objects")
        pack.mkdir(parents=True, exist_ok=True)
        await self._pack(pack, head, old.head if old and reused else "")
        (made / "info").mkdir()
        (made / "info" / "attributes").write_text(ATTRIBUTES)
        branch.write_text(f"{head}\n")
        (made / "HEAD").write_text(f"ref: refs/heads/{self.branch}\n")
        (made / "config").write_text(_config(len(head)))
        (made / "shallow").write_text(f"{head}\n")
        return made

    async def _pack(self, folder: Path, head: str, present: str) -> None:
        """Pack the commit and its tree, without its parents, and without objects that the folder already has."""
        wanted = f"--shallow {head}\n{head}\n" + (f"^{present}\n" if present else "")
        options = ("--revs", "-q", "--delta-base-offset", "--threads=1", "--window=0")
        await self.store.git("pack-objects", *options, str(folder / "pack"), stdin=wanted.encode())

    def _hand_over(self, clone: Clone, git: Path) -> tuple[tuple[str, int], ...]:
        """Make the folder `git` the clone's `.git`. Returns the names and sizes of its packs."""
        shutil.copy2(clone.index, git / "index")
        remove_tree_now(clone.git)
        git.rename(clone.git)
        for folder in clone.folder.glob("git.*"):
            remove_tree_now(folder)
        packs = (clone.git / "objects" / "pack").glob("pack-*.pack")
        return tuple(sorted((pack.name, pack.lstat().st_size) for pack in packs))

    # -- committing -------------------------------------------------------------------------------------------------

    async def take(
        self,
        name: str,
        head: str,
        author: CommitAuthor,
        message: str,
        fixed: Collection[str],
        only: Collection[str] = (),
    ) -> AgentCommit:
        """Commit the agent's work, except changes that it may not make: changes outside `only` or, if `only` is empty,
        changes to `fixed` paths. The result lists these changes as `undone`. Raises StateFailed if the clone is not at
        `head`."""
        clone = self[name]
        state = clone.state
        if not state or state.head != head:
            raise StateFailed(f"the clone {name} is not at {head[:12]}: its work cannot be committed")
        async with self.store.index(clone.folder) as aside:
            full_tree = await write_tree_of_folder(self.store, clone.work, clone.index, state.tree, aside)
            aside.replace(clone.taken_index)
        index = _index_hash(clone.taken_index, head)
        tree, undone = full_tree, dict[str, bytes | None]()
        if only:
            tree, undone = await self.store.keep_only_paths(full_tree, head, only, clone.folder)
        elif fixed:
            tree, undone = await self.store.restore_paths(full_tree, head, fixed, clone.folder)
        if tree == state.tree:
            clone.record_taken(full_tree, index)
            return AgentCommit(head, (), undone)
        subjects = await agent_commits.commit_subjects(self.store, clone.git, head)
        text = (
            message
            if not subjects
            else f"{message}\n\nThe agent's own commits:\n" + "\n".join(f"- {inert(subject)}" for subject in subjects)
        )
        commit, changed = await asyncio.gather(
            self.store.commit(tree, [head], author, text), self.store.changed_files(state.tree, tree)
        )
        await self.store.set_ref(f"taken/{commit}", commit)
        clone.record_taken(full_tree, index)
        return AgentCommit(commit, changed, undone)

    # -- removing ---------------------------------------------------------------------------------------------------

    async def rescue(self, name: str, why: str) -> str:
        """Commit the work that exists only in this clone, under a rescue ref. Returns the commit, or "" if there is no
        such work."""
        clone = self[name]
        state = clone.state
        if not state or not clone.work.is_dir():
            return ""
        async with self.store.index(clone.folder) as aside:
            tree = await write_tree_of_folder(self.store, clone.work, *clone.newest_index(state), aside)
        return await self._rescue(name, tree, why)

    async def _rescue(self, name: str, tree: str, why: str) -> str:
        clone = self[name]
        state = clone.state
        if not state:
            return ""
        agent_tips = await agent_commits.bring_agent_commits(self.store, clone.git, state.head)
        if tree in (state.tree, clone.taken_tree) and not agent_tips:
            return ""
        author = CommitAuthor("trued", state.when)
        commit = await self.store.commit(tree, [state.head, *agent_tips], author, f"rescued from {name}: {why}")
        rescued = await self.store.refs("rescue/")
        if commit not in rescued.values():
            number = 1
            while self.store.ref(f"rescue/{name}-{number}") in rescued:
                number += 1
            await self.store.set_ref(f"rescue/{name}-{number}", commit)
        clone.record_taken(tree)
        return commit

    async def drop(self, name: str, why: str) -> None:
        """Remove a clone after rescuing its work; do nothing if it does not exist. A damaged clone is only moved
        aside."""
        clone = self[name]
        if not os.path.lexists(clone.folder):
            return
        if not clone.state:
            await self._clear(clone)
            return
        if not clone.moving.exists():
            await self.rescue(name, why)
        gone = self.folder.with_name("gone") / secrets.token_hex(6)
        gone.parent.mkdir(exist_ok=True)
        clone.folder.rename(gone)  # in one step, so that a crash leaves no half-removed clone
        await remove_tree(gone)


def _index_hash(index: Path, head: str) -> str:
    """The hash of an index file's content, which git writes at the end of the file; "" if no correct hash is there,
    because the file is incomplete."""
    content = memoryview(index.read_bytes())
    made = hashlib.sha256() if len(head) == 64 else hashlib.sha1(usedforsecurity=False)
    made.update(content[: -made.digest_size])
    whole = bytes(content[:4]) == b"DIRC" and content[-made.digest_size :] == made.digest()
    return made.hexdigest() if whole else ""


def _has_all(packs: Path, state: CloneState) -> bool:
    """Whether the folder still has every pack that the state lists. If so, only new objects have to be added."""
    if not packs.is_dir() or any(path.is_symlink() for path in (packs, packs.parent, packs.parent.parent)):
        return False
    try:
        return all((packs / name).lstat().st_size == size for name, size in state.packs)
    except OSError:
        return False


def _config(digits: int) -> str:
    version = "1\n[extensions]\n\tobjectFormat = sha256\n[core]" if digits == 64 else "0"
    lines = (
        f"[core]\n\trepositoryformatversion = {version}",
        "\tfilemode = true",
        "\tbare = false",
        "[gc]",
        "\tauto = 0",
    )
    return "\n".join((*lines, "[user]", "\tname = agent", "\temail = agent@trued.invalid", ""))
