"""The scales: grades, severities, outcomes of a case."""

from enum import IntEnum, StrEnum
from typing import Literal, TypeAlias


class Grade(StrEnum):
    """How far a requirement is proven, worst first. Grades, and their names as strings, compare by rank."""

    REFUTED = "refuted"
    UNJUDGED = "unjudged"
    UNPROVEN = "unproven"
    SELF_TESTED = "self-tested"
    TESTED = "tested"
    EXAMINED = "examined"
    ATTESTED = "attested"
    PROVEN = "proven"

    @property
    def rank(self) -> int:
        """The grade's position on the scale; 0 is the worst grade."""
        return list(Grade).index(self)

    # A StrEnum would compare grades as strings, alphabetically.
    def __lt__(self, other: str) -> bool:
        return self.rank < Grade(other).rank

    def __le__(self, other: str) -> bool:
        return self.rank <= Grade(other).rank

    def __gt__(self, other: str) -> bool:
        return self.rank > Grade(other).rank

    def __ge__(self, other: str) -> bool:
        return self.rank >= Grade(other).rank

    def is_met(self, accept: "Grade") -> bool:
        """Whether a requirement with this grade is met: the grade is at least `accept`, the user's `--accept`."""
        return self >= accept

    @property
    def is_proven_or_attested(self) -> bool:
        """Whether evidence proves the requirement, or a person accepted it. The user's `--accept` does not matter
        here."""
        return self >= Grade.ATTESTED

    @property
    def is_lowered_bar(self) -> bool:
        """Whether this grade, given as `--accept`, lets a run succeed with less than is required by default."""
        return not self.is_proven_or_attested


class Status(StrEnum):  # its docstring is in the schemas of replies, whose hash is stored
    """How an agent says its own work ended. A missing report counts as ERROR."""

    DONE = "DONE"
    NEEDS_REVISION = "NEEDS_REVISION"
    ERROR = "ERROR"


class Severity(IntEnum):
    """One scale with two sets of names: MINOR is LOW, MAJOR is HIGH, and BLOCKER is CRITICAL."""

    NONE = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3
    CRITICAL = 4
    MINOR = 1
    MAJOR = 3
    BLOCKER = 4


class Answer(StrEnum):
    """What a person answers to "continue?"."""

    GO_ON = "yes"
    STOP = "stop"
    REDO = "redo"


class Outcomes(StrEnum):
    """How one case or test id ended in one execution."""

    PASSED = "passed"
    FAILED = "failed"
    MISSING = "missing"  # the id, or what it calls, does not exist
    SKIPPED = "skipped"
    BROKEN = "broken"  # the check failed before it reached the project
    UNJUDGED = "unjudged"  # the environment failed: time, memory, a third-party module


# how a workflow ends
OutcomeState: TypeAlias = Literal["done", "not proven", "unjudged", "waiting", "stopped", "planned"]


# The mark in front of a grade in Markdown. The marks of other grades depend on more than the grade.
GRADE_MARKS = {Grade.PROVEN: "✅", Grade.ATTESTED: "✅", Grade.REFUTED: "❌", Grade.UNJUDGED: "⚠️"}
