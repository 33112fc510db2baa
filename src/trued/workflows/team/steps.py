"""How a team's work is kept: a desk for each task, evidence for what was done there, and the files that say so."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pydantic import Field

from trued.errors import BadInput
from trued.inputs.project.kind import corrected
from trued.model import Finding, Goal, Outcome, Plan, Reply, Task, TeamSettings, Value, Verdict
from trued.run.project import detect_project
from trued.run.run import Run
from trued.run.session import R, Session
from trued.support.plurals import counted
from trued.workflows.team.backlog import NAME as BACKLOG
from trued.workflows.team.backlog import BacklogTask, parse_backlog, put_away
from trued.workflows.team.backlog.merge import honoured
from trued.workflows.team.briefs import for_answer, for_fixes, for_pm, for_techlead, for_uat
from trued.workflows.team.files import FOLDER, Records, changed
from trued.workflows.team.flat_plan import ORIGINAL, is_flat_plan, migrated
from trued.workflows.team.reply_parts import Query
from trued.workflows.team.sheen_config import NAME as OLD_CONFIG
from trued.workflows.team.sheen_config import team_settings
from trued.workflows.team.state import Crew
from trued.workflows.team.task_desk import D, Desk, Q, asked, consulted, doubt_of, shortcomings

__all__ = ["Desk", "asked", "consulted", "for_answer", "for_fixes", "for_pm", "for_techlead", "for_uat"]

OLD_PLAN = ".sheen/plan.md"
FOUND = 50  # features that are named at the beginning; all are in the backlog


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


# -- the beginning -----------------------------------------------------------------------------------------------------


async def found(run: Run, goal: Goal) -> Crew:
    """What the project is, before anybody plans."""
    run.branch.own(FOLDER)
    kind = corrected(await detect_project(run.branch), run.settings.commands)
    crew = Crew(goal=goal, settings=await _settings(run), kind=kind)
    return await _migrated(run, crew.recorded(crew.records.knowing(kind.name, kind.commands, kind.why)))


async def _settings(run: Run) -> TeamSettings:
    """Those of the run; what they leave open an older tool's configuration may say, once."""
    given, text = run.settings.team, await run.branch.read(OLD_CONFIG, run.branch.base)
    if text is None or await run.branch.read(f"{FOLDER}config.toml", run.branch.base) is not None:
        return given
    try:
        old, said = team_settings(text)
    except BadInput as error:
        await run.record("not migrated", {"file": OLD_CONFIG, "why": str(error)})
        return given
    await run.record("migrated", {"file": OLD_CONFIG, "said": list(said)})
    default = TeamSettings()
    taken = {name: one for name, one in old.items() if getattr(given, name) == getattr(default, name)}
    return given.model_copy(update=taken)


async def broken_down(run: Run, crew: Crew, reply: type[R]) -> R:
    """The PM's plan. One who cannot make it ends the run, here and now; where that is only remembered, somebody has
    resumed the run since, and wants it tried again."""
    while doubt := doubt_of(said := await asked(run, "pm", reply, crew.goal, **for_pm(crew))):
        await run.fail_unless_resumed(f"the pm says {run.context.redact(doubt)}")
    return said


async def laid_down(run: Run, crew: Crew, decisions: Sequence[str] = ()) -> Crew:
    """The files as they are before anybody works: on top of the user's commit, which stays the base."""
    sealed = tuple(one.id for feature in crew.backlog.features for one in feature.criteria)
    crew = crew.model_copy(update={"sealed": sealed})
    crew = crew.recorded(crew.records.planned(crew.backlog, decisions, run.branch.when))
    crew = await noted(run, crew, "docs: what the team has to do")
    features = tuple(f"{one.id}: {one.name}" for one in crew.backlog.features[:FOUND])
    await told(run, crew, "begun", project=crew.kind.name, commands=crew.kind.commands, found=features)
    return crew


async def _migrated(run: Run, crew: Crew) -> Crew:
    """A flat list of tasks from before, read once: the goal itself, or what an older tool left; kept as it was."""
    flat = is_flat_plan(crew.goal.text)
    file = crew.goal.source.file if flat else OLD_PLAN
    text = crew.goal.text if flat else await run.branch.read(OLD_PLAN, run.branch.base) or ""
    if not is_flat_plan(text):
        return crew
    original = f"{FOLDER}{ORIGINAL}"
    if (
        await run.branch.read(original, run.branch.base) == text
    ):  # by an earlier run: its backlog says how far things are
        try:
            left = parse_backlog(await run.branch.read(f"{FOLDER}{BACKLOG}", run.branch.base) or "")
            return crew.migrated(left, {}).model_copy(update={"planned_before": flat})
        except BadInput:
            return crew
    old = migrated(text, file, crew.attempts)
    await run.record("migrated", {"file": file, "said": list(old.said)})
    crew = crew.migrated(old.backlog, {original: text}, () if flat else old.criteria)
    crew = crew.model_copy(update={"planned_before": flat})
    notes = (*crew.kind.why, *old.said, *filter(None, old.context.splitlines()))
    return crew.recorded(crew.records.knowing(crew.kind.name, crew.kind.commands, notes))


# -- the files ---------------------------------------------------------------------------------------------------------


async def noted(run: Run, crew: Crew, message: str) -> Crew:
    """All files of the team that say something new, in one commit, after a step that was accepted."""
    files = crew.files
    new = changed(crew.written, files)
    if new:
        await run.branch.write(new, message, editable=(f"{FOLDER}{BACKLOG}",))
    return crew.model_copy(update={"written": {**crew.written, **files}})


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
    await run.record("team", value)


async def as_edited(run: Run, crew: Crew) -> Crew:
    """What a person made of the backlog since the last task: honoured as far as it can be, and on record."""
    path = f"{FOLDER}{BACKLOG}"
    edit = await run.branch.read_edit(path, _unread)
    if edit is None:
        return crew
    try:
        before, after = parse_backlog(edit.before, path), parse_backlog(edit.after, path)
    except BadInput as error:
        await run.record("edit not understood", {"path": path, "why": str(error)})
        return crew
    backlog, said = honoured(before, after, put_away(crew.backlog), crew.sealed)
    await run.record("edit honoured", {"path": path, "said": list(said)})
    return await noted(run, crew.edited(backlog), "docs: what a person changed in the backlog")


def _unread(words: str) -> str:
    try:
        parse_backlog(words, f"{FOLDER}{BACKLOG}")
    except BadInput as error:
        return str(error)
    return ""


async def at_work(run: Run, crew: Crew, tasks: Iterable[str]) -> Crew:
    """One attempt more for each of them."""
    crew = crew.begun(tasks := tuple(tasks))
    for name in tasks:
        task = crew.backlog.task(name)
        await told(run, crew, "attempt", task=name)
        records = crew.records.begun(name, task.description, task.attempts, task.limit, run.branch.when)
        crew = crew.recorded(records)
    return crew


async def asks(run: Run, crew: Crew, who: tuple[str, str], role: str, query: Query) -> Crew:
    """A question in the inbox of the role that it goes to: it waits there until it is answered."""
    sender = f"{who[0]}, {who[1]}"
    await run.record("team asks", {"who": sender, "to": role, "text": run.context.redact(query.text)})
    crew = crew.recorded(crew.records.told(role, sender, query.text, run.branch.when, priority=query.priority))
    return await noted(run, crew, f"docs: {who[0]} asks the {role} ({who[1]})")


async def answers(run: Run, crew: Crew, role: str, who: tuple[str, str], said: Reply) -> tuple[Crew, str]:
    """The answer, in the inbox and for whoever asked. Who says ERROR has not answered: the question waits on."""
    about, answer, doubt = who[1], str(getattr(said, "answer", "")), doubt_of(said)
    answer = f"the {role} says {doubt}\n{answer}" if doubt else answer
    await run.record("team answers", {"role": role, "text": run.context.redact(answer)})
    question = f"{who[0]}'s question about {about}"
    crew = crew.doubting(question, about, f"{question} has no answer: the {role} says {doubt}" if doubt else "")
    records = crew.records if doubt else crew.records.answered(role, answer, run.branch.when)
    records = records.decided(role, about, getattr(said, "decisions", ()), run.branch.when)
    return await noted(run, crew.recorded(records), f"docs: the {role} answers ({about})"), answer


# -- a task -----------------------------------------------------------------------------------------------------------


async def attempted(run: Run, crew: Crew, desk: Desk[D, Q], gaps: Sequence[Finding]) -> Crew:
    """What the attempt came to: done, to be tried again with what was found, or failed."""
    desk.gaps = tuple(gaps)
    stuck = bool(gaps) and desk.part.judgement.is_stuck(Verdict.open(desk.task, *gaps))
    crew = crew.attempted(desk.task, gaps, stuck=stuck)
    if not gaps:
        desk.done(run)
        crew = crew.holding(desk.judged).with_proven(*desk.due)
    task = crew.backlog.task(desk.task)
    crew = crew.recorded(_tested(crew, desk, task, run.branch.when))
    words = tuple(one.what for one in gaps) + (
        ("no progress: the same gaps, and nothing was changed",) if stuck else ()
    )
    await told(run, crew, "task", task=desk.task, qa=_qa(desk), why=words)
    if task.state == "failed":
        await run.branch.set_aside(desk.task, back_to=run.branch.head, work=desk.part.branch.head)
    return await noted(run, crew, f"docs: {desk.task} {task.state}")


def _qa(desk: Desk[D, Q]) -> str:
    """QA's own word, and whether the engine's evidence says something else."""
    if not desk.tested:
        return "skipped"
    refused = bool(getattr(desk.tested, "objections", ()))
    word = "failed" if refused else "passed"
    return word if refused == bool(desk.gaps) else f"{word}, overruled by evidence"


def _tested(crew: Crew, desk: Desk[D, Q], task: BacklogTask, when: float) -> Records:
    """QA's failures as it told them, and the engine's own findings; what was done, once it is done."""
    own = {one.finding.what: one for one in getattr(desk.tested, "failures", ())}
    failures = [own.get(gap.what, gap.what) for gap in desk.gaps]
    tried = [*getattr(desk.tested, "tried", ()), f"the engine's own checks: {counted(len(desk.judged), 'requirement')}"]
    records = crew.records
    if desk.qa and desk.tested:
        said = getattr(desk.said, "summary", "") or task.description
        records = records.told("qa", f"dev, {task.id}", f"Test {task.id}: {said}", when, kind="request")
        records = records.answered("qa", _qa(desk), when)
    records = records.tested(
        task.id, (task.attempts, task.limit), failures, when, tried=tried, ended=task.state == "failed"
    )
    if failures and task.is_open:
        first = f"{task.id} failed, {task.attempts}/{task.limit}: see qa/results.md"
        records = records.told("dev", "qa", first, when, kind="notification", priority="high")
    if task.state == "done":
        summary, files = getattr(desk.said, "summary", ""), getattr(desk.said, "files", ())
        records = records.completed(task.id, task.description, task.attempts, when, summary=summary, files=files)
    return records


# -- a feature, and all of them ----------------------------------------------------------------------------------------


async def feature_begun(run: Run, crew: Crew, name: str) -> Crew:
    crew = crew.with_feature(name, status="in_progress")
    await told(run, crew, "feature", feature=name)
    return crew


async def specified(run: Run, crew: Crew, name: str, said: Reply) -> Crew:
    """The tech lead's specification, decision records, and tests that will show the feature."""
    spec, tests, needs = (getattr(said, field) for field in ("spec", "tests", "needs"))
    crew = _doubted(crew.specified(name, spec, tests, needs), "techlead", name, name, said)
    commands = [f"{one.command}{f' (after {one.task})' if one.task else ''}" for one in crew.tests[name]]
    decisions = getattr(said, "decisions", ())
    records = crew.records.specified(crew.backlog.feature(name), spec, commands, decisions, run.branch.when)
    return await noted(run, crew.recorded(records), f"docs: how {name} is built")


async def fixing(run: Run, crew: Crew, name: str, said: Reply, issues: Sequence[Finding]) -> Crew:
    """Fix tasks of the PM, after UAT asked for them."""
    about, tasks = name or "all features", getattr(said, "tasks", ())
    crew = _doubted(crew.with_fixes(name, tasks, issues), "pm", name, f"fix tasks for {about}", said)
    await run.record("fix tasks", {"about": about, "tasks": run.context.redact([one.title for one in tasks])})
    wanted = "\n".join(one.what for one in issues)
    records = crew.records.told(
        "pm", "uat", f"{about} failed:\n{wanted}", run.branch.when, kind="request", priority="high"
    )
    records = records.answered("pm", f"{len(tasks)} fix task{'' if len(tasks) == 1 else 's'}", run.branch.when)
    records = records.fixing(about, [one.title for one in tasks], getattr(said, "decisions", ()), run.branch.when)
    return await noted(run, crew.recorded(records), f"docs: fix tasks for {about}")


async def issues(
    run: Run, crew: Crew, subject: Task | Plan, said: Reply | None, uat: Session[Any] | None
) -> tuple[Finding, ...]:
    """What keeps a feature, or the goal, from being accepted: evidence that does not hold, and UAT's issues as far as
    evidence does not settle them. Where UAT has none, a proof of the same work stands."""
    name = _name(subject)
    run.judgement.drop_objections(name)
    objections = getattr(said, "objections", ())
    if not objections and name in crew.proven:
        return ()
    found = shortcomings(await run.prove(subject, objections, by=uat))
    if uat:
        await uat.close()
    return found


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
    crew = crew.recorded(_accepted(crew, feature, said, found, run.branch.when))
    await told(run, crew, "uat", feature=feature, uat=result if said else "", why=words or _overruled(said))
    return await noted(run, crew, f"docs: UAT of {feature or 'all features'}: {result}")


def _accepted(crew: Crew, feature: str, said: Reply | None, found: Sequence[Finding], when: float) -> Records:
    """Decision, what was tried, issues as they stand after evidence, requirements that are not met."""
    own = {one.finding.what: one for one in getattr(said, "issues", ())}
    tried = (*getattr(said, "tried", ()), *([] if said else ["nobody: UAT is off; the engine's own checks"]))
    unmet = tuple(getattr(said, "not_met", ())) if found else ()
    told_so = {f"not met: {one}" for one in unmet}
    left = [own.get(one.what, one.what) for one in found if one.what not in told_so]
    records = crew.records
    if said:
        records = records.told("uat", "pm", f"Validate {feature or 'all features'}", when, kind="request")
        records = records.answered("uat", "failed" if found else "passed", when)
    decision = "failed" if found else ", ".join(("passed", *_overruled(said)))
    return records.validated(feature, decision, when, tried=tried, issues=left, not_met=unmet)


def _overruled(said: Reply | None) -> tuple[str, ...]:
    """A user's no that did not stand is not told as a yes."""
    return ("though UAT objected at first: evidence settled it",) if getattr(said, "objections", ()) else ()


def _name(subject: Task | Plan) -> str:
    return subject.id if isinstance(subject, Task) else "plan"


async def closed(run: Run, crew: Crew, name: str) -> Crew:
    crew = crew.closed(name)
    if not crew.backlog.holds(name):
        return crew
    await told(run, crew, "feature", feature=name)
    return await noted(run, crew, f"docs: {name} {crew.backlog.feature(name).status}")


async def finished(run: Run, plan: Plan, crew: Crew) -> Outcome:
    """The goal is achieved only if every feature passed UAT, all of them together did, no task is left, and the
    evidence holds: whatever is not so stands as an objection when the last commit is proven."""
    unmet = tuple(crew.gaps_in_plan())
    run.judgement.object("the team", [Finding(what=what, requirement=_criterion(crew, name)) for name, what in unmet])
    await told(run, crew, "finished", why=tuple(what for _, what in unmet))
    return await run.finish(plan)


def _doubted(crew: Crew, role: str, feature: str, about: str, said: Reply) -> Crew:
    """Planners who say that they could not do it, and were asked twice: no evidence settles what they left open."""
    doubt = doubt_of(said)
    return crew.doubting(f"{role}: {about}", feature, f"of {about} the {role} says {doubt}" if doubt else "")


def refused(run: Run, crew: Crew, tasks: Iterable[Task]) -> Iterator[tuple[str, tuple[Finding, ...]]]:
    """Features that people rejected, with their words; "" where the words are about all of them."""
    features, words = {one.id for one in crew.backlog.features}, dict[tuple[Finding, ...], list[str]]()
    for task in tasks:
        said = run.open(task).gaps
        if task.id in features and said:
            words.setdefault(said, []).append(task.id)
    for said, names in words.items():
        yield names[0] if len(names) == 1 else "", said


def _criterion(crew: Crew, feature: str) -> str:
    own = crew.backlog.feature(feature).criteria if feature else ()
    return own[0].id if own else ""
