"""Workflows: plain async functions with a run in their hand, one file each."""

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias, cast

from trued.errors import BadInput

if TYPE_CHECKING:
    from trued.run.run import Run
from trued.model import Goal, Outcome

Workflow: TypeAlias = "Callable[[Run, Goal], Awaitable[Outcome]]"

# name → the roles that it needs
WORKFLOWS = {
    "purple": ("purple-team-a", "purple-team-b"),
    "solo": ("solo",),
    "handoff": ("initializer", "coder"),
    "ticket": ("impl-agent", "verify-agent", "fix-agent", "pr-agent"),
    "pipeline": (
        *("researcher", "spec", "designer", "ct-security", "ct-scalability", "ct-maintainability", "ct-strategy"),
        *("planner", "implementer", "documentation-writer", "v-build", "v-tests", "v-tasks", "v-feature"),
        *("r-quality", "r-security", "r-testing", "r-knowledge"),
    ),
    "team": ("pm", "techlead", "dev", "qa", "uat"),
}


PLACES = {"solo": "purple.solo"}  # where it is not a folder of its own


def known(name: str) -> str:
    """The name of a workflow, or a sentence that says which there are."""
    if name not in WORKFLOWS:
        raise BadInput(f"there is no workflow {name!r}", then=f"there are {', '.join(WORKFLOWS)}")
    return name


def workflow(name: str) -> Workflow:
    return cast(Workflow, getattr(import_module(f"{__name__}.{PLACES.get(known(name), f'{name}.flow')}"), name))
