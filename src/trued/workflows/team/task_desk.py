"""Desk: where one task of a team is worked on, and how what was done there is held against evidence."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from trued.model import Finding, Judged, Plan, Reply, Status, Task, TestsCheck, Verdict
from trued.proof.runners.command_parser import recognise_runner
from trued.run.parallel import Both
from trued.run.run import Run
from trued.run.session import Context, Session, Subject
from trued.support.redaction import subject_line
from trued.workflows.team import briefs as team_briefs
from trued.workflows.team.state import Crew

SAID = 1_500  # characters of a command that could not be counted

D = TypeVar("D", bound=Reply)
Q = TypeVar("Q", bound=Reply)
R = TypeVar("R", bound=Reply)


@dataclass
class Desk(Generic[D, Q]):
    """Where one task is worked on: a line and a developer of its own, and the QA that looks at each merge."""

    task: str
    scope: Run
    part: Run
    dev: Session[D]
    qa: Session[Q] | None
    said: D | None = None
    tested: Q | None = None
    gaps: tuple[Finding, ...] = ()
    both: tuple[Both, ...] = ()  # of files that contradict what was accepted meanwhile
    judged: tuple[Judged, ...] = ()
    answer: str = ""  # to the last question, for whoever asked it
    accepted: str = ""  # the run's head without this task's work
    title: str = ""  # of the task, for the history
    due: tuple[str, ...] = ()  # what had to hold after this task: its feature, the whole plan

    @classmethod
    def of(cls, run: Run, crew: Crew, task: str, developed: type[D], tested: type[Q]) -> "Desk[D, Q]":
        scope, part = run.scope(f"task {task}"), run.part(f"task {task}")
        qa = scope.session("qa", tested, publishes=False) if crew.plays("qa") else None
        dev, title = part.session("dev", developed, publishes=False), crew.task(task).title
        return cls(task, scope, part, dev, qa, title=title)

    async def works(self, crew: Crew) -> None:
        """One turn of the developer: an attempt with all that is known, or, after a question, with the answer."""
        known: dict[str, Context] = {"answer": self.answer}
        if not self.answer:
            known = {**team_briefs.for_dev(crew, self.task), "gaps": self.gaps, "conflict": self.both}
        self.said, self.answer = await self.dev.ask(crew.task(self.task), **known), ""

    async def tests(self, crew: Crew) -> None:
        """One turn of QA, if anybody plays it; what it leaves in its clone is not taken."""
        if self.qa is None:
            return
        known: dict[str, Context] = {"answer": self.answer}
        if not self.answer:
            known = {**team_briefs.for_qa(crew, self.task, self._claims()), "last_failures": self.gaps}
        self.tested, self.answer = await consulted(self.qa, crew.task(self.task), **known), ""

    def _claims(self) -> list[str]:
        said = [getattr(self.said, "summary", ""), *getattr(self.said, "implemented", ())]
        said += [f"file: {one}" for one in getattr(self.said, "files", ())]
        said += [f"note: {one}" for one in getattr(self.said, "notes", ())]
        return [one for one in said if one]

    async def joined(self, run: Run) -> tuple[Finding, ...]:
        """Merge the developer's work with all that was accepted; where they contradict, both sides go back."""
        self.accepted = run.branch.head
        conflict = await run.parallel.merge(self.part.branch, subject_line("merge", self.task, self.title))
        self.both, self.judged = conflict.files if conflict else (), ()
        if conflict is None:
            return ()
        names = ", ".join(one.path for one in conflict.files)
        what = f"this work and what was accepted meanwhile change the same lines of {names}: make one version of both"
        return (Finding(what=what, where=names),)

    def back(self, run: Run) -> None:
        """Without this work: on the branch stands nothing that was not accepted; its developer keeps it."""
        run.branch.reset(self.accepted)

    async def proven(self, run: Run, crew: Crew, plan: Plan) -> tuple[Finding, ...]:
        """All that stands in the way, by the engine's own evidence; QA's word is one more thing that may."""
        run.judgement.drop_objections(self.task)
        verdict = await self.scope.prove(
            self._subject(crew, plan),
            getattr(self.tested, "objections", ()),
            by=self.qa,
            disputes=getattr(self.said, "disputes", ()),
            also=[crew.feature_task(one.id) for one in crew.backlog.features],
        )
        self.judged = (*verdict.requirements, *verdict.beside)
        counted = [gap for one in crew.named_tests(self.task) for gap in await counted_gaps(self.scope, one)]
        return (*self.given_up(), *shortcomings(verdict), *self._worse(crew, verdict), *counted)

    def _worse(self, crew: Crew, verdict: Verdict) -> tuple[Finding, ...]:
        """Where the base's own tests fail, every requirement is refuted: which test it is stands in the gaps."""
        return crew.worse(verdict.beside) if all(one.holds for one in verdict.suites) else ()

    def done(self, run: Run) -> None:
        """Done with nothing changed: that may be right, but nobody has shown it, so every verdict says it."""
        idle = f"nothing was changed for {self.task}: that it was there already is the developer's word"
        qa = " and QA's" if self.tested else ""
        word = f"{idle}{qa}; the engine saw only that nothing is worse"
        run.judgement.set_unverified(f"task {self.task}", [word] if run.branch.head == self.accepted else [])

    def given_up(self) -> tuple[Finding, ...]:
        """A developer's own word that it is not done, or cannot go on: QA's yes does not outweigh it."""
        said, asks = self.said, getattr(self.said, "asks", None)
        unsure = [f"the developer says {doubt}"] if said and (doubt := doubt_of(said)) else []
        unsure += [f"the developer still asks: {asks.text}"] if asks else []
        return tuple(Finding(what=what) for what in unsure)

    def _subject(self, crew: Crew, plan: Plan) -> Task | Plan:
        """After a feature's last task its criteria are due; after the last task of all, the whole goal."""
        self.due = crew.due_after(self.task)
        if not self.due:
            return crew.task(self.task)
        return plan if "plan" in self.due else crew.feature_task(self.due[0])

    async def close(self) -> None:
        await self.dev.close()
        if self.qa:
            await self.qa.close()


def shortcomings(verdict: Verdict) -> tuple[Finding, ...]:
    """The verdict's gaps; where it does not hold and has none, which requirements do not."""
    if verdict.gaps or verdict.holds:
        return verdict.gaps
    lacking = [one for one in verdict.requirements if not one.holds]
    return tuple(Finding(what=f"{one.id}: {one.reason}", requirement=one.id) for one in lacking)


async def counted_gaps(run: Run, command: str) -> tuple[Finding, ...]:
    """Tests that the tech lead named, run by the engine on the newest commit: they can hold a task up, no more."""
    counted = await run.judgement.count_named_tests(TestsCheck(command=command))
    found = counted.figures
    if found.good:
        return ()
    if not found.total and recognise_runner(command) is None:  # no developer could mend a command that is none of tests
        await run.record("tests not counted", {"command": command, "why": found.why or "nothing was counted"})
        run.judgement.set_unverified(
            f"tests {command}", [f"tests that the tech lead named could not be counted: {command[:SAID]}"]
        )
        return ()
    return counted.gaps_with_output


async def consulted(session: Session[R], subject: Subject, **context: Context) -> R:
    """Whoever plans, tests or validates: what they say counts, and what they left in their clone does not."""
    here = session.steps.state.position
    head = here.head
    reply = await session.ask(subject, **context)
    here.head = head
    return reply


async def asked(run: Run, role: str, reply: type[R], subject: Subject, **context: Context) -> R:
    """Whoever plans or answers. One who says that it is not done is followed by a fresh one, once: what that says is
    what there is."""
    said = await _asked_once(run.session(role, reply, publishes=False), subject, context)
    if not doubt_of(said):
        return said
    return await _asked_once(run.session(role, reply, publishes=False), subject, context)


async def _asked_once(session: Session[R], subject: Subject, context: Mapping[str, Context]) -> R:
    reply = await consulted(session, subject, **context)
    await session.close()
    return reply


def doubt_of(said: Reply) -> str:
    """Somebody's own word that it is not done, whatever else they say; "" where it is."""
    return "" if said.status is Status.DONE else f"{said.status}: {said.summary or 'and nothing more'}"
