"""The flow of red-green: for each task of the plan tests that fail, then work until the engine's checks hold."""

from trued import Goal, Outcome, Reply, Run, Task


class Tests(Reply):
    """What the test author hands to the builder."""

    files: tuple[str, ...]
    expects: tuple[str, ...]


class Built(Reply):
    """What the builder says it did: a claim, like every reply."""

    files: tuple[str, ...]


async def red_green(run: Run, goal: Goal) -> Outcome:
    plan = await run.seal(await run.plan(goal))
    for task in plan.tasks:
        await build(run.scope(f"task {task.id}"), task)
    return await run.finish(plan)


async def build(run: Run, task: Task) -> None:
    """One task, until the engine finds no gap or the rounds are used up."""
    tests = await run.session("test-author", Tests).ask(task)
    builder, gaps = run.session("builder", Built), run.take_feedback(task).gaps
    for _ in range(run.settings.rounds):
        await builder.ask(task, tests=tests, gaps=gaps)
        verdict = await run.prove(task)
        if verdict.holds or run.judgement.check_for_stall(verdict):
            break
        gaps = verdict.gaps
