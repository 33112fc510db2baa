"""Done is proven, not claimed.

Names are loaded when they are used: the supervisor of an agent imports this package too, and has to start in a blink.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trued.errors import Stopped
    from trued.model import (
        Answer,
        Finding,
        Goal,
        Grade,
        Outcome,
        Plan,
        Reply,
        Severity,
        Spoken,
        Status,
        Task,
        Value,
        Verdict,
    )
    from trued.run.branch import SetUp
    from trued.run.clusters import Returned
    from trued.run.run import Run
    from trued.run.session import Session
    from trued.workflows.handoff.feature_list import Feature
    from trued.workflows.handoff.project import Project, message_of, task_of
    from trued.workflows.handoff.steps import Attempt
    from trued.workflows.pipeline.feature_folder import Acceptance
    from trued.workflows.pipeline.task_plan import Work
    from trued.workflows.purple.memory_log import Iteration, Section
    from trued.workflows.team.reply_parts import Failure, FixTask, NamedTests, Needs, PlannedFeature, Query
    from trued.workflows.team.state import Crew
    from trued.workflows.team.task_desk import Desk
    from trued.workflows.ticket.issues import (
        Beyond,
        Claimed,
        Issue,
        Mended,
        Round,
        Summary,
        compared,
        open_issues,
        rejections,
    )

_HOMES = {
    "run.branch": ("SetUp",),
    "workflows.pipeline.feature_folder": ("Acceptance",),
    "workflows.team.task_desk": ("Desk",),
    "workflows.team.state": ("Crew",),
    "workflows.handoff.feature_list": ("Feature",),
    "workflows.ticket.issues": (
        *("Beyond", "Claimed", "Issue", "Mended", "Round", "Summary"),
        *("compared", "open_issues", "rejections"),
    ),
    "workflows.purple.memory_log": ("Iteration", "Section"),
    "workflows.handoff.project": ("Project", "message_of", "task_of"),
    "workflows.pipeline.task_plan": ("Work",),
    "workflows.team.reply_parts": ("Failure", "FixTask", "NamedTests", "Needs", "PlannedFeature", "Query"),
    "errors": ("Stopped",),
    "workflows.handoff.steps": ("Attempt",),
    "run.clusters": ("Returned",),
    "run.run": ("Run",),
    "run.session": ("Session",),
    "model": (
        *("Answer", "Finding", "Goal", "Grade", "Outcome", "Plan"),
        *("Reply", "Severity", "Spoken", "Status", "Task", "Value", "Verdict"),
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Acceptance",
    "Answer",
    "Attempt",
    "Beyond",
    "Claimed",
    "Crew",
    "Desk",
    "Failure",
    "Feature",
    "Finding",
    "FixTask",
    "Goal",
    "Grade",
    "Issue",
    "Iteration",
    "Mended",
    "NamedTests",
    "Needs",
    "Outcome",
    "Plan",
    "PlannedFeature",
    "Project",
    "Query",
    "Reply",
    "Returned",
    "Round",
    "Run",
    "Section",
    "Session",
    "SetUp",
    "Severity",
    "Spoken",
    "Status",
    "Stopped",
    "Summary",
    "Task",
    "Value",
    "Verdict",
    "Work",
    "compared",
    "message_of",
    "open_issues",
    "rejections",
    "task_of",
]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'trued' has no attribute {name!r}")
    return getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
