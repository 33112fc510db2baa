"""What the agents of purple and solo reply. Every field is a claim, and is checked."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from trued.model import Disputes, Finding, Reply, Value


class Changed(Value):
    path: str
    what: str = ""


class Built(Reply):
    """What was built, which files changed, and what to look at first."""

    implemented: tuple[str, ...]
    files: tuple[Changed, ...]
    notes: tuple[str, ...] = ()
    disputes: Disputes = ()


class Assessed(Value):
    """One requirement of the chunk, compared with the code."""

    requirement: str
    judgement: Literal["verified", "missing", "wrong"]
    where: str = Field(default="", description="file:line")


class Review(Reply):
    """What works, what is missing, and what Team B fixed itself."""

    result: Literal["PASS", "GAPS_REMAIN"]
    requirements: tuple[Assessed, ...] = ()
    steel_man: tuple[str, ...]
    gaps: tuple[Finding, ...]
    fixed: tuple[str, ...] = ()

    @property
    def objections(self) -> tuple[Finding, ...]:
        """All objections of Team B to the chunk; a refusal without a reason also counts as an objection."""
        unmet = tuple(
            Finding(what=f"{assessed.judgement}: {assessed.requirement}", where=assessed.where)
            for assessed in self.requirements
            if assessed.judgement != "verified"
        )
        silent = self.result == "GAPS_REMAIN" and not self.gaps and not unmet
        return (*self.gaps, *unmet, *([Finding(what="Team B says GAPS_REMAIN and names none")] if silent else []))


REPLIES: Mapping[str, tuple[type[Reply], ...]] = {  # role → the replies that it can be asked for
    "purple-team-a": (Built,),
    "purple-team-b": (Review,),
    "solo": (Built,),
}
