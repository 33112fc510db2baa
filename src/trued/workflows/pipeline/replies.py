"""What the agents of a pipeline reply. Every field is a claim; the engine makes their memories of it."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from trued import Finding, Reply, Severity, Spoken, Status, Value
from trued.workflows.pipeline.decision_tables import CHECKERS, CRITICS, GATE, REVIEWERS
from trued.workflows.pipeline.feature_folder import Acceptance
from trued.workflows.pipeline.task_plan import Work


class Noted(Finding):
    """A finding. With a requirement and a case the engine runs it."""

    severity: Spoken = Field(default=Severity.NONE, json_schema_extra={"default": "none"})


class PipelineReply(Reply):
    """What every agent says about its work. Its memory is made of this."""

    key_findings: tuple[str, ...] = Field(default=(), description="the five that matter most, one line each")
    severity: str = Field(default="", description="the highest of your findings, in your own scale")
    decisions: tuple[str, ...] = Field(default=(), description="what you decided, and others must know")
    findings: tuple[Noted, ...] = Field(default=(), description="what stands in the way, one by one")


class FinalReply(PipelineReply):
    """The reply of an agent that may not ask for a revision."""

    status: Literal[Status.DONE, Status.ERROR] = Status.DONE


class Researched(FinalReply):
    """What a researcher found for its focus; the whole of it is in its file."""


class Specified(FinalReply):
    """The feature as criteria that somebody else can check."""

    criteria: tuple[Acceptance, ...] = Field(
        min_length=1, max_length=100, description="every acceptance criterion of feature.md"
    )


class Designed(FinalReply):
    """How it is to be built; the whole of it is in design.md."""


class Critique(PipelineReply):
    """What a critic holds against the design."""

    severity: Literal["", "Low", "Medium", "High", "Critical"] = Field(
        default="", description="of your worst finding; empty where there is none"
    )


class Failure(Value):
    """Something that verification found, laid at the door of one task."""

    task: str = Field(description="id of the task")
    what: str


class Planned(FinalReply):
    """The tasks; in a replan those that are new or changed, and which task each failure belongs to."""

    tasks: tuple[Work, ...] = Field(description="with their dependencies; in a replan only what is new or changed")
    failures: tuple[Failure, ...] = Field(default=(), description="in a replan: every failure, mapped to a task")


class Implemented(FinalReply):
    """What an implementer or a writer did for its one task. All of it is checked."""

    files: tuple[str, ...] = Field(default=(), description="every file that you changed")
    disputes: tuple[Finding, ...] = Field(
        default=(), description="requirements whose held-out examples must be wrong by the user's words, and why"
    )


class BuildChecked(FinalReply):
    """Whether it builds. The engine builds it itself, and the worse of both counts."""

    severity: Literal["", "pass", "fail"] = ""


class TaskState(Value):
    task: str
    state: Literal["done", "partial", "open"]
    what: str = Field(default="", description="what is missing")


class Verified(PipelineReply):
    """What a verifier found. A finding with a requirement and a case is run by the engine."""

    severity: Literal["", "pass", "fail"] = ""
    tasks: tuple[TaskState, ...] = Field(default=(), description="of v-tasks: every task of the plan")
    repeats: tuple[str, ...] = Field(default=(), description="ids of open critiques of the design that still hold")


class Reviewed(PipelineReply):
    """What a reviewer found."""

    severity: Literal["", "Minor", "Major", "Blocker", "Critical"] = Field(
        default="", description="of your worst finding; empty where there is none"
    )
    repeats: tuple[str, ...] = Field(default=(), description="ids of open critiques of the design that still hold")


REPLIES: Mapping[str, tuple[type[Reply], ...]] = {  # role → what it can be asked for
    "researcher": (Researched,),
    "spec": (Specified,),
    "designer": (Designed,),
    **dict.fromkeys(CRITICS, (Critique,)),
    "planner": (Planned,),
    **dict.fromkeys(("implementer", "documentation-writer"), (Implemented,)),
    GATE: (BuildChecked,),
    **dict.fromkeys(CHECKERS, (Verified,)),
    **dict.fromkeys(REVIEWERS, (Reviewed,)),
}
