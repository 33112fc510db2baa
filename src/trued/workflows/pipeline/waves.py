"""Turns: a wave's tasks side by side, each in a part of its own; merged in the order of the plan, nothing lost."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, TypeAlias

from trued.model import Finding, Reply, Status
from trued.model.events.proof import ClaimRefuted
from trued.run.agent_call import AgentAnswer
from trued.run.clusters import TRIES, Returned
from trued.run.run import Run
from trued.run.session import BriefContext, R, Session
from trued.support.redaction import inert
from trued.workflows.pipeline.events import StepReported, WaveStarted
from trued.workflows.pipeline.feature_folder import DESIGN
from trued.workflows.pipeline.memory import Memory
from trued.workflows.pipeline.orchestrator import Desk
from trued.workflows.pipeline.task_plan import Work, waves

ATTEMPTS = 3  # of one task in one wave: its work, and what a failure or a conflict asks for on top
TITLE, NAMED = 60, 5
Gaps: TypeAlias = Mapping[str, Sequence[Finding]]  # by task: what stands in its way
NO_GAPS: Gaps = {}


@dataclass(frozen=True)
class Turn:
    """One task in one wave: who works on it, and where it stands."""

    work: Work
    part: Run
    context: Mapping[str, BriefContext]  # what its agents are told
    session: Session[Any] | None = None  # None: nobody has finished it
    reply: Reply | None = None
    lefts: tuple[AgentAnswer, ...] = ()
    attempts: int = 0

    @property
    def returned(self) -> Returned[Reply]:
        return Returned(agent_of(self.work), role_of(self.work), self.reply, self.lefts, self.attempts)


def role_of(work: Work) -> str:
    return "documentation-writer" if work.kind == "documentation" else "implementer"


def agent_of(work: Work) -> str:
    return f"{role_of(work)}-{work.id}"


async def implemented(desk: Desk, works: Iterable[Work], reply: type[R], gaps: Gaps = NO_GAPS) -> None:
    """Wave by wave. There is no threshold: a task that nobody finished stays open, and verification finds it."""
    for wave in waves(works):
        desk.wave += 1
        agents = tuple(map(agent_of, wave))
        await desk.run.record(WaveStarted(number=desk.wave, tasks=tuple(one.id for one in wave)))
        await desk.begins("implementation", agents)
        jobs = {one.id: _worked(desk, one, reply, gaps.get(one.id, ())) for one in wave}
        turns = await desk.run.parallel.gather(jobs)
        for one in wave:
            turns[one.id] = await _merged(desk, turns[one.id])
            desk.failed = desk.failed - {one.id} | (set() if turns[one.id].session else {one.id})
        returned = {agent_of(one): turns[one.id].returned for one in wave}
        await desk.filed(f"wave {desk.wave}", returned, await _claimed(desk, returned))
        lost = tuple(f"{one.id} is open" for one in wave if one.id in desk.failed)
        ended = StepReported(step="implementation", agents=agents, result="ERROR" if lost else "DONE", why=lost)
        await desk.run.record(ended)


async def _claimed(desk: Desk, returned: Mapping[str, Returned[Reply]]) -> dict[str, Memory | None]:
    """Their memories, with what git does not bear out: a file that they say they changed, and that is as it was."""
    memories, changed = desk.memories(returned), {*await desk.run.branch.changes()}
    for name, memory in memories.items():
        said = [str(PurePosixPath(path)) for path in getattr(returned[name].reply, "files", ())]
        wrong = [path for path in dict.fromkeys(said) if path not in changed]
        if memory is not None and wrong:
            what = f"says that it changed {', '.join(wrong[:NAMED])}: that is as it was on the base, or is not there"
            await desk.run.record(ClaimRefuted(what=f"{name} {what}"))
            memories[name] = Memory.model_validate(
                {**memory.model_dump(), "findings": (f"it {what}", *memory.findings)}
            )
    return memories


async def _worked(desk: Desk, work: Work, reply: type[R], gaps: Sequence[Finding]) -> Turn:
    """The task in a clone of its own; who fails is followed by somebody with fresh eyes, who begins where it began."""
    part, open_ones = desk.run.part(f"wave {desk.wave} {work.id}"), ", ".join(sorted({*work.depends_on} & desk.failed))
    told = desk.told(agent_of(work), (f"tasks/{work.id}.md", DESIGN))
    turn, before = Turn(work, part, {**told, "gaps": gaps, "still_open": open_ones}), part.branch.head
    while turn.session is None and turn.attempts < TRIES:
        session = turn.part.session(role_of(work), reply, publishes=False, name=agent_of(work))
        said = await session.attempt(work.task, **turn.context)
        turn = replace(
            turn, reply=said or turn.reply, lefts=(*turn.lefts, session.last_answer), attempts=turn.attempts + 1
        )
        if said is not None and said.status is Status.DONE:
            return replace(turn, session=session)
        turn.part.branch.reset(before)
        await session.close()
    return turn


async def _merged(desk: Desk, turn: Turn) -> Turn:
    """The earlier task stands; where both cannot, the later one's agent makes one of them."""
    session, work = turn.session, turn.work
    if session is None:
        return await _aside(turn)
    message = f"merge: {work.id} {inert(' '.join(work.title.split())[:TITLE])}"
    conflict = await desk.run.parallel.merge(turn.part.branch, message)
    while conflict is not None and turn.attempts < ATTEMPTS:
        said = await session.attempt(work.task, **{**turn.context, "conflict": conflict.files})
        turn = replace(
            turn, reply=said or turn.reply, lefts=(*turn.lefts, session.last_answer), attempts=turn.attempts + 1
        )
        if said is not None and said.status is Status.DONE:  # nobody else says that both sides are in it
            conflict = await desk.run.parallel.merge(turn.part.branch, message)
    desk.disputes += getattr(turn.reply, "disputes", ())
    await session.close()
    return turn if conflict is None else await _aside(replace(turn, session=None))


async def _aside(turn: Turn) -> Turn:
    """What was begun and is no part of the work stays on a branch of its own."""
    begun = next((left.head for left in reversed(turn.lefts) if left.changed), "")
    if begun:
        await turn.part.branch.set_aside(turn.work.id, back_to=turn.part.branch.base, work=begun)
    return turn
