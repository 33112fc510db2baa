"""Waves: tasks that do not depend on each other are implemented concurrently and merged in the order of the plan."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from trued.model import Finding, Status
from trued.model.events.proof import ClaimRefuted
from trued.model.titles import cut_title
from trued.run.agent_call import AgentAnswer
from trued.run.claims import unchanged_files
from trued.run.clusters import TRIES, Returned
from trued.run.run import Run
from trued.run.session import BriefContext, Session
from trued.support.plain_text import inert
from trued.workflows.pipeline.events import StepReported, WaveStarted
from trued.workflows.pipeline.feature_folder import DESIGN
from trued.workflows.pipeline.memory import Memory
from trued.workflows.pipeline.orchestrator import Orchestrator
from trued.workflows.pipeline.replies import Implemented
from trued.workflows.pipeline.task_plan import Work, waves

ATTEMPTS = 3  # attempts at one task in one wave, including retries after a failure or a conflict
TITLE = 60  # characters of a task's title in a commit message
NAMED = 5  # files named in one sentence
Gaps: TypeAlias = Mapping[str, Sequence[Finding]]  # task → what it has to fix
NO_GAPS: Gaps = {}


@dataclass(frozen=True)
class TaskTurn:
    """One task in one wave: who works on it, and how far it is."""

    work: Work
    part: Run
    context: Mapping[str, BriefContext]  # for its agents' briefs
    session: Session[Implemented] | None = None  # None: no agent has finished the task
    reply: Implemented | None = None
    answers: tuple[AgentAnswer, ...] = ()
    attempts: int = 0

    @property
    def returned(self) -> Returned[Implemented]:
        return Returned(agent_of(self.work), role_of(self.work), self.reply, self.answers, self.attempts)


def role_of(work: Work) -> str:
    return "documentation-writer" if work.kind == "documentation" else "implementer"


def agent_of(work: Work) -> str:
    return f"{role_of(work)}-{work.id}"


async def implement(lead: Orchestrator, tasks: Iterable[Work], gaps: Gaps = NO_GAPS) -> None:
    """Implement tasks, wave by wave. A task that no agent finishes stays open; verification reports it.

    `gaps`: what each task has to fix.
    """
    for wave in waves(tasks):
        lead.wave += 1
        agents = tuple(map(agent_of, wave))
        await lead.run.record(WaveStarted(number=lead.wave, tasks=tuple(work.id for work in wave)))
        await lead.begin_step("implementation", agents)
        jobs = {work.id: _work_on(lead, work, gaps.get(work.id, ())) for work in wave}
        turns = await lead.run.parallel.gather(jobs)
        for work in wave:
            turns[work.id] = await _merge(lead, turns[work.id])
            lead.unfinished = lead.unfinished - {work.id} | (set() if turns[work.id].session else {work.id})
        returned = {agent_of(work): turns[work.id].returned for work in wave}
        await lead.write_files(f"wave {lead.wave}", returned, await _checked_memories(lead, returned))
        lost = tuple(f"{work.id} is open" for work in wave if work.id in lead.unfinished)
        ended = StepReported(step="implementation", agents=agents, result="ERROR" if lost else "DONE", why=lost)
        await lead.run.record(ended)


async def _checked_memories(
    lead: Orchestrator, returned: Mapping[str, Returned[Implemented]]
) -> dict[str, Memory | None]:
    """The implementers' memories. If an implementer falsely claims to have changed a file, that is the first finding in
    its memory."""
    memories, changed = lead.memories(returned), {*await lead.run.branch.changes()}
    for name, memory in memories.items():
        reply = returned[name].reply
        refuted = unchanged_files(reply.files, changed) if reply else ()
        if memory is not None and refuted:
            what = f"says that it changed {', '.join(refuted[:NAMED])}: unchanged since the base, or not there"
            await lead.run.record(ClaimRefuted(what=f"{name} {what}"))
            memories[name] = Memory.model_validate(
                {**memory.model_dump(), "findings": (f"it {what}", *memory.findings)}
            )
    return memories


async def _work_on(lead: Orchestrator, work: Work, gaps: Sequence[Finding]) -> TaskTurn:
    """Implement a task on a branch of its own. If an agent fails, a fresh agent starts again from the same commit."""
    part, open_ones = (
        lead.run.part(f"wave {lead.wave} {work.id}"),
        ", ".join(sorted({*work.depends_on} & lead.unfinished)),
    )
    context = lead.context_for(agent_of(work), (f"tasks/{work.id}.md", DESIGN))
    context |= lead.critique_context  # open critiques, so that implementers can fix them
    turn, before = TaskTurn(work, part, {**context, "gaps": gaps, "still_open": open_ones}), part.branch.head
    while turn.session is None and turn.attempts < TRIES:
        session = turn.part.session(role_of(work), Implemented, publishes=False, name=agent_of(work))
        reply = await session.ask_or_none(work.as_task(), **turn.context)
        turn = replace(
            turn, reply=reply or turn.reply, answers=(*turn.answers, session.last_answer), attempts=turn.attempts + 1
        )
        if reply is not None and reply.status is Status.DONE:
            return replace(turn, session=session)
        turn.part.branch.reset(before)
        await session.close()
    return turn


async def _merge(lead: Orchestrator, turn: TaskTurn) -> TaskTurn:
    """Merge a task that an agent has finished. After a conflict with an earlier task, the agent is asked to combine
    both. Work that is unfinished or still conflicts is set aside, and the returned turn has no session."""
    session, work = turn.session, turn.work
    if session is None:
        return await _set_aside(turn)
    message = f"merge: {work.id} {inert(cut_title(' '.join(work.title.split()), TITLE))}"
    conflict = await lead.run.parallel.merge(turn.part.branch, message)
    while conflict is not None and turn.attempts < ATTEMPTS:
        reply = await session.ask_or_none(work.as_task(), **{**turn.context, "conflict": conflict.files})
        turn = replace(
            turn, reply=reply or turn.reply, answers=(*turn.answers, session.last_answer), attempts=turn.attempts + 1
        )
        if reply is not None and reply.status is Status.DONE:  # otherwise the agent has not combined the two
            conflict = await lead.run.parallel.merge(turn.part.branch, message)
    lead.disputes += turn.reply.disputes if turn.reply else ()
    await session.close()
    return turn if conflict is None else await _set_aside(replace(turn, session=None))


async def _set_aside(turn: TaskTurn) -> TaskTurn:
    """Keep unfinished work, if there is any, on a branch of its own. Returns the same turn."""
    begun = next((answer.head for answer in reversed(turn.answers) if answer.changed), "")
    if begun:
        await turn.part.branch.set_aside(turn.work.id, back_to=turn.part.branch.base, work=begun)
    return turn
