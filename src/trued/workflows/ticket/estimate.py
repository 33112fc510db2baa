"""How often the agents of a ticket will be called."""

from collections.abc import Mapping

from trued.workflows.descriptor import CallRange, SealedWork
from trued.workflows.estimates import with_repeated_asks


def calls(work: SealedWork) -> Mapping[str, CallRange]:
    rounds = work.settings.rounds
    verification = {"verify-agent": with_repeated_asks((1, rounds)), "fix-agent": (0, rounds - 1)}
    return {"impl-agent": (1, 1), **verification, "pr-agent": (0, 1)}
