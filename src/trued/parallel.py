"""Parallel: parts of a run that go on side by side, each on a line of its own, and how they come together again."""

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Self, TypeVar

from .delivery import Delivery
from .kit import digest
from .redact import in_json
from .types import Value

SIDE_CHARS = 6_000  # of each side of a file, for whoever brings them together; it has the files before it
T = TypeVar("T")


class Both(Value):
    """A file that two agents changed in ways that contradict each other; None: it is not there."""

    path: str
    ours: str | None  # as it stands: the earlier task's
    theirs: str | None  # as the later task's agent wants it


class Conflict(Value):
    """What keeps a part from being merged: its agent is asked for one version that does both."""

    files: tuple[Both, ...]
    commit: str  # both sides between markers, where the part stands now


class Joined(Value):
    """How it came out, as it is recorded."""

    commit: str
    files: tuple[Both, ...] = ()
    marks: tuple[str, ...] = ()  # lines by which git tells the two sides apart


class Parallel(Delivery):
    """Work in clones of its own for everybody, merged one after another in an order that nobody's speed decides."""

    def scope(self, name: str) -> Self:
        """A named part of the run: its steps carry the name, and are counted per name."""
        return type(self)(self.kit, self.steps.below(name))

    def part(self, name: str) -> Self:
        """The same on a line of its own: what is accepted there moves nobody else's head. It proves nothing."""
        return type(self)(self.kit, self.steps.below(name).apart())

    async def together(self, jobs: Mapping[str, Awaitable[T]]) -> dict[str, T]:
        """All at once, those at work and as many who are being made ready; nobody who works is broken off."""
        soon = asyncio.Semaphore(2 * self.kit.settings.cap)

        async def one(job: Awaitable[T]) -> T:
            async with soon:
                return await job

        got = await asyncio.gather(*map(one, jobs.values()), return_exceptions=True)
        for found in got:
            if isinstance(found, BaseException):
                raise found
        return dict(zip(jobs, [one for one in got if not isinstance(one, BaseException)], strict=True))

    async def join(self, part: Self, message: str = "") -> Conflict | None:
        """Merge what a part has done. None: the run's head has it. A conflict moves nothing but the part: it stands
        where both sides are, so that its agent can make one of them; then it is joined again."""
        line, theirs, name = self.line, part.line, part.steps.path.rstrip("/")
        files, marks = theirs.between

        async def step() -> str:
            left = [path for path in files if set(marks) & _lines(await part.read(path))]
            if left:
                found = Joined(commit=theirs.head, files=await part._unsettled(left), marks=marks)
            else:
                found = await self._merged(theirs.head, message or f"merge: {name}", max(line.when, theirs.when))
            if found.files:
                self.steps.tell("join")("conflict", part=name, files=[one.path for one in found.files])
            else:
                self.steps.tell("join")("merged", part=name, commit=found.commit)
            return in_json(self.kit.redact, found.model_dump_json())

        inputs = digest(line.head, theirs.head, name, list(files))
        found = Joined.model_validate_json(await self.steps.once(self.steps.key("join"), inputs, step))
        line.live = line.live or theirs.live
        if found.files:
            theirs.head, theirs.between = found.commit, (tuple(one.path for one in found.files), found.marks)
            return Conflict(files=found.files, commit=found.commit)
        line.changes += found.commit != line.head
        line.head, line.when = found.commit, max(line.when, theirs.when)
        theirs.head, theirs.between = found.commit, ((), ())
        return None

    async def _merged(self, head: str, message: str, when: float) -> Joined:
        ours = self.line.head
        made = await self.kit.workspace.merge(ours, head, message=message, when=when)
        files = tuple(Both(path=path, ours=_text(one), theirs=_text(two)) for path, (one, two) in made.both.items())
        marks = (f"<<<<<<< {ours}", f">>>>>>> {head}") if files else ()
        return Joined(commit=made.commit, files=files, marks=marks)

    async def _unsettled(self, paths: list[str]) -> tuple[Both, ...]:
        """Still with both sides in it: what stands there is shown as it is."""
        return tuple([Both(path=path, ours=None, theirs=_text_of(await self.read(path))) for path in paths])


def _lines(text: str | None) -> set[str]:
    return set((text or "").splitlines())


def _text(content: bytes | None) -> str | None:
    return None if content is None else _text_of(content.decode(errors="replace"))


def _text_of(text: str | None) -> str | None:
    if text is None or "\0" in text:
        return text and "(not a text)"
    return text if len(text) <= SIDE_CHARS else f"{text[:SIDE_CHARS]}\n(… {len(text) - SIDE_CHARS} characters more)"
