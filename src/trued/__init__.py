"""Done is proven, not claimed.

Names are loaded when they are used: the supervisor of an agent imports this package too, and has to start in a blink.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .decide import Cluster
    from .documents.memory_log import Iteration, Section
    from .run import Run
    from .session import Session
    from .types import Answer, Finding, Goal, Grade, Note, Outcome, Plan, Reply, Severity, Status, Task, Value, Verdict

_HOMES = {
    "decide": ("Cluster",),
    "documents.memory_log": ("Iteration", "Section"),
    "run": ("Run",),
    "session": ("Session",),
    "types": (
        *("Answer", "Finding", "Goal", "Grade", "Note", "Outcome", "Plan"),
        *("Reply", "Severity", "Status", "Task", "Value", "Verdict"),
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Answer",
    "Cluster",
    "Finding",
    "Goal",
    "Grade",
    "Iteration",
    "Note",
    "Outcome",
    "Plan",
    "Reply",
    "Run",
    "Section",
    "Session",
    "Severity",
    "Status",
    "Task",
    "Value",
    "Verdict",
]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'trued' has no attribute {name!r}")
    return getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
