"""The specification of a handoff before any agent works on it: is it readable, and how many calls will it take?"""

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
    """Roles that this goal does not need: a feature list that the user hands in is not written by an agent."""
    return ("initializer",) if is_feature_list(goal.text) else ()


def calls(work: SealedWork) -> Mapping[str, CallRange]:
    features, goal = replied(work, "initializer", "features"), work.goal
    if is_feature_list(goal.text):
        features = len(parse_feature_list(goal.text, goal.source.file).features)
    return {"coder": (features, features * work.settings.rounds)}
