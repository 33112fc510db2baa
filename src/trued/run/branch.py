"""Branch: what a run puts on its branch: files that the engine owns, work that is accepted, work that is set aside."""

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from trued.model import Value
from trued.run.context import Kit, Line, content_hash, digest, folder_name
from trued.run.session import Session
from trued.run.steps import Steps
from trued.support import atomic_files as durable
from trued.support.redaction import in_json
from trued.workflows.purple.memory_log import Section, render

SET_UP_S = 900.0  # a first set-up downloads what the project needs
TAIL = 4_000  # characters of what a set-up said
EDIT_LIMIT = 1024 * 1024  # bytes of a file that a person may edit


class SetUp(Value):
    """How the project's own set-up ended, in the clone of whoever works next."""

    code: int | None  # None: it was ended, because it did not end
    said: str = ""

    @property
    def works(self) -> bool:
        return self.code == 0


class Edit(Value):
    """What a person made of a file that the engine had written."""

    before: str
    after: str
    sha256: str  # of what stands there, byte for byte


class Branch:
    """The run's branch, from where it stands now: `line.head` is the newest commit, accepted or not."""

    def __init__(self, kit: Kit, steps: Steps | None = None) -> None:
        self.kit = kit
        self.steps = steps or Steps(kit, Line(head=kit.workspace.start, when=kit.began))
        self.line = self.steps.line

    @property
    def id(self) -> str:
        return self.kit.run

    @property
    def head(self) -> str:
        return self.line.head

    @property
    def base(self) -> str:
        """The user's commit: always the red side."""
        return self.kit.workspace.base

    @property
    def goes_on(self) -> bool:
        """Does the run begin with what an earlier one left on its branch?"""
        return self.kit.workspace.start != self.base

    @property
    def when(self) -> float:
        """When the last work was done, as it was recorded: a replay has the same."""
        return self.line.when

    # -- files that the engine owns ------------------------------------------------------------------------------------

    def own(self, *paths: str) -> None:
        """From now on these files are the engine's: what an agent does to them is undone, and told."""
        self.line.owned = tuple(dict.fromkeys((*self.line.owned, *paths)))

    def lay(self, *paths: str) -> None:
        """Documents that come before the work, and are no part of it; whoever works may change them."""
        self.line.laid = tuple(dict.fromkeys((*self.line.laid, *paths)))

    async def paths(self, at: str = "") -> tuple[str, ...]:
        """All files of the newest commit, or of another."""
        return tuple(await self.kit.workspace.blobs(at or self.line.head))

    async def note(self, what: str, **data: object) -> None:
        """One event in the run's record, once."""

        async def step() -> str:
            self.steps.tell(what)(what, **data)
            return ""

        await self.steps.once(self.steps.key(what), digest(data), step)

    async def read(self, path: str, at: str = "") -> str | None:
        """A file as it is on the branch now, or at another commit of it."""
        found = await self.kit.workspace.read(at or self.line.head, path)
        return None if found is None else found.decode(errors="replace")

    async def write(
        self,
        files: Mapping[str, str],
        message: str,
        *,
        accepted: bool = True,
        told: Mapping[str, object] | None = None,
        editable: Collection[str] = (),
    ) -> None:
        """The engine's own commit: these files and nothing else. What is not accepted is not published. `told`: the
        feature list as these files have it, for whoever reads the journal. `editable`: what a person writes into the
        live copy of these is heard (`edited`), and never written over before."""
        line, workspace, head = self.line, self.kit.workspace, self.line.head
        content = {path: text.encode(errors="surrogateescape") for path, text in files.items()}

        async def step() -> str:
            made = await workspace.record(head, content, message=message, when=line.when)
            if told:
                self.steps.tell("note")("features", **told)
            return made

        line.head = await self.steps.once(self.steps.key("note"), digest(head, dict(files), message), step)
        for path, data in content.items():
            if path in editable:
                self._shared_copy(path, data)
            else:
                self._live_copy(self._copied(path), data)
        if accepted:
            await self.steps.publish()

    async def edited(self, path: str, unread: Callable[[str], str] = lambda words: "") -> Edit | None:
        """What a person wrote into the live copy since the engine put it there; heard once, and recorded. `unread` says
        why words cannot be read: these stay where they were written until somebody changes them, and that is told."""
        place = self._place(path)

        async def step() -> str:
            now = place.read_bytes() if place.is_file() else None
            if now is None or content_hash(now) in (versions := self._versions(path)):
                return ""
            if len(now) > EDIT_LIMIT:
                why = f"it is larger than {EDIT_LIMIT // 1024} kB: nothing of it is read until it is smaller"
                return self._not_heard(path, now, why)
            words = now.decode(errors="replace")
            if why := unread(words):
                return self._not_heard(path, now, why)
            self.steps.tell("edited")("edited", path=path)
            edit = Edit(before=_closest(versions.values(), words), after=words, sha256=content_hash(now))
            return in_json(self.kit.redact, edit.model_dump_json())

        found = await self.steps.once(self.steps.key(f"edited {path}"), digest(path), step)
        if not found:
            return None
        edit = Edit.model_validate_json(found)
        self.line.copies[path] = (edit.sha256, edit.after)
        return edit

    def _not_heard(self, path: str, now: bytes, why: str) -> str:
        """Told once for the same words, however often they are looked at."""
        known, name = self._kept(path) / "unread", content_hash(now).encode()
        if not known.is_file() or known.read_bytes() != name:
            self.steps.tell("edited")("edit not understood", path=path, why=self.kit.redact(why))
            known.parent.mkdir(parents=True, exist_ok=True)
            durable.write(known, name, sync=False)
        return ""

    async def remember(self, section: Section) -> None:
        """One section of MEMORY.md: written by the engine, committed after the work that it tells of."""
        line, workspace = self.line, self.kit.workspace
        line.sections[section.chunk] = section
        path = self.steps.memory
        before = await workspace.read(workspace.base, path) if path else None
        existing = (before or b"").decode(errors="surrogateescape")
        text = render(existing, line.sections.values()).encode(errors="surrogateescape")
        self._live_copy("MEMORY.md", text)
        if not path:
            return
        head, message = line.head, f"docs: log of {section.chunk}"

        async def step() -> str:
            return await workspace.record(head, {path: text}, message=message, when=line.when)

        line.head = await self.steps.once(self.steps.key("log"), digest(head, section.model_dump(mode="json")), step)
        await self.steps.publish()

    # -- work ----------------------------------------------------------------------------------------------------------

    async def commit(self, message: str, *, onto: str, author: str) -> None:
        """All that was done since `onto` as one commit on it, without the engine's own files."""
        line, workspace, head = self.line, self.kit.workspace, self.line.head

        async def step() -> str:
            owned = self.steps.owned
            return await workspace.squash(head, onto, owned, author=author, message=message, when=line.when)

        line.head = await self.steps.once(self.steps.key("commit"), digest(head, onto, message, author), step)

    async def set_aside(self, name: str, *, back_to: str, work: str = "") -> None:
        """What was done since (or `work`, given up before) stays on a branch of its own; the run goes on from where it
        was before."""
        head, workspace, branch = work or self.line.head, self.kit.workspace, f"trued/{self.kit.run}-failed-{name}"

        async def step() -> str:
            why = await workspace.publish(head, branch) if head != back_to else ""
            self.steps.tell("set aside")("set aside", branch=branch if head != back_to else "", head=head, why=why)
            return why

        await self.steps.once(self.steps.key("set aside"), digest(head, branch), step)
        self.line.head = back_to

    def back_to(self, head: str) -> None:
        """Go on from an earlier commit: what came after it was not accepted."""
        self.line.head = head

    async def set_up(self, session: Session[Any], script: str) -> SetUp:
        """Run the project's set-up in the session's clone, confined as its agent will be."""
        workspace, head, key = self.kit.workspace, self.line.head, self.steps.key("set-up")

        async def step() -> str:
            await workspace.clone(session.clone, head, token=folder_name(key))
            ran = await workspace.in_clone(session.clone, ("/bin/bash", script), within_s=SET_UP_S)
            said = b"\n".join((ran.stdout, ran.stderr)).decode(errors="replace")
            found = SetUp(code=ran.exit_code, said=str(self.kit.redact(said))[-TAIL:])
            self.steps.tell("set-up")("set up", code=found.code, said=found.said)
            return found.model_dump_json()

        found = await self.steps.once(key, digest(head, script), step)
        self.line.clones[session.clone] = self.steps.path
        return SetUp.model_validate_json(found)

    def _live_copy(self, name: str, text: bytes) -> None:
        """For whoever looks while the run goes on: a view, made anew with every replay."""
        place = self.kit.folder / "files" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        durable.write(place, text, sync=False)

    def _shared_copy(self, path: str, text: bytes) -> None:
        """The same, for a file in which a person may write, too: what they wrote and nobody heard yet stays. Killed
        before it is in place, it is put there by whoever resumes; what is in place already is left alone."""
        self.line.seen[f"copy {path}"] += 1
        number, there, place = self.line.seen[f"copy {path}"], self._put(path), self._place(path)
        if there and (max(there) > number or [*there] == [number]):
            return
        if place.is_file() and content_hash(place.read_bytes()) not in self._versions(path):
            return
        kept = self._kept(path)
        kept.mkdir(parents=True, exist_ok=True)
        durable.write(kept / str(number), text, sync=False)
        self._live_copy(self._copied(path), text)
        for older in there:
            if older != number:
                (kept / str(older)).unlink()

    def _versions(self, path: str) -> dict[str, str]:
        """All that may stand in the live copy without anybody's edit, by hash: what the engine put there, what it was
        about to put there when it was killed, and what a person wrote and was heard."""
        own = {content_hash(one): one.decode(errors="replace") for one in self._put(path).values()}
        return own | dict([self.line.copies[path]] if path in self.line.copies else [])

    def _put(self, path: str) -> dict[int, bytes]:
        """What the engine put into the live copy, by number: the last, and the one before where it was killed then."""
        kept = self._kept(path)
        numbers = sorted(int(one.name) for one in kept.iterdir() if one.name.isdigit()) if kept.is_dir() else []
        return {number: (kept / str(number)).read_bytes() for number in numbers}

    def _kept(self, path: str) -> Path:
        return self.kit.folder / "put" / folder_name(path)

    def _place(self, path: str) -> Path:
        return self.kit.folder / "files" / self._copied(path)

    def _copied(self, path: str) -> str:
        """A file of a folder that is the engine's keeps its place in it; any other goes by its name."""
        inside = [one for one in self.line.owned if one.endswith("/") and path.startswith(one)]
        return path.removeprefix(inside[0]) if inside else path.rpartition("/")[2]


def _closest(versions: Iterable[str], words: str) -> str:
    """The version that somebody had before them when they wrote this."""
    lines = {*words.splitlines()}
    return min(versions, key=lambda one: len(lines ^ {*one.splitlines()}), default="")
