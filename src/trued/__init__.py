"""Done is proven, not claimed.

Names are loaded when they are used: the supervisor of an agent imports this package too, and has to start in a blink.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .branch import SetUp
    from .desk import Desk
    from .documents.crew import Crew
    from .documents.feature_folder import Acceptance
    from .documents.feature_list import Feature
    from .documents.issues import (
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
    from .documents.memory_log import Iteration, Section
    from .documents.project import Project, message_of, task_of
    from .documents.team_words import Failure, FixTask, NamedTests, Needs, PlannedFeature, Query
    from .documents.waves import Work
    from .errors import Stopped
    from .handing import Attempt
    from .patterns import Returned
    from .run import Run
    from .session import Session
    from .types import (
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

_HOMES = {
    "branch": ("SetUp",),
    "documents.feature_folder": ("Acceptance",),
    "desk": ("Desk",),
    "documents.crew": ("Crew",),
    "documents.feature_list": ("Feature",),
    "documents.issues": (
        *("Beyond", "Claimed", "Issue", "Mended", "Round", "Summary"),
        *("compared", "open_issues", "rejections"),
    ),
    "documents.memory_log": ("Iteration", "Section"),
    "documents.project": ("Project", "message_of", "task_of"),
    "documents.waves": ("Work",),
    "documents.team_words": ("Failure", "FixTask", "NamedTests", "Needs", "PlannedFeature", "Query"),
    "errors": ("Stopped",),
    "handing": ("Attempt",),
    "patterns": ("Returned",),
    "run": ("Run",),
    "session": ("Session",),
    "types": (
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
