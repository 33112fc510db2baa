"""Judgement: the contract in force, and what its checks, builds and test counts show on the run's newest commit."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from trued.errors import BadInput
from trued.model import (
    Contract,
    Figures,
    Finding,
    Grade,
    Judged,
    Outcomes,
    Plan,
    Requirement,
    Task,
    TestsCheck,
    Value,
    Verdict,
)
from trued.model.events.proof import (
    BuildRan,
    CaseDisclosed,
    DisputeAnswered,
    GradedRequirement,
    NoProgress,
    ObjectionNotRun,
    TestsCounted,
    VerdictReached,
)
from trued.proof.build import BuildResult, run_build
from trued.proof.cases.objections import ObjectionLimits
from trued.proof.checks.examples import case_in_words
from trued.proof.hashes import check_hash, contract_hash
from trued.proof.prove import prove
from trued.proof.room.bench import ROOM
from trued.proof.room.held_out import is_hidden_data
from trued.proof.statistics import measure_tests
from trued.proof.verdict.case_status import Base, on_base
from trued.proof.verdict.conclusion import with_whole_contract
from trued.proof.verdict.for_agents import reason_for_agents
from trued.run.branch import TAIL
from trued.run.counted_tests import CountedTests, missing_test_files
from trued.run.examination.independence import weaken_authors
from trued.run.examination.replacement import (
    answer_dispute,
    failing_cases,
    failing_signature,
    has_check_by_agent,
    replace_case,
)
from trued.run.session import Session
from trued.run.state import LastVerdict, RoundsInARow
from trued.run.steps import Steps
from trued.support.hashing import digest
from trued.support.redaction import in_json

FINAL = "finish"  # name of the step with the verdict on the finished work
FRUITLESS = 2  # after this many rounds with the same failing cases, one case is disclosed
NO_PROGRESS = 2  # the loop stalls after this many rounds in a row that end like the round before, without any change
# This text is part of recorded steps: with another text, earlier runs could not be resumed.
UNBUILT = "no build was run, because no build command is known: that it builds is only an agent's claim"
NOT_CHECKED = "not checked"
LINE = 200  # characters of a build's output in a warning


class CommitBuild(Value):
    """How the engine's own build of a commit ended."""

    outcome: Outcomes
    said: str = ""
    command: str = ""
    unsure: tuple[str, ...] = ()  # why a pass shows less than it seems to, or why the build shows nothing

    @property
    def ok(self) -> bool:
        """Whether the build passed or could not be judged here. A build that could not be judged does not count against
        the work."""
        return self.outcome in (Outcomes.PASSED, Outcomes.UNJUDGED)


class Judgement:
    """Verdicts on the newest commit of one scope. An agent's objection can lower a verdict; no reply can raise one."""

    def __init__(self, steps: Steps) -> None:
        self._steps, self._context, self._state = steps, steps.context, steps.state.proof

    def contract(self, key: str = "") -> Contract:
        """The contract in force. Raises `BadInput` before `seal`.

        `key`: the step that needs the contract. With a key, amendments come into force here, except those that people
        made after this step was recorded: a replay must use the same contract as the first time.
        """
        for amended in self._context.amended[self._state.amendments :] if key else ():
            if key in amended.before:
                break
            self._state.amendments += 1
            self.enforce(amended.contract)
        if self._state.contract is None:
            raise BadInput("a workflow must seal its plan before it proves anything", then="await run.seal(plan)")
        return self._state.contract

    def amended_since(self, key: str, number: int) -> Verdict | None:
        """The verdict by the amended contract, if the run's amendment `number` (counted from 1) was made after the step
        `key`; else None. Puts this amendment and all earlier ones into force."""
        for amended in self._context.amended[self._state.amendments : number]:
            self._state.amendments += 1
            self.enforce(amended.contract)
            if self._state.amendments == number and key in amended.before:
                return amended.verdict
        return None

    def enforce(self, contract: Contract) -> None:
        """Put a contract into force."""
        self._state.contract, self._state.contract_hash = contract, contract_hash(contract)

    # -- verdicts ------------------------------------------------------------------------------------------------------

    async def prove(
        self,
        subject: Task | Plan,
        objections: Iterable[Finding] = (),
        *,
        by: Session[Any] | None = None,
        disputes: Iterable[Finding] = (),
        also: Iterable[Task] = (),
    ) -> Verdict:
        """Run the subject's checks on the newest commit, and every objection that has a case.

        `by`: the session that raised the objections. If no requirement has gaps, objections without a runnable case are
        put to this session once more, with the evidence.
        `disputes`: an implementer's doubts about cases that it cannot see; a second examiner answers these cases blind.
        `also`: further tasks to judge on this commit. Their requirements are in `verdict.beside`, and `verdict.holds`
        does not depend on them.
        If the same cases keep failing, one of them is disclosed to the implementers, and replaced in the contract.
        """
        self._state.also = {task.id for task in also}
        await self._settle_disputes(disputes)
        objection_limits = ObjectionLimits(self._state.tried_cases)
        verdict = await self._prove_with_objections(subject, objections, by, objection_limits)
        unsure = [objection for objection in verdict.objections if objection.case is None]
        if by and unsure and not any(part.gaps for part in (*verdict.suites, *verdict.requirements)):
            evidence = [
                Finding(what=f"{requirement.id} is {requirement.grade}: {reason_for_agents(requirement)}")
                for requirement in verdict.requirements
                if requirement.why
            ]
            reply = await by.ask(subject, evidence=evidence, gaps=unsure)
            verdict = await self._prove_with_objections(subject, getattr(reply, "objections", ()), by, objection_limits)
        name = subject_name(subject)
        self._state.upheld[name] = tuple(objection for objection in verdict.objections if objection.case is not None)
        self._state.open_objections[name] = () if verdict.holds else verdict.objections
        return await self._disclose_case(subject, verdict)

    async def prove_finally(self, plan: Plan) -> Verdict:
        """Prove the whole contract on the last commit, with every objection that is still open. If the last verdict had
        the same inputs, it is reused; otherwise all checks run again."""
        objections = tuple(objection for findings in self._state.open_objections.values() for objection in findings)
        return await self._prove(FINAL, plan, objections)

    async def _prove_with_objections(
        self,
        subject: Task | Plan,
        objections: Iterable[Finding],
        by: Session[Any] | None,
        objection_limits: ObjectionLimits,
    ) -> Verdict:
        # an objection that was run and upheld stays until its case passes
        upheld = self._state.upheld.get(subject_name(subject), ())
        signed = [objection.model_copy(update={"by": by.role.name}) if by else objection for objection in objections]
        addressed_objections = addressed(self.contract(), subject, signed)
        # The limit is for each role. Names that are no roles share one limit, because an agent could make up new ones.
        allowed = [
            objection_limits.allowed(objection, objection.by if objection.by in self._context.roles else "")
            for objection in addressed_objections
        ]
        unrun = [
            allowed_objection
            for objection, allowed_objection in zip(addressed_objections, allowed, strict=True)
            if objection != allowed_objection
        ]
        return await self._prove("prove", subject, _each_once((*allowed, *upheld)), unrun)

    async def _settle_disputes(self, disputes: Iterable[Finding]) -> None:
        """Have another examiner answer the disputed cases blind, but only once for each requirement. If an implementer
        could ask until an answer suits it, the answer would prove nothing."""
        for dispute in disputes:
            contract = self.contract()
            checked_by_agents = {
                requirement.id for requirement in contract.requirements if has_check_by_agent(contract, requirement)
            }
            if dispute.requirement not in checked_by_agents or dispute.requirement in self._state.disputed:
                continue
            self._state.disputed.add(dispute.requirement)
            steps = self._steps.below(f"dispute of {dispute.requirement}")
            changed = await answer_dispute(steps, contract, dispute.requirement)
            steps.emit(
                "dispute", DisputeAnswered(requirement=dispute.requirement, what=dispute.what, stands=changed is None)
            )
            self.enforce(changed or contract)

    async def _disclose_case(self, subject: Task | Plan, verdict: Verdict) -> Verdict:
        """If the same held-out cases failed in FRUITLESS rounds in a row, show the implementers one of them. The
        returned verdict has this case as a remark, and the contract gets a new case in its place. Otherwise the verdict
        is returned unchanged."""
        judged = {requirement.id for requirement in verdict.requirements}
        failing = [case for case in failing_cases(self.contract(), verdict) if case.requirement in judged]
        signature, name = failing_signature(failing), subject_name(subject)
        before = self._state.failing_alike.get(name, RoundsInARow(()))
        rounds = before.rounds + 1 if signature == before.ended_with else 1
        self._state.failing_alike[name] = RoundsInARow(signature, rounds)
        if not failing or rounds < FRUITLESS:
            return verdict
        requirement, case = failing[0].requirement, failing[0].case
        self.enforce(await replace_case(self._steps.below("disclosure"), self.contract(), failing[0]))
        text = f"{requirement}: a held-out example, disclosed after {rounds} rounds: {case_in_words(case)}"
        remark = Finding(what=text, where=case.quotes, requirement=requirement, case=case, by="the engine")
        self._state.upheld[name] = (*self._state.upheld.get(name, ()), remark)
        self._steps.emit("disclosure", CaseDisclosed(requirement=requirement, clause=case.quotes))
        return verdict.model_copy(update={"remarks": (*verdict.remarks, remark)})

    async def _prove(
        self, name: str, subject: Task | Plan, objections: tuple[Finding, ...], unrun: Iterable[Finding] = ()
    ) -> Verdict:
        steps, state = self._steps, self._state
        key, head = steps.key(name), steps.state.position.head
        contract = await self._weakened_by_repairs(self.contract(key))
        part = subject if isinstance(subject, Task) and name != FINAL else None
        serving = contract.serving(part.id) if part else contract.requirements
        wanted = tuple(requirement.id for requirement in serving)
        also = state.also if part else set()
        more = [
            requirement.id
            for task in sorted(also)
            for requirement in contract.serving(task)
            if requirement.id not in wanted
        ]
        ids = tuple(dict.fromkeys((*wanted, *more)))
        unverified = [warning for warnings in state.unverified.values() for warning in warnings]
        objections_as_json = [objection.model_dump(mode="json") for objection in objections]
        inputs = digest(head, ids, objections_as_json, state.contract_hash, *unverified)
        owned = steps.not_part_of_work
        same = self._last_verdict(contract, digest(inputs, owned)) if name == FINAL else None
        outside = state.outside(contract) if name == FINAL else ()

        async def step() -> str:
            for objection in unrun:
                steps.emit(
                    name,
                    ObjectionNotRun(what=self._context.redact(objection.what), by=objection.by, why=objection.where),
                )
            if same:
                judged = (*same.requirements, *outside)
                verdict = same.model_copy(update={"subject": subject_name(subject), "requirements": judged})
                steps.emit(name, _summary(verdict, taken_by=state.last.step))
                return verdict.model_dump_json()
            async with self._context.turn():
                verdict = await prove(
                    self._context.workspace,
                    contract,
                    ids,
                    head,
                    subject=subject_name(subject),
                    objections=objections,
                    known=tuple(state.evidence),
                    owned=owned,
                    tell=steps.emitter(name),
                )
            verdict = verdict.about(wanted) if more else verdict
            judged = (*verdict.requirements, *outside)
            verdict = verdict.model_copy(
                update={
                    "requirements": judged,
                    "undecided": (*verdict.undecided, *unverified),
                    "noted": tuple(unverified),
                }
            )
            steps.emit(name, _summary(verdict))
            return in_json(self._context.redact, verdict.model_dump_json())

        recorded = await steps.once(
            key, digest(inputs, [criterion.id for criterion in outside]) if outside else inputs, step
        )
        verdict = Verdict.model_validate_json(recorded)
        state.last = LastVerdict(digest(inputs, owned), key, recorded)
        known = {evidence.id for evidence in state.evidence}
        state.evidence.extend(evidence for evidence in verdict.evidence if evidence.id not in known)
        return verdict

    def _last_verdict(self, contract: Contract, inputs: str) -> Verdict | None:
        """The last verdict, if it can be reused; None if the checks have to run again. A verdict can be reused if its
        inputs are the same (commit, contract, requirements, objections, warnings, files that are not part of the work),
        if it is about the whole contract, if no requirement is `unjudged`, and if this version of the engine took the
        evidence."""
        if self._state.last.inputs != inputs:
            return None
        verdict = Verdict.model_validate_json(self._state.last.verdict)
        if verdict is not with_whole_contract(verdict, contract):
            return None  # a task was judged, and the rest of the contract only beside it
        is_judged = all(requirement.grade is not Grade.UNJUDGED for requirement in verdict.requirements)
        return verdict if is_judged and all(evidence.room == ROOM for evidence in verdict.evidence) else None

    async def _weakened_by_repairs(self, contract: Contract) -> Contract:
        """The contract, weakened if an agent of a checking role has repaired something. This agent then counts as an
        implementer, so cases by its vendor are no longer independent. The weakened contract comes into force here."""
        repairing = self._context.repairing_roles
        agents = {agent for role, agent in self._steps.state.implementers if role in repairing}
        weaker = weaken_authors(self._context, contract, {self._context.capabilities(agent).vendor for agent in agents})
        if weaker != contract:
            steps = Steps(self._context, self._steps.state, "mended/")

            async def step() -> str:
                return weaker.model_dump_json()

            await steps.once(steps.key("sealed anew"), digest(weaker.undecided), step)
            self.enforce(weaker)
        return weaker

    # -- beside the contract -------------------------------------------------------------------------------------------

    def verdict_on(self, task: str, verdict: Verdict) -> Verdict:
        """The part of a verdict that is about the task with the id `task`: the verdict's subject, or one of the further
        tasks that were evaluated on the same commit (`also`). Objections and remarks are left out."""
        ids = {requirement.id for requirement in self.contract().serving(task)}
        about_task = tuple(judged for judged in (*verdict.requirements, *verdict.beside) if judged.id in ids)
        return verdict.model_copy(
            update={"subject": task, "requirements": about_task, "beside": (), "objections": (), "remarks": ()}
        )

    def was_met_on_base(self, task: Task) -> bool:
        """Whether the user's own held-out cases show that the task needs no work: all pass on the base.

        False if a requirement of the task has no check, or a check of another kind. If agents' cases counted, a case
        that passes everywhere would keep the task from being built.
        """
        contract = self.contract()
        checks = [
            (requirement.id, check)
            for requirement in contract.serving(task.id)
            for check in requirement.checks or (None,)
        ]
        return bool(checks) and all(
            check is not None
            and is_hidden_data(check)
            and check_hash(check) not in contract.authors
            and _passed_on_base(contract, name, check_hash(check))
            for name, check in checks
        )

    def check_for_stall(self, verdict: Verdict) -> bool:
        """Count a round that ended with this verdict. If the loop stalls, emit `NoProgress` and return True.

        The loop stalls if two rounds in a row change nothing and end with the same gaps as the round before them.
        """
        gaps, path = tuple(sorted(gap.what for gap in verdict.gaps)), self._steps.path
        before = self._state.without_progress.get(path, RoundsInARow())
        end = (gaps, self._steps.state.position.changes)
        self._state.without_progress[path] = RoundsInARow(end, before.rounds + 1 if end == before.ended_with else 0)
        if not self.has_stalled:
            return False
        self._context.journal.emit(NoProgress(gaps=tuple(gaps)), path.rstrip("/"))
        return True

    @property
    def has_stalled(self) -> bool:
        """Whether the loop in this scope had stalled when `check_for_stall` last counted a round."""
        return self._state.without_progress.get(self._steps.path, RoundsInARow()).rounds >= NO_PROGRESS

    def object(self, by: str, findings: Iterable[Finding]) -> None:
        """Record the open objections of the role `by`, in place of its earlier ones. `prove_finally` takes them into
        account."""
        signed = [finding.model_copy(update={"by": by}) for finding in findings]
        self._state.open_objections[by] = addressed(self.contract(), Plan(), signed)

    def drop_objections(self, subject: str) -> None:
        """Drop the open objections to a subject that is about to be judged again."""
        self._state.open_objections.pop(subject, None)

    def set_unverified(self, about: str, warnings: Iterable[str]) -> None:
        """Record warnings about what was not verified; every verdict lists them. They replace earlier warnings with the
        same `about`."""
        self._state.unverified[about] = tuple(warnings)

    def set_outside(self, find: Callable[[Contract], Iterable[Requirement]], plan: Plan, why: str) -> None:
        """Record how to find criteria that are not in the contract. The final verdict calls `find` with the contract
        that is in force by then, because an amendment may have changed it. Every criterion that `find` returns is
        listed as not checked, which limits the run's grade.

        The first name in a criterion's `covers` is the part of the work that the criterion belongs to. A criterion
        whose text is also in `plan`, under any id, counts as written by the plan's author; any other counts as written
        by a person.
        """
        planned = {requirement.text for requirement in plan.requirements}

        def outside(contract: Contract) -> tuple[Judged, ...]:
            authors = [(criterion, plan.author if criterion.text in planned else "") for criterion in find(contract)]
            return tuple(_not_checked(criterion, author, why) for criterion, author in authors)

        self._state.outside = outside

    async def count_tests(self, check: TestsCheck, commit: str = "", *, of: Sequence[str] = ()) -> Figures:
        """Run the tests of a command on the newest commit (or `commit`): how many pass, and how much code of the files
        `of` they cover. Information for people and agents, never evidence."""
        head, contract, steps = commit or self._steps.state.position.head, self.contract(), self._steps

        async def step() -> str:
            figures = await measure_tests(
                self._context.workspace,
                contract,
                check,
                head,
                self._state.evidence,
                of=of,
                tell=steps.emitter("figures"),
            )
            steps.emit("figures", TestsCounted(**figures.model_dump()))
            return in_json(self._context.redact, figures.model_dump_json())

        inputs = digest(head, check.model_dump(mode="json"), *([of] if of else []))
        return Figures.model_validate_json(await steps.once(steps.key("figures"), inputs, step))

    async def count_named_tests(self, check: TestsCheck, *, of: Sequence[str] = ()) -> CountedTests:
        """Run the tests that `check` names on the newest commit, and return how they ended; see `count_tests`. If some
        are skipped, also run the tests on the base, to see which are skipped there."""
        figures = await self.count_tests(check, of=of)
        if figures.total:
            base = await self.count_tests(check, self._context.workspace.base) if figures.skipped else Figures()
            return CountedTests(command=check.command, figures=figures, base=base)
        paths = {*await self._context.workspace.blobs(self._steps.state.position.head)}
        return CountedTests(command=check.command, figures=figures, missing=missing_test_files(check.command, paths))

    async def build(self, *commands: str) -> CommitBuild | None:
        """Build the newest commit with the project's own commands, in a clean room without network.

        If there are several commands, the worst result counts; None if there is no command. Every verdict gets a
        warning if nothing was built, if a build could not be judged, or if files that drive a build differ from the
        base's.
        """
        builds = [await self._build_with(command) for command in commands]
        self.set_unverified("build", [warning for build in builds for warning in build.unsure] if builds else [UNBUILT])
        return min(builds, key=lambda build: (build.ok, build.outcome is Outcomes.PASSED), default=None)

    async def _build_with(self, command: str) -> CommitBuild:
        head, contract, steps = self._steps.state.position.head, self.contract(), self._steps

        async def step() -> CommitBuild:
            async with self._context.turn():
                result = await run_build(self._context.workspace, contract, command, head, tell=steps.emitter("build"))
            output = result.tried.detail[-TAIL:]
            unsure = tuple(_build_warnings(command, result))
            build = CommitBuild(outcome=result.tried.outcome, said=output, command=command, unsure=unsure)
            build = CommitBuild.model_validate(self._context.redact(build.model_dump(mode="json")))
            steps.emit("build", BuildRan(**build.model_dump()))
            return build

        return await steps.compute(CommitBuild, steps.key("build"), digest(head, command), step)


def addressed(contract: Contract, subject: Task | Plan, objections: Iterable[Finding]) -> tuple[Finding, ...]:
    """The objections, each with the id of its requirement. An objection that names no requirement of the contract is
    repeated for every requirement that the subject serves (a plan serves all). If the subject serves none, the id is
    ""."""
    requirements = {requirement.id: requirement for requirement in contract.requirements}
    served = (
        [requirement.id for requirement in contract.serving(subject.id)]
        if isinstance(subject, Task)
        else sorted(requirements)
    )
    addressees = served or [""]
    return tuple(
        objection.model_copy(update={"requirement": name})
        for objection in objections
        for name in ([objection.requirement] if objection.requirement in requirements else addressees)
    )


def _passed_on_base(contract: Contract, requirement: str, check: str) -> bool:
    facts = [fact for fact in contract.base_facts if (fact.requirement, fact.check) == (requirement, check)]
    states = on_base(facts)
    return bool(states) and all(state is Base.GUARD for state in states.values())


def _not_checked(criterion: Requirement, author: str, why: str) -> Judged:
    return Judged(
        id=criterion.id,
        text=criterion.text,
        source=str(criterion.source),
        grade=Grade.UNPROVEN,
        why=(f"{NOT_CHECKED}: {why}",),
        holds=True,
        rests_on="nothing: the contract does not contain it",
        outside=next(iter(criterion.covers), criterion.id),
        author=author,
    )


def subject_name(subject: Task | Plan) -> str:
    return subject.id if isinstance(subject, Task) else "plan"


def _build_warnings(command: str, result: BuildResult) -> Iterator[str]:
    """Warnings that a build could not be judged and shows nothing, or that it shows little because files that drive it
    differ from the base's. A warning never counts against the work."""
    if result.tried.outcome is Outcomes.UNJUDGED:
        lines = [line.strip() for line in result.tried.detail.splitlines() if line.strip()] or [result.tried.kind]
        summary = " ".join(dict.fromkeys((lines[0], lines[-1])))
        yield f"the build `{command}` could not be judged here, and shows nothing: {summary[:LINE]}"
    for name in result.drivers:
        yield f"{name} controls the build `{command}` and is not the base's, so the build can print anything"


def _each_once(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    return tuple({finding.model_dump_json(): finding for finding in findings}.values())


def _summary(verdict: Verdict, taken_by: str = "") -> VerdictReached:
    """A verdict for readers of the journal, without its evidence."""
    return VerdictReached(
        subject=verdict.subject,
        commit=verdict.commit,
        grade=verdict.grade,
        holds=verdict.holds,
        gaps=tuple(gap.what for gap in verdict.gaps),
        requirements=tuple(
            GradedRequirement(id=requirement.id, grade=requirement.grade, why=requirement.why)
            for requirement in verdict.requirements
        ),
        taken_by=taken_by,
    )
