"""How a team's work is kept: a desk for each task, evidence for what was done there, and the files that say so."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import Field

from .documents.backlog import NAME as BACKLOG
from .documents.backlog import parse_backlog, render
from .documents.backlog.edits import honoured
from .documents.crew import FOLDER, Crew
from .documents.feature_list import TEST_FILES
from .documents.kind import Kind, corrected, detected, to_read
from .documents.project import Figures
from .documents.sentences import sentences
from .documents.team_words import Query
from .errors import BadInput
from .parallel import Both
from .proof.checks.runners.commands import recognised
from .run import Run
from .session import Context, Session, Subject
from .types import Criterion, Finding, Goal, Judged, Outcome, Plan, Reply, Source, Task, TestsCheck, Value, Verdict

FOUND = 50  # features that are named at the beginning; all are in the backlog

D = TypeVar("D", bound=Reply)
Q = TypeVar("Q", bound=Reply)
R = TypeVar("R", bound=Reply)


class Told(Value):
    """Where a team is, for whoever watches: counts and what is current."""

    kind: str
    feature: str = ""
    feature_name: str = ""
    task: str = ""
    task_name: str = ""
    attempt: int = 0
    attempts: int = 0
    qa: str = ""
    uat: str = ""
    features_done: int = 0
    features: int = 0
    tasks_done: int = 0
    tasks: int = 0
    recoveries: int = 0
    why: tuple[str, ...] = ()
    state: str = ""  # of the task, else of the feature, as the backlog says
    project: str = ""  # the project's kind, with its commands and the features found: at the beginning only
    commands: dict[str, str] = Field(default_factory=dict)
    found: tuple[str, ...] = ()


async def consulted(session: Session[R], subject: Subject, **context: Context) -> R:
    """Whoever plans, tests or validates: what they say counts, and what they left in their clone does not."""
    line = session.steps.line
    head = line.head
    reply = await session.ask(subject, **context)
    line.head = head
    return reply


async def asked_once(session: Session[R], subject: Subject, **context: Context) -> R:
    reply = await consulted(session, subject, **context)
    await session.close()
    return reply


# -- the beginning -----------------------------------------------------------------------------------------------------


async def found(run: Run, goal: Goal) -> Crew:
    run.own(FOLDER)
    return Crew(goal=goal, settings=run.settings.team)


async def laid_down(run: Run, crew: Crew) -> Crew:
    """The files as they are before anybody works: on top of the user's commit, which stays the base."""
    await noted(run, crew, "docs: what the team has to do")
    kind = await kind_of(run)
    found = tuple(f"{one.id}: {one.name}" for one in crew.backlog.features[:FOUND])
    await told(run, crew, "begun", project=kind.name, commands=kind.commands, found=found)
    return crew


async def kind_of(run: Run) -> Kind:
    """What the project is, and how it is built, tested and started, as the user corrects it."""
    paths = await run.paths()
    texts = {path: await run.read(path) for path in to_read(paths)}
    return corrected(detected(paths, texts.get), run.settings.commands)


def planned(crew: Crew, goal: Goal) -> Plan:
    """The contract's words: those of the user, and the criteria that the PM wrote for its features."""
    return crew.plan(tuple(_words(goal)))


def _words(goal: Goal) -> Iterator[Criterion]:
    for text, line in sentences(goal.text) or [(goal.text.strip(), goal.source.line)]:
        yield Criterion(text=text, kind="text", source=Source(file=goal.source.file, line=line))


# -- the files ---------------------------------------------------------------------------------------------------------


async def noted(run: Run, crew: Crew, message: str) -> Crew:
    """All files of the team in one commit, after a step that was accepted."""
    files = {f"{FOLDER}{BACKLOG}": render(crew.backlog)}
    await run.write(files, message, editable=(f"{FOLDER}{BACKLOG}",))
    return crew


async def told(run: Run, crew: Crew, kind: str, *, task: str = "", feature: str = "", **more: Any) -> None:
    backlog = crew.backlog
    name = backlog.feature(task or feature).id if task or feature else ""
    done, _, every = backlog.counts
    one = backlog.task(task) if task else None
    value = Told(
        kind=kind,
        feature=name,
        feature_name=backlog.feature(name).name if name else "",
        task=task,
        task_name=one.description if one else "",
        attempt=one.attempts if one else 0,
        attempts=one.limit if one else 0,
        features_done=sum(each.status == "completed" for each in backlog.features),
        features=len(backlog.features),
        tasks_done=done,
        tasks=every,
        recoveries=crew.recoveries,
        state=one.state if one else backlog.feature(name).status if name else "",
        **more,
    )
    await run.told("team", value)


async def as_edited(run: Run, crew: Crew) -> Crew:
    """What a person made of the backlog since the last task: honoured as far as it can be, and on record."""
    path = f"{FOLDER}{BACKLOG}"
    edit = await run.edited(path)
    if edit is None:
        return crew
    try:
        before, after = parse_backlog(edit.before, path), parse_backlog(edit.after, path)
    except BadInput as error:
        await run.note("edit not understood", path=path, why=str(error))
        return crew
    backlog, said = honoured(before, after, crew.backlog)
    await run.note("edit honoured", path=path, said=list(said))
    return await noted(run, crew.edited(backlog), "docs: what a person changed in the backlog")


async def at_work(run: Run, crew: Crew, tasks: Iterable[str]) -> None:
    for task in tasks:
        await told(run, crew, "attempt", task=task)


# -- a task ------------------------------------------------------------------------------------------------------------


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
    due: tuple[str, ...] = ()  # what had to hold after this task: its feature, the whole plan

    @classmethod
    def of(cls, run: Run, crew: Crew, task: str, developed: type[D], tested: type[Q]) -> "Desk[D, Q]":
        scope, part = run.scope(f"task {task}"), run.part(f"task {task}")
        qa = scope.session("qa", tested, publishes=False) if crew.plays("qa") else None
        return cls(task, scope, part, part.session("dev", developed, publishes=False), qa)

    async def joined(self, run: Run) -> tuple[Finding, ...]:
        """Merge the developer's work with all that was accepted; where they contradict, both sides go back."""
        conflict = await run.join(self.part, f"feat: {self.task}")
        self.both, self.judged, self.tested = conflict.files if conflict else (), (), None
        if conflict is None:
            return ()
        names = ", ".join(one.path for one in conflict.files)
        what = f"this work and what was accepted meanwhile change the same lines of {names}: make one version of both"
        return (Finding(what=what, where=names),)

    async def proven(self, run: Run, crew: Crew, plan: Plan) -> tuple[Finding, ...]:
        """All that stands in the way, by the engine's own evidence; QA's word is one more thing that may."""
        run.line.unsettled.pop(self.task, None)
        verdict = await self.scope.prove(
            self._subject(crew, plan),
            getattr(self.tested, "objections", ()),
            by=self.qa,
            disputes=getattr(self.said, "disputes", ()),
            beside=[crew.feature_task(one.id) for one in crew.backlog.features],
        )
        self.judged = (*verdict.requirements, *verdict.beside)
        counted = [gap for one in crew.named_tests(self.task) for gap in await counted_gaps(run, one)]
        return (*shortcomings(verdict), *crew.worse(verdict.beside), *counted)

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
    return tuple(Finding(what=f"{one.id}: {'; '.join(one.why[:2])}", requirement=one.id) for one in lacking)


async def counted_gaps(run: Run, command: str) -> tuple[Finding, ...]:
    """Tests that the tech lead named, run by the engine on the newest commit: they can hold a task up, no more."""
    found = await run.figures(TestsCheck(command=command))
    if found.good or (not found.total and recognised(command) is None):
        return ()
    what = f"{found.passing} of {found.total} tests pass" if found.total else await _why(run, command, found)
    return (Finding(what=f"`{command}`: {what}", where="run by the engine"),)


async def _why(run: Run, command: str, found: Figures) -> str:
    there = {*await run.paths()}
    missing = [word for word in command.split() if word.endswith(TEST_FILES) and word not in there]
    return f"{', '.join(missing)} is not there" if missing else found.why or "no test was collected"


async def attempted(run: Run, crew: Crew, desk: Desk[D, Q], gaps: Sequence[Finding]) -> Crew:
    """What the attempt came to: done, to be tried again with what was found, or failed."""
    desk.gaps = tuple(gaps)
    stuck = bool(gaps) and desk.part.stuck(Verdict.open(desk.task, *gaps))
    crew = crew.attempted(desk.task, gaps, stuck=stuck)
    crew = crew if gaps else crew.holding(desk.judged).with_proven(*desk.due)
    state = crew.backlog.task(desk.task).state
    await told(
        run, crew, "task", task=desk.task, qa="failed" if gaps else "passed", why=tuple(one.what for one in gaps)
    )
    if state == "failed":
        await run.set_aside(desk.task, back_to=run.head, work=desk.part.head)
    return await noted(run, crew, f"docs: {desk.task} {state}")


# -- what each of them is told -----------------------------------------------------------------------------------------


def for_pm(crew: Crew) -> dict[str, Context]:
    return {}


def for_techlead(crew: Crew, name: str) -> dict[str, Context]:
    tasks = [f"{one.id}: {one.description}" for one in crew.backlog.feature(name).tasks]
    return {"goal": crew.goal.text, "tasks": "\n".join(tasks)}


def for_dev(crew: Crew, desk: Desk[D, Q]) -> dict[str, Context]:
    name = crew.backlog.feature(desk.task).id
    return {
        "feature": crew.feature_task(name).brief,
        "spec": crew.specs.get(name, ""),
        "gaps": desk.gaps,
        "conflict": desk.both,
    }


def for_qa(crew: Crew, desk: Desk[D, Q]) -> dict[str, Context]:
    name = crew.backlog.feature(desk.task).id
    said = desk.said.summary if desk.said else ""
    return {
        "feature": crew.feature_task(name).brief,
        "spec": crew.specs.get(name, ""),
        "built": said,
        "gaps": desk.gaps,
    }


def for_uat(crew: Crew, name: str) -> dict[str, Context]:
    return {"goal": crew.goal.text}


def for_answer(crew: Crew, who: tuple[str, str], query: Query) -> dict[str, Context]:
    return {"question": f"{who[0]} asks: {query.text}", "goal": crew.goal.text}


# -- a feature, and all of them ----------------------------------------------------------------------------------------


async def feature_begun(run: Run, crew: Crew, name: str) -> Crew:
    crew = crew.with_feature(name, status="in_progress")
    await told(run, crew, "feature", feature=name)
    return crew


async def issues(
    run: Run, crew: Crew, subject: Task | Plan, said: Reply | None, uat: Session[Any] | None
) -> tuple[Finding, ...]:
    """What keeps a feature, or the goal, from being accepted: evidence that does not hold, and UAT's issues as far as
    evidence does not settle them. Where UAT has none, a proof of the same work stands."""
    name = _name(subject)
    run.line.unsettled.pop(name, None)
    objections = getattr(said, "objections", ())
    if not objections and name in crew.proven:
        return ()
    return shortcomings(await run.prove(subject, objections, by=uat))


async def validated(run: Run, crew: Crew, subject: Task | Plan, said: Reply | None, found: Sequence[Finding]) -> Crew:
    """Completed needs both: a user's yes, and evidence."""
    name, words = _name(subject), tuple(one.what for one in found)
    crew = crew if found else crew.with_proven(name)
    result = "failed" if found else "passed"
    if isinstance(subject, Plan):
        crew = crew.model_copy(update={"integration": result, "unmet": words})
    elif said:
        crew = crew.with_feature(name, uat=result)
    feature = "" if isinstance(subject, Plan) else name
    await told(run, crew, "uat", feature=feature, uat=result if said else "", why=words)
    return await noted(run, crew, f"docs: UAT of {feature or 'all features'}")


def _name(subject: Task | Plan) -> str:
    return subject.id if isinstance(subject, Task) else "plan"


async def closed(run: Run, crew: Crew, name: str) -> Crew:
    crew = crew.closed(name)
    await told(run, crew, "feature", feature=name)
    return await noted(run, crew, f"docs: {name} {crew.backlog.feature(name).status}")


async def finished(run: Run, plan: Plan, crew: Crew) -> Outcome:
    """The goal is achieved only if every feature passed UAT, all of them together did, no task is left, and the
    evidence holds: whatever is not so stands as an objection when the last commit is proven."""
    unmet = tuple(crew.gaps_in_plan())
    run.dispute("the team", [Finding(what=what, requirement=_criterion(crew, name)) for name, what in unmet])
    await told(run, crew, "finished", why=tuple(what for _, what in unmet))
    return await run.finish(plan)


def refused(run: Run, crew: Crew, tasks: Iterable[Task]) -> Iterator[tuple[str, tuple[Finding, ...]]]:
    """Features that people rejected, with their words."""
    features = {one.id for one in crew.backlog.features}
    for task in tasks:
        words = run.open(task).gaps
        if task.id in features and words:
            yield task.id, words


def _criterion(crew: Crew, feature: str) -> str:
    own = crew.backlog.feature(feature).criteria if feature else ()
    return own[0].id if own else ""
