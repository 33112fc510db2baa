"""Counts that workflows share when they estimate their calls."""

from trued.inputs.plans.selection import chosen_tasks
from trued.inputs.recognition import plan_of
from trued.workflows.descriptor import CallRange, SealedWork


def planned_tasks(work: SealedWork) -> int:
    """The number of chosen chunks in the plan file; without a plan file, the number of tasks that the planner named."""
    plan, settings = plan_of(work.goal), work.settings
    return len(chosen_tasks(plan, settings.chunks, settings.phases)) if plan else replied(work, "planner", "tasks")


def replied(work: SealedWork, role: str, field: str) -> int:
    """The number of items in the list `field` of the last reply of a role; 1 if the list is empty or missing."""
    return max(1, len(work.reply(role).get(field) or ()))


def with_repeated_asks(calls: CallRange) -> CallRange:
    """The range of calls for a role whose objections go into a proof: after each of `calls` the role may be asked once
    more, about objections without a case."""
    fewest, most = calls
    return fewest, most * 2


def calls_per_task(work: SealedWork, roles: tuple[str, ...]) -> dict[str, CallRange]:
    """The estimate for a workflow that has no estimate of its own. For each task, each role is called at least once,
    and at most as often as the setting `rounds` says."""
    tasks = planned_tasks(work)
    return {role: (tasks, tasks * work.settings.rounds) for role in roles}
