"""Run: what a workflow holds in its hand. Every awaited method is one durable step with a name."""

from collections.abc import Sequence

from pydantic import Field

from trued import proof
from trued.errors import Ended, Stopped
from trued.inputs.plans.plan import parse_plan
from trued.inputs.requirements.coverage import account, commanded, with_visible
from trued.inputs.tickets.plan import plan_of, servable
from trued.model import (
    Answer,
    Approval,
    Contract,
    Finding,
    Goal,
    Outcome,
    Plan,
    Reply,
    Requirements,
    Settings,
    Task,
    Verdict,
)
from trued.proof.seal import seal
from trued.run import approvals as people
from trued.run import examination as sealing
from trued.run import manual_review as byhand
from trued.run.context import digest
from trued.run.judgement import Judging
from trued.run.session import Before, Context, R, Session, Subject


class Planned(Reply):
    """The tasks that a planner proposes for a goal, in the order of work."""

    tasks: tuple[Task, ...] = Field(min_length=1)


class PlanOnly(Ended):
    """The contract is sealed and shown; nothing has been spent on work."""

    code = 0


class Run(Judging):
    """The run as a workflow sees it. `scope` names a part of it; everything else is a step."""

    @property
    def settings(self) -> Settings:
        return self.kit.settings

    # -- agents --------------------------------------------------------------------------------------------------------

    def session(
        self,
        role: str,
        reply: type[R],
        *,
        publishes: bool = True,
        before: Before | None = None,
        only: Sequence[str] = (),
        name: str = "",
    ) -> Session[R]:
        """An agent that remembers: every ask continues the same conversation, in the same clone.

        What it leaves is published at once, or only when the workflow has accepted it. `before` is awaited whenever
        it is about to work. `only`: it writes these paths, and whatever else it does is undone. `name`: its own, where
        several play the role.
        """
        return Session(self.steps, role, reply, publishes=publishes, before=before, only=only, name=name)

    async def ask(self, role: str, subject: Subject, reply: type[R], **context: Context) -> R:
        """A fresh agent: it knows its role, the subject and this context, nothing else."""
        session = Session(self.steps, role, reply)
        try:
            return await session.ask(subject, **context)
        finally:
            await session.close()

    # -- plan and contract ---------------------------------------------------------------------------------------------

    async def plan(self, goal: Goal, *, planner: str = "planner") -> Plan:
        """The user's plan as it is written; for plain text one that a planner proposes and a person confirms, or, with
        no planner, the text as its one task."""
        if self.kit.ticket:
            return plan_of(self.kit.ticket)
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
        kit, tell = self.kit, self.steps.tell("seal")
        known = plan if plan.source.file or plan.requirements else None
        requirements = account(known, kit.goal, kit.requirements)
        given = kit.requirements or Requirements(requirements=())
        environment = given.environment.over(self.settings.environment)
        served = {"environment": environment, "serve": given.serve or self.settings.serve}
        asked = given.model_copy(update={"requirements": requirements, **served})
        examination = await sealing.examined(self.steps.below("seal"), asked)
        brought, unserved = servable(plan.requirements, examination.asked.serve)
        own = {one.id for one in given.requirements}
        named = commanded(one for one in requirements if one.id not in own) if not plan.author else ()
        asked = with_visible(examination.asked, (*named, *brought))
        authors = {**examination.authors, **sealing.written(plan.requirements, plan.author)}
        inputs = digest(plan.model_dump(mode="json"), asked.model_dump(mode="json"), list(examination.undecided))

        async def step() -> str:
            made, guards = await sealing.guarded(kit.workspace, asked)
            hidden, why = await sealing.held_out(kit, examination.hides, examined=bool(examination.authors))
            terms = proof.Sealing(
                hidden,
                why,
                authors=authors,
                guards=guards,
                caps=examination.caps,
                undecided=(*examination.undecided, *unserved, *plan.undecided),
            )
            async with kit.turn():
                contract = await seal(kit.workspace, made, terms, tell=tell)
            number, name = len(contract.requirements), proof.contract_hash(contract)
            tell("contract sealed", contract=name, requirements=number, held_out=hidden, why=why)
            return contract.model_dump_json()

        contract = Contract.model_validate_json(await self.steps.once(self.steps.key("seal"), inputs, step))
        await examination.close()
        self._in_force(contract)
        if self.settings.plan_only:
            raise PlanOnly("the contract is sealed")
        return plan.model_copy(update={"contract": self.line.contract_hash})

    # -- the end -------------------------------------------------------------------------------------------------------

    async def finish(self, plan: Plan) -> Outcome:
        """The only way to be done: every check once more, on the final commit, and every objection still open."""
        objections = tuple(finding for findings in self.line.unsettled.values() for finding in findings)
        verdict = await self._proven("finish", plan, objections)
        self.line.live = True
        await self.steps.publish()
        self.line.finished = verdict
        words = await byhand.words(self.steps, self._contract())
        return proof.concluded(proof.approved(verdict, words), self.settings.accept)

    def stop(self, verdict: Verdict) -> Outcome:
        why = tuple(gap.what for gap in verdict.gaps)
        return Outcome(state="stopped", grade=verdict.grade, head=self.line.head, verdict=verdict, why=why)

    # -- people --------------------------------------------------------------------------------------------------------

    async def confirm(self, subject: Task, verdict: Verdict) -> Answer:
        """Ask whether to go on. The wait survives a restart; a redo's comment is the next round's first gap."""
        gaps = "".join(f"\n  - {gap.what}" for gap in verdict.gaps)
        state = "holds" if verdict.holds else f"⚠ rounds are used up, with gaps:{gaps}"
        answer = await self._answer("confirm", f"{subject.id} {subject.title}: {verdict.grade}, {state}\nGo on?")
        await self.steps.close_sessions()
        return answer

    async def by_hand(self, subject: Task | str) -> Approval | None:
        """What a person decides of a task, or of one requirement, at this head: the first rejection, else the word
        that accepts all of it. None: nobody is there, so it is parked, and the run goes on with what does not need it.
        """
        name = subject if isinstance(subject, str) else subject.id
        key = self.steps.key(f"by hand {name}")
        contract = self._contract(key)
        got = await byhand.heard(self.steps, key, contract, byhand.due(contract, subject))
        rejected = next((one for one in got.words if one.rejected), None)
        return rejected or (got.words[-1] if got.words and not got.parked else None)

    async def decided(self) -> tuple[Approval, ...]:
        """After `finish`: rejections, and words on what was parked, that no step has heard yet. Empty is no step, so
        that a resumed run hears what was said meanwhile; whoever gets words works by them and finishes again."""
        await byhand.last_words(self.steps, self._contract(), self.line.finished)
        return await byhand.news(self.steps, every=self.settings.workflow in people.WRITING)

    async def rejected(self, plan: Plan) -> tuple[Task, ...] | None:
        """The same, as tasks to be done again: `open` tells each of them what was said. None: nobody said anything."""
        words = await self.decided()
        return byhand.again(self.line, self._contract(), plan, words) if words else None

    async def _answer(self, name: str, text: str) -> Answer:
        key = self.steps.key(name)
        inputs = digest(text)

        async def step() -> str:
            if self.settings.yes:
                return f"{Answer.GO_ON}\n--yes\n"
            answer, comment, who = await people.said(self.kit, key, text, [str(one) for one in Answer])
            return "\n".join((answer, who, comment))

        answer, who, comment = (await self.steps.once(key, inputs, step)).split("\n", 2)
        if answer == Answer.REDO and comment:
            self.line.comments[self.steps.path] = Finding(what=comment, where=f"{who}'s word")
        return Answer(answer)
