"""Purple team: A builds a chunk of the plan, B checks it with fresh eyes, until nothing is missing."""

from collections.abc import Sequence

from trued.model import Answer, Finding, Goal, Outcome, Plan, Task, Verdict
from trued.run.run import Run
from trued.workflows.purple.chunks import (
    as_chosen,
    is_met_without_work,
    refuted_claims,
    require_change,
    still_open,
)
from trued.workflows.purple.memory import MemoryLog, RoundFacts, with_round_logged
from trued.workflows.purple.memory_log import located
from trued.workflows.purple.replies import Built, Review


async def purple(run: Run, goal: Goal) -> Outcome:
    memory, starts = MemoryLog(run, goal), dict[str, str]()
    plan = await run.seal(as_chosen(run, goal, await run.plan(goal)))
    for chunk in plan.tasks:
        scope, answer, verdict = run.scope(f"chunk {chunk.id}"), Answer.REDO, Verdict.open(chunk.id)
        starts[chunk.id] = run.branch.head
        if await is_met_without_work(scope, memory, chunk, plan):
            continue
        while answer is Answer.REDO:
            verdict = await build(scope, memory, chunk, plan, starts[chunk.id])
            # If the person answers `redo`, the comment becomes the next round's first gap.
            answer = await scope.confirm(chunk, verdict)
        if answer is Answer.STOP:
            return run.stop(verdict)
    outcome = await run.finish(plan)
    while True:
        if rounds := run.people.granted_rounds():
            chunks, gaps = still_open(run, plan, run.people.amended_verdict() or outcome.verdict)
        elif (rejected := await run.people.rejected_tasks(plan, whole=plan.tasks[-1:])) is not None:
            chunks, gaps = rejected, ()  # `build` takes the reasons for the rejection as gaps
        else:
            return outcome
        for chunk in chunks:
            scope = run.scope(f"chunk {chunk.id}")
            await build(scope, memory, chunk, plan, starts[chunk.id], gaps=gaps, rounds=rounds)
        outcome = await run.finish(plan)


async def build(
    run: Run,
    memory: MemoryLog,
    chunk: Task,
    plan: Plan,
    start: str,
    *,
    gaps: Sequence[Finding] = (),
    rounds: int = 0,
) -> Verdict:
    """Have Team A and Team B work on one chunk in rounds, and return the last verdict. The rounds end when no gap is
    left, when only the environment lacks something, when two rounds in a row change nothing, or at the limit.

    `start`: the commit before anybody worked on the chunk; without a change since then, the chunk is not complete.
    `gaps`: known gaps to begin with. `rounds`: the limit, if not the one in the settings.
    """
    team_a = run.session("purple-team-a", Built)
    team_b = run.session("purple-team-b", Review)
    verdict, log = run.take_feedback(chunk), memory.section(run, chunk)
    requests = tuple(located(remark.what, remark.where) for remark in verdict.remarks)
    verdict = verdict.model_copy(update={"remarks": (*verdict.remarks, *gaps)})
    recalled = await memory.recall(run, chunk)
    for _ in range(rounds or run.settings.rounds):
        built = await team_a.ask(chunk, plan=plan.context, memory=recalled, gaps=verdict.gaps)
        refuted = await refuted_claims(run, built, start)
        review = await team_b.ask(chunk, plan=plan.context, memory=recalled, built=built, gaps=verdict.gaps)
        put_back = tuple(sorted({*team_a.last_answer.undone, *team_b.last_answer.undone}))
        verdict = await run.prove(chunk, objections=review.objections, by=team_b, disputes=built.disputes)
        verdict = await require_change(run, chunk, verdict, start)
        log = with_round_logged(log, (built, review, verdict), RoundFacts(requests, refuted, put_back))
        await memory.add(run, log)
        requests = ()
        # If only the environment lacks something, a person has to fix that: another round would be wasted.
        if verdict.holds or verdict.lacks_only_environment or run.judgement.check_for_stall(verdict):
            break
    return verdict
