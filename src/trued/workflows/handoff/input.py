"""A handoff's specification before any agent works: whether it is readable, and which roles it needs."""

from pathlib import PurePath

from trued.model import Goal, Requirements, Ticket
from trued.workflows.handoff.feature_list import is_feature_list, parse_feature_list


def check_specification(goal: Goal, requirements: Requirements | None, ticket: Ticket | None) -> None:
    """Raise BadInput for a feature list that cannot be read; any other text is a specification."""
    if is_feature_list(goal.text) or PurePath(goal.source.file).suffix == ".json":
        parse_feature_list(goal.text, goal.source.file)


def spared_roles(goal: Goal) -> tuple[str, ...]:
    """Roles that this goal does not need: if the user provides the feature list, no agent writes one."""
    return ("initializer",) if is_feature_list(goal.text) else ()
