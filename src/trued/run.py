"""Run: what a workflow holds in its hand. Every awaited method is one durable step with a name."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from pydantic import Field

from . import byhand, people, proof, sealing
from .branch import TAIL
from .documents.account import account, with_visible
from .documents.plan import parse_plan
from .documents.project import Figures
from .documents.ticket_plan import plan_of, servable
from .errors import BadInput, Ended, Stopped
from .kit import digest
from .patterns import Patterns
from .session import Before, Context, R, Session, Subject
from .steps import Steps
from .types import (
    Answer,
    Approval,
    Contract,
    Finding,
    Goal,
    Outcome,
    Outcomes,
    Plan,
    Reply,
    Requirements,
    Settings,
    Task,
    TestsCheck,
    Value,
    Verdict,
)

FRUITLESS = 2  # rounds that end with the same failing set: then one case is shown
NO_PROGRESS = 2  # rounds that changed nothing: a third would not, either


class Planned(Reply):
    """The tasks that a planner proposes for a goal, in the order of work."""

    tasks: tuple[Task, ...] = Field(min_length=1)


class Built(Value):
    """How the engine's own build of a commit ended."""

    outcome: Outcomes
    said: str = ""

    @property
    def ok(self) -> bool:
        """It was built; where it could not be judged, nothing is held against anybody."""
        return self.outcome in (Outcomes.PASSED, Outcomes.UNJUDGED)


class PlanOnly(Ended):
    """The contract is sealed and shown; nothing has been spent on work."""

    code = 0


class Run(Patterns):
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
        asked = with_visible(examination.asked, brought)
        authors = {**examination.authors, **sealing.written(plan.requirements, plan.author)}
        inputs = digest(plan.model_dump(mode="json"), asked.model_dump(mode="json"), list(examination.undecided))

        async def step() -> str:
            made, guards = await sealing.guarded(kit.workspace, asked, [task.id for task in plan.tasks])
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
                contract = await proof.seal(kit.workspace, made, terms, tell=tell)
            number, name = len(contract.requirements), proof.contract_hash(contract)
            tell("contract sealed", contract=name, requirements=number, held_out=hidden, why=why)
            return contract.model_dump_json()

        contract = Contract.model_validate_json(await self.steps.once(self.steps.key("seal"), inputs, step))
        await examination.close()
        self._in_force(contract)
        if self.settings.plan_only:
            raise PlanOnly("the contract is sealed")
        return plan.model_copy(update={"contract": self.line.contract_hash})

    # -- verdicts ------------------------------------------------------------------------------------------------------

    def open(self, subject: Task | Plan) -> Verdict:
        """Nothing is known yet, but what a person said when they asked for a redo, or rejected what was there."""
        comment = self.line.comments.pop(self.steps.path, None)
        rejected = self.line.rejected.pop(_name(subject), ())
        return Verdict.open(_name(subject), *([comment] if comment else []), *rejected)

    async def prove(
        self,
        subject: Task | Plan,
        objections: Iterable[Finding] = (),
        *,
        by: Session[Any] | None = None,
        disputes: Iterable[Finding] = (),
        beside: Iterable[Task] = (),
    ) -> Verdict:
        """Run the subject's checks ourselves, on the last accepted commit. Objections can sink it, never float it.

        `by` is whose objections they are: what cannot be run, it is asked about once more, with the evidence.
        `disputes` are an implementer's doubts about cases that it cannot see: another examiner answers those blind.
        `beside` are other tasks that the same commit is looked at for: what they show stands beside the verdict.
        """
        self.line.beside = {task.id for task in beside}
        await self._answer_disputes(disputes)
        verdict = await self._objected(subject, objections, by)
        unsure = [one for one in verdict.objections if one.case is None]
        if by and unsure and not any(one.gaps for one in verdict.requirements):
            evidence = [
                Finding(what=f"{one.id} is {one.grade}: {one.why[0]}") for one in verdict.requirements if one.why
            ]
            reply = await by.ask(subject, evidence=evidence, gaps=unsure)
            verdict = await self._objected(subject, getattr(reply, "objections", ()), by)
        self.line.shown[_name(subject)] = tuple(one for one in verdict.objections if one.case is not None)
        self.line.unsettled[_name(subject)] = () if verdict.holds else verdict.objections
        return await self._disclosed(subject, verdict)

    async def _objected(self, subject: Task | Plan, objections: Iterable[Finding], by: Session[Any] | None) -> Verdict:
        shown = self.line.shown.get(_name(subject), ())  # an objection that was run and refuted stays until it passes
        given = [one.model_copy(update={"by": by.role.name}) if by else one for one in objections]
        return await self._proven("prove", subject, _each_once((*self._addressed(subject, given), *shown)))

    async def _answer_disputes(self, disputes: Iterable[Finding]) -> None:
        """Once for each requirement: asking again until the answer suits is no examination."""
        for one in disputes:
            contract = self._contract()
            theirs = {each.id for each in contract.requirements if sealing.written_by_agents(contract, each)}
            if one.requirement not in theirs or one.requirement in self.line.disputed:
                continue
            self.line.disputed.add(one.requirement)
            steps = self.steps.below(f"dispute of {one.requirement}")
            changed = await sealing.disputed(steps, contract, one.requirement)
            steps.tell("dispute")("dispute", requirement=one.requirement, what=one.what, stands=changed is None)
            self._in_force(changed or contract)

    async def _disclosed(self, subject: Task | Plan, verdict: Verdict) -> Verdict:
        """After two fruitless rounds one held-out case is shown to those who build, and replaced by another."""
        asked = {one.id for one in verdict.requirements}
        found = [one for one in sealing.failing(self._contract(), verdict) if one.requirement in asked]
        now, name = sealing.signature(found), _name(subject)
        before, rounds = self.line.fruitless.get(name, ((), 0))
        rounds = rounds + 1 if now == before else 1
        self.line.fruitless[name] = (now, rounds)
        if not found or rounds < FRUITLESS:
            return verdict
        one = found[0]
        self._in_force(await sealing.replaced(self.steps.below("disclosure"), self._contract(), one))
        words = f"{one.requirement}: a held-out example, disclosed after {rounds} rounds: {proof.said(one.case)}"
        shown = Finding(what=words, where=one.case.quotes, requirement=one.requirement, case=one.case, by="the engine")
        self.line.shown[name] = (*self.line.shown.get(name, ()), shown)
        self.steps.tell("disclosure")("disclosed", requirement=one.requirement, clause=one.case.quotes)
        return verdict.model_copy(update={"remarks": (*verdict.remarks, shown)})

    def _in_force(self, contract: Contract) -> None:
        self.line.contract, self.line.contract_hash = contract, proof.contract_hash(contract)

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

    async def figures(self, check: TestsCheck) -> Figures:
        """How many tests of a command pass on the newest commit, and how much they reach: never evidence of more."""
        head, contract = self.line.head, self._contract()

        async def step() -> str:
            found = await proof.figures(self.kit.workspace, contract, check, head, self.line.known)
            told = Figures(**asdict(found))
            self.steps.tell("figures")("figures", **told.model_dump(mode="json"))
            return str(self.kit.redact(told.model_dump_json()))

        inputs = digest(head, check.model_dump(mode="json"))
        return Figures.model_validate_json(await self.steps.once(self.steps.key("figures"), inputs, step))

    async def build(self, command: str) -> Built:
        """The project's own build on the newest commit, run by the engine: in a clean room, without network."""
        head, contract = self.line.head, self._contract()

        async def step() -> str:
            async with self.kit.turn():
                fact = await proof.built(self.kit.workspace, contract, command, head)
            found = Built(outcome=fact.outcome, said=fact.detail[-TAIL:])
            found = Built.model_validate(self.kit.redact(found.model_dump(mode="json")))
            self.steps.tell("build")("built", command=command, outcome=str(found.outcome), said=found.said)
            return found.model_dump_json()

        return Built.model_validate_json(await self.steps.once(self.steps.key("build"), digest(head, command), step))

    def about(self, verdict: Verdict, task: str) -> Verdict:
        """What the same commit showed for a task that it was looked at for beside another."""
        ids = {one.id for one in self._contract().serving(task)}
        own = tuple(one for one in (*verdict.requirements, *verdict.beside) if one.id in ids)
        return verdict.model_copy(
            update={"subject": task, "requirements": own, "beside": (), "objections": (), "remarks": ()}
        )

    def stuck(self, verdict: Verdict) -> bool:
        """No progress: the same gaps and not a line changed, twice running."""
        line, gaps = self.line, tuple(sorted(gap.what for gap in verdict.gaps))
        before, times = line.standing.get(self.steps.path, (None, 0))
        now = (gaps, line.changes)
        line.standing[self.steps.path] = (now, times + 1 if now == before else 0)
        if line.standing[self.steps.path][1] < NO_PROGRESS:
            return False
        self.kit.journal.tell("no progress", self.steps.path.rstrip("/"), gaps=list(gaps))
        return True

    async def finish(self, plan: Plan) -> Outcome:
        """The only way to be done: every check once more, on the final commit, and every objection still open."""
        objections = tuple(finding for findings in self.line.unsettled.values() for finding in findings)
        verdict = await self._proven("finish", plan, objections)
        self.line.live = True
        await self.steps.publish()
        self.line.finished = verdict
        words = await byhand.words(self.steps, self._contract())
        return proof.concluded(proof.approved(verdict, words), self.settings.accept)

    def dispute(self, by: str, findings: Iterable[Finding]) -> None:
        """Objections that nothing has settled: they stand when the run is finished, by whose word they are."""
        given = [one.model_copy(update={"by": by}) for one in findings]
        self.line.unsettled[by] = self._addressed(Plan(), given)

    def stop(self, verdict: Verdict) -> Outcome:
        why = tuple(gap.what for gap in verdict.gaps)
        return Outcome(state="stopped", grade=verdict.grade, head=self.line.head, verdict=verdict, why=why)

    async def _proven(self, name: str, subject: Task | Plan, objections: tuple[Finding, ...]) -> Verdict:
        key, head = self.steps.key(name), self.line.head
        contract = await self._weighed(self._contract(key))
        serving = contract.requirements if isinstance(subject, Plan) else contract.serving(subject.id)
        wanted = tuple(one.id for one in serving)
        beside = self.line.beside if isinstance(subject, Task) else set()
        more = [one.id for name in sorted(beside) for one in contract.serving(name) if one.id not in wanted]
        ids = tuple(dict.fromkeys((*wanted, *more)))
        inputs = digest(head, ids, [one.model_dump(mode="json") for one in objections], self.line.contract_hash)

        async def step() -> str:
            async with self.kit.turn():
                verdict = await proof.prove(
                    self.kit.workspace,
                    contract,
                    ids,
                    head,
                    subject=_name(subject),
                    objections=objections,
                    known=tuple(self.line.known),
                    owned=(*self.steps.owned, *self.line.laid),
                    tell=self.steps.tell(name),
                )
            verdict = verdict.about(wanted) if more else verdict
            self.steps.tell(name)("proven", **_summary(verdict))
            return str(self.kit.redact(verdict.model_dump_json()))

        verdict = Verdict.model_validate_json(await self.steps.once(key, inputs, step))
        self.line.known.extend(verdict.evidence)
        return verdict

    async def _weighed(self, contract: Contract) -> Contract:
        """Whoever checks and has mended something is an implementer: its vendor's cases prove no more by themselves."""
        agents = {agent for role, agent in self.line.changed if role in sealing.MENDERS}
        weaker = sealing.weakened(self.kit, contract, {self.kit.capabilities(one).vendor for one in agents})
        if weaker != contract:
            steps = Steps(self.kit, self.line, "mended/")

            async def step() -> str:
                return weaker.model_dump_json()

            await steps.once(steps.key("sealed anew"), digest(weaker.undecided), step)
            self._in_force(weaker)
        return weaker

    def _contract(self, key: str = "") -> Contract:
        """The contract in force; from the first step on that an amendment did not find there, the amended one."""
        for before, contract in self.kit.amended[self.line.amended :] if key else ():
            if key in before:
                break
            self.line.amended += 1
            self._in_force(contract)
        if self.line.contract is None:
            raise BadInput("a workflow must seal its plan before it proves anything", then="await run.seal(plan)")
        return self.line.contract

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


def _name(subject: Task | Plan) -> str:
    return subject.id if isinstance(subject, Task) else "plan"


def _each_once(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    return tuple({finding.model_dump_json(): finding for finding in findings}.values())


def _summary(verdict: Verdict) -> dict[str, object]:
    """A verdict for the journal's readers, without its evidence."""
    judged = [{"id": one.id, "grade": str(one.grade), "why": list(one.why)} for one in verdict.requirements]
    gaps = [gap.what for gap in verdict.gaps]
    told = {"subject": verdict.subject, "commit": verdict.commit, "grade": str(verdict.grade), "holds": verdict.holds}
    return {**told, "gaps": gaps, "requirements": judged}
