"""What the agents of a pipeline reply. Every field is a claim; the engine writes the agents' memories from it."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from pydantic import Field

from trued.model import Disputes, Finding, Reply, Severity, Spoken, Status, Value
from trued.workflows.pipeline.decision_tables import CHECKERS, CRITICS, GATE, REVIEWERS
from trued.workflows.pipeline.feature_folder import Acceptance
from trued.workflows.pipeline.task_plan import Work

# the status of an agent that may not ask for a revision
Final: TypeAlias = Literal[Status.DONE, Status.ERROR]


class Noted(Finding):
    """A finding. If it has a requirement and a case, the engine runs the case."""

    severity: Spoken = Field(default=Severity.NONE, json_schema_extra={"default": "none"})


class PipelineReply(Reply):
    """What every agent reports about its work. The engine writes the agent's memory from it."""

    key_findings: tuple[str, ...] = Field(default=(), description="the five that matter most, one line each")
    severity: str = Field(default="", description="the highest of your findings, in your own scale")
    decisions: tuple[str, ...] = Field(default=(), description="what you decided that others must know")
    findings: tuple[Noted, ...] = Field(default=(), description="what is wrong or missing, one by one")


class Researched(PipelineReply):
    """What a researcher found for its focus; its document has all of it."""

    status: Final = Status.DONE


class Specified(PipelineReply):
    """The feature as criteria that somebody else can check."""

    status: Final = Status.DONE
    criteria: tuple[Acceptance, ...] = Field(
        min_length=1, max_length=100, description="every acceptance criterion of feature.md"
    )


class Designed(PipelineReply):
    """How the feature is to be built; design.md has all of it."""

    status: Final = Status.DONE


class Critique(PipelineReply):
    """A critic's objections to the design."""

    severity: Literal["", "Low", "Medium", "High", "Critical"] = Field(
        default="", description="of your worst finding; empty where there is none"
    )


class AssignedFailure(Value):
    """A failure that verification found, and the task that owns it."""

    task: str = Field(description="id of the task")
    what: str


class TasksPlanned(PipelineReply, title="Planned"):  # the title is in the schema, whose hash is stored
    """The tasks of the plan; in a replan, the new or changed tasks, and which task each failure belongs to."""

    status: Final = Status.DONE
    tasks: tuple[Work, ...] = Field(description="with their dependencies; in a replan only what is new or changed")
    failures: tuple[AssignedFailure, ...] = Field(
        default=(), description="in a replan: every failure, mapped to a task"
    )


class Implemented(PipelineReply):
    """What an implementer or a documentation writer did for its one task. The engine checks all of it."""

    status: Final = Status.DONE
    files: tuple[str, ...] = Field(default=(), description="every file that you changed")
    disputes: Disputes = ()


class BuildChecked(PipelineReply):
    """Whether the work builds. The engine builds it, too, and the worse result counts."""

    status: Final = Status.DONE
    severity: Literal["", "pass", "fail"] = ""


class TaskState(Value):
    task: str
    state: Literal["done", "partial", "open"]
    what: str = Field(default="", description="what is missing")


class Verified(PipelineReply):
    """What a verifier found. If a finding has a requirement and a case, the engine runs the case."""

    severity: Literal["", "pass", "fail"] = ""
    tasks: tuple[TaskState, ...] = Field(default=(), description="from v-tasks only: every task of the plan")
    repeats: tuple[str, ...] = Field(default=(), description="ids of open critiques of the design that still hold")


class Reviewed(PipelineReply):
    """What a reviewer found."""

    severity: Literal["", "Minor", "Major", "Blocker", "Critical"] = Field(
        default="", description="of your worst finding; empty where there is none"
    )
    repeats: tuple[str, ...] = Field(default=(), description="ids of open critiques of the design that still hold")


REPLIES: Mapping[str, tuple[type[Reply], ...]] = {  # role → the replies that it can be asked for
    "researcher": (Researched,),
    "spec": (Specified,),
    "designer": (Designed,),
    **dict.fromkeys(CRITICS, (Critique,)),
    "planner": (TasksPlanned,),
    **dict.fromkeys(("implementer", "documentation-writer"), (Implemented,)),
    GATE: (BuildChecked,),
    **dict.fromkeys(CHECKERS, (Verified,)),
    **dict.fromkeys(REVIEWERS, (Reviewed,)),
}
