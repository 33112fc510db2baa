"""How often the agents of purple and solo will be called."""

from collections.abc import Mapping

from trued.workflows.descriptor import CallRange, SealedWork
from trued.workflows.estimates import planned_tasks, with_repeated_asks


def calls(work: SealedWork) -> Mapping[str, CallRange]:
    tasks, rounds = planned_tasks(work), work.settings.rounds
    return {
        "purple-team-a": (tasks, tasks * rounds),
        "purple-team-b": with_repeated_asks((tasks, tasks * rounds)),
    }


def solo_calls(work: SealedWork) -> Mapping[str, CallRange]:
    return {"solo": (1, 2)}
