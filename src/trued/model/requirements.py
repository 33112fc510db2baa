"""What the user asks for: requirements, goals, plans and tickets, in the user's own words."""

import re
from typing import Literal, TypeAlias

from trued.model.checks import Case, Check
from trued.model.titles import cut_title
from trued.model.value import Value, newer_fields

SLUG_LIMIT = 40


# The docstrings of Source, Ready, Serve and Task are in schemas of agents' replies: see checks.py before changing one.


class Source(Value):
    """Where the user's words are."""

    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else ""


class LostCases(Value):
    """The number of cases for one clause that agents wrote and that no longer count: they were withdrawn or disclosed
    after sealing, and no new case replaces them."""

    _as_before = newer_fields("by_second")

    clause: str
    entry: str  # the entry point that the cases called
    number: int
    by_second: bool = False  # the second examiner chose their inputs: no case of the examiner replaces them


class Requirement(Value):
    """One thing that must hold when the goal is met: the user's words, verbatim."""

    _as_before = newer_fields("proposed", "aside", "author", "lost")

    id: str
    text: str
    source: Source = Source()
    covers: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    keep: bool = False
    checks: tuple[Check, ...] = ()
    parts: tuple[str, ...] = ()  # ids of requirements that it consists of: its grade is their worst grade
    proposed: tuple[str, ...] = ()  # tests of the base that an agent proposes to supersede; a person has not agreed yet
    author: str = ""  # the role that wrote it; "" for the user's own words
    aside: str = ""  # why nothing has to be built, as an agent or the plan claims; unproven until a person agrees
    lost: tuple[LostCases, ...] = ()  # unproven until a person agrees


class Ready(Value):
    """When a server counts as up."""

    path: str = "/"
    status: int | None = None  # None: any answer
    within_s: float = 20.0


class Serve(Value):
    """A server that the engine starts. Its command comes from the contract, never from the commit under proof."""

    command: tuple[str, ...]
    port_env: str = "PORT"
    ready: Ready = Ready()


class Environment(Value):
    """The environment in which checks run, sealed with the contract. What the user does not set is inferred."""

    path: tuple[str, ...] = ()
    prepare: tuple[str, ...] = ()  # commands that may use package registries; checks may not
    variables: dict[str, str] = {}
    packages: tuple[str, ...] = ()
    services: tuple[Serve, ...] = ()  # started before each check that may use the loopback network

    def over(self, other: "Environment") -> "Environment":
        """This environment, with the fields of `other` where this one sets none. The variables of both are merged; for
        a variable in both, this environment's value counts."""
        fields = {name: getattr(self, name) for name in type(self).model_fields if getattr(self, name)}
        return other.model_copy(update={**fields, "variables": {**other.variables, **self.variables}})


EXISTING_TESTS = "existing tests"  # this id has a space, so no user's or agent's requirement can have it


class Requirements(Value):
    """All requirements, with what is needed to check them."""

    _as_before = newer_fields("red_suites", "disclosed")

    file: str = ""
    environment: Environment = Environment()
    serve: Serve | None = None
    interface: tuple[str, ...] = ()  # names and signatures that code and checks share; shown to every agent
    requirements: tuple[Requirement, ...]
    carried: dict[str, str] = {}  # path → base64 of files that come with the contract (`from`)
    suites: tuple[Requirement, ...] = ()  # the base's own tests, set by the engine, never by a file
    unguarded: tuple[str, ...] = ()  # test suites of the base that the engine cannot run, and why
    red_suites: tuple[Requirement, ...] = ()  # of a contract that is sealed again: see `Contract.red_suites`
    disclosed: tuple[Case, ...] = ()  # of a contract that is sealed again: see `Contract.disclosed`


class Task(Value):
    """A unit of work: a chunk, a feature, a story."""

    id: str
    title: str
    scope: str = ""  # the user's words beyond the title, such as nested list items
    brief: str = ""  # the lines of the source about this task
    files: tuple[str, ...] = ()
    phase: str = ""
    source: Source = Source()


CriterionKind: TypeAlias = Literal["ship", "acceptance", "goal", "constraint", "text"]


class Criterion(Value):
    """A sentence of the user's source that must hold."""

    text: str
    kind: CriterionKind = "ship"
    phase: str = ""
    source: Source = Source()


class Goal(Value):
    """What the user asks for: a sentence, or the whole text of a file."""

    id: str = "goal"
    text: str
    source: Source = Source()

    @property
    def heading(self) -> str:
        """The first line with words in it, without heading marks."""
        lines = [line.lstrip("# ") for line in self.text.strip().splitlines()]
        return next(filter(str.strip, lines), self.text.strip().partition("\n")[0])

    @property
    def title(self) -> str:
        """The heading, cut to 80 characters."""
        return cut_title(self.heading)


class Plan(Value):
    """The goal as tasks, with every criterion of its source."""

    _as_before = newer_fields("undecided", "done", "whole")

    title: str = ""
    tasks: tuple[Task, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    unread: tuple[Criterion, ...] = ()  # text that is neither task, criterion nor background; nothing is dropped
    context: str = ""  # background that every agent may read: problem, goals, non-goals
    source: Source = Source()
    requirements: tuple[Requirement, ...] = ()  # added by the workflow with their checks, such as features of a list
    author: str = ""  # the role that wrote these checks; "" for the user
    text: str = ""  # the whole source, byte for byte
    contract: str = ""  # hash of the sealed contract; empty before sealing
    undecided: tuple[str, ...] = ()  # what the user's settings leave unchecked; listed in every verdict
    done: tuple[str, ...] = ()  # tasks that the user's own plan marks as done; no agent can set this
    whole: str = ""  # id of the requirement for the whole source; "" means "plan"

    @property
    def signed_requirements(self) -> tuple[Requirement, ...]:
        """The requirements with the plan's author. Ids and texts do not tell an agent's requirement from the user's,
        because agents choose them."""
        return tuple(requirement.model_copy(update={"author": self.author}) for requirement in self.requirements)


class Ticket(Value):
    """A ticket's parts in the user's own words, and what it leaves open."""

    key: str
    summary: str
    kind: Literal["fix", "feat"] = "feat"
    requirements: tuple[Criterion, ...] = ()
    acceptance: tuple[Criterion, ...] = ()
    areas: tuple[str, ...] = ()  # parts of the repository that it names, as hints
    pictures: tuple[str, ...] = ()  # paths or URLs of pictures that show the expected behaviour
    preview: str = ""
    text: str  # the whole ticket, verbatim
    source: Source = Source()
    missing: tuple[str, ...] = ()  # what it does not say, one sentence each
    whole: str = ""  # id of the requirement for all of it; "" in runs of older versions means "plan"

    @property
    def branch(self) -> str:
        """The name of the ticket's branch: `fix/KEY-words` or `feat/KEY-words`."""
        slug = re.sub(r"[^a-z0-9]+", "-", self.summary.lower()).strip("-")[:SLUG_LIMIT].strip("-")
        key = re.sub(r"[^A-Za-z0-9_]+", "-", self.key)[:SLUG_LIMIT].strip("-") or "ticket"
        return f"{self.kind}/{key}-{slug}" if slug else f"{self.kind}/{key}"
