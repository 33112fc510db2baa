"""Solo, the baseline for comparisons: one agent implements the whole goal, validates itself, and fixes gaps once."""

from trued.model import Goal, Outcome
from trued.run.run import Run
from trued.workflows.purple.memory_log import memory_files
from trued.workflows.purple.replies import Built


async def solo(run: Run, goal: Goal) -> Outcome:
    run.branch.own(*memory_files(goal.source.file))
    plan = await run.seal(await run.plan(goal, planner=""))
    alone = run.session("solo", Built)
    built = await alone.ask(plan)
    verdict = await run.prove(plan, disputes=built.disputes)
    if not verdict.holds:
        await alone.ask(plan, gaps=verdict.gaps)
    outcome = await run.finish(plan)
    while (rejected := await run.people.rejected_tasks(plan)) is not None:  # a person rejected the work
        gaps = dict.fromkeys(gap for task in rejected for gap in run.take_feedback(task).gaps)
        await alone.ask(plan, gaps=tuple(gaps))
        outcome = await run.finish(plan)
    return outcome
