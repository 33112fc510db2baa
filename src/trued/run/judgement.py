"""Judging: how a run finds out where it stands: by checks of its own, on the last accepted commit."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from trued import proof
from trued.errors import BadInput
from trued.model import Contract, Finding, Grade, Outcomes, Plan, Task, TestsCheck, Value, Verdict
from trued.proof.prove import prove
from trued.proof.statistics import figures
from trued.run import examination as sealing
from trued.run.branch import TAIL
from trued.run.clusters import Patterns
from trued.run.context import digest
from trued.run.session import Session
from trued.run.steps import Steps
from trued.support.redaction import in_json
from trued.workflows.handoff.project import Figures

FRUITLESS = 2  # rounds that end with the same failing set: then one case is shown
NO_PROGRESS = 2  # rounds that changed nothing: a third would not, either
UNBUILT = "no build was run: nothing says how it is built, so that it can be is an agent's word"
LINE = 200  # characters of what a build said


class Built(Value):
    """How the engine's own build of a commit ended."""

    outcome: Outcomes
    said: str = ""
    command: str = ""
    unsure: tuple[str, ...] = ()  # why a pass of it shows less than it seems to, or nothing was shown

    @property
    def ok(self) -> bool:
        """It was built; where it could not be judged, nothing is held against anybody."""
        return self.outcome in (Outcomes.PASSED, Outcomes.UNJUDGED)


class Judging(Patterns):
    """Verdicts on the newest commit. Agents' words can sink one, never float it."""

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
        ration = proof.Ration(self.line.objected)
        verdict = await self._objected(subject, objections, by, ration)
        unsure = [one for one in verdict.objections if one.case is None]
        if by and unsure and not any(one.gaps for one in (*verdict.suites, *verdict.requirements)):
            evidence = [
                Finding(what=f"{one.id} is {one.grade}: {one.reason}") for one in verdict.requirements if one.why
            ]
            reply = await by.ask(subject, evidence=evidence, gaps=unsure)
            verdict = await self._objected(subject, getattr(reply, "objections", ()), by, ration)
        self.line.shown[_name(subject)] = tuple(one for one in verdict.objections if one.case is not None)
        self.line.unsettled[_name(subject)] = () if verdict.holds else verdict.objections
        return await self._disclosed(subject, verdict)

    async def _objected(
        self, subject: Task | Plan, objections: Iterable[Finding], by: Session[Any] | None, ration: proof.Ration
    ) -> Verdict:
        shown = self.line.shown.get(_name(subject), ())  # an objection that was run and refuted stays until it passes
        given = [one.model_copy(update={"by": by.role.name}) if by else one for one in objections]
        meant = self._addressed(subject, given)
        # whose word it is only the engine knows: what calls itself otherwise shares one ration
        allowed = [ration.allowed(one, one.by if one.by in self.kit.roles else "") for one in meant]
        unrun = [kept for one, kept in zip(meant, allowed, strict=True) if one != kept]
        return await self._proven("prove", subject, _each_once((*allowed, *shown)), unrun)

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
        return addressed(self._contract(), subject, objections)

    async def figures(self, check: TestsCheck, at: str = "") -> Figures:
        """How many tests of a command pass on the newest commit, or on another, and how much they reach: never evidence
        of more."""
        head, contract = at or self.line.head, self._contract()

        async def step() -> str:
            found = await figures(
                self.kit.workspace, contract, check, head, self.line.known, tell=self.steps.tell("figures")
            )
            told = Figures(**asdict(found))
            self.steps.tell("figures")("figures", **told.model_dump(mode="json"))
            return in_json(self.kit.redact, told.model_dump_json())

        inputs = digest(head, check.model_dump(mode="json"))
        return Figures.model_validate_json(await self.steps.once(self.steps.key("figures"), inputs, step))

    def unsure(self, about: str, said: Iterable[str]) -> None:
        """What nobody could judge, beyond the contract: every verdict says so. What was said of the same is gone."""
        self.line.unsure[about] = tuple(said)

    async def build(self, *commands: str) -> Built | None:
        """The project's own build on the newest commit, run by the engine: in a clean room, without network. Of several
        commands the worst counts; None where there is none. What nobody could judge is said in every verdict."""
        found = [await self._built(command) for command in commands]
        self.unsure("build", [one for each in found for one in each.unsure] if found else [UNBUILT])
        return min(found, key=lambda one: (one.ok, one.outcome is Outcomes.PASSED), default=None)

    async def _built(self, command: str) -> Built:
        head, contract = self.line.head, self._contract()

        async def step() -> str:
            async with self.kit.turn():
                made = await proof.built(self.kit.workspace, contract, command, head, tell=self.steps.tell("build"))
            said = made.tried.detail[-TAIL:]
            found = Built(outcome=made.tried.outcome, said=said, command=command, unsure=tuple(_unsure(command, made)))
            found = Built.model_validate(self.kit.redact(found.model_dump(mode="json")))
            self.steps.tell("build")("built", **found.model_dump(mode="json"))
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

    def dispute(self, by: str, findings: Iterable[Finding]) -> None:
        """Objections that nothing has settled: they stand when the run is finished, by whose word they are."""
        given = [one.model_copy(update={"by": by}) for one in findings]
        self.line.unsettled[by] = self._addressed(Plan(), given)

    async def _proven(
        self, name: str, subject: Task | Plan, objections: tuple[Finding, ...], unrun: Iterable[Finding] = ()
    ) -> Verdict:
        key, head = self.steps.key(name), self.line.head
        contract = await self._weighed(self._contract(key))
        serving = contract.requirements if isinstance(subject, Plan) else contract.serving(subject.id)
        wanted = tuple(one.id for one in serving)
        beside = self.line.beside if isinstance(subject, Task) else set()
        more = [one.id for name in sorted(beside) for one in contract.serving(name) if one.id not in wanted]
        ids = tuple(dict.fromkeys((*wanted, *more)))
        unsure = [one for each in self.line.unsure.values() for one in each]
        given = [one.model_dump(mode="json") for one in objections]
        inputs = digest(head, ids, given, self.line.contract_hash, *unsure)
        owned = (*self.steps.owned, *self.line.laid)
        same = self._taken(digest(inputs, owned)) if name == "finish" else None

        async def step() -> str:
            for one in unrun:
                self.steps.tell(name)("objection not run", what=self.kit.redact(one.what), by=one.by, why=one.where)
            if same:
                verdict = same.model_copy(update={"subject": _name(subject)})
                self.steps.tell(name)("proven", **_summary(verdict), taken_by=self.line.last[1])
                return verdict.model_dump_json()
            async with self.kit.turn():
                verdict = await prove(
                    self.kit.workspace,
                    contract,
                    ids,
                    head,
                    subject=_name(subject),
                    objections=objections,
                    known=tuple(self.line.known),
                    owned=owned,
                    tell=self.steps.tell(name),
                )
            verdict = verdict.about(wanted) if more else verdict
            verdict = verdict.model_copy(update={"undecided": (*verdict.undecided, *unsure)})
            self.steps.tell(name)("proven", **_summary(verdict))
            return in_json(self.kit.redact, verdict.model_dump_json())

        found = await self.steps.once(key, inputs, step)
        verdict = Verdict.model_validate_json(found)
        self.line.last = (digest(inputs, owned), key, found)
        known = {one.id for one in self.line.known}
        self.line.known.extend(one for one in verdict.evidence if one.id not in known)
        return verdict

    def _taken(self, inputs: str) -> Verdict | None:
        """The last verdict, where it is on this very commit, contract, requirements and objections: nothing is new to
        see. What the environment kept from being judged is tried again."""
        taken_from, _, found = self.line.last
        verdict = Verdict.model_validate_json(found) if taken_from == inputs else None
        judged = verdict and all(one.grade is not Grade.UNJUDGED for one in verdict.requirements)
        return verdict if judged else None

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


def addressed(contract: Contract, subject: Task | Plan, objections: Iterable[Finding]) -> tuple[Finding, ...]:
    """An objection that names no requirement disputes every one that the subject serves."""
    every = {one.id: one for one in contract.requirements}
    served = [one.id for one in contract.serving(subject.id)] if isinstance(subject, Task) else sorted(every)
    meant = served or [""]
    return tuple(
        one.model_copy(update={"requirement": name})
        for one in objections
        for name in ([one.requirement] if one.requirement in every else meant)
    )


def _name(subject: Task | Plan) -> str:
    return subject.id if isinstance(subject, Task) else "plan"


def _unsure(command: str, made: proof.Building) -> Iterator[str]:
    """What a build does not show, though it is not held against anybody."""
    if made.tried.outcome is Outcomes.UNJUDGED:
        said = [one.strip() for one in made.tried.detail.splitlines() if one.strip()] or [made.tried.kind]
        words = " ".join(dict.fromkeys((said[0], said[-1])))
        yield f"the build `{command}` could not be judged here, and shows nothing: {words[:LINE]}"
    for name in made.drivers:
        yield f"the build `{command}` is driven by {name}, which is not the base's: it could make it say anything"


def _each_once(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    return tuple({finding.model_dump_json(): finding for finding in findings}.values())


def _summary(verdict: Verdict) -> dict[str, object]:
    """A verdict for the journal's readers, without its evidence."""
    judged = [{"id": one.id, "grade": str(one.grade), "why": list(one.why)} for one in verdict.requirements]
    gaps = [gap.what for gap in verdict.gaps]
    told = {"subject": verdict.subject, "commit": verdict.commit, "grade": str(verdict.grade), "holds": verdict.holds}
    return {**told, "gaps": gaps, "requirements": judged}
