"""What agents say. Nothing of it is believed."""

from typing import Annotated, TypeAlias

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from trued.model.checks import Case
from trued.model.grades import Severity, Status, Value

WORDS = tuple(name.lower() for name in Severity.__members__)


def _weighed(word: object) -> object:
    return Severity.__members__.get(word.strip().upper(), word) if isinstance(word, str) else word


# Agents and people weigh in words, of whichever scale is theirs; a number is read, too.
Spoken: TypeAlias = Annotated[
    Severity,
    BeforeValidator(_weighed),
    PlainSerializer(lambda one: one.name.lower(), return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "enum": list(WORDS)}),
]


class Finding(Value):
    """Something that stands in the way. With a `case` the engine can run it, and then it is a check."""

    what: str
    where: str = ""
    severity: Spoken = Field(default=Severity.MAJOR, json_schema_extra={"default": "major"})
    requirement: str = ""
    case: Case | None = None
    by: str = ""  # whose word it is; the engine knows, and fills it in


class Reply(Value):
    """What an agent claims. Subclass it to state the contract of a role."""

    status: Status = Status.DONE
    summary: str = ""
    question: str = Field(
        default="", description="only if you cannot go on without a person's answer: what you need to know"
    )
