"""Parts of the team's replies: planned work, questions, named tests and failures."""

from typing import Literal, TypeAlias

from pydantic import Field

from trued.model import Finding, Value

Weight: TypeAlias = Literal["high", "medium", "low"]


class PlannedTask(Value):
    """One piece of technical work: small enough for one developer."""

    title: str = Field(min_length=1, description="what is to be done, in one sentence")
    name: str = Field(default="", description="a short name that you choose, so that other tasks can depend on it")
    depends_on: tuple[str, ...] = Field(default=(), description="names of tasks that must be done before it")
    files: tuple[str, ...] = Field(default=(), description="files that it will change, as far as you know")


class PlannedStory(Value):
    name: str = Field(min_length=1)
    tasks: tuple[PlannedTask, ...] = Field(min_length=1)


class PlannedFeature(Value):
    """One capability that a user of the product would name."""

    name: str = Field(min_length=1)
    priority: Weight = "medium"
    criteria: tuple[str, ...] = Field(min_length=1, description="acceptance criteria: what can be seen when it is done")
    stories: tuple[PlannedStory, ...] = Field(min_length=1)
    depends_on: tuple[str, ...] = Field(default=(), description="names of features that must be completed before it")


class FixTask(PlannedTask):
    feature: str = Field(default="", description="id of the feature that it fixes; empty if only one is concerned")


class Query(Value):
    """A question to another member of the team: it is answered before the work continues."""

    to: Literal["techlead", "pm"] = "techlead"
    text: str = Field(min_length=1)
    priority: Weight = "medium"


class NamedTests(Value):
    """Tests that will show that a task is done or, if no task is named, the whole feature."""

    command: str = Field(min_length=1, description="like python -m pytest -q tests/test_login.py")
    task: str = Field(default="", description="id of the task after which they must pass; empty: after the last one")


class Needs(Value):
    task: str
    depends_on: tuple[str, ...] = Field(description="ids of tasks that must be done before it")


class Failure(Finding):
    """One failure: how to reproduce it, what is expected, what happens. If it has a `case`, the engine runs it."""

    what: str = Field(min_length=1, description="the specific failure, with file:line or message")
    reproduction: tuple[str, ...] = Field(default=(), description="steps, one by one")
    expected: str = ""
    actual: str = ""

    @property
    def finding(self) -> Finding:
        """The failure in one sentence, for the agent that fixes it."""
        parts = [self.what]
        parts += [f"to see it: {'; '.join(self.reproduction)}"] if self.reproduction else []
        parts += [f"expected: {self.expected}"] if self.expected else []
        parts += [f"actual: {self.actual}"] if self.actual else []
        return Finding(
            what=" · ".join(parts),
            where=self.where,
            severity=self.severity,
            requirement=self.requirement,
            case=self.case,
        )
