"""Run: the object that a workflow works with. Every awaited method is a durable step with a name."""

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from trued.errors import AgentFailed, Ended, Stopped
from trued.inputs.recognition import plan_of
from trued.inputs.tickets.plan import ticket_plan
from trued.model import Answer, Finding, Goal, Grade, Outcome, Plan, Reply, Settings, Task, Ticket, Verdict
from trued.model.events import JournalEvent
from trued.model.events.run import StepRepeated
from trued.model.titles import cut_title
from trued.proof.verdict.conclusion import apply_approvals, conclude
from trued.run.branch import Branch
from trued.run.clusters import Clusters
from trued.run.context import RunContext
from trued.run.judgement import Judgement
from trued.run.parallel import Parallel
from trued.run.people import People, confirmation
from trued.run.sealing import seal_plan
from trued.run.session import BriefContext, Prepare, R, Session, Subject
from trued.run.state import Position, RunState
from trued.run.steps import Steps
from trued.support.hashing import digest
from trued.support.plain_text import plain_line

TITLE = 600  # characters of a proposed task in the question whether to continue with a plan


class ProposedPlan(Reply):
    """The tasks that a planner proposes for a goal, in the order of work."""

    tasks: tuple[Task, ...] = Field(min_length=1)


class PlanOnly(Ended):
    """The run ends after its contract is sealed and shown; nothing has been spent on work."""

    code = 0


class Run:
    """The run as a workflow sees it, and the parts that it holds:

    - `branch`: files and commits of the run
    - `judgement`: checks, builds and test counts on the newest commit
    - `people`: questions to people, and their decisions
    - `parallel`: parts that work concurrently, and merging them
    - `clusters`: several agents on one step

    The steps of a stage of the work, such as one task, belong to a scope: `scope` gives them a common name.
    """

    def __init__(self, context: RunContext, steps: Steps | None = None) -> None:
        start = Position(head=context.workspace.start, when=context.began)
        self.context = context
        self.steps = steps or Steps(context, RunState(start))
        self.branch = Branch(self.steps)
        self.judgement = Judgement(self.steps)
        self.people = People(self.steps, self.judgement)
        self.parallel = Parallel(self.branch)
        self.clusters = Clusters(self.steps, self.parallel)

    @property
    def id(self) -> str:
        return self.context.run

    @property
    def settings(self) -> Settings:
        return self.context.settings

    @property
    def ticket(self) -> Ticket | None:
        """The ticket that the run was started with, if there was one."""
        return self.context.ticket

    @property
    def is_live(self) -> bool:
        """Whether a step has run in this process. Before that, all results came from the journal (a replay)."""
        return self.steps.state.position.live

    def scope(self, name: str) -> "Run":
        """The run inside the scope `name`: the keys of its steps contain this name, and are numbered separately."""
        return Run(self.context, self.steps.below(name))

    def part(self, name: str) -> "Run":
        """A scope with a head of its own, for work that runs concurrently. This work moves the run's head only when it
        is merged (see `Parallel.merge`), and can be proven only after the merge."""
        return Run(self.context, self.steps.below(name).apart())

    async def record(self, event: JournalEvent, *, step: str = "") -> None:
        """Emit an event for people, once, however often the workflow is replayed. `step`: the step's name, if another
        step already has the name of the event."""
        kind = event.stored_kind

        async def emit() -> str:
            self.steps.emit(kind, event.redacted(self.context.redact))
            return ""

        await self.steps.once(self.steps.key(step or kind), digest(event.stored_data()), emit)

    async def fail_unless_resumed(self, why: str) -> None:
        """End the run because an agent failed for good: raises `AgentFailed`.

        If the failure is replayed from the journal, a person has resumed the run. Then this method records the retry
        and returns, and the caller tries the step again.
        """
        if self.is_live:
            raise AgentFailed(why)
        await self.record(StepRepeated(why=why))

    # -- agents --------------------------------------------------------------------------------------------------------

    def session(
        self,
        role: str,
        reply: type[R],
        *,
        publishes: bool = True,
        before: Prepare | None = None,
        only: Sequence[str] = (),
        name: str = "",
    ) -> Session[R]:
        """An agent that keeps its context: every ask continues the same conversation, in the same clone.

        `publishes`: move the run's branch to the agent's commit after each ask. `before`: awaited whenever the agent is
        about to work. `only`: the paths that it may write; its other changes are undone. `name`: tells several agents
        of one role apart.
        """
        return Session(self.steps, role, reply, publishes=publishes, before=before, only=only, name=name)

    async def ask(self, role: str, subject: Subject, reply: type[R], **context: BriefContext) -> R:
        """Ask a fresh agent that knows only its role, the subject and this context."""
        session = Session(self.steps, role, reply)
        try:
            return await session.ask(subject, **context)
        finally:
            await session.close()

    # -- plan and contract ---------------------------------------------------------------------------------------------

    async def plan(self, goal: Goal, *, planner: str = "planner") -> Plan:
        """The user's plan or ticket as a plan. For plain text: a plan that a planner proposes and a person confirms,
        or, without a planner, a plan with the text as its only task. Raises `Stopped` if the person stops."""
        if self.ticket:
            return ticket_plan(self.ticket)
        if plan := plan_of(goal):
            return plan
        title = cut_title(goal.heading)
        if not planner:
            return Plan(title=title, tasks=(Task(id="goal", title=title, brief=goal.text),), text=goal.text)
        session, verdict = self.session(planner, ProposedPlan), Verdict.open("plan")
        while True:
            proposed = await session.ask(goal, gaps=verdict.gaps)
            plan = Plan(title=title, tasks=proposed.tasks, context=goal.text, text=goal.text)
            # an agent's words: on one line they cannot look like the engine's
            listed = "\n".join(f"  {plain_line(f'{task.id}: {task.title}', TITLE)}" for task in plan.tasks)
            answer = await self.people.answer("confirm plan", f"Continue with this plan?\n{listed}")
            if answer is Answer.GO_ON:
                return plan
            if answer is Answer.STOP:
                raise Stopped("the plan was not confirmed")
            verdict = self.take_feedback(plan)

    async def seal(self, plan: Plan) -> Plan:
        """Seal the plan's contract before any work: requirements and checks are fixed, and the checks run on the base.
        Returns the plan with the contract's hash.

        Only a person can amend the contract afterwards. Raises `PlanOnly` if the user asked for the plan only.
        """
        ask = None if self.settings.plan_only else self.people.answer
        self.judgement.enforce(await seal_plan(self.steps, plan, ask))
        if self.settings.plan_only:
            raise PlanOnly("the contract is sealed")
        return plan.model_copy(update={"contract": self.steps.state.proof.contract_hash})

    # -- verdicts ------------------------------------------------------------------------------------------------------

    def take_feedback(self, subject: Task | Plan) -> Verdict:
        """Return what a person wrote about this subject, as the gaps of a verdict. The next attempt has to close these
        gaps. See `People.take_feedback`."""
        return self.people.take_feedback(subject)

    async def prove(
        self,
        subject: Task | Plan,
        objections: Sequence[Finding] = (),
        *,
        by: Session[Any] | None = None,
        disputes: Sequence[Finding] = (),
        also: Sequence[Task] = (),
    ) -> Verdict:
        """Run the subject's checks on the newest commit. This is the only way to a verdict; see `Judgement.prove`."""
        return await self.judgement.prove(subject, objections, by=by, disputes=disputes, also=also)

    async def finish(self, plan: Plan) -> Outcome:
        """Prove the whole plan on the last commit, with every objection still open; see `Judgement.prove_finally`. Only
        this method can end a run as done."""
        verdict = await self.judgement.prove_finally(plan)
        self.steps.state.position.live = True
        await self.steps.publish()
        self.steps.state.proof.final = verdict
        approved = apply_approvals(verdict, await self.people.final_approvals())
        return conclude(approved, self.judgement.contract(), self.settings.accept)

    def stop(self, verdict: Verdict) -> Outcome:
        """The outcome of a run that a person stopped at this verdict. Requirements that the verdict does not judge
        count as unproven."""
        why = tuple(gap.what for gap in verdict.gaps)
        judged = {requirement.id for requirement in verdict.requirements}
        has_unjudged = any(requirement.id not in judged for requirement in self.judgement.contract().requirements)
        grade = min(verdict.grade, Grade.UNPROVEN) if has_unjudged else verdict.grade
        return Outcome(state="stopped", grade=grade, head=self.branch.head, verdict=verdict, why=why)

    async def confirm(self, subject: Task, verdict: Verdict) -> Answer:
        """Ask a person whether to continue after a task, and close the scope's sessions."""
        text = confirmation(subject, verdict, stalled=self.judgement.has_stalled)
        answer = await self.people.answer("confirm", text, can_pause=True)
        await self.steps.close_sessions()
        return answer
