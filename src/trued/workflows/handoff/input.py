"""What a handoff checks before any agent works: whether the specification is readable, and which roles are needed."""

from pathlib import PurePath

from trued.model import Goal, Requirements, Ticket
from trued.workflows.handoff.feature_list import is_feature_list, parse_feature_list


def check_specification(goal: Goal, requirements: Requirements | None, ticket: Ticket | None) -> None:
    """If the goal looks like a feature list, or its file is a `.json` file, raise BadInput unless it can be read as a
    feature list. Any other text is a specification and passes."""
    if is_feature_list(goal.text) or PurePath(goal.source.file).suffix == ".json":
        parse_feature_list(goal.text, goal.source.file)


def spared_roles(goal: Goal) -> tuple[str, ...]:
    """The roles that this goal does not need: the initializer, if the user provides the feature list."""
    return ("initializer",) if is_feature_list(goal.text) else ()
