"""Session: one agent's conversation, ask by ask, each a durable step."""

import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Generic, TypeAlias, TypeVar

from pydantic import ValidationError

from trued.errors import AgentFailed, BadInput
from trued.model import Goal, Plan, Reply, Role, Task, Value
from trued.model.events.call import FreshSession
from trued.model.events.run import SealedFileEdited
from trued.run.agent_call import Answered, Ask, answered
from trued.run.briefs import brief
from trued.run.context import RunContext
from trued.run.steps import Steps
from trued.support.hashing import digest, folder_name
from trued.support.path_sets import owns, without
from trued.support.redaction import subject_line
from trued.wire import Usage, total

MOST_NAMED = 50  # files in one event
NOBODY_WORKS = ("auth", "credit", "missing", "refused")  # a fault of the set-up: trying others would only cost more

Subject: TypeAlias = Goal | Plan | Task
Context: TypeAlias = Value | Sequence[Value] | Mapping[str, Value] | str
Before: TypeAlias = Callable[[], Awaitable[None]]
R = TypeVar("R", bound=Reply)


class Session(Generic[R]):
    """One agent's conversation, and the clone that goes with it."""

    def __init__(
        self,
        steps: Steps,
        role: str,
        reply: type[R],
        *,
        publishes: bool = True,
        agent: str = "",
        before: Before | None = None,
        only: Sequence[str] = (),
        name: str = "",
    ) -> None:
        """`before` is awaited whenever the agent is really about to work: what it needs is there then. `only` are the
        paths that it may write, where that is not the whole work. `name` tells it from others of the same role."""
        self.steps, self.reply, self.publishes, self.before = steps, reply, publishes, before
        self.role, self.agent = _played(steps.context, role, agent)
        self.only, self.name = tuple(only), name or role
        name = steps.key(f"{self.name} session")
        self.clone = folder_name(name)
        self.id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"trued:{steps.context.run}/{name}"))
        self.turns, self.native, self.used = 0, "", Usage()
        self.last: Answered | None = None  # all that is known of the last ask, beside what was said

    async def ask(self, subject: Subject, **context: Context) -> R:
        return self.reply.model_validate((await self._asked(subject, context)).reply)

    async def tolerant(self, subject: Subject, **context: Context) -> R | None:
        """None for an agent that failed: its failure is a result, and is not tried again on resume."""
        try:
            return await self.attempt(subject, **context)
        finally:
            await self.close()

    @property
    def left(self) -> Answered:
        """What came of the last ask, beside what was said."""
        if self.last is None:
            raise BadInput(f"{self.role.name} was not asked anything yet")
        return self.last

    async def attempt(self, subject: Subject, **context: Context) -> R | None:
        """The same, in a session that goes on."""
        got = await self._asked(subject, context, keep_failure=True)
        return self.reply.model_validate(got.reply) if not got.failure else None

    async def close(self) -> None:
        if self.steps.state.clones.pop(self.clone, None) is not None:
            await self.steps.context.workspace.drop(self.clone, "the session has ended")

    def _ask(self, subject: Subject, context: Mapping[str, Context], *, resumed: bool) -> Ask:
        steps, contract, schema = self.steps, self.steps.state.proof.contract, _schema(self.reply)
        if contract and contract.interface:  # names and shapes that both sides must know
            context = {"interface": "\n".join(contract.interface), **context}
        told = partial(brief, self.role, subject, context, instructions=steps.context.instructions, schema=schema)
        return Ask(
            key=steps.key(self.name),
            role=self.role,
            agent=self.agent,
            brief=told(resumed=resumed),
            reply_schema=schema,
            session=self.id,
            resume=resumed,
            clone=self.clone,
            anew=told(resumed=False) if resumed else "",
            native=self.native,
            before=self.used,
            about=self._about(subject),
            fixed=steps.owned,
            only=self.only,
        )

    async def _asked(self, subject: Subject, context: Mapping[str, Context], *, keep_failure: bool = False) -> Answered:
        steps, run, here = self.steps, self.steps.context, self.steps.state.position
        can_resume = run.capabilities(self.agent).resume
        ask = self._ask(subject, context, resumed=self.turns > 0 and can_resume)
        fresh: list[Answered] = []

        async def step() -> str:
            if self.turns and not can_resume:
                why = f"{self.agent} cannot resume: it is told all facts again"
                run.journal.emit(FreshSession(why=why), ask.key)
            if self.before:
                await self.before()
            got = await answered(run, here, ask)
            got = got.model_copy(update={"failure": got.failure or self._broken(got.reply)})
            if got.failure and (got.kind in NOBODY_WORKS or not keep_failure):
                raise AgentFailed(got.failure)
            fresh.append(got)
            return got.model_dump_json()

        inputs = digest(self.role.name, self.agent, ask.brief, ask.reply_schema, self.id, ask.resume, here.head)
        got = Answered.model_validate_json(await steps.once(ask.key, inputs, step))
        self.turns, self.native, self.last = self.turns + 1, got.native or self.native, got
        self.used = total(self.used, got.usage) if got.thread is None else got.thread
        if got.changed and not self.only:  # a document is no code
            steps.state.implementers.add((self.role.name, self.agent))
        here.head, here.when, here.changes = got.head, got.when, here.changes + bool(got.changed)
        await self._settled(got, live=bool(fresh))
        return got

    def _about(self, subject: Subject) -> str:
        """For the history: what an agent leaves is called by what it was asked for."""
        kind = "docs" if self.only else "feat"
        if isinstance(subject, Task):
            return subject_line(kind, subject.id, subject.title)
        words = subject.title if isinstance(subject, Plan) else subject.text.strip().partition("\n")[0]
        return subject_line(kind, "", words)

    def _broken(self, reply: object) -> str:
        """The schema was kept, or there would be no reply; the type may ask for more."""
        try:
            self.reply.model_validate(reply)
        except ValidationError as error:
            return f"{self.role.name} broke its contract: {_first(error)}"
        return ""

    async def _settled(self, got: Answered, *, live: bool) -> None:
        """After the record: the branch follows, and a clone that is not the session's own goes."""
        steps, run = self.steps, self.steps.context
        steps.state.clones[self.clone] = steps.path
        if not live:
            return
        if got.clone != self.clone:
            await run.workspace.drop(got.clone, "the call has ended")
        sealed = steps.sealed_files
        touched = without({*got.changed, *got.undone}, self.only)  # its own documents are its to write
        if edited := sorted(path for path in touched if owns(sealed, path)):
            run.journal.emit(SealedFileEdited(role=self.name, files=tuple(edited[:MOST_NAMED])))
        if self.publishes:
            await steps.publish()


@cache
def _schema(reply: type[Reply]) -> dict[str, Any]:
    return reply.model_json_schema()


def _played(context: RunContext, name: str, agent: str = "") -> tuple[Role, str]:
    """The role of this name, and the agent that plays it."""
    if name not in context.roles:
        raise BadInput(f"there is no role {name!r}", then=f"known: {', '.join(sorted(context.roles))}")
    agent = agent or context.settings.agents.get(name) or context.settings.agents.get("*", "")
    if not agent:
        raise BadInput(f"no agent plays the role {name}", then="name one: --agent 'command:PROGRAM ARGS'")
    return context.roles[name], agent


def _first(error: ValidationError) -> str:
    problem = error.errors()[0]
    return f"{'.'.join(map(str, problem['loc'])) or 'reply'}: {problem['msg']}"
