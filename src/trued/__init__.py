"""Done is proven, not claimed.

This package exports the names that a workflow is written with. A name is imported only when it is first used, because
an agent's supervisor also imports this package and has to start at once.
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
    from trued.run.clusters import Errand, Returned
    from trued.run.run import Run
    from trued.run.session import Session
    from trued.workflows.descriptor import Input, Rounds, WorkflowDescriptor
    from trued.workflows.view import ReportSection, WorkflowView

_MODULES = {
    "errors": ("Stopped",),
    "model": (
        *("Answer", "Finding", "Goal", "Grade", "Outcome", "Plan"),
        *("Reply", "Severity", "Spoken", "Status", "Task", "Value", "Verdict"),
    ),
    "run.branch": ("SetUp",),
    "run.clusters": ("Errand", "Returned"),
    "run.run": ("Run",),
    "run.session": ("Session",),
    "workflows.descriptor": ("Input", "Rounds", "WorkflowDescriptor"),
    "workflows.view": ("ReportSection", "WorkflowView"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "Answer",
    "Errand",
    "Finding",
    "Goal",
    "Grade",
    "Input",
    "Outcome",
    "Plan",
    "Reply",
    "ReportSection",
    "Returned",
    "Rounds",
    "Run",
    "Session",
    "SetUp",
    "Severity",
    "Spoken",
    "Status",
    "Stopped",
    "Task",
    "Value",
    "Verdict",
    "WorkflowDescriptor",
    "WorkflowView",
]


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'trued' has no attribute {name!r}")
    return getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)
