"""Session: one agent's conversation; each ask is a durable step."""

import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Generic, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError

from trued.errors import AgentFailed, BadInput
from trued.model import Comment, Goal, Plan, Reply, Role, Task
from trued.model.events.call import FreshSession
from trued.model.events.run import SealedFileEdited
from trued.run.agent_call import AgentAnswer, AgentCall, AgentRequest, Equipment
from trued.run.briefs.brief import brief
from trued.run.comments import comments_for_brief
from trued.run.context import RunContext
from trued.run.editable_files import foreign_edits
from trued.run.steps import Steps
from trued.support.hashing import digest, folder_name
from trued.support.path_sets import paths_outside
from trued.support.plain_text import subject_line
from trued.wire import Usage, add_usage

MOST_NAMED = 50  # files that one event lists
SETUP_FAULTS = ("auth", "credit", "missing", "refused")  # kinds of failure that concern every agent of this user

Subject: TypeAlias = Goal | Plan | Task
BriefContext: TypeAlias = BaseModel | Sequence[BaseModel] | Mapping[str, BaseModel] | str
Prepare: TypeAlias = Callable[[], Awaitable[None]]
R = TypeVar("R", bound=Reply)


class Session(Generic[R]):
    """One agent's conversation, and the clone that it works in."""

    def __init__(
        self,
        steps: Steps,
        role: str,
        reply: type[R],
        *,
        publishes: bool = True,
        agent: str = "",
        before: Prepare | None = None,
        only: Sequence[str] = (),
        name: str = "",
    ) -> None:
        """`publishes`: move the run's branch to the agent's commit after each ask. `agent`: plays the role instead of
        the agent that the settings name. `before`: awaited whenever the agent is really about to work (not in a
        replay), to prepare what it needs.

        `only`: the only paths that the agent may write; empty: no such restriction. `name` distinguishes the session
        from other sessions of the same role. Raises BadInput if there is no such role, or no agent for it.
        """
        self.steps, self.reply, self.publishes, self.before = steps, reply, publishes, before
        self.role, self.agent = _role_and_agent(steps.context, role, agent)
        self.only, self.name, self.equipment = tuple(only), name or role, Equipment()
        name = steps.key(f"{self.name} session")
        self.clone = folder_name(name)
        self.id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"trued:{steps.context.run}/{name}"))
        self.turns, self.native, self.used = 0, "", Usage()
        self.last: AgentAnswer | None = None  # the answer to the last ask

    async def ask(self, subject: Subject, **context: BriefContext) -> R:
        """Ask the agent and return its reply. The session stays open for further asks.

        Raises AgentFailed if the agent fails. The failure is not recorded: a resumed run asks again.
        """
        return self.reply.model_validate((await self._ask_durably(subject, context)).reply)

    async def ask_or_none(self, subject: Subject, **context: BriefContext) -> R | None:
        """Ask the agent and return its reply, or None if the agent failed. The session stays open for further asks.

        A failure is recorded as the step's result: a resumed run does not ask again. Raises AgentFailed for a failure
        that concerns every agent of the user, such as a missing login.
        """
        answer = await self._ask_durably(subject, context, keep_failure=True)
        return self.reply.model_validate(answer.reply) if not answer.failure else None

    async def ask_once_or_none(self, subject: Subject, **context: BriefContext) -> R | None:
        """`ask_or_none`, then close the session."""
        try:
            return await self.ask_or_none(subject, **context)
        finally:
            await self.close()

    @property
    def last_answer(self) -> AgentAnswer:
        """Everything known about the last ask besides the reply: commit, changed files, usage. Raises BadInput if
        nothing was asked yet."""
        if self.last is None:
            raise BadInput(f"{self.role.name} was not asked anything yet")
        return self.last

    @property
    def last_reply(self) -> R:
        """The reply to the last ask, also if `run.prove` asked. Raises BadInput if nothing was asked yet."""
        return self.reply.model_validate(self.last_answer.reply)

    def equipped(self, equipment: Equipment) -> "Session[R]":
        """The same session with a browser or pictures for its agent."""
        self.equipment = equipment
        return self

    async def close(self) -> None:
        """Drop the session's clone."""
        if self.steps.state.clones.pop(self.clone, None) is not None:
            await self.steps.context.workspace.drop_clone(self.clone, "the session has ended")

    def _request(
        self,
        key: str,
        subject: Subject,
        context: Mapping[str, BriefContext],
        *,
        resumed: bool,
        comments: Sequence[Comment],
    ) -> AgentRequest:
        steps, contract = self.steps, self.steps.state.proof.contract
        schema = reply_schema(self.reply, asks=steps.context.asks_people)
        if contract and contract.interface:  # names and shapes that implementer and examiner must share
            context = {"interface": "\n".join(contract.interface), **context}
        write_brief = partial(
            brief,
            self.role,
            subject,
            context,
            instructions=steps.context.instructions,
            schema=schema,
            comments=comments,
        )
        return AgentRequest(
            key=key,
            role=self.role,
            agent=self.agent,
            brief=write_brief(resumed=resumed),
            reply_schema=schema,
            session=self.id,
            resume=resumed,
            clone=self.clone,
            fresh_brief=write_brief(resumed=False) if resumed else "",
            native=self.native,
            before=self.used,
            about=self._about(subject),
            fixed=steps.protected,
            only=self.only,
            equipment=self.equipment,
        )

    async def _ask_durably(
        self, subject: Subject, context: Mapping[str, BriefContext], *, keep_failure: bool = False
    ) -> AgentAnswer:
        steps, run, position = self.steps, self.steps.context, self.steps.state.position
        can_resume = run.capabilities(self.agent).resume
        key = steps.key(self.name)
        comments = await comments_for_brief(run, self.role.name, key)
        request = self._request(key, subject, context, resumed=self.turns > 0 and can_resume, comments=comments)
        fresh: list[AgentAnswer] = []

        async def step() -> AgentAnswer:
            if self.turns and not can_resume:
                why = f"{self.agent} cannot resume: it gets all facts again"
                run.journal.emit(FreshSession(why=why), request.key)
            if self.before:
                await self.before()
            made = await AgentCall(run, position, request).run()
            made = made.model_copy(update={"failure": made.failure or self._reply_problem(made.reply)})
            if made.failure and (made.kind in SETUP_FAULTS or not keep_failure):
                raise AgentFailed(made.failure)
            fresh.append(made)
            return made

        inputs = digest(
            self.role.name,
            self.agent,
            request.brief,
            request.reply_schema,
            self.id,
            request.resume,
            position.head,
        )
        answer = await steps.compute(AgentAnswer, request.key, inputs, step)
        self.turns, self.native, self.last = self.turns + 1, answer.native or self.native, answer
        self.used = add_usage(self.used, answer.usage) if answer.thread is None else answer.thread
        if answer.changed and not self.only:  # an agent that may only write documents is not an implementer
            steps.state.implementers.add((self.role.name, self.agent))
        position.head, position.when = answer.head, answer.when
        position.changes += bool(answer.changed)
        await self._publish_and_clean(answer, live=bool(fresh))
        return answer

    def _about(self, subject: Subject) -> str:
        """The first line of the commit message: what the agent was asked for."""
        kind = "docs" if self.only else "feat"
        if isinstance(subject, Task):
            return subject_line(kind, subject.id, subject.title)
        title = subject.title if isinstance(subject, Plan) else subject.text.strip().partition("\n")[0]
        return subject_line(kind, "", title)

    def _reply_problem(self, reply: object) -> str:
        """What is wrong with a reply that matches its schema but not its type; "" if nothing."""
        try:
            self.reply.model_validate(reply)
        except ValidationError as error:
            return f"{self.role.name} broke its contract: {_first_problem(error)}"
        return ""

    async def _publish_and_clean(self, answer: AgentAnswer, *, live: bool) -> None:
        """Note that the session is open, so that its clone is dropped when its scope ends. A replayed answer (not
        `live`) needs nothing more.

        For a new answer: report edits of files that the agent may not change, and move the run's branch if the session
        publishes. If the call was repeated in an extra clone, drop that clone.
        """
        steps, run = self.steps, self.steps.context
        steps.state.clones[self.clone] = steps.path
        if not live:
            return
        if answer.clone != self.clone:
            await run.workspace.drop_clone(answer.clone, "the call has ended")
        allowed = (*self.only, *steps.state.files.noted)  # the agent's documents, and its notes in the engine's files
        changed, undone = (paths_outside(paths, allowed) for paths in (answer.changed, answer.undone))
        edits = foreign_edits(changed, undone, steps.protected, steps.frozen_files)
        if edits.files:
            files, put_back = edits.files[:MOST_NAMED], edits.put_back[:MOST_NAMED]
            run.journal.emit(SealedFileEdited(role=self.name, files=files, put_back=put_back))
        if self.publishes:
            await steps.publish()


@cache
def reply_schema(reply: type[Reply], *, asks: bool = True) -> dict[str, Any]:
    """The JSON Schema of a reply. If agents may not ask people (`asks=False`), the field `question` is left out."""
    schema = reply.model_json_schema()
    if not asks:
        schema["properties"] = {name: field for name, field in schema["properties"].items() if name != "question"}
    return schema


def _role_and_agent(context: RunContext, name: str, agent: str = "") -> tuple[Role, str]:
    """The role of this name, and the agent that plays it. Raises BadInput if either is missing."""
    if name not in context.roles:
        raise BadInput(f"there is no role {name!r}", then=f"known: {', '.join(sorted(context.roles))}")
    agent = agent or context.settings.agent_for(name)
    if not agent:
        raise BadInput(
            f"no agent plays the role {name}", then=f"choose one: --agent {name}=AGENT; `trued agents` lists them"
        )
    return context.roles[name], agent


def _first_problem(error: ValidationError) -> str:
    problem = error.errors()[0]
    return f"{'.'.join(map(str, problem['loc'])) or 'reply'}: {problem['msg']}"
