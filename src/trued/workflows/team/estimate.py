"""How often the agents of a team will be called."""

from collections.abc import Mapping

from trued.model.events import of_kind
from trued.workflows.descriptor import CallRange, SealedWork
from trued.workflows.estimates import with_repeated_asks
from trued.workflows.team.events import TeamReported

FEATURE_TASKS = 12  # how many tasks the estimate assumes for one feature


def calls(work: SealedWork) -> Mapping[str, CallRange]:
    """Role → the least and the most calls; roles that are off are left out. The most assumes that UAT validates each
    feature, and all features together, as often as the settings allow, and that the PM makes fix tasks each time."""
    reports = [event for _, event in of_kind(work.events, TeamReported)]
    tasks = reports[-1].tasks if reports else 1
    team = work.settings.team
    attempts, cycles = team.attempts if team.heal else 1, team.cycles
    looks = 1 + -(-tasks // FEATURE_TASKS)
    whole = {
        "pm": (0, cycles * looks),
        "techlead": (looks - 1, 2 * looks),
        "uat": with_repeated_asks((looks, cycles * looks)),
    }
    every = {**whole, "dev": (tasks, tasks * attempts), "qa": with_repeated_asks((tasks, tasks * attempts))}
    return {role: calls_of_role for role, calls_of_role in every.items() if role not in team.off}
