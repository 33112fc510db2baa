"""Checks a team's goal before any agent works: the user's requirements may cover only what the goal has."""

from trued.inputs.requirements.coverage import user_requirements
from trued.model import Goal, Requirements, Ticket
from trued.workflows.team.state import Crew


def check_goal(goal: Goal, requirements: Requirements | None, ticket: Ticket | None) -> None:
    user_requirements(Crew(goal=goal).plan(), goal, requirements)
