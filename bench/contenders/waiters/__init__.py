"""A workflow whose agents only take their time: a call for each chunk of a plan, as far as caps allow."""

from trued import Goal, Outcome, Reply, Run, WorkflowDescriptor
from trued.run.clusters import Errand

WAITERS = WorkflowDescriptor(
    name="waiters",
    flow="bench.contenders.waiters:wait",
    roles=("waiter",),
    role_folder="bench.contenders.waiters:roles",
)


async def wait(run: Run, goal: Goal) -> Outcome:
    plan = await run.plan(goal)
    errands = [Errand(f"waiter-{task.id}", "waiter", Reply, task) for task in plan.tasks]
    returned = await run.clusters.send_all(errands)
    good = sum(one.good for one in returned.values())
    return Outcome(state="stopped", head=run.branch.head, why=(f"{good} answered",))
