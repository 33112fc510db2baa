"""Purple team: A builds a chunk of the plan, B checks it with fresh eyes, until nothing is missing."""

from trued import Answer, Goal, Outcome, Run, Task, Verdict
from trued.workflows.purple.memory import Memory
from trued.workflows.purple.memory_log import Iteration, Section
from trued.workflows.purple.replies import Built, Review


async def purple(run: Run, goal: Goal) -> Outcome:
    memory = Memory(run, goal)
    plan = await run.seal(await run.plan(goal))
    for chunk in plan.tasks:
        scope, answer, verdict = run.scope(f"chunk {chunk.id}"), Answer.REDO, Verdict.open(chunk.id)
        while answer is Answer.REDO:
            verdict = await build(scope, memory, chunk, plan.context)
            answer = await scope.confirm(chunk, verdict)  # a redo's comment is the next round's first gap
        if answer is Answer.STOP:
            return run.stop(verdict)
    outcome = await run.finish(plan)
    while (chunks := await run.people.rejected_tasks(plan)) is not None:  # people's reasons are gaps
        for chunk in chunks:
            await build(run.scope(f"chunk {chunk.id}"), memory, chunk, plan.context)
        outcome = await run.finish(plan)
    return outcome


async def build(run: Run, memory: Memory, chunk: Task, context: str) -> Verdict:
    """The same pair works on one chunk until no gap is left, nothing changes any more, or the rounds are used up."""
    team_a = run.session("purple-team-a", Built)
    team_b = run.session("purple-team-b", Review)
    verdict, log = run.take_feedback(chunk), Section(chunk=chunk.id, scope=chunk.title)
    for _ in range(run.settings.rounds):
        built = await team_a.ask(chunk, plan=context, gaps=verdict.gaps)
        review = await team_b.ask(chunk, plan=context, built=built, gaps=verdict.gaps)
        verdict = await run.prove(chunk, objections=review.objections, by=team_b, disputes=built.disputes)
        log = log.with_round(iteration(built, review), verdict)
        await memory.add(run, log)
        if verdict.holds or run.judgement.check_for_stall(verdict):
            break
    return verdict


def iteration(built: Built, review: Review) -> Iteration:
    """One round of the pair, for MEMORY.md."""
    return Iteration(
        implemented=built.implemented,
        files=tuple((one.path, one.what) for one in built.files),
        notes=built.notes,
        steel_man=review.steel_man,
        gaps=tuple(one.what for one in review.objections),
        fixed=review.fixed,
        status=review.result,
    )
