"""A team's goal before any agent works: whether its criteria are accounted for, and how many calls it will take."""

from collections.abc import Mapping

from trued.inputs.requirements.coverage import user_requirements
from trued.model import Goal, Requirements, Ticket
from trued.model.events import of_kind
from trued.workflows.descriptor import CallRange, SealedWork
from trued.workflows.team.events import TeamReported
from trued.workflows.team.state import Crew

FEATURE_TASKS = 12  # how many tasks the estimate assumes for one feature


def check_goal(goal: Goal, requirements: Requirements | None, ticket: Ticket | None) -> None:
    user_requirements(Crew(goal=goal).plan(), goal, requirements)


def calls(work: SealedWork) -> Mapping[str, CallRange]:
    """The estimate. UAT runs at most as often as the settings allow, for every feature and for all features together,
    and the PM makes fix tasks each time. Roles that are switched off are not called."""
    reports = [event for _, event in of_kind(work.events, TeamReported)]
    tasks = reports[-1].tasks if reports else 1
    team = work.settings.team
    attempts, cycles = team.attempts if team.heal else 1, team.cycles
    looks = 1 + -(-tasks // FEATURE_TASKS)
    whole = {"pm": (0, cycles * looks), "techlead": (looks - 1, 2 * looks), "uat": (looks, cycles * looks)}
    every = {**whole, "dev": (tasks, tasks * attempts), "qa": (tasks, tasks * attempts)}
    return {role: calls_of_role for role, calls_of_role in every.items() if role not in team.off}
