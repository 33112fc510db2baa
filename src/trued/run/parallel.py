"""Parallel: parts of a run that work concurrently, each on commits of its own, and how they are merged."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import TypeVar

from trued.model import Value
from trued.model.events.run import MergeConflict, PartMerged
from trued.run.branch import Branch
from trued.run.state import Position, Unmerged
from trued.support.hashing import digest
from trued.support.lazy_regex import lazy_regex
from trued.support.redaction import in_json

# A conflict marker: exactly seven signs, with no word characters before them.
_MARK = lazy_regex(r"\W*?(?<![<=>|])(?:(<{7})(?!<)|(>{7})(?!>)|(\|{7})(?!\|)|(={7})(?!=)\W*$)")
_TWO = lazy_regex(r"[<>|]{2}")
WIDE = 200  # characters: longer lines are not searched for markers
GIVEN_UP = "{path}: two versions were to be merged: one was kept unchanged, the other dropped ({part})"
SIDE_CHARS = 6_000  # most characters of each side of a file in the merging agent's brief; its clone has all of it
T = TypeVar("T")


class ConflictingFile(Value):
    """A file that two agents changed in contradicting ways. `ours` or `theirs` is None if that side has no such file.

    If the agent was asked to resolve the file and did not, `theirs` is what the agent left, and `ours` is None.
    """

    path: str
    ours: str | None  # the version on the run's head, from the earlier task
    theirs: str | None  # the version of the later task


class Conflict(Value):
    """The conflict that kept a part from being merged. The agent that worked on the part is asked to unite both sides
    in one version."""

    files: tuple[ConflictingFile, ...]
    commit: str  # has both sides, with conflict markers; the part's new head


class Merge(Value):
    """The result of a merge, as it is recorded."""

    commit: str
    files: tuple[ConflictingFile, ...] = ()
    marks: tuple[str, ...] = ()  # git's lines before and after the two sides; each ends with the commit of a side
    at: str = ""  # the commit that has both sides
    given_up: tuple[str, ...] = ()  # files that equal one side, as if the other had never existed


class Parallel:
    """Runs jobs concurrently, and merges parts one after another in a fixed order, whichever finishes first."""

    def __init__(self, branch: Branch) -> None:
        self._branch, self._steps = branch, branch.steps
        self._context = branch.steps.context

    async def gather(self, jobs: Mapping[str, Awaitable[T]]) -> dict[str, T]:
        """Run all jobs concurrently, at most twice as many at a time as the run's cap of agents. If a job fails, the
        others still finish; then its error is raised (the error of the first one in `jobs`, if several failed)."""
        slots = asyncio.Semaphore(2 * self._context.settings.cap)

        async def one(job: Awaitable[T]) -> T:
            async with slots:
                return await job

        results = await asyncio.gather(*map(one, jobs.values()), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return dict(zip(jobs, [result for result in results if not isinstance(result, BaseException)], strict=True))

    async def merge(self, part: Branch, message: str = "") -> Conflict | None:
        """Merge a part's work into the run's head. Returns None if it is merged, else the conflict.

        A conflict changes only the part: its head becomes a commit that contains both sides. Have the part's agent
        unite both sides in one version, then call `merge` again. For each file of which the agent kept only one side,
        the verdicts get a warning.
        """
        steps, position, part_position, name = (
            self._steps,
            self._position,
            part.steps.state.position,
            part.steps.path.rstrip("/"),
        )
        open_ = part_position.unmerged

        async def step() -> str:
            unresolved = await _unresolved(part, open_) if open_.files else []
            if unresolved:
                both = tuple(
                    [
                        ConflictingFile(path=path, ours=None, theirs=_shortened(await part.read(path)))
                        for path in unresolved
                    ]
                )
                merge = Merge(commit=part_position.head, files=both, marks=open_.marks, at=open_.commit)
            else:
                merge = await self._merge_commit(
                    part_position.head, message or f"merge: {name}", max(position.when, part_position.when)
                )
                merge = merge.model_copy(update={"given_up": await _given_up(part, open_)})
            if merge.files:
                steps.emit("join", MergeConflict(part=name, files=tuple(file.path for file in merge.files)))
            else:
                steps.emit("join", PartMerged(part=name, commit=merge.commit, given_up=merge.given_up))
            return in_json(self._context.redact, merge.model_dump_json())

        inputs = digest(position.head, part_position.head, name, list(open_.files))
        result = Merge.model_validate_json(await steps.once(steps.key("join"), inputs, step))
        position.live = position.live or part_position.live
        if result.files:
            # Keep earlier files of the conflict: one that was resolved may be changed again.
            earlier = open_.files if open_.commit and result.at == open_.commit else ()
            files = tuple(dict.fromkeys((*earlier, *(file.path for file in result.files))))
            part_position.head, part_position.unmerged = result.commit, Unmerged(files, result.marks, result.at)
            return Conflict(files=result.files, commit=result.commit)
        position.changes += result.commit != position.head
        position.head, position.when = result.commit, max(position.when, part_position.when)
        part_position.head, part_position.unmerged = result.commit, Unmerged()
        if result.given_up:
            warnings = tuple(GIVEN_UP.format(path=path, part=name) for path in result.given_up)
            steps.state.proof.unverified[f"{name} {result.commit}"] = warnings
        return None

    @property
    def _position(self) -> Position:
        return self._steps.state.position

    async def _merge_commit(self, head: str, message: str, when: float) -> Merge:
        ours = self._position.head
        merge = await self._context.workspace.merge(ours, head, message=message, when=when)
        files = tuple(
            ConflictingFile(path=path, ours=_short_text(ours), theirs=_short_text(theirs))
            for path, (ours, theirs) in merge.both.items()
        )
        marks = (f"<<<<<<< {ours}", f">>>>>>> {head}") if files else ()
        return Merge(commit=merge.commit, files=files, marks=marks, at=merge.commit if files else "")


async def _unresolved(part: Branch, conflict: Unmerged) -> list[str]:
    """Files that are not resolved yet: those with conflict markers (files of the conflict, and files changed since),
    and the `name~label` files in which git put a version beside the other."""
    labels = [mark.split()[-1] for mark in conflict.marks]
    since = await part.steps.context.workspace.changed_files(conflict.commit, part.head) if conflict.commit else ()
    others = [path for path in since if path not in conflict.files]
    unresolved = [path for path in await part.paths() if _without_label(path, labels) != path]
    for path in (*conflict.files, *others):
        shown = await part.read(path, conflict.commit) if conflict.commit and path in conflict.files else None
        unresolved += [path] if has_conflict_markers(await part.read(path), shown, labels) else []
    return list(dict.fromkeys(unresolved))


async def _given_up(part: Branch, conflict: Unmerged) -> tuple[str, ...]:
    """Files that now equal one side of the merge: files of the conflict, and files that the agent changed after git had
    merged them. They are listed even if the agent says that nothing was lost: that is only a claim."""
    workspace, sides = part.steps.context.workspace, [mark.split()[-1] for mark in conflict.marks]
    since = await workspace.changed_files(conflict.commit, part.head) if conflict.commit else ()
    others = [path for path in since if _without_label(path, sides) == path]
    given_up = list[str]()
    for path in dict.fromkeys((*(_without_label(path, sides) for path in conflict.files), *others)):
        content = await workspace.read(part.head, path)
        # The path is a folder now: one side had a file here, and git has put it beside the folder, under a label.
        folder = content is None and path not in (*conflict.files, *others)
        if not folder and content in [await workspace.read(side, path) for side in sides]:
            given_up.append(path)
    return tuple(given_up)


def has_conflict_markers(text: str | None, with_both_sides: str | None, labels: Sequence[str]) -> bool:
    """Whether git's conflict markers are left in a file, also indented or commented out.

    A marker with a label (a commit) is recognised by the label. A marker without a label, such as `=======`,
    may be an ordinary line: it counts as left only if the file has more such lines than both sides had together.
    `with_both_sides`: the file as the agent got it, with both sides and the markers.
    """
    if text is None or any(_is_conflict_marker(line, labels) for line in text.splitlines()):
        return text is not None
    if with_both_sides is None:
        return False
    lines = with_both_sides.splitlines()
    written = len([line for line in lines if line.startswith("<" * 7) and _is_conflict_marker(line, labels[:1])])
    signs, signs_with_both_sides = _signs(text.splitlines()), _signs(lines)
    return any(number > signs_with_both_sides[sign] - written * (sign in "<=>") for sign, number in signs.items())


def _without_label(path: str, labels: Sequence[str]) -> str:
    """The file's name without `~label`, which git appends when it has to put one version beside the other. A label is
    the commit of a side."""
    return next((path.removesuffix(f"~{label}") for label in labels if path.endswith(f"~{label}")), path)


def _is_conflict_marker(line: str, labels: Sequence[str]) -> bool:
    return any(label in line and _TWO.search(line.partition(label)[0]) for label in labels)


def _signs(lines: Iterable[str]) -> Counter[str]:
    """The number of lines that look like a conflict marker, by its sign (`<`, `=`, `>` or `|`)."""
    matches = filter(None, (_MARK.match(line) for line in lines if len(line) <= WIDE))
    return Counter(match[match.lastindex or 0][0] for match in matches)


def _short_text(content: bytes | None) -> str | None:
    return None if content is None else _shortened(content.decode(errors="replace"))


def _shortened(text: str | None) -> str | None:
    if text is None or "\0" in text:
        return text and "(not a text)"
    return text if len(text) <= SIDE_CHARS else f"{text[:SIDE_CHARS]}\n(… {len(text) - SIDE_CHARS} characters more)"
