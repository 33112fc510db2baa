"""What agents say. Nothing of it is believed."""

from pydantic import Field

from .checks import Case
from .scales import Severity, Status, Value


class Finding(Value):
    """Something that stands in the way. With a `case` the engine can run it, and then it is a check."""

    what: str
    where: str = ""
    severity: Severity = Severity.MAJOR
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
