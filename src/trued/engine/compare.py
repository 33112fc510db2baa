"""Comparing: one goal by several workflows or agents, from one base; ordinary runs, and a name for all of them."""

import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import ValidationError

from trued.engine import concurrent_runs as several
from trued.engine.records import Inputs, Request
from trued.engine.start import prepared
from trued.errors import BadInput, Interrupted, TruedError
from trued.inputs.plans.plan import parse_plan
from trued.model import Goal, RunRecord, Value
from trued.support import atomic_files
from trued.workflows.descriptor import Input
from trued.workflows.registry import descriptor
from trued.workspace.git.repository import Repository, open_repository

if TYPE_CHECKING:
    from trued.engine.engine import Engine

FOLDER = "comparisons"
FEWEST = 2
ANEW = "HEAD"  # nothing that an earlier run left is gone on from: all begin at one commit

Ended: TypeAlias = list[RunRecord | TruedError]
GoOn: TypeAlias = Callable[[str], Coroutine[Any, Any, RunRecord]]


@dataclass(frozen=True)
class Variant:
    """One way to the goal; `by` is who works, in words, where that is what differs."""

    request: Request
    by: str = ""


class Entered(Value):
    """A run of a comparison, and what it is called there."""

    name: str
    run: str


class Comparison(Value):
    """Several runs under one name. All else that is known of them is in the journal."""

    id: str
    repository: str
    at: float
    together: bool = False
    runs: tuple[Entered, ...]


@dataclass(frozen=True)
class Ready:
    """What a run of a comparison begins with."""

    name: str
    inputs: Inputs
    repository: Repository


# -- beginning ---------------------------------------------------------------------------------------------------------


def ready(engine: "Engine", variants: Sequence[Variant]) -> list[Ready]:
    """All of them, checked as far as anything can be; nothing is written."""
    if len(variants) < FEWEST:
        what = "one way alone is nothing to compare"
        raise BadInput(what, then="name two: -w purple -w solo, or --with claude --with codex")
    repository = open_repository(variants[0].request.repository, empty=True)
    if not repository.head:
        what = f"the repository {repository.root} has no commit yet"
        raise BadInput(what, then="commit something: the runs of a comparison all start from one commit")
    inputs = _prepared(engine, variants)
    ways = [(one.settings.workflow, tuple(sorted(one.settings.agents.items()))) for one in inputs]
    if twice := next((workflow for (workflow, agents) in ways if ways.count((workflow, agents)) > 1), ""):
        what = f"two of them would be {twice} with the same agents"
        raise BadInput(what, then="name each way once: -w purple -w solo, or --with claude --with codex")
    names = distinct(f"{one.settings.workflow} {way.by}".strip() for one, way in zip(inputs, variants, strict=True))
    return [Ready(name, one, repository) for name, one in zip(names, inputs, strict=True)]


def begin(engine: "Engine", variants: Sequence[Ready], *, together: bool = False) -> Comparison:
    """Write all of them down. Whoever is killed here leaves runs that can be resumed, and compared by their ids."""
    begun = [engine.begin(one.inputs, one.repository)[0] for one in variants]
    runs = tuple(Entered(name=one.name, run=record.id) for one, record in zip(variants, begun, strict=True))
    first = begun[0]
    id_ = f"c-{first.id.removeprefix('r-')}"  # no other comparison begins with this run
    made = Comparison(id=id_, repository=first.repository, at=time.time(), together=together, runs=runs)
    folder = engine.home / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    atomic_files.write(folder / f"{made.id}.json", made.model_dump_json())
    return made


def _prepared(engine: "Engine", variants: Sequence[Variant]) -> list[Inputs]:
    """In the order given. Whoever reads plans only gets the words of what another one reads as it is."""
    made: dict[int, Inputs] = {}
    read: Inputs | None = None
    for number in sorted(range(len(variants)), key=lambda number: _late(variants[number].request)):
        request = variants[number].request.model_copy(update={"branch": ANEW})
        if read and _in_words(request, read):
            request = request.model_copy(update={"goal": words_of(read.goal.text)})
        found = prepared(request, engine.home, engine.environ, any_agent=engine.runtime is not None)
        made[number] = _inside(found)
        read = read or (None if descriptor(found.settings.workflow).takes is Input.PLAN else found)
    return [made[number] for number in range(len(variants))]


def _late(request: Request) -> int:
    """A tracker's ticket is read first, a plan last."""
    takes = _takes(request)
    return 0 if takes in (None, Input.TICKET) else 2 if takes is Input.PLAN else 1


def _takes(request: Request) -> Input | None:
    """What the workflow reads that is named; None if none is."""
    return descriptor(request.workflow).takes if request.workflow else None


def _in_words(request: Request, read: Inputs) -> bool:
    takes = _takes(request)
    if takes in (None, Input.TICKET):
        return False
    if read.ticket and not Path(request.goal).is_file():  # what is held elsewhere, no other workflow fetches
        return True
    return takes is Input.PLAN and bool(read.goal.source.file) and not _is_plan(read.goal)


def _is_plan(goal: Goal) -> bool:
    try:
        return bool(parse_plan(goal.text, goal.source.file).tasks)
    except BadInput:
        return False


def words_of(text: str) -> str:
    """What somebody wrote, without the facts that stand before it for programs."""
    _, rule, rest = text.partition("\n---\n")
    return (rest if rule and text.startswith("---\n") else text).strip()


def _inside(inputs: Inputs) -> Inputs:
    """Nothing of a comparison is pushed anywhere: a pull request of a ticket is a file of its run."""
    forge = inputs.settings.forge.model_copy(update={"kind": "local"})
    return inputs.model_copy(update={"settings": inputs.settings.model_copy(update={"forge": forge})})


def distinct(given: Iterable[str]) -> Iterator[str]:
    """Each once: two agents may be called alike."""
    seen = Counter[str]()
    for name in given:
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name} ({seen[name]})"


# -- going on ----------------------------------------------------------------------------------------------------------


async def go_on(
    engine: "Engine", comparison: Comparison, go_on: GoOn, turn: Callable[[RunRecord], None] = lambda _: None
) -> Ended:
    """Drive every run that is not finished: one after the other, so that none is in another's way, or all together.

    `turn` is told whose turn it is. An interrupt ends the one at work and leaves the others as they are.
    """
    if comparison.together:
        return await several.resume(engine, [one.run for one in comparison.runs], go_on)
    ended: Ended = []
    for one in comparison.runs:
        turn(engine.journal.run(one.run))
        try:
            ended.append(await go_on(one.run))
        except TruedError as error:  # of this run alone: driven by somebody else, its base is gone, …
            ended.append(error)
        if ended[-1].code == Interrupted.code:
            break
    return ended


# -- remembering -------------------------------------------------------------------------------------------------------


def remembered(engine: "Engine") -> list[Comparison]:
    """All of them, newest first; what is damaged, or of runs that nobody remembers, is none."""
    found, runs = list[Comparison](), {one.id for one in engine.journal.runs()}
    for file in (engine.home / FOLDER).glob("c-*.json"):
        try:
            found.append(Comparison.model_validate_json(file.read_bytes()))
        except (ValidationError, OSError):
            continue
    there = [one for one in found if all(each.run in runs for each in one.runs)]
    return sorted(there, key=lambda one: (one.at, one.id), reverse=True)


def named(engine: "Engine", name: str) -> Comparison | None:
    """By its id, or by a beginning of it that fits only one."""
    every = remembered(engine)
    fitting = [one for one in every if one.id == name] or [one for one in every if name and one.id.startswith(name)]
    return fitting[0] if len(fitting) == 1 else None


def with_run(engine: "Engine", run: str) -> Comparison | None:
    """The newest one that a run is in."""
    return next((one for one in remembered(engine) if any(each.run == run for each in one.runs)), None)
