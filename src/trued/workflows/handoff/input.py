"""A handoff's specification before any agent works: whether it is readable, and which roles and calls it needs."""

from collections.abc import Mapping
from pathlib import PurePath

from trued.model import Goal, Requirements, Ticket
from trued.workflows.descriptor import CallRange, SealedWork
from trued.workflows.estimates import replied
from trued.workflows.handoff.feature_list import is_feature_list, parse_feature_list


def check_specification(goal: Goal, requirements: Requirements | None, ticket: Ticket | None) -> None:
    """Raise BadInput for a feature list that cannot be read; any other text is a specification."""
    if is_feature_list(goal.text) or PurePath(goal.source.file).suffix == ".json":
        parse_feature_list(goal.text, goal.source.file)


def spared_roles(goal: Goal) -> tuple[str, ...]:
    """Roles that this goal does not need: if the user provides the feature list, no agent writes one."""
    return ("initializer",) if is_feature_list(goal.text) else ()


def calls(work: SealedWork) -> Mapping[str, CallRange]:
    features, goal = replied(work, "initializer", "features"), work.goal
    if is_feature_list(goal.text):
        features = len(parse_feature_list(goal.text, goal.source.file).features)
    return {"coder": (features, features * work.settings.rounds)}
