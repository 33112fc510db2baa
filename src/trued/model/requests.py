"""What the user asked: their words, verbatim, and how they are to be shown."""

import re
from typing import ClassVar, Literal

from trued.model.checks import Check
from trued.model.grades import Grown, Value

SLUG_LIMIT = 40


class Source(Value):
    """Where the user's words stand."""

    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else ""


class Requirement(Grown):
    """One thing that must hold when the goal is met: the user's words, verbatim."""

    later: ClassVar[tuple[str, ...]] = ("proposed", "aside", "author")

    id: str
    text: str
    source: Source = Source()
    covers: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    keep: bool = False
    checks: tuple[Check, ...] = ()
    parts: tuple[str, ...] = ()  # requirements that it is made of: it is as good as the worst of them
    proposed: tuple[str, ...] = ()  # tests of the base that an agent would have it supersede: nobody agreed yet
    author: str = ""  # the role that wrote it; "": these are the user's own words
    aside: str = ""  # why an agent says that it asks for nothing: unproven, until a person approves the contract


class Ready(Value):
    """When a server counts as up."""

    path: str = "/"
    status: int | None = None  # None: any answer
    within_s: float = 20.0


class Serve(Value):
    """A server that the engine starts: from the contract, never from the head."""

    command: tuple[str, ...]
    port_env: str = "PORT"
    ready: Ready = Ready()


class Environment(Value):
    """How checks are run; sealed with the contract, inferred where absent."""

    path: tuple[str, ...] = ()
    prepare: tuple[str, ...] = ()  # may use the registries; checks may not
    variables: dict[str, str] = {}
    packages: tuple[str, ...] = ()
    services: tuple[Serve, ...] = ()  # started before each check that may use the loopback

    def over(self, other: "Environment") -> "Environment":
        """This one, and where it says nothing, the other."""
        said = {name: getattr(self, name) for name in type(self).model_fields if getattr(self, name)}
        return other.model_copy(update={**said, "variables": {**other.variables, **self.variables}})


EXISTING_TESTS = "existing tests"  # a blank: no requirement of a user or an agent can have such an id


class Requirements(Value):
    """A requirements file, read."""

    file: str = ""
    environment: Environment = Environment()
    serve: Serve | None = None
    interface: tuple[str, ...] = ()  # names and shapes that both sides must know; shown to every agent
    requirements: tuple[Requirement, ...]
    carried: dict[str, str] = {}  # path → base64 of files that come with the contract (`from`)
    suites: tuple[Requirement, ...] = ()  # the base's own tests, set by the engine: no file can name them
    unguarded: tuple[str, ...] = ()  # test suites of the base that the engine cannot run, in words


class Task(Value):
    """A unit of work: a chunk, a feature, a story."""

    id: str
    title: str
    scope: str = ""  # the user's words for it, where they are more than the title: nested points of a list
    brief: str = ""  # the user's own lines about it
    files: tuple[str, ...] = ()
    phase: str = ""
    source: Source = Source()


class Criterion(Value):
    """A line of the user's source that must hold: a goal, a ship criterion, a constraint."""

    text: str
    kind: str = "ship"  # ship | goal | constraint | text
    phase: str = ""
    source: Source = Source()


class Goal(Value):
    """What the user asked: a sentence, or a file's whole text."""

    id: str = "goal"
    text: str
    source: Source = Source()


class Plan(Grown):
    """The goal as tasks, with every criterion of its source."""

    later: ClassVar[tuple[str, ...]] = ("undecided",)

    title: str = ""
    tasks: tuple[Task, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    unread: tuple[Criterion, ...] = ()  # words that are neither task, criterion nor background: nothing is lost
    context: str = ""  # problem, goals, non-goals: what every agent may know
    source: Source = Source()
    requirements: tuple[Requirement, ...] = ()  # that the workflow brings with their checks: features of a list
    author: str = ""  # the role that wrote those checks; "" where they are the user's own
    text: str = ""  # the whole source, byte for byte
    contract: str = ""  # hash of the sealed contract; empty before sealing
    undecided: tuple[str, ...] = ()  # what nobody will look at, by the user's own settings: said in every verdict


class Ticket(Value):
    """A ticket, read: the user's words in their places, and what it does not say."""

    key: str
    summary: str
    kind: Literal["fix", "feat"] = "feat"
    requirements: tuple[Criterion, ...] = ()
    acceptance: tuple[Criterion, ...] = ()
    areas: tuple[str, ...] = ()  # of the repository, as hints
    pictures: tuple[str, ...] = ()  # of the expected behaviour: paths or addresses
    preview: str = ""
    text: str  # the whole of it, verbatim
    source: Source = Source()
    missing: tuple[str, ...] = ()  # what it does not say, in words

    @property
    def branch(self) -> str:
        """`fix/KEY-words` or `feat/KEY-words`."""
        words = re.sub(r"[^a-z0-9]+", "-", self.summary.lower()).strip("-")[:SLUG_LIMIT].strip("-")
        key = re.sub(r"[^A-Za-z0-9_]+", "-", self.key)[:SLUG_LIMIT].strip("-") or "ticket"
        return f"{self.kind}/{key}-{words}" if words else f"{self.kind}/{key}"
