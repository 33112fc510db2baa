"""Run: what a workflow holds in its hand. Every awaited method is one durable step with a name."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from copy import copy
from pathlib import PurePosixPath
from typing import Generic, TypeAlias, TypeVar

from pydantic import ValidationError

from . import durable, proof
from .briefs import brief
from .calls import Answered, Ask, answered
from .decide import Cluster
from .documents.account import account
from .documents.memory_log import Section, render
from .documents.plan import parse_plan
from .errors import AgentFailed, BadInput, Ended, Stopped, Waiting
from .kit import Kit, Line, digest, folder_name
from .types import (
    Answer,
    Contract,
    Environment,
    Finding,
    Goal,
    Note,
    Outcome,
    Plan,
    Question,
    Reply,
    Role,
    Settings,
    Task,
    Value,
    Verdict,
)

Subject: TypeAlias = Goal | Plan | Task
Context: TypeAlias = Value | Sequence[Value] | Mapping[str, Value] | str
R = TypeVar("R", bound=Reply)

NO_PROGRESS = 2  # rounds that changed nothing: a third would not, either


class Planned(Reply):
    """The tasks that a planner proposes for a goal, in the order of work."""

    tasks: tuple[Task, ...]


class PlanOnly(Ended):
    """The contract is sealed and shown; nothing has been spent on work."""

    code = 0


class Run:
    def __init__(self, kit: Kit, line: Line | None = None) -> None:
        self.kit = kit
        self.line = line or Line(head=kit.workspace.base, when=kit.began)
        self.path = ""

    @property
    def settings(self) -> Settings:
        return self.kit.settings

    def scope(self, name: str) -> "Run":
        """A named part of the run: its steps carry the name, and are counted per name."""
        part = copy(self)
        part.path = f"{self.path}{name}/"
        return part

    # -- agents --------------------------------------------------------------------------------------------------------

    def session(self, role: str, reply: type[R]) -> "Session[R]":
        """An agent that remembers: every ask continues the same conversation, in the same clone."""
        return Session(self, role, reply)

    async def ask(self, role: str, subject: Subject, reply: type[R], **context: Context) -> R:
        """A fresh agent: it knows its role, the subject and this context, nothing else."""
        session = Session(self, role, reply)
        try:
            return await session.ask(subject, **context)
        finally:
            await session.close()

    async def cluster(self, roles: Iterable[str], subject: Subject, **context: Context) -> Cluster:
        """Fresh agents side by side, under the one cap; whoever breaks simply has no note."""

        async def one(role: str) -> Note | None:
            session = Session(self.scope(role), role, Note, line=copy(self.line))
            return await session.tolerant(subject, **context)

        names = list(roles)
        return Cluster(dict(zip(names, await asyncio.gather(*map(one, names)), strict=True)))

    # -- plan and contract ---------------------------------------------------------------------------------------------

    async def plan(self, goal: Goal, *, planner: str = "planner") -> Plan:
        """The user's plan as it is written; for plain text one that a planner proposes and a person confirms, or, with
        no planner, the text as its one task."""
        if goal.source.file:
            return parse_plan(goal.text, goal.source.file)
        title = goal.text.strip().splitlines()[0][:80]
        if not planner:
            return Plan(title=title, tasks=(Task(id="goal", title=title, brief=goal.text),), text=goal.text)
        session, verdict = self.session(planner, Planned), Verdict.open("plan")
        while True:
            planned = await session.ask(goal, gaps=verdict.gaps)
            plan = Plan(title=title, tasks=planned.tasks, context=goal.text, text=goal.text)
            listed = "\n".join(f"  {task.id}: {task.title}" for task in plan.tasks)
            answer = await self._answer("confirm plan", f"Go on with this plan?\n{listed}")
            if answer is Answer.GO_ON:
                return plan
            if answer is Answer.STOP:
                raise Stopped("the plan was not confirmed")
            verdict = self.open(plan)

    async def seal(self, plan: Plan) -> Plan:
        """Fix requirements and checks, take red on base, and hide what must stay hidden. Only a person amends it."""
        kit = self.kit
        from_file = plan if plan.source.file else None
        requirements = account(from_file, kit.goal, kit.requirements)
        inputs = digest(plan.model_dump(mode="json"), [one.model_dump(mode="json") for one in requirements])

        async def step() -> str:
            held_out, why = await self._held_out()
            contract = await proof.seal(
                kit.workspace,
                requirements,
                kit.requirements.environment if kit.requirements else Environment(),
                held_out=held_out,
                held_out_why=why,
                tell=self._tell("seal"),
            )
            number, name = len(contract.requirements), proof.contract_hash(contract)
            self._tell("seal")("contract sealed", contract=name, requirements=number, held_out=held_out, why=why)
            return contract.model_dump_json()

        contract = Contract.model_validate_json(await self._once("seal", inputs, step))
        self.line.contract = contract
        if self.settings.plan_only:
            raise PlanOnly("the contract is sealed")
        return plan.model_copy(update={"contract": proof.contract_hash(contract)})

    async def _held_out(self) -> tuple[bool, str]:
        """Held out means unreadable, and that is tried, not believed."""
        workspace = self.kit.workspace
        if self.kit.requirements is None:
            return False, "there is no requirements file"
        copies = [
            path for path, blob in (await workspace.blobs(workspace.base)).items() if blob in self.kit.secret_blobs
        ]
        if copies:
            return (
                False,
                f"{copies[0]} in the repository is a copy of the requirements file: its cases count as visible",
            )
        for path in self.kit.secrets:
            if await workspace.readable_by_agents(path):
                return False, f"agents can read {path.name}: its cases count as visible"
        return True, "agents cannot read the requirements file: tried in their sandbox"

    # -- verdicts ------------------------------------------------------------------------------------------------------

    def open(self, subject: Task | Plan) -> Verdict:
        """Nothing is known yet, but what a person said when they asked for a redo."""
        comment = self.line.comments.pop(self.path, None)
        return Verdict.open(_name(subject), *([comment] if comment else []))

    async def prove(self, subject: Task | Plan, objections: Iterable[Finding] = ()) -> Verdict:
        """Run the subject's checks ourselves, on the last accepted commit. Objections can sink it, never float it."""
        verdict = await self._proven("prove", subject, self._addressed(subject, objections))
        if isinstance(subject, Task):
            self.line.unsettled[subject.id] = () if verdict.holds else verdict.objections
        return verdict

    def _addressed(self, subject: Task | Plan, objections: Iterable[Finding]) -> tuple[Finding, ...]:
        """An objection that names no requirement disputes every one that the subject serves."""
        contract = self._contract()
        every = {one.id for one in contract.requirements}
        served = [one.id for one in contract.serving(subject.id)] if isinstance(subject, Task) else sorted(every)
        addressed: list[Finding] = []
        for one in objections:
            named = [one.requirement] if one.requirement in every else served or [""]
            addressed += [one.model_copy(update={"requirement": name}) for name in named]
        return tuple(addressed)

    def stuck(self, verdict: Verdict) -> bool:
        """No progress: the same gaps and not a line changed, twice running."""
        line, gaps = self.line, tuple(sorted(gap.what for gap in verdict.gaps))
        before, times = line.standing.get(self.path, (None, 0))
        now = (gaps, line.changes)
        line.standing[self.path] = (now, times + 1 if now == before else 0)
        if line.standing[self.path][1] < NO_PROGRESS:
            return False
        self.kit.journal.tell("no progress", self.path.rstrip("/"), gaps=list(gaps))
        return True

    async def finish(self, plan: Plan) -> Outcome:
        """The only way to be done: every check once more, on the final commit, and every objection still open."""
        objections = tuple(finding for findings in self.line.unsettled.values() for finding in findings)
        verdict = await self._proven("finish", plan, objections)
        self.line.live = True
        await self._publish()
        return proof.concluded(verdict, self.settings.accept)

    def stop(self, verdict: Verdict) -> Outcome:
        why = tuple(gap.what for gap in verdict.gaps)
        return Outcome(state="stopped", grade=verdict.grade, head=self.line.head, verdict=verdict, why=why)

    async def _proven(self, name: str, subject: Task | Plan, objections: tuple[Finding, ...]) -> Verdict:
        contract, head = self._contract(), self.line.head
        serving = contract.requirements if isinstance(subject, Plan) else contract.serving(subject.id)
        ids = tuple(one.id for one in serving)
        inputs = digest(head, ids, [one.model_dump(mode="json") for one in objections], proof.contract_hash(contract))

        async def step() -> str:
            verdict = await proof.prove(
                self.kit.workspace,
                contract,
                ids,
                head,
                subject=_name(subject),
                objections=objections,
                known=tuple(self.line.known),
                owned=self._owned(),
                tell=self._tell(name),
            )
            self._tell(name)("proven", **_summary(verdict))
            return verdict.model_dump_json()

        verdict = Verdict.model_validate_json(await self._once(name, inputs, step))
        self.line.known.extend(verdict.evidence)
        return verdict

    def _contract(self) -> Contract:
        if self.line.contract is None:
            raise BadInput("a workflow must seal its plan before it proves anything", then="await run.seal(plan)")
        return self.line.contract

    # -- people --------------------------------------------------------------------------------------------------------

    async def confirm(self, subject: Task, verdict: Verdict) -> Answer:
        """Ask whether to go on. The wait survives a restart; a redo's comment is the next round's first gap."""
        gaps = "".join(f"\n  - {gap.what}" for gap in verdict.gaps)
        state = "holds" if verdict.holds else f"⚠ rounds are used up, with gaps:{gaps}"
        answer = await self._answer("confirm", f"{subject.id} {subject.title}: {verdict.grade}, {state}\nGo on?")
        await self._close_sessions()
        return answer

    async def _answer(self, name: str, text: str) -> Answer:
        key = self._key(name)
        inputs = digest(text)

        async def step() -> str:
            if self.settings.yes:
                return f"{Answer.GO_ON}\n--yes\n"
            journal, options = self.kit.journal, [str(one) for one in Answer]
            said = journal.question(key, text, options)
            if said is None:
                journal.tell("question", key, text=text, options=options)
                said = await self.kit.person(Question(key=key, text=text, options=tuple(options)))
                if said is None:
                    raise Waiting(f"{key} waits for an answer: {text.splitlines()[0]}")
                journal.answer(key, *said)
                journal.tell("said", key, answer=said[0], comment=said[1], who=said[2])
            return "\n".join((said[0], said[2], said[1]))

        answer, who, comment = (await self._recorded(key, inputs, step)).split("\n", 2)
        if answer == Answer.REDO and comment:
            self.line.comments[self.path] = Finding(what=comment, where=f"{who}'s word")
        return Answer(answer)

    # -- documents -----------------------------------------------------------------------------------------------------

    async def remember(self, section: Section) -> None:
        """One section of MEMORY.md: written by the engine, committed after the work that it tells of."""
        line, workspace = self.line, self.kit.workspace
        line.sections[section.chunk] = section
        path = self._memory()
        before = await workspace.read(workspace.base, path) if path else None
        existing = (before or b"").decode(errors="surrogateescape")
        text = render(existing, line.sections.values()).encode(errors="surrogateescape")
        self._live_copy("MEMORY.md", text)
        if not path:
            return
        head, message = line.head, f"docs: log of {section.chunk}"

        async def step() -> str:
            return await workspace.record(head, {path: text}, message=message, when=line.when)

        line.head = await self._once("log", digest(head, section.model_dump(mode="json")), step)
        await self._publish()

    def _live_copy(self, name: str, text: bytes) -> None:
        """For whoever looks while the run goes on: a view, made anew with every replay."""
        folder = self.kit.folder / "files"
        folder.mkdir(parents=True, exist_ok=True)
        durable.write(folder / name, text, sync=False)

    def _memory(self) -> str:
        """MEMORY.md lies beside the plan; a plan from outside the repository has none."""
        file = self.kit.goal.source.file
        outside = not file or PurePosixPath(file).is_absolute() or file.startswith("..")
        return "" if outside else str(PurePosixPath(file).with_name("MEMORY.md"))

    def _not_theirs(self) -> set[str]:
        """What an agent may change in its clone to no effect: the plan, frozen files, the engine's own."""
        frozen = self.line.contract.frozen if self.line.contract else {}
        return {*self._owned(), self.kit.goal.source.file, *(path for path, blob in frozen.items() if blob)}

    def _owned(self) -> tuple[str, ...]:
        return (self._memory(),) if self._memory() else ()

    # -- steps ---------------------------------------------------------------------------------------------------------

    def _key(self, name: str) -> str:
        key = f"{self.path}{name}"
        self.line.seen[key] += 1  # shared by all scopes: coming back to a scope continues its numbers
        return f"{key}#{self.line.seen[key]}"

    async def _once(self, name: str, inputs: str, step: Callable[[], Awaitable[str]]) -> str:
        return await self._recorded(self._key(name), inputs, step)

    async def _recorded(self, key: str, inputs: str, step: Callable[[], Awaitable[str]]) -> str:
        async def happening() -> str:
            self.line.live = True
            return await step()

        return await self.kit.journal.once(key, inputs, happening)

    def _tell(self, name: str) -> Callable[..., None]:
        key = f"{self.path}{name}"

        def tell(kind: str, /, **data: object) -> None:
            self.kit.journal.tell(kind, key, **data)

        return tell

    async def _publish(self) -> None:
        """The run's branch follows every accepted step; whoever else moved it is told of, not overrun."""
        replayed = (
            not self.line.live
        )  # what is only remembered was published when it happened, or will be with the next
        if replayed or self.line.published == self.line.head or self.line.head == self.kit.workspace.base:
            return
        if refused := await self.kit.workspace.publish(self.line.head):
            self.kit.journal.tell("branch not moved", why=refused)
        self.line.published = self.line.head

    async def _close_sessions(self) -> None:
        for clone in [clone for clone, path in self.line.clones.items() if path == self.path]:
            del self.line.clones[clone]
            await self.kit.workspace.drop(clone, "the session has ended")


class Session(Generic[R]):
    """One agent's conversation, and the clone that goes with it."""

    def __init__(self, run: Run, role: str, reply: type[R], *, line: Line | None = None) -> None:
        self.run, self.reply = run, reply
        self.role = _role(run.kit, role)
        self.agent = run.settings.agents.get(role) or run.settings.agents.get("*", "")
        if not self.agent:
            raise BadInput(f"no agent plays the role {role}", then="name one: --agent 'command:PROGRAM ARGS'")
        self.line = line or run.line
        self.line.seen[f"{run.path}{role} session"] += 1
        name = f"{run.path}{role} session {self.line.seen[f'{run.path}{role} session']}"
        self.clone = folder_name(name)
        self.id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"trued:{run.kit.run}/{name}"))
        self.turns = 0

    async def ask(self, subject: Subject, **context: Context) -> R:
        got = await self._asked(subject, context)
        if got.failure:
            raise AgentFailed(got.failure)
        try:
            return self.reply.model_validate(got.reply)
        except ValidationError as error:
            raise AgentFailed(f"{self.role.name} broke its contract: {_first(error)}") from error

    async def tolerant(self, subject: Subject, **context: Context) -> R | None:
        """None for an agent that failed: its failure is a result, and is not tried again on resume."""
        try:
            got = await self._asked(subject, context, keep_failure=True)
            return self.reply.model_validate(got.reply) if got.reply is not None else None
        except ValidationError:
            return None
        finally:
            await self.close()

    async def close(self) -> None:
        if self.line.clones.pop(self.clone, None) is not None:
            await self.run.kit.workspace.drop(self.clone, "the session has ended")

    async def _asked(self, subject: Subject, context: Mapping[str, Context], *, keep_failure: bool = False) -> Answered:
        run, kit, line = self.run, self.run.kit, self.line
        can_resume = kit.capabilities(self.agent).resume
        resumed = self.turns > 0 and can_resume
        schema = self.reply.model_json_schema()
        text = brief(self.role, subject, context, instructions=kit.instructions, resumed=resumed, schema=schema)
        ask = Ask(
            key=run._key(self.role.name),
            role=self.role,
            agent=self.agent,
            brief=text,
            reply_schema=schema,
            session=self.id,
            resume=resumed,
            clone=self.clone,
        )
        fresh: list[Answered] = []

        async def step() -> str:
            if self.turns and not can_resume:
                kit.journal.tell(
                    "fresh session", ask.key, why=f"{self.agent} cannot resume: it is told all facts again"
                )
            got = await answered(kit, line, ask)
            if got.failure and not keep_failure:
                raise AgentFailed(got.failure)
            fresh.append(got)
            return got.model_dump_json()

        inputs = digest(self.role.name, self.agent, text, schema, self.id, resumed, line.head)
        got = Answered.model_validate_json(await run._recorded(ask.key, inputs, step))
        self.turns += 1
        line.head, line.when, line.changes = got.head, got.when, line.changes + bool(got.changed)
        await self._settled(got, live=bool(fresh))
        return got

    async def _settled(self, got: Answered, *, live: bool) -> None:
        """After the record: the branch follows, and a clone that is not the session's own goes."""
        self.line.clones[self.clone] = self.run.path
        if not live:
            return
        if got.clone != self.clone:
            await self.run.kit.workspace.drop(got.clone, "the call has ended")
        if edited := sorted(set(got.changed) & self.run._not_theirs()):
            self.run.kit.journal.tell("sealed file edited", role=self.role.name, files=edited)
        if self.line is self.run.line:
            await self.run._publish()


def _role(kit: Kit, name: str) -> Role:
    if name not in kit.roles:
        raise BadInput(f"there is no role {name!r}", then=f"known: {', '.join(sorted(kit.roles))}")
    return kit.roles[name]


def _name(subject: Task | Plan) -> str:
    return subject.id if isinstance(subject, Task) else "plan"


def _summary(verdict: Verdict) -> dict[str, object]:
    """A verdict for the journal's readers, without its evidence."""
    judged = [{"id": one.id, "grade": str(one.grade), "why": list(one.why)} for one in verdict.requirements]
    gaps = [gap.what for gap in verdict.gaps]
    told = {"subject": verdict.subject, "commit": verdict.commit, "grade": str(verdict.grade), "holds": verdict.holds}
    return {**told, "gaps": gaps, "requirements": judged}


def _first(error: ValidationError) -> str:
    problem = error.errors()[0]
    return f"{'.'.join(map(str, problem['loc'])) or 'reply'}: {problem['msg']}"
