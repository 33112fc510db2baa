"""Purple team: A builds a chunk of the plan, B checks it with fresh eyes, both until nothing is missing."""

from typing import Literal

from pydantic import Field

from trued import Answer, Finding, Goal, Outcome, Reply, Run, Task, Value, Verdict
from trued.workflows.purple.memory import Memory
from trued.workflows.purple.memory_log import Iteration, Section


class Changed(Value):
    path: str
    what: str = ""


class Built(Reply):
    """What Team A did, and what it wants Team B to look at."""

    implemented: tuple[str, ...]
    files: tuple[Changed, ...]
    notes: tuple[str, ...] = ()
    disputes: tuple[Finding, ...] = Field(
        default=(), description="requirements whose held-out examples must be wrong by the user's words, and why"
    )


class Assessed(Value):
    """One requirement of the chunk, held against the code."""

    requirement: str
    judgement: Literal["verified", "missing", "wrong"]
    where: str = Field(default="", description="file:line")


class Review(Reply):
    """What works, what is missing, and what Team B mended itself."""

    result: Literal["PASS", "GAPS_REMAIN"]
    requirements: tuple[Assessed, ...] = ()
    steel_man: tuple[str, ...]
    gaps: tuple[Finding, ...]
    fixed: tuple[str, ...] = ()

    @property
    def objections(self) -> tuple[Finding, ...]:
        """Whatever B holds against the chunk; a refusal without a reason is an objection, too."""
        unmet = tuple(
            Finding(what=f"{one.judgement}: {one.requirement}", where=one.where)
            for one in self.requirements
            if one.judgement != "verified"
        )
        silent = self.result == "GAPS_REMAIN" and not self.gaps and not unmet
        return (*self.gaps, *unmet, *([Finding(what="Team B says GAPS_REMAIN and names none")] if silent else []))


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
    while (chunks := await run.people.rejected_tasks(plan)) is not None:  # by people who looked: their words are gaps
        for chunk in chunks:
            await build(run.scope(f"chunk {chunk.id}"), memory, chunk, plan.context)
        outcome = await run.finish(plan)
    return outcome


async def build(run: Run, memory: Memory, chunk: Task, context: str) -> Verdict:
    """One chunk: the same pair works on it until no gap is left, or the rounds are."""
    team_a = run.session("purple-team-a", Built)
    team_b = run.session("purple-team-b", Review)
    verdict, log = run.open(chunk), Section(chunk=chunk.id, scope=chunk.title)
    for _ in range(run.settings.rounds):
        built = await team_a.ask(chunk, plan=context, gaps=verdict.gaps)
        review = await team_b.ask(chunk, plan=context, built=built, gaps=verdict.gaps)
        verdict = await run.prove(chunk, objections=review.objections, by=team_b, disputes=built.disputes)
        log = log.with_round(iteration(built, review), verdict)
        await memory.add(run, log)
        if verdict.holds or run.judgement.is_stuck(verdict):
            break
    return verdict


def iteration(built: Built, review: Review) -> Iteration:
    return Iteration(
        implemented=built.implemented,
        files=tuple((one.path, one.what) for one in built.files),
        notes=built.notes,
        steel_man=review.steel_man,
        gaps=tuple(one.what for one in review.objections),
        fixed=review.fixed,
        status=review.result,
    )
