"""The pipeline's plan: its tasks, which of them can be worked on at the same time, and what is wrong with a plan."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from pydantic import Field

from trued.model import Finding, Task, Value
from trued.model.titles import cut_title
from trued.support.lazy_regex import lazy_regex

Kind: TypeAlias = Literal["implementation", "documentation"]
# A task's id becomes part of file, agent and branch names: no dot or dash at its end, no two dots, no `.lock`.
NAMED = lazy_regex(r"(?!.*(?:\.\.|\.lock$))[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,30}[A-Za-z0-9_])?", re.IGNORECASE)
MOST = 200  # tasks: a larger plan is not a plan for one feature
SHOWN = 60
WHOLE_REQUEST = ("goal", "plan")  # ids that mean the whole request; no task may have one of them


class Work(Value):
    """One task of a plan, as its planner gives it."""

    id: str = Field(description="short, like T01; letters, digits, - and _")
    title: str
    brief: str = Field(default="", description="what is to be done, and how to see that it is done")
    kind: Kind = "implementation"
    depends_on: tuple[str, ...] = Field(default=(), description="ids of tasks whose results it needs")
    files: tuple[str, ...] = Field(default=(), description="files that it will change")
    tests: str = Field(default="", description="the command that will run its tests")
    criteria: tuple[str, ...] = Field(default=(), description="ids of the acceptance criteria that it serves")

    def as_task(self) -> Task:
        shown = [f"Tests that will show it: {self.tests}"] if self.tests else []
        brief = "\n\n".join([self.brief or self.title, *shown])
        return Task(id=self.id, title=cut_title(" ".join(self.title.split())), brief=brief, files=self.files)


def waves(works: Iterable[Work]) -> tuple[tuple[Work, ...], ...]:
    """The tasks in waves, in the order of the plan; each task needs only tasks of earlier waves. A dependency that is
    not among `works` counts as done. Tasks in a cycle are left out (`plan_problems` names them)."""
    remaining, ordered = list(works), list[tuple[Work, ...]]()
    while remaining:
        open_ids = {work.id for work in remaining}
        wave = tuple(work for work in remaining if not open_ids & {*work.depends_on})
        if not wave:
            break
        ordered.append(wave)
        remaining = [work for work in remaining if work not in wave]
    return tuple(ordered)


def plan_problems(works: Sequence[Work], criteria: Collection[str] = ()) -> tuple[Finding, ...]:
    """What keeps these tasks from being a usable plan. `criteria`: the ids of all acceptance criteria; if it is empty,
    the criteria that tasks name are not checked."""
    return tuple(Finding(what=problem, where="the plan") for problem in _problems(works, criteria))


def _id_problem(name: str) -> str:
    if name.casefold() in WHOLE_REQUEST:
        return "it means the whole request"
    return "" if NAMED.fullmatch(name) else "letters, digits, '-', '_' and '.' between them, 32 at most"


def _problems(works: Sequence[Work], criteria: Collection[str]) -> Iterator[str]:
    ids = [work.id for work in works]
    if len(ids) > MOST:
        yield f"{len(ids)} tasks are too many: {MOST} at most"
        return
    if not works:
        yield "it has no task"
    for name in dict.fromkeys(ids):
        if why := _id_problem(name):
            yield f"{name[:SHOWN]!r} cannot be a task's id: {why}"
        if sum(other.casefold() == name.casefold() for other in ids) > 1:
            yield f"the id {name} appears twice"
    for work in works:
        for other in work.depends_on:
            if other not in ids:
                yield f"{work.id} depends on {other[:SHOWN]!r}, and there is no such task"
        for name in work.criteria:
            if criteria and name not in criteria:
                yield f"{work.id} serves {name[:SHOWN]!r}, and there is no such acceptance criterion"
    known = [work.model_copy(update={"depends_on": tuple({*work.depends_on} & {*ids})}) for work in works]
    placed = {work.id for wave in waves(known) for work in wave}
    if circle := [name for name in dict.fromkeys(ids) if name not in placed]:
        yield f"these tasks wait for each other: {', '.join(circle)}"
