"""Branch: the run's branch. Reads it, commits files that the engine owns, and accepts or sets aside agents' work."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from trued.model import Value
from trued.model.events import JournalEvent
from trued.model.events.run import EditNotUnderstood, FileEdited, SetUpRan, WorkSetAside
from trued.run.editable_files import LiveCopies, closest_version
from trued.run.session import Session
from trued.run.set_up_cache import SetUpCache, set_up_key
from trued.run.steps import Steps
from trued.support.hashing import content_hash, digest, folder_name
from trued.support.path_sets import paths_outside
from trued.support.redaction import in_json

SET_UP_S = 900.0  # timeout: a first set-up downloads what the project needs
TAIL = 4_000  # how many of the last characters of a set-up's output are kept
EDIT_LIMIT = 1024 * 1024  # bytes of a file that a person has edited; a longer one is not read
# Most characters of one file, and of all files, in a brief. Agents can read the rest themselves.
FILE_CHARS, ALL_CHARS = 8_000, 18_000


class SetUp(Value):
    """How the project's own set-up script ended in an agent's clone, before the agent works there."""

    code: int | None  # None: the script ran out of time
    said: str = ""

    @property
    def works(self) -> bool:
        return self.code == 0


class Edit(Value):
    """A person's edit of a file that the engine wrote."""

    before: str
    after: str
    sha256: str  # of the file's bytes after the edit


class Content(Value):
    """A file's current content, for a brief."""

    path: str
    content: str


class Branch:
    """The run's branch or, in a part that runs concurrently, the part's own commits. `head` is the newest commit, even
    if its work has not been accepted."""

    def __init__(self, steps: Steps) -> None:
        self._steps, self._workspace = steps, steps.context.workspace
        self._copies = LiveCopies(steps.context.folder, steps.state.files, steps.state.counts)

    @property
    def steps(self) -> Steps:
        return self._steps

    @property
    def name(self) -> str:
        """The name of the branch in the user's repository."""
        return self._steps.context.branch

    @property
    def head(self) -> str:
        return self._steps.state.position.head

    @property
    def base(self) -> str:
        """The user's commit that the work starts from. Checks run on it to show the state before the work."""
        return self._workspace.base

    @property
    def is_continued(self) -> bool:
        """Whether the run starts from work that an earlier run left on the branch."""
        return self._workspace.start != self.base

    @property
    def when(self) -> float:
        """The recorded time of the last work. A replay gets the same time."""
        return self._steps.state.position.when

    # -- reading -------------------------------------------------------------------------------------------------------

    async def paths(self, commit: str = "") -> tuple[str, ...]:
        """All files of `commit` (default: the newest commit), without those in submodules; see `_submodule_folders`."""
        commit = commit or self.head
        inside = await self._submodule_folders(commit)
        return tuple(path for path in await self._workspace.blobs(commit) if not path.startswith(inside))

    async def read(self, path: str, commit: str = "") -> str | None:
        """A file's text on `commit` (default: the newest commit); None if the commit has no such file, or only in a
        submodule."""
        commit = commit or self.head
        if path.startswith(await self._submodule_folders(commit)):
            return None
        content = await self._workspace.read(commit, path)
        return None if content is None else content.decode(errors="replace")

    async def texts(self, paths: Iterable[str], commit: str = "") -> dict[str, str | None]:
        """Several files' texts, by path; see `read`."""
        return {path: await self.read(path, commit) for path in paths}

    async def changes(self, since: str = "") -> tuple[str, ...]:
        """Files that differ between the commit `since` (default: the base) and the newest commit, without the engine's
        own files."""
        return paths_outside(await self._workspace.changed_files(since or self.base, self.head), self._steps.owned)

    async def paths_in(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Files of the head whose path is a word of these texts. A line number after a path is ignored."""
        words = {word.strip("`'\"(),;").partition(":")[0] for text in texts for word in text.split()}
        return tuple(sorted(words.intersection(await self.paths())))

    async def _submodule_folders(self, commit: str) -> tuple[str, ...]:
        """The folders of the commit's submodules, each with a final slash. `Branch` reads no file in a submodule: what
        it reads becomes part of recorded steps, and the content of submodules depends on the machine."""
        return tuple(f"{path}/" for path in await self._workspace.submodules(commit))

    async def contents(self, paths: Sequence[str]) -> tuple[Content, ...]:
        """The files' texts, as far as they fit into a brief. A note stands for a file that is missing, binary or too
        long."""
        contents, remaining = list[Content](), ALL_CHARS
        for path in paths:
            text = await self.read(path)
            if text is None:
                contents.append(Content(path=path, content="(it is not there any more)"))
            elif "\0" in text or len(text) > min(FILE_CHARS, remaining):
                contents.append(Content(path=path, content=f"({len(text)} characters: read it yourself)"))
            else:
                remaining -= len(text)
                contents.append(Content(path=path, content=text))
        return tuple(contents)

    # -- files that the engine owns ------------------------------------------------------------------------------------

    def own(self, *paths: str) -> None:
        """Reserve these files for the engine: from now on an agent's change to them is undone, with an event."""
        files = self._steps.state.files
        files.owned = tuple(dict.fromkeys((*files.owned, *paths)))

    def allow_notes(self, *paths: str) -> None:
        """Let agents write notes into these files of the engine. The engine still undoes an agent's changes, but
        without an event. The workflow reads the changes in `AgentAnswer.undone`, keeps the notes that it allows, and
        reports all other changes itself."""
        files = self._steps.state.files
        files.noted = tuple(dict.fromkeys((*files.noted, *paths)))

    def disown(self, *paths: str) -> None:
        """Let agents change these files as part of their work, until `own` is called again."""
        files = self._steps.state.files
        files.owned = tuple(path for path in files.owned if path not in paths)

    def set_background(self, *paths: str) -> None:
        """Declare documents that existed before the work. Anybody may change them, and changes to them do not count as
        part of the work, unless `count_as_work` names them."""
        files = self._steps.state.files
        files.background = tuple(dict.fromkeys((*files.background, *paths)))

    def count_as_work(self, *paths: str) -> None:
        """Let changes to these files count as part of the work from now on, even if the engine writes the files or they
        are background."""
        files = self._steps.state.files
        files.counted = tuple(dict.fromkeys((*files.counted, *paths)))

    async def write(
        self,
        files: Mapping[str, str],
        message: str,
        *,
        accepted: bool = True,
        event: JournalEvent | None = None,
        editable: Collection[str] = (),
        step: str = "note",
        inputs: object = None,
    ) -> None:
        """Commit these files, in the engine's own name.

        `accepted=False`: the run's branch in the user's repository is not moved to the commit. `event`: emitted with
        the commit, to tell readers of the journal what the files say.
        `editable`: paths whose copies in the run's folder a person may edit; `read_edit` reads the edits.
        `step`: the step's name. `inputs`: a replay checks whether these are unchanged, instead of the files and the
        message.
        """
        head, when = self.head, self.when
        content = {path: text.encode(errors="surrogateescape") for path, text in files.items()}

        async def commit() -> str:
            new_head = await self._workspace.commit_files(head, content, message=message, when=when)
            if event:
                self._steps.emit("note", event)
            return new_head

        inputs_hash = digest(head, inputs) if inputs is not None else digest(head, dict(files), message)
        self._steps.state.position.head = await self._steps.once(self._steps.key(step), inputs_hash, commit)
        for path, data in content.items():
            if path in editable:
                self._copies.put_editable(path, data)
            else:
                self._copies.write_copy(path, data)
        if accepted:
            await self._steps.publish()

    def show(self, path: str, text: str) -> None:
        """Write a text into the run's folder, where people can read it; nothing is committed."""
        self._copies.write_copy(path, text.encode(errors="surrogateescape"))

    async def read_edit(self, path: str, problem: Callable[[str], str] = lambda text: "") -> Edit | None:
        """A person's edit of the copy of this file in the run's folder. Each edit is read once.

        Returns None if there is no new edit, or if the edit is too large or cannot be parsed. Such an edit is reported
        by an event, and stays in the copy until a person corrects it. `problem`: returns why a text cannot be parsed;
        "" if it can.
        """
        return await self._read_edit(path, problem, f"edited {path}")

    async def read_new_edit(self, path: str, problem: Callable[[str], str] = lambda text: "") -> Edit | None:
        """`read_edit` for the end of a run. If there is no new edit, no step is recorded, so that a resumed run looks
        for an edit again."""
        return await self._read_edit(path, problem, f"edited after the end {path}", record_nothing=False)

    async def _read_edit(
        self, path: str, problem: Callable[[str], str], name: str, *, record_nothing: bool = True
    ) -> Edit | None:
        """Read an edit in the step `name`. `record_nothing`: whether the step is recorded even if there is no new
        edit."""
        live_copy = self._copies.place(path)
        no_edit = "" if record_nothing else None

        async def step() -> str | None:
            content = live_copy.read_bytes() if live_copy.is_file() else None
            if content is None or content_hash(content) in (versions := self._copies.known_versions(path)):
                return no_edit
            text = content.decode(errors="replace")
            too_large = f"it is larger than {EDIT_LIMIT // 1024} kB: nothing of it is read until it is smaller"
            if why := too_large if len(content) > EDIT_LIMIT else problem(text):
                if self._copies.is_new_refusal(path, content):
                    why = self._steps.context.redact(why)
                    self._steps.emit("edited", EditNotUnderstood(path=path, why=why))
                return no_edit
            self._steps.emit("edited", FileEdited(path=path))
            edit = Edit(before=closest_version(versions.values(), text), after=text, sha256=content_hash(content))
            return in_json(self._steps.context.redact, edit.model_dump_json())

        recorded = await self._steps.once_unless_none(self._steps.key(name), digest(path), step)
        if not recorded:
            return None
        edit = Edit.model_validate_json(recorded)
        self._steps.state.files.edits[path] = (edit.sha256, edit.after)
        return edit

    # -- agents' work --------------------------------------------------------------------------------------------------

    async def squash(self, message: str, *, onto: str, author: str) -> None:
        """Squash all work since the commit `onto` into one commit on top of `onto`. The engine's own files are left as
        they are in `onto`."""
        head, when, owned = self.head, self.when, self._steps.owned

        async def step() -> str:
            return await self._workspace.squash(head, onto, owned, author=author, message=message, when=when)

        inputs_hash = digest(head, onto, message, author)
        self._steps.state.position.head = await self._steps.once(self._steps.key("commit"), inputs_hash, step)

    async def set_aside(self, name: str, *, back_to: str, work: str = "") -> str:
        """Keep the newest commit (or `work`) on a branch of its own, and continue from `back_to`.

        Returns the name of that branch; "" if there was no work, or if the branch could not be created.
        """
        head, branch = work or self.head, f"trued/{self._steps.context.run}-failed-{name}"

        async def step() -> str:
            why = await self._workspace.publish(head, branch) if head != back_to else ""
            self._steps.emit("set aside", WorkSetAside(branch=branch if head != back_to else "", head=head, why=why))
            return why

        why = await self._steps.once(self._steps.key("set aside"), digest(head, branch), step)
        self.reset(back_to)
        return branch if head != back_to and not why else ""

    def reset(self, head: str) -> None:
        """Continue from an earlier commit, because what came after it was not accepted."""
        self._steps.state.position.head = head

    async def set_up(self, session: Session[Any], script: str) -> SetUp:
        """Run the set-up script (a path) in the session's clone, in the same sandbox that its agent will have.

        What the script installs is cached, and restored in the next clone with the same script and manifests.
        """
        steps, workspace, head, key = self._steps, self._workspace, self.head, self._steps.key("set-up")

        async def step() -> SetUp:
            work, _ = await workspace.clone(session.clone, head, token=folder_name(key))
            found_by = set_up_key(await workspace.blobs(head), script, steps.owned)
            cache = SetUpCache(steps.context.folder / "set-up", found_by)
            await asyncio.to_thread(cache.restore, work)
            ran = await workspace.execute_in_clone(session.clone, ("/bin/bash", script), within_s=SET_UP_S)
            output = b"\n".join((ran.stdout, ran.stderr)).decode(errors="replace")
            made = SetUp(code=ran.exit_code, said=str(steps.context.redact(output))[-TAIL:])
            if made.works:
                await asyncio.to_thread(cache.save, work)
            steps.emit("set-up", SetUpRan(code=made.code, said=made.said))
            return made

        set_up = await steps.compute(SetUp, key, digest(head, script), step)
        steps.state.clones[session.clone] = steps.path
        return set_up
