"""Travel: how the work of one run gets from machine to machine, through the store that the user's settings name.

The journal already holds a run's inputs and everything that agents must not see. All other work, in git or in files
(base, results, kept pictures), is pushed to the store and recorded as sent, before the step that names it is recorded.
A machine that continues the run fetches this work by the hashes in the journal.
"""

import asyncio
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from trued.engine.inputs import Inputs
from trued.errors import BadInput
from trued.inputs.settings.folders import user_config
from trued.inputs.settings.loader import load_settings
from trued.integrations.forges import is_without_forge
from trued.model import RunRecord, Value
from trued.model.events.run import MachineChanged
from trued.model.step_keys import SENT, is_sent
from trued.support import atomic_files
from trued.support.hashing import digest
from trued.workspace.git.batch import batch_input, parse_batch
from trued.workspace.git.command import Git
from trued.workspace.git.hub_store import HubStore
from trued.workspace.git.large_files import POINTER, POINTER_BYTES
from trued.workspace.git.repository import Repository
from trued.workspace.git.store import ENGINE, CommitAuthor, Store
from trued.workspace.sandbox.levels import NONE, check_agent_network, choose_level

if TYPE_CHECKING:
    from trued.protocols import Journal, JournalStore, Step

ARTIFACTS = "artifacts"  # a folder in a run's folder: kept pictures and files, each named by its hash
ORIGIN = "origin"  # a file in a run's folder; if it exists, the run was begun on this machine
PLACE = "place"  # a file that a hub's journal writes: the state folder's name, unique among all machines
LFS = b"filter=lfs"
CANNOT = "so another machine could not continue the run"  # why a run is refused before it begins


class SentWork(Value):
    """Work that was sent to the hub's store; it is recorded before any step that names it."""

    commits: tuple[str, ...]
    artifacts: str = ""  # a commit without history that holds kept files, named by their hashes


class Travel:
    """Moves one run's work between this machine and the hub's store."""

    def __init__(
        self, hub: HubStore, journal: "JournalStore", record: RunRecord, home: Path, environ: Mapping[str, str]
    ) -> None:
        self.hub, self._journal, self._run, self._home, self._environ = hub, journal, record.id, home, environ
        self._base, self.folder = record.base, home / "runs" / record.id
        self.store = Store(Path(record.repository), Path(os.path.realpath(home)), record.id)
        self._sending = asyncio.Lock()
        self._kept: dict[str, frozenset[str]] = {}  # commit of kept files → their names
        self._looked = False  # whether `_send_again` has checked that the store still has what was sent earlier

    def sent(self) -> tuple[SentWork, ...]:
        """Everything that was recorded as sent, oldest first."""
        found = self._journal.steps_after(self._run, 0, SENT)
        return tuple(SentWork.model_validate_json(value) for _, key, _, value in found if is_sent(key))

    @property
    def is_origin(self) -> bool:
        """Whether the run was begun on this machine, which then has the repository with the run's branch. Also true as
        long as no work has been sent to the store."""
        return (self.folder / ORIGIN).exists() or not self.sent()

    # -- fetching ------------------------------------------------------------------------------------------------------

    async def bring(self, store: Store) -> None:
        """Fetch the sent work that this machine lacks from the hub's store into `store`. If no work was sent yet, mark
        this machine as the one where the run was begun. Raises StateFailed if the hub's store lacks the work."""
        sent = self.sent()
        if not sent:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            (self.folder / ORIGIN).touch()
            return
        named = {commit for work in sent for commit in (*work.commits, work.artifacts) if commit}
        # a ref is made only after git has checked that everything below the commit is there
        if lacking := named - set((await store.refs("")).values()):
            await self.hub.fetch(store, lacking)
        await store.set_ref("base", self._base)
        for commit in dict.fromkeys(work.artifacts for work in sent if work.artifacts):
            await self._write_kept_files(store, commit)

    async def _write_kept_files(self, store: Store, commit: str) -> None:
        """Write the kept files (such as pictures) that a commit holds into the run's folder, where the run looks for
        them."""
        names = [path for path in await store.entries(commit) if not (self.folder / ARTIFACTS / path).exists()]
        for name, content in (await store.read_all(commit, names) if names else {}).items():
            place = self.folder / ARTIFACTS / Path(name).name
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # no sync needed: readers compare the content with the name, which is its hash
            atomic_files.write(place, content, sync=False)

    # -- sending -------------------------------------------------------------------------------------------------------

    async def send(self, journal: "Journal") -> None:
        """Push the work of this machine that the store lacks, and record that it was sent."""
        async with self._sending:
            sent = self.sent()
            there = {commit for work in sent for commit in (*work.commits, work.artifacts) if commit}
            await self._send_again(there)
            refs = await self.store.refs("")
            new = sorted(set(refs.values()) - there)
            apart = await self._kept_files(sent)
            if not new and not apart:
                return
            await self.hub.push(self.store, [*new, *([apart] if apart else [])])
            value = SentWork(commits=tuple(new), artifacts=apart).model_dump_json()

            async def step() -> str:
                return value

            await journal.once(f"{SENT}{digest(value)[:16]}", digest(value), step)

    async def _send_again(self, commits: set[str]) -> None:
        """Push again each of `commits` that the store has lost and this machine still has. Only the first call does
        this."""
        if self._looked or not commits:
            return
        listed, here = await self.hub.refs(self._run), set((await self.store.refs("")).values())
        await self.hub.push(
            self.store,
            [commit for commit in commits & here if listed.get(self.store.ref(f"commit/{commit}")) != commit],
        )
        self._looked = True

    async def _kept_files(self, sent: Sequence[SentWork]) -> str:
        """Make a commit of the kept files (such as pictures) that were not sent yet, and return it; "" if all were
        sent. The commit has no history and is in no agent's clone, because kept files may show held-out cases."""
        folder = self.folder / ARTIFACTS
        names = {artifact.name for artifact in folder.iterdir()} if folder.is_dir() else set()
        for commit in (work.artifacts for work in sent if names and work.artifacts):
            if commit not in self._kept:
                self._kept[commit] = frozenset(await self.store.entries(commit))
            names -= self._kept[commit]
        if not names:
            return ""
        read = {name: await asyncio.to_thread((folder / name).read_bytes) for name in sorted(names)}
        files = {name: content for name, content in read.items() if hashlib.sha256(content).hexdigest() == name}
        if not files:
            return ""  # the files are still being written
        author = CommitAuthor(ENGINE, 0.0)
        return await self.store.commit_without_history(files, author, f"kept files of {self._run}", self.folder)

    # -- another machine -----------------------------------------------------------------------------------------------

    def level(self, inputs: Inputs) -> str:
        """The sandbox level on this machine: the recorded one if the run was begun here, else one that works here.

        Permission to work without a sandbox is valid only on the machine where a person gave it. On another machine,
        the settings of that machine's user decide. Raises BadInput if no level can be used.
        """
        if self.is_origin:
            return inputs.level
        own, wanted = load_settings({}, self._environ, None, user_config(self._environ)), inputs.settings.sandbox
        try:
            level = choose_level(own.sandbox if wanted == NONE else wanted, own.allow_unsandboxed)
        except BadInput as refused:
            then = "resume it where it was begun, or set allow_unsandboxed in your own settings here"
            raise BadInput(refused.what, then=then) from None
        check_agent_network(level, inputs.settings.network)
        return level

    def record_machine(self, journal: "Journal", inputs: Inputs) -> None:
        """If the run was begun or last driven on another machine, emit an event that names this machine and its sandbox
        level."""
        place = self._stored_place()
        before = self._journal.events_of_kind(self._run, MachineChanged.KIND)
        if str(before[-1].data.get("place", "")) != place if before else not self.is_origin:
            journal.emit(MachineChanged(machine=os.uname().nodename, place=place, level=self.level(inputs)))

    @property
    def has_moved(self) -> bool:
        """Whether the run was ever continued on another machine than the one where it was begun."""
        return bool(self._journal.events_of_kind(self._run, MachineChanged.KIND))

    def _stored_place(self) -> str:
        try:
            return (self._home / PLACE).read_text().strip()
        except OSError:
            return ""

    def is_begun_elsewhere(self, call: str, attempt: int) -> bool:
        """Whether another machine began this attempt at a call. Then the attempt's files are not here and cannot be
        fetched."""
        if not self.has_moved or (self.folder / "spool" / f"{call}.{attempt}").exists():
            return False
        return any((spend.call, spend.attempt) == (call, attempt) for spend in self._journal.spends(self._run))

    def has_session(self, clone: str) -> bool:
        """Whether the agent session of this clone was begun on this machine, so that it can be resumed here."""
        return not self.has_moved or (self.folder / "clones" / clone).exists()


class TravellingJournal:
    """A run's journal that sends new work to the store before it records a step, because the step may name that work.
    All other calls go to the run's journal unchanged."""

    def __init__(self, journal: "Journal", travel: Travel) -> None:
        self._journal, self._travel = journal, travel

    @classmethod
    def of(cls, journal: "Journal", travel: Travel) -> "Journal":
        return cast("Journal", cls(journal, travel))

    async def once(self, key: str, inputs: str, step: "Step") -> str:
        async def sent_first() -> str:
            value = await step()
            await self._travel.send(self._journal)
            return value

        return await self._journal.once(key, inputs, sent_first)

    def __getattr__(self, name: str) -> object:
        return getattr(self._journal, name)


# -- before a run begins -----------------------------------------------------------------------------------------------


async def fit_for_travel(inputs: Inputs, repository: Repository) -> Inputs:
    """The inputs, changed so that another machine can continue the run. Raises BadInput if the run needs something that
    only this machine has."""
    then = "do without it, or start the run without a store: `TRUED_HUB_STORE= trued run …`"
    if inputs.settings.readable:
        raise BadInput(f"{inputs.settings.readable[0]} is on this machine only, {CANNOT}", "readable", then)
    base = inputs.base or repository.head
    if not base:
        return inputs  # an empty repository has nothing that could not travel
    git = Git(Path(await Store(repository.root, Path("/nonexistent"), "").source()))
    if await git.line("rev-parse", "--is-shallow-repository") == "true":
        what = f"{repository.root} is a shallow clone: a store needs the whole history of {base[:12]}"
        raise BadInput(what, then="`git fetch --unshallow` fetches it")
    files = await _tree_entries(git, base)
    if module := next((path for path, (mode, _) in files.items() if mode == "160000"), ""):
        raise BadInput(f"the submodule {module} is in another repository, {CANNOT}", then=then)
    sizes = await _sizes(git, files)
    if lacking := next((path for path in files if path not in sizes), ""):
        what = f"{repository.root} is a partial clone without the content of {lacking}, {CANNOT}"
        raise BadInput(what, then="`git fetch --refetch --no-filter` fetches it")
    if large := await _large_file(git, files, sizes):
        raise BadInput(f"the content of {large} is in git LFS, not in the repository, {CANNOT}", then=then)
    ticket = inputs.ticket
    if not ticket:
        return inputs
    # whether the repository has a forge is decided now, because another machine cannot look at its remotes
    if is_without_forge(inputs.settings.forge, repository.root):
        forge = inputs.settings.forge.model_copy(update={"kind": "local"})
        inputs = inputs.model_copy(update={"settings": inputs.settings.model_copy(update={"forge": forge})})
    pictures = [await _travelling_picture(git, picture, repository.root, files) for picture in ticket.pictures]
    return inputs.model_copy(update={"ticket": ticket.model_copy(update={"pictures": tuple(pictures)})})


async def _tree_entries(git: Git, base: str) -> dict[str, tuple[str, str]]:
    """Path → mode and hash of every file, link and submodule of the base."""
    rows = (await git("ls-tree", "-r", "-z", "--full-tree", base)).decode(errors="surrogateescape").split("\0")
    found = (row.partition("\t") for row in rows if row)
    return {path: (about.split(" ")[0], about.split(" ")[2]) for about, _, path in found}


async def _sizes(git: Git, files: dict[str, tuple[str, str]]) -> dict[str, int]:
    """Path → length of every file whose content is in this clone. A partial clone lacks the content of some files."""
    blobs = batch_input(blob for _, blob in files.values())
    output = (await git("cat-file", "--batch-check=%(objectsize)", stdin=blobs)).splitlines()
    return {path: int(size) for path, size in zip(files, output, strict=True) if size.isdigit()}


async def _large_file(git: Git, files: dict[str, tuple[str, str]], sizes: dict[str, int]) -> str:
    """The first file that is only a git LFS pointer to content elsewhere; "" if there is none."""
    attributes = [blob for path, (_, blob) in files.items() if path.rpartition("/")[2] == ".gitattributes"]
    if not any(LFS in content for content in await _contents(git, attributes)):
        return ""
    small = [path for path, size in sizes.items() if size <= POINTER_BYTES]
    contents = await _contents(git, [files[path][1] for path in small])
    return next((path for path, content in zip(small, contents, strict=True) if POINTER.match(content)), "")


async def _contents(git: Git, blobs: Sequence[str]) -> list[bytes]:
    """The contents of these blobs, read with one call of git. All of the blobs must exist."""
    output = await git("cat-file", "--batch", stdin=batch_input(blobs)) if blobs else b""
    return [answer.content or b"" for answer in parse_batch(output)]


async def _travelling_picture(git: Git, name: str, root: Path, files: dict[str, tuple[str, str]]) -> str:
    """The path of a ticket's picture, relative to the repository. A relative path is returned as it is. For an absolute
    path, raises BadInput unless the base has this picture with its present content."""
    if not Path(name).is_absolute():
        return name
    inside = Path(name).relative_to(root.resolve()).as_posix() if Path(name).is_relative_to(root.resolve()) else ""
    if inside in files:
        hashed = await git.line("hash-object", "--stdin", "--no-filters", stdin=Path(name).read_bytes())
        if files[inside][1] == hashed:
            return inside
    what = f"the commit that the run starts from does not have the ticket's picture {name} as it is now, {CANNOT}"
    raise BadInput(what, then="commit it in this repository")
