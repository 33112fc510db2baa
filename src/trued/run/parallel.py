"""Parallel: parts of a run that go on side by side, each on a line of its own, and how they come together again."""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import Self, TypeVar

from trued.model import Value
from trued.run.context import digest
from trued.support.redaction import in_json
from trued.workflows.ticket.delivery import Delivery

# A mark, whatever is no word before it; of seven signs, no more.
_MARK = re.compile(r"\W*?(?<![<=>|])(?:(<{7})(?!<)|(>{7})(?!>)|(\|{7})(?!\|)|(={7})(?!=)\W*$)")
_TWO = re.compile(r"[<>|]{2}")
WIDE = 200  # characters of a line in which a mark may stand
GIVEN_UP = (
    "{path}: of two versions that contradict each other one stands as it was, and the other was given up ({part})"
)
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
    at: str = ""  # the commit that has both sides
    given_up: tuple[str, ...] = ()  # files of which one side stands as if there had never been another


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
        files, marks, at = theirs.between

        async def step() -> str:
            left = await part._open(files, marks, at) if files else []
            if left:
                found = Joined(commit=theirs.head, files=await part._unsettled(left), marks=marks, at=at)
            else:
                found = await self._merged(theirs.head, message or f"merge: {name}", max(line.when, theirs.when))
                found = found.model_copy(update={"given_up": await part._given_up(files, marks, at)})
            if found.files:
                self.steps.tell("join")("conflict", part=name, files=[one.path for one in found.files])
            else:
                more = {"given_up": list(found.given_up)} if found.given_up else {}
                self.steps.tell("join")("merged", part=name, commit=found.commit, **more)
            return in_json(self.kit.redact, found.model_dump_json())

        inputs = digest(line.head, theirs.head, name, list(files))
        found = Joined.model_validate_json(await self.steps.once(self.steps.key("join"), inputs, step))
        line.live = line.live or theirs.live
        if found.files:
            known = files if at and found.at == at else ()  # what is settled may be unsettled again
            both = tuple(dict.fromkeys((*known, *(one.path for one in found.files))))
            theirs.head, theirs.between = found.commit, (both, found.marks, found.at)
            return Conflict(files=found.files, commit=found.commit)
        line.changes += found.commit != line.head
        line.head, line.when = found.commit, max(line.when, theirs.when)
        theirs.head, theirs.between = found.commit, ((), (), "")
        if found.given_up:
            line.unsure[f"{name} {found.commit}"] = tuple(
                GIVEN_UP.format(path=one, part=name) for one in found.given_up
            )
        return None

    async def _open(self, files: Sequence[str], marks: Sequence[str], at: str) -> list[str]:
        """What still has both sides in it: these files, and any other that marks were carried into."""
        labels = [one.split()[-1] for one in marks]
        others = [
            one for one in (await self.kit.workspace.changed(at, self.line.head) if at else ()) if one not in files
        ]
        found = [one for one in await self.paths() if _plain(one, labels) != one]
        for path in (*files, *others):
            shown = await self.read(path, at) if at and path in files else None
            found += [path] if marked(await self.read(path), shown, labels) else []
        return list(dict.fromkeys(found))

    async def _given_up(self, files: Sequence[str], marks: Sequence[str], at: str) -> tuple[str, ...]:
        """Files that are now as one side had them: that the other is in it, too, is its agent's word alone. Of the
        conflict, and of what had been merged by itself and was undone."""
        read, sides = self.kit.workspace.read, [one.split()[-1] for one in marks]
        since = await self.kit.workspace.changed(at, self.line.head) if at else ()
        beside = [path for path in since if _plain(path, sides) == path]
        found = list[str]()
        for path in dict.fromkeys((*(_plain(path, sides) for path in files), *beside)):
            now = await read(self.line.head, path)
            folder = now is None and path not in (*files, *beside)  # in whose place the other side had a file
            if not folder and now in [await read(one, path) for one in sides]:
                found.append(path)
        return tuple(found)

    async def _merged(self, head: str, message: str, when: float) -> Joined:
        ours = self.line.head
        made = await self.kit.workspace.merge(ours, head, message=message, when=when)
        files = tuple(Both(path=path, ours=_text(one), theirs=_text(two)) for path, (one, two) in made.both.items())
        marks = (f"<<<<<<< {ours}", f">>>>>>> {head}") if files else ()
        return Joined(commit=made.commit, files=files, marks=marks, at=made.commit if files else "")

    async def _unsettled(self, paths: list[str]) -> tuple[Both, ...]:
        """Still with both sides in it: what stands there is shown as it is."""
        return tuple([Both(path=path, ours=None, theirs=_text_of(await self.read(path))) for path in paths])


def marked(now: str | None, shown: str | None, labels: Sequence[str]) -> bool:
    """Are marks of the conflict left in it? By the names that were written beside them; and, named or not, where there
    are more of a kind than both sides have (`shown` is the file with both, and the marks between them). Whatever
    stands before a mark: it may be indented, or made a comment."""
    if now is None or any(_named(line, labels) for line in now.splitlines()):
        return now is not None
    if shown is None:
        return False
    lines = shown.splitlines()
    written = len([line for line in lines if line.startswith("<" * 7) and _named(line, labels[:1])])
    there, theirs = _signs(now.splitlines()), _signs(lines)
    return any(number > theirs[sign] - written * (sign in "<=>") for sign, number in there.items())


def _plain(path: str, labels: Sequence[str]) -> str:
    """The name that a file has where nothing is laid beside it."""
    return next((path.removesuffix(f"~{one}") for one in labels if path.endswith(f"~{one}")), path)


def _named(line: str, labels: Sequence[str]) -> bool:
    return any(label in line and _TWO.search(line.partition(label)[0]) for label in labels)


def _signs(lines: Iterable[str]) -> Counter[str]:
    """Lines that look like a mark, by their sign."""
    found = filter(None, (_MARK.match(line) for line in lines if len(line) <= WIDE))
    return Counter(one[one.lastindex or 0][0] for one in found)


def _text(content: bytes | None) -> str | None:
    return None if content is None else _text_of(content.decode(errors="replace"))


def _text_of(text: str | None) -> str | None:
    if text is None or "\0" in text:
        return text and "(not a text)"
    return text if len(text) <= SIDE_CHARS else f"{text[:SIDE_CHARS]}\n(… {len(text) - SIDE_CHARS} characters more)"
