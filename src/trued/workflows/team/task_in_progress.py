"""TaskInProgress: one task of a team while it is worked on, merged and checked against evidence."""

from collections.abc import Sequence
from dataclasses import dataclass

from trued.model import Finding, Judged, Plan, Task, TestsCheck, Verdict
from trued.model.events.proof import ClaimRefuted, TestsNotCounted
from trued.proof.verdict.for_agents import as_gap
from trued.run.claims import unchanged_files
from trued.run.parallel import ConflictingFile
from trued.run.project import is_countable
from trued.run.run import Run
from trued.run.session import BriefContext, Session
from trued.support.plain_text import subject_line
from trued.workflows.team import briefs
from trued.workflows.team.consulting import consult, doubt_in, last_reply
from trued.workflows.team.criteria import covering_requirements, is_shown
from trued.workflows.team.replies import Developed, Tested
from trued.workflows.team.reply_parts import Failure
from trued.workflows.team.state import Crew

COMMAND = 1_500  # characters of a command in a warning
NAMED = 5  # files named in one sentence


@dataclass
class TaskInProgress:
    """One task, its developer, and its QA. The developer works on a branch of its own (`part`), which is merged for QA
    to test."""

    task: str
    scope: Run
    part: Run
    dev: Session[Developed]
    qa: Session[Tested] | None
    developed: Developed | None = None  # the developer's last reply
    tested: Tested | None = None  # QA's last reply, on this attempt
    gaps: tuple[Finding, ...] = ()  # of the last attempt
    conflict: tuple[ConflictingFile, ...] = ()  # files in which this work conflicts with work accepted meanwhile
    judged: tuple[Judged, ...] = ()
    answer: str = ""  # to the last question, for the agent that asked it
    accepted: str = ""  # the run's head without this task's work
    title: str = ""  # of the task, for the commit message
    due: tuple[str, ...] = ()  # what must hold after this task: its feature, the whole plan
    changed: tuple[str, ...] = ()  # files that git shows as changed by this task, in all of its attempts
    unchanged: bool = False  # the task's work changes no file, apart from the engine's own
    retested: Tested | None = None  # QA's reply after it saw the evidence
    shown: bool = False  # evidence shows every criterion of its feature

    @classmethod
    def open(cls, run: Run, crew: Crew, task: str) -> "TaskInProgress":
        scope, part = run.scope(f"task {task}"), run.part(f"task {task}")
        qa = scope.session("qa", Tested, publishes=False) if crew.plays("qa") else None
        dev, title = part.session("dev", Developed, publishes=False), crew.task(task).title
        return cls(task, scope, part, dev, qa, title=title)

    async def ask_developer(self, crew: Crew) -> None:
        """One turn of the developer. If the developer asked a question, it now gets the answer. Otherwise it begins an
        attempt, and gets everything that is known."""
        known: dict[str, BriefContext] = {"answer": self.answer}
        if not self.answer:
            known = {**briefs.for_dev(crew, self.task), "gaps": self.gaps, "conflict": self.conflict}
        self.developed, self.answer = await self.dev.ask(crew.task(self.task), **known), ""

    async def ask_qa(self, crew: Crew) -> None:
        """One turn of QA, unless the role is switched off. QA's changes in the clone are dropped."""
        if self.qa is None:
            return
        known: dict[str, BriefContext] = {"answer": self.answer}
        if not self.answer:
            known = {**briefs.for_qa(crew, self.task, self._claims()), "last_failures": self.gaps}
        self.tested, self.answer = await consult(self.qa, crew.task(self.task), **known), ""

    def _claims(self) -> list[str]:
        """What the developer says about this attempt, line by line."""
        reply = self.developed
        if reply is None:
            return []
        files, notes = [f"file: {file}" for file in reply.files], [f"note: {note}" for note in reply.notes]
        return [line for line in (reply.summary, *reply.implemented, *files, *notes) if line]

    async def merge(self, run: Run) -> tuple[Finding, ...]:
        """Merge the developer's work into the accepted work. A conflict between them is returned as a gap, and the
        developer then gets both versions of the files."""
        self.accepted = run.branch.head
        conflict = await run.parallel.merge(self.part.branch, subject_line("merge", self.task, self.title))
        self.conflict, self.judged, self.shown = conflict.files if conflict else (), (), False
        self.changed = await run.branch.changes(self.accepted) if conflict is None else ()
        self.unchanged = conflict is None and not self.changed
        if conflict is None:
            return ()
        names = ", ".join(file.path for file in conflict.files)
        what = f"this work and what was accepted meanwhile change the same lines of {names}: make one version of both"
        return (Finding(what=what, where=names),)

    def take_back(self, run: Run) -> None:
        """Undo the merge, so that only accepted work is on the run's branch. The work stays on the developer's own
        branch."""
        run.branch.reset(self.accepted)

    async def prove(self, run: Run, crew: Crew, plan: Plan) -> tuple[Finding, ...]:
        """Everything that keeps the task from being done: the engine's own evidence, tests that the tech lead named,
        QA's objections, and the developer's own doubts. Empty if the task is done."""
        run.judgement.drop_objections(self.task)
        subject, contract = self._subject(crew, plan), run.judgement.contract()
        feature = crew.backlog.feature(self.task).id
        checks_criteria = bool(self.due or self.unchanged or crew.idle_tasks(self.task))
        covering = covering_requirements(contract, crew, feature) if checks_criteria else ()
        verdict = await self.scope.prove(
            subject,
            self.tested.objections if self.tested else (),
            by=self.qa,
            disputes=self.developed.disputes if self.developed else (),
            also=[
                *(crew.feature_task(other.id) for other in crew.features),
                *(Task(id=name, title=name) for name in covering),
            ],
        )
        self.judged = (*verdict.requirements, *verdict.beside)
        self.retested = last_reply(self.qa) if self.tested else None
        self.shown = checks_criteria and is_shown(contract, crew, feature, self.judged)
        unmet = self._unmet_criteria(verdict, covering) if self.due else ()
        failing = [gap for command in crew.named_tests(self.task) for gap in await named_test_gaps(self.scope, command)]
        gaps = (*self.developer_doubts(), *verdict_gaps(verdict), *self._regressions(crew, verdict), *unmet, *failing)
        every = (*self._nothing_changed(), *gaps)
        return tuple({(gap.what, gap.where): gap for gap in every}.values())

    def _unmet_criteria(self, verdict: Verdict, covering: Sequence[str]) -> tuple[Finding, ...]:
        """A gap for each requirement in `covering` that does not hold. Requirements for which the environment lacks
        something are left out. `covering`: ids of the requirements that cover the feature's criteria."""
        due = [
            judgement
            for judgement in verdict.beside
            if judgement.id in covering and not judgement.holds and not judgement.missing
        ]
        return tuple(gap for judgement in due for gap in judgement.gaps or (as_gap(judgement),))

    def _nothing_changed(self) -> tuple[Finding, ...]:
        """A gap if the task changed nothing, unless evidence shows every criterion of its feature."""
        if not self.unchanged or self.shown:
            return ()
        what = f"nothing was changed for {self.task}, and no evidence shows that all of it was there already"
        return (Finding(what=what),)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The failures in QA's replies: the first one and, if QA was asked again with the evidence, the second one."""
        return tuple(failure for reply in (self.tested, self.retested) if reply for failure in reply.failures)

    async def check_claims(self, run: Run) -> None:
        """Record an event if the developer claims to have changed files that are unchanged."""
        refuted = unchanged_files(self.developed.files, self.changed) if self.developed else ()
        if refuted:
            what = f"dev says that it changed {', '.join(refuted[:NAMED])} for {self.task}: git shows no change"
            await run.record(ClaimRefuted(what=run.context.redact(what)))

    def _regressions(self, crew: Crew, verdict: Verdict) -> tuple[Finding, ...]:
        """A gap for each requirement that held before and that this work breaks. Empty if existing tests fail, because
        the failing tests are gaps already."""
        return crew.regressions(verdict.beside) if all(judgement.holds for judgement in verdict.suites) else ()

    def warn_if_unchanged(self, run: Run) -> None:
        """If the task is done without a change, add a warning to every verdict: evidence shows the feature's criteria,
        but nothing shows what the task's own text asks for."""
        idle = f"nothing was changed for {self.task}: only its feature's criteria were checked, not the task's own text"
        run.judgement.set_unverified(f"task {self.task}", [idle] if self.unchanged else [])

    def developer_doubts(self) -> tuple[Finding, ...]:
        """The developer's own statements that the task is not done; QA's approval does not outweigh them."""
        reply = self.developed
        if reply is None:
            return ()
        doubts = [f"the developer says {doubt}"] if (doubt := doubt_in(reply)) else []
        doubts += [f"the developer still asks: {reply.asks.text}"] if reply.asks else []
        return tuple(Finding(what=what) for what in doubts)

    def _subject(self, crew: Crew, plan: Plan) -> Task | Plan:
        """What to prove: after the last task of the goal the plan, after the last task of a feature the feature,
        otherwise the task. Also sets `due`."""
        self.due = crew.due_after(self.task)
        if not self.due:
            return crew.task(self.task)
        return plan if "plan" in self.due else crew.feature_task(self.due[0])

    async def close(self) -> None:
        await self.dev.close()
        if self.qa:
            await self.qa.close()


def verdict_gaps(verdict: Verdict) -> tuple[Finding, ...]:
    """The gaps of a verdict. A verdict without gaps can fail to hold: then each requirement that does not hold is a
    gap. What only the environment lacks is no gap and costs no attempt: the final verdict names it."""
    if verdict.gaps or verdict.holds or verdict.lacks_only_environment:
        return verdict.gaps
    return tuple(as_gap(judged) for judged in verdict.requirements if not judged.holds)


async def named_test_gaps(run: Run, command: str) -> tuple[Finding, ...]:
    """Run tests that the tech lead named. They can block a task; they prove nothing."""
    counted = await run.judgement.count_named_tests(TestsCheck(command=command))
    figures = counted.figures
    if figures.total or await is_countable(run.branch, command):
        return counted.gaps_with_output
    # Not a gap: no developer could fix a command whose tests cannot be counted.
    await run.record(TestsNotCounted(command=command, why=figures.why or "nothing was counted"))
    warning = f"tests that the tech lead named could not be counted: {command[:COMMAND]}"
    run.judgement.set_unverified(f"tests {command}", [warning])
    return ()
