"""How often the agents of a handoff will be called."""

from collections.abc import Mapping

from trued.workflows.descriptor import CallRange, SealedWork
from trued.workflows.estimates import replied
from trued.workflows.handoff.feature_list import is_feature_list, parse_feature_list


def calls(work: SealedWork) -> Mapping[str, CallRange]:
    features, goal = replied(work, "initializer", "features"), work.goal
    if is_feature_list(goal.text):
        features = len(parse_feature_list(goal.text, goal.source.file).features)
    return {"coder": (features, features * work.settings.rounds)}
