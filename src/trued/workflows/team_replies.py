"""What the members of a team answer with. All of it is a claim; what can be run or counted, the engine runs itself."""

from typing import Literal

from pydantic import Field

from trued import Finding, Reply, Severity, Status, Value

# -- the PM ------------------------------------------------------------------------------------------------------------


class PlannedTask(Value):
    """One piece of technical work: small enough for one developer's attempt."""

    title: str = Field(min_length=1, description="what is to be done, in one sentence")
    name: str = Field(default="", description="a short name of yours, so that other tasks can depend on it")
    depends_on: tuple[str, ...] = Field(default=(), description="names of tasks that must be done before")


class PlannedStory(Value):
    name: str = Field(min_length=1)
    tasks: tuple[PlannedTask, ...] = Field(min_length=1)


class PlannedFeature(Value):
    """One capability that a user of the product would name."""

    name: str = Field(min_length=1)
    priority: Literal["high", "medium", "low"] = "medium"
    criteria: tuple[str, ...] = Field(
        min_length=1, description="acceptance criteria: what must hold, so it can be seen"
    )
    stories: tuple[PlannedStory, ...] = Field(min_length=1)
    depends_on: tuple[str, ...] = Field(default=(), description="names of features that must be there before")


class Breakdown(Reply):
    """The goal as features, stories and tasks."""

    features: tuple[PlannedFeature, ...] = Field(min_length=1)
    decisions: tuple[str, ...] = Field(default=(), description="what you assumed or decided, and why")


class FixTask(PlannedTask):
    feature: str = Field(default="", description="id of the feature that it mends; where only one is at hand, empty")


class Fixes(Reply):
    """What has to be done after a validation that failed. Criteria stay as they are."""

    tasks: tuple[FixTask, ...] = Field(min_length=1)
    decisions: tuple[str, ...] = ()


# -- questions ---------------------------------------------------------------------------------------------------------


class Query(Value):
    """A question to another member of the team: it is answered before the work goes on."""

    to: Literal["techlead", "pm"] = "techlead"
    text: str = Field(min_length=1)
    priority: Literal["high", "medium", "low"] = "medium"


class Clarified(Reply):
    """The answer to a question of another member of the team."""

    answer: str = Field(min_length=1)
    decisions: tuple[str, ...] = ()


# -- the tech lead -----------------------------------------------------------------------------------------------------


class NamedTests(Value):
    """Tests that will show a task, or, with no task named, the whole feature."""

    command: str = Field(min_length=1, description="like python -m pytest -q tests/test_login.py")
    task: str = Field(default="", description="id of the task after which they must pass; empty: after the last one")


class Needs(Value):
    task: str
    depends_on: tuple[str, ...] = Field(description="ids of tasks that must be done before it")


class Specified(Reply):
    """How a feature is to be built."""

    spec: str = Field(min_length=1, description="the technical specification, in Markdown")
    decisions: tuple[str, ...] = Field(default=(), description="decision records: what, why, what was rejected")
    tests: tuple[NamedTests, ...] = ()
    needs: tuple[Needs, ...] = Field(default=(), description="dependencies that the backlog does not name yet")


# -- the developer -----------------------------------------------------------------------------------------------------


class Developed(Reply):
    """What a developer says of one task."""

    implemented: tuple[str, ...] = ()
    files: tuple[str, ...] = Field(default=(), description="every file that you changed")
    notes: tuple[str, ...] = ()
    asks: Query | None = Field(
        default=None, description="only where you cannot go on without the tech lead's or the PM's answer"
    )
    disputes: tuple[Finding, ...] = Field(
        default=(), description="requirements whose held-out examples must be wrong by the user's words, and why"
    )


# -- QA ----------------------------------------------------------------------------------------------------------------


class Failure(Finding):
    """One thing that fails: how to see it, what should be, what is. With a `case` the engine sees for itself."""

    what: str = Field(min_length=1, description="the specific failure, with file:line or message")
    reproduction: tuple[str, ...] = Field(default=(), description="steps, one by one")
    expected: str = ""
    actual: str = ""

    @property
    def finding(self) -> Finding:
        """The same in one sentence, for whoever mends it."""
        parts = [self.what]
        parts += [f"to see it: {'; '.join(self.reproduction)}"] if self.reproduction else []
        parts += [f"expected: {self.expected}"] if self.expected else []
        parts += [f"actual: {self.actual}"] if self.actual else []
        kept = {name: getattr(self, name) for name in ("where", "severity", "requirement", "case")}
        return Finding(what=" · ".join(parts), **kept)


class Tested(Reply):
    """What QA tried, and what failed."""

    result: Literal["PASS", "FAIL"]
    tried: tuple[str, ...] = Field(min_length=1, description="commands and steps that you really ran")
    failures: tuple[Failure, ...] = ()
    asks: Query | None = Field(default=None, description="to the PM, only where a criterion cannot be tested otherwise")

    @property
    def objections(self) -> tuple[Finding, ...]:
        """Each failure; a refusal without one is an objection, too."""
        found = tuple(one.finding for one in self.failures if one.severity is not Severity.NONE)
        silent = self.result == "FAIL" or self.status is not Status.DONE
        return found or (
            (Finding(what=f"QA says {self.result}, {self.status}, and names no failure"),) if silent else ()
        )


# -- UAT ---------------------------------------------------------------------------------------------------------------


class Validated(Reply):
    """What a user would say of it."""

    decision: Literal["passed", "failed"]
    tried: tuple[str, ...] = Field(min_length=1, description="what you did as a user, step by step")
    issues: tuple[Failure, ...] = ()
    not_met: tuple[str, ...] = Field(default=(), description="requirements that are not met, in their own words")

    @property
    def objections(self) -> tuple[Finding, ...]:
        """Each issue and each requirement that is not met; a refusal without any is an objection, too."""
        found = [one.finding for one in self.issues if one.severity is not Severity.NONE]
        found += [Finding(what=f"not met: {one}") for one in self.not_met]
        silent = self.decision == "failed" or self.status is not Status.DONE
        unnamed = Finding(what=f"UAT says {self.decision}, {self.status}, and names no issue")
        return tuple(found) or ((unnamed,) if silent else ())
