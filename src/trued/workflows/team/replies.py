"""What the roles of a team reply. Every field is a claim; whatever the engine can run or count, it runs or counts
itself."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, field_validator

from trued.model import Disputes, Finding, Reply, Severity, Status
from trued.workflows.team.reply_parts import Failure, FixTask, NamedTests, Needs, PlannedFeature, Query

MOST = 1_000  # tasks of a goal; a longer list is not accepted


class Breakdown(Reply):
    """The PM's reply to a goal: features, stories and tasks."""

    features: tuple[PlannedFeature, ...] = Field(min_length=1, max_length=MOST)
    decisions: tuple[str, ...] = Field(default=(), description="what you assumed or decided, and why")

    @field_validator("features")
    @classmethod
    def _few(cls, features: tuple[PlannedFeature, ...]) -> tuple[PlannedFeature, ...]:
        number = sum(len(story.tasks) for feature in features for story in feature.stories)
        if number > MOST:
            raise ValueError(f"{number} tasks are too many: {MOST} at most")
        return features


class Fixes(Reply):
    """The PM's reply to a failed validation: what has to be done. Criteria stay as they are."""

    tasks: tuple[FixTask, ...] = Field(min_length=1, max_length=100)
    decisions: tuple[str, ...] = ()


class Clarified(Reply):
    """The PM's or the tech lead's reply to a question from another member of the team."""

    answer: str = Field(min_length=1)
    decisions: tuple[str, ...] = ()


class FeatureSpecified(Reply, title="Specified"):  # the title is in the schema, whose hash is stored
    """The tech lead's reply to a feature: how it is to be built, and which tests will show it."""

    spec: str = Field(min_length=1, description="the technical specification, in Markdown")
    decisions: tuple[str, ...] = Field(default=(), description="decision records: what, why, what was rejected")
    tests: tuple[NamedTests, ...] = ()
    needs: tuple[Needs, ...] = Field(default=(), description="dependencies that the backlog does not name yet")


class Developed(Reply):
    """The developer's reply: what was done for one task."""

    implemented: tuple[str, ...] = ()
    files: tuple[str, ...] = Field(default=(), description="every file that you changed")
    notes: tuple[str, ...] = ()
    asks: Query | None = Field(
        default=None, description="only if you cannot continue without the tech lead's or the PM's answer"
    )
    disputes: Disputes = ()


class Tested(Reply):
    """QA's reply: what was tried, and what failed."""

    result: Literal["PASS", "FAIL"]
    tried: tuple[str, ...] = Field(min_length=1, description="commands and steps that you really ran")
    failures: tuple[Failure, ...] = ()
    asks: Query | None = Field(default=None, description="to the PM, only if a criterion cannot be tested otherwise")

    @property
    def objections(self) -> tuple[Finding, ...]:
        """What QA objects to: each failure (unless its severity is NONE), and QA's own question if it asked one. If QA
        names neither, it has one objection if it did not say PASS and DONE, or if it names nothing that it tried."""
        objections = tuple(failure.finding for failure in self.failures if failure.severity is not Severity.NONE)
        objections += (Finding(what=f"QA's question is not answered: {self.asks.text}"),) if self.asks else ()
        refused = self.result == "FAIL" or self.status is not Status.DONE
        unnamed = Finding(what=f"QA says {self.result} and {self.status}, and names no failure")
        return objections or ((unnamed,) if refused else _idle("QA", self.tried))


class Validated(Reply):
    """UAT's reply: what a user would say about the work."""

    decision: Literal["passed", "failed"]
    tried: tuple[str, ...] = Field(min_length=1, description="what you did as a user, step by step")
    issues: tuple[Failure, ...] = ()
    not_met: tuple[str, ...] = Field(default=(), description="requirements that are not met, in their own words")

    @property
    def objections(self) -> tuple[Finding, ...]:
        """What UAT objects to: each issue (unless its severity is NONE), and each requirement that is not met. If UAT
        names neither, it has one objection if it did not say "passed" and DONE, or if it names nothing that it
        tried."""
        objections = [issue.finding for issue in self.issues if issue.severity is not Severity.NONE]
        objections += [Finding(what=f"not met: {requirement}") for requirement in self.not_met]
        refused = self.decision == "failed" or self.status is not Status.DONE
        unnamed = Finding(what=f"UAT says {self.decision} and {self.status}, and names no issue")
        return tuple(objections) or ((unnamed,) if refused else _idle("UAT", self.tried))


def _idle(who: str, tried: tuple[str, ...]) -> tuple[Finding, ...]:
    """An objection if an approval does not name anything that was tried."""
    return (
        () if any(step.strip() for step in tried) else (Finding(what=f"{who} found nothing wrong, and tried nothing"),)
    )


REPLIES: Mapping[str, tuple[type[Reply], ...]] = {  # role → the replies that it can be asked for
    "pm": (Breakdown, Fixes, Clarified),
    "techlead": (FeatureSpecified, Clarified),
    "dev": (Developed,),
    "qa": (Tested,),
    "uat": (Validated,),
}
