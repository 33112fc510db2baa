"""What agents reply: claims, never evidence.

Docstrings and descriptions here are in the JSON Schema that agents get, and its hash is in the journal.
Changing one makes runs of older versions diverge.
"""

from typing import Annotated, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema

from trued.model.checks import Case
from trued.model.grades import Severity, Status
from trued.model.value import Value

WORDS = tuple(name.lower() for name in Severity.__members__)


def _severity(word: object) -> object:
    return Severity.__members__.get(word.strip().upper(), word) if isinstance(word, str) else word


# A severity is written as a word of either scale; numbers are also accepted.
Spoken: TypeAlias = Annotated[
    Severity,
    BeforeValidator(_severity),
    PlainSerializer(lambda severity: severity.name.lower(), return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "enum": list(WORDS)}),
]


class Finding(Value):
    """Something wrong or missing. If it has a `case`, the engine can run that case as a check."""

    what: str
    where: str = ""
    severity: Spoken = Field(default=Severity.MAJOR, json_schema_extra={"default": "major"})
    requirement: str = ""
    case: Case | None = None
    by: str = ""  # the role that reports it, filled in by the engine


Disputes: TypeAlias = Annotated[
    tuple[Finding, ...],
    Field(description="requirements whose held-out examples must be wrong according to the user's words, and why"),
]


class Reply(BaseModel):
    """What an agent claims. Subclass it to state the contract of a role."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    status: Status = Status.DONE
    summary: str = ""
    question: str = Field(
        default="", description="only if you cannot continue without a person's answer: what you need to know"
    )
