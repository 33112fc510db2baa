"""Steps of the team workflow: each records what happened as events, in the crew's state and in the team's files."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from trued.errors import BadInput
from trued.inputs.project.kind import with_user_commands
from trued.model import Finding, Goal, Outcome, Plan, Reply, Task, TeamSettings, Verdict
from trued.model.events.run import EditApplied, EditNotUnderstood
from trued.run.branch import Edit
from trued.run.judgement import subject_name
from trued.run.project import detect_project
from trued.run.run import Run
from trued.run.session import Session
from trued.support.plurals import counted
from trued.workflows.team.backlog.items import BacklogTask
from trued.workflows.team.backlog.merge import merge_edit
from trued.workflows.team.backlog.reading import NAME, parse_backlog
from trued.workflows.team.briefs import for_pm
from trued.workflows.team.consulting import consult_twice_if_unsure, doubt_in
from trued.workflows.team.criteria import outside_criteria
from trued.workflows.team.events import (
    FileNotTakenOver,
    FileTakenOver,
    FixTasksMade,
    ReportKind,
    RoleAnswers,
    RoleAsks,
    TeamReported,
)
from trued.workflows.team.files import FOLDER, Records, changed, context_notes
from trued.workflows.team.flat_plan import ORIGINAL, is_flat_plan, is_list_of_tasks, migrate
from trued.workflows.team.quoting import quoted
from trued.workflows.team.replies import Breakdown, Clarified, FeatureSpecified, Fixes, Validated
from trued.workflows.team.reply_parts import Query
from trued.workflows.team.sheen_config import NAME as OLD_CONFIG
from trued.workflows.team.sheen_config import team_settings
from trued.workflows.team.state import BACKLOG, Crew
from trued.workflows.team.task_in_progress import TaskInProgress, verdict_gaps

OLD_PLAN, OLD_CONTEXT = ".sheen/plan.md", ".sheen/context.md"
EARLIER_GOALS = "earlier-goals.md"
FOUND = 50  # features named in the first report; the backlog has all of them


# -- the beginning -----------------------------------------------------------------------------------------------------


async def start_crew(run: Run, goal: Goal) -> Crew:
    """Detect the project, read the team's settings, and take over an older list of tasks if there is one."""
    run.branch.own(FOLDER)
    kind = with_user_commands(await detect_project(run.branch), run.settings.commands)
    crew = Crew(goal=goal, settings=await _settings(run), kind=kind)
    texts = await _files_left(run)
    notes = context_notes(texts.get("context.md") or await run.branch.read(OLD_CONTEXT, run.branch.base) or "")
    if notes and "context.md" not in texts:
        moved = f"{counted(len(notes), 'line of the file is', 'lines of the file are')} in context.md now"
        await run.record(FileTakenOver(file=OLD_CONTEXT, said=(moved,)))
    records = crew.records.continued(texts)
    notes = tuple(dict.fromkeys((*kind.why, *notes)))
    crew = crew.with_records(records.with_project(kind.name, kind.commands, notes))
    crew = await _take_over_old_plan(run, crew, notes)
    return _with_earlier_goals(crew, texts)


async def _files_left(run: Run) -> dict[str, str]:
    """The team's files as earlier goals left them on the base, by their path in the folder."""
    base = run.branch.base
    paths = [name for name in await run.branch.paths(base) if name.startswith(FOLDER)]
    texts = await run.branch.texts(paths, base)
    return {path.removeprefix(FOLDER): text for path, text in texts.items() if text is not None}


def _with_earlier_goals(crew: Crew, texts: Mapping[str, str]) -> Crew:
    """Continue the backlog of earlier goals, and keep the text of these goals. A backlog that cannot be parsed is
    ignored."""
    try:
        backlog = parse_backlog(texts.get(NAME, ""))
    except BadInput:
        return crew
    if crew.backlog.features:  # the backlog is an older list of tasks: its completed features belong to an earlier goal
        done = tuple(feature.id for feature in crew.backlog.features if feature.status == "completed")
        return crew if crew.planned_before else crew.model_copy(update={"earlier": done})
    if not backlog.features:
        return crew
    goals = f"{texts.get(EARLIER_GOALS) or '# Earlier goals'}".rstrip()
    if (goal := texts.get("goal.md", "").strip()) and goal != crew.goal.text.strip():
        goals += f"\n\n## Features up to {backlog.features[-1].id}\n\n{quoted(goal)}"
    kept_files = {**crew.kept, f"{FOLDER}{EARLIER_GOALS}": f"{goals}\n"}
    return crew.with_earlier_goals(backlog).model_copy(update={"kept": kept_files})


async def _settings(run: Run) -> TeamSettings:
    """The team's settings. A setting that still has its default gets its value from an older tool's configuration,
    unless an earlier team left its own `config.toml` on the base."""
    team, text = run.settings.team, await run.branch.read(OLD_CONFIG, run.branch.base)
    if text is None or await run.branch.read(f"{FOLDER}config.toml", run.branch.base) is not None:
        return team
    try:
        old, notes = team_settings(text)
    except BadInput as error:
        await run.record(FileNotTakenOver(file=OLD_CONFIG, why=str(error)))
        return team
    await run.record(FileTakenOver(file=OLD_CONFIG, said=tuple(notes)))
    default = TeamSettings()
    taken = {name: value for name, value in old.items() if getattr(team, name) == getattr(default, name)}
    return team.model_copy(update=taken)


async def _take_over_old_plan(run: Run, crew: Crew, known: Sequence[str] = ()) -> Crew:
    """If the goal is a flat list of tasks, or an older tool left one, convert the list into the backlog. The list is
    kept as a file. If an earlier run has converted the same list, that run's backlog is used.

    `known`: what is known about the project, for the team's notes.
    """
    flat = is_list_of_tasks(crew.goal.text)
    file = crew.goal.source.file if flat else OLD_PLAN
    text = crew.goal.text if flat else await run.branch.read(OLD_PLAN, run.branch.base) or ""
    if not flat and not is_flat_plan(text):
        return crew
    original, old = f"{FOLDER}{ORIGINAL}", migrate(text, file, crew.attempts)
    # Criteria are the user's, so they come from the list itself: anybody may have written the backlog.
    criteria = () if flat else old.criteria
    if await run.branch.read(original, run.branch.base) == text:
        # An earlier run has already taken the list over, so the backlog that it left has the current state.
        with suppress(BadInput):
            earlier = parse_backlog(await run.branch.read(BACKLOG, run.branch.base) or "")
            return crew.with_old_plan(earlier, {}, criteria).model_copy(update={"planned_before": flat})
    await run.record(FileTakenOver(file=file, said=tuple(old.said)))
    crew = crew.with_old_plan(old.backlog, {original: text}, criteria)
    crew = crew.model_copy(update={"planned_before": flat})
    notes = (*(known or crew.kind.why), *old.said, *filter(None, old.context.splitlines()))
    return crew.with_records(crew.records.with_project(crew.kind.name, crew.kind.commands, notes))


async def break_down_goal(run: Run, crew: Crew) -> Breakdown:
    """Ask the PM for features, stories and tasks. Without them the run ends; a resumed run asks again."""
    while doubt := doubt_in(
        breakdown := await consult_twice_if_unsure(run, "pm", Breakdown, crew.goal, **for_pm(crew))
    ):
        await run.fail_unless_resumed(f"the pm says {run.context.redact(doubt)}")
    return breakdown


async def write_first_files(run: Run, crew: Crew, decisions: Sequence[str] = ()) -> Crew:
    """Write the team's files before anybody works. The work is still compared with the user's commit, not with the
    commit of these files."""
    sealed = tuple(criterion.id for feature in crew.features for criterion in feature.criteria)
    crew = crew.model_copy(update={"sealed": sealed, "planned": tuple(other.id for other in crew.backlog.features)})
    crew = crew.with_records(crew.records.with_plan(crew.features, decisions, run.branch.when))
    crew = await write_files(run, crew, "docs: what the team has to do")
    features = tuple(f"{other.id}: {other.name}" for other in crew.features[:FOUND])
    await report(run, crew, "begun", project=crew.kind.name, commands=crew.kind.commands, found=features)
    return crew


# -- files and events --------------------------------------------------------------------------------------------------


async def write_files(run: Run, crew: Crew, message: str) -> Crew:
    """Commit the team's files that changed since they were last written."""
    files = crew.files
    new = changed(crew.written, files)
    if new:
        await run.branch.write(new, message, editable=(BACKLOG,))
    return crew.model_copy(update={"written": {**crew.written, **files}})


async def report(run: Run, crew: Crew, kind: ReportKind, *, task: str = "", feature: str = "", **more: Any) -> None:
    """Emit an event with the team's progress."""
    backlog = crew.backlog
    name = backlog.feature(task or feature).id if task or feature else ""
    done, every = crew.task_counts
    backlog_task = backlog.task(task) if task else None
    value = TeamReported(
        kind=kind,
        feature=name,
        feature_name=backlog.feature(name).name if name else "",
        task=task,
        task_name=backlog_task.description if backlog_task else "",
        attempt=backlog_task.attempts if backlog_task else 0,
        attempts=backlog_task.limit if backlog_task else 0,
        features_done=sum(feature.status == "completed" for feature in crew.features),
        features=len(crew.features),
        tasks_done=done,
        tasks=every,
        recoveries=crew.recoveries,
        state=backlog_task.state if backlog_task else backlog.feature(name).status if name else "",
        **more,
    )
    await run.record(value)


async def apply_edits(run: Run, crew: Crew) -> Crew:
    """Apply a person's new edit of the backlog, if there is one, as far as the sealed contract allows."""
    edit = await run.branch.read_edit(BACKLOG, _problem_in)
    return crew if edit is None else await _with_edit(run, crew, edit)


async def apply_new_edit(run: Run, crew: Crew) -> Crew | None:
    """Apply a person's edit of the backlog after the end of the run; None if the backlog has not been edited since."""
    edit = await run.branch.read_new_edit(BACKLOG, _problem_in)
    return None if edit is None else await _with_edit(run, crew, edit)


async def _with_edit(run: Run, crew: Crew, edit: Edit) -> Crew:
    try:
        before, after = parse_backlog(edit.before, BACKLOG), parse_backlog(edit.after, BACKLOG)
    except BadInput as error:
        await run.record(EditNotUnderstood(path=BACKLOG, why=str(error)))
        return crew
    backlog, notes = merge_edit(before, after, crew.backlog, crew.sealed)
    await run.record(EditApplied(path=BACKLOG, said=tuple(notes)))
    return await write_files(run, crew.with_edits(backlog), "docs: what a person changed in the backlog")


def _problem_in(text: str) -> str:
    """Why a backlog cannot be read; "" if it can."""
    try:
        parse_backlog(text, BACKLOG)
    except BadInput as error:
        return str(error)
    return ""


# -- questions ---------------------------------------------------------------------------------------------------------


async def record_question(run: Run, crew: Crew, asker: tuple[str, str], role: str, query: Query) -> Crew:
    """Put a question into the inbox of the role `role`. `asker`: role and task."""
    sender = f"{asker[0]}, {asker[1]}"
    await run.record(RoleAsks(who=sender, to=role, text=run.context.redact(query.text)))
    records = crew.records.with_message(role, sender, query.text, run.branch.when, priority=query.priority)
    return await write_files(run, crew.with_records(records), f"docs: {asker[0]} asks the {role} ({asker[1]})")


async def record_answer(
    run: Run, crew: Crew, role: str, asker: tuple[str, str], clarified: Clarified
) -> tuple[Crew, str]:
    """Record the role's answer and return it. If the role's status is not DONE, the question stays pending."""
    about, answer, doubt = asker[1], clarified.answer, doubt_in(clarified)
    answer = f"the {role} says {doubt}\n{answer}" if doubt else answer
    await run.record(RoleAnswers(role=role, text=run.context.redact(answer)))
    question = f"{asker[0]}'s question about {about}"
    crew = crew.with_doubt(question, about, f"{question} has no answer: the {role} says {doubt}" if doubt else "")
    records = crew.records if doubt else crew.records.with_answer(role, answer, run.branch.when)
    records = records.with_decisions(role, about, clarified.decisions, run.branch.when)
    return await write_files(run, crew.with_records(records), f"docs: the {role} answers ({about})"), answer


# -- a task ------------------------------------------------------------------------------------------------------------


async def begin_attempts(run: Run, crew: Crew, tasks: Iterable[str]) -> Crew:
    """Count and report one more attempt for each task."""
    crew = crew.with_new_attempts(tasks := tuple(tasks))
    for name in tasks:
        task = crew.backlog.task(name)
        await report(run, crew, "attempt", task=name)
        records = crew.records.with_attempt(name, task.description, task.attempts, task.limit, run.branch.when)
        crew = crew.with_records(records)
    _show_progress(run, crew)
    return crew


def _show_progress(run: Run, crew: Crew) -> None:
    """Update the two files in the run's folder that show who works on what. The files on the branch change only when an
    attempt has ended."""
    files = crew.files
    for name in ("dev/progress.md", "feature-status.md"):
        run.branch.show(f"{FOLDER}{name}", files[f"{FOLDER}{name}"])


async def record_attempt(run: Run, crew: Crew, work: TaskInProgress, gaps: Sequence[Finding]) -> Crew:
    """Record how an attempt ended: the task is done, postponed, sent back with the gaps, or failed."""
    work.gaps = tuple(gaps)
    if work.unchanged and gaps and crew.has_other_work(work.task):
        return await _put_off(run, crew, work)
    stuck = bool(gaps) and work.part.judgement.check_for_stall(Verdict.open(work.task, *_without_questions(work)))
    crew = crew.with_sent_back(work.task) if gaps and not work.conflict else crew
    crew = crew.with_result(work.task, gaps, stuck=stuck)
    if not gaps:
        await work.check_claims(run)
        work.warn_if_unchanged(run)
        crew = crew.with_held(work.judged).with_proven(*work.due)
        crew = crew.with_idle_done(work.task) if work.shown and work.due else crew
    task = crew.backlog.task(work.task)
    crew = crew.with_records(_with_test(crew.records, work, task, run.branch.when))
    why = tuple(gap.what for gap in gaps)
    why += ("no progress: the same gaps, and nothing was changed",) if stuck else ()
    await report(run, crew, "task", task=work.task, qa=_qa_result(work), why=why)
    if task.state == "failed":
        again = crew.given_up.count(work.task)
        # A task that was reopened can fail again: the work of each time is kept.
        name = f"{work.task}-{again + 1}" if again else work.task
        await run.branch.set_aside(name, back_to=run.branch.head, work=work.part.branch.head)
        crew = crew.model_copy(update={"given_up": (*crew.given_up, work.task)})
    _show_progress(run, crew)
    ended = "sent back" if task.is_open else task.state
    return await write_files(run, crew, f"docs: {work.task} {ended}")


async def _put_off(run: Run, crew: Crew, work: TaskInProgress) -> Crew:
    """Postpone a task for which nothing was changed: evidence on its feature may still show that it is done."""
    crew = crew.with_idle(work.task)
    task = crew.backlog.task(work.task)
    crew = crew.with_records(_with_test(crew.records, work, task, run.branch.when))
    await report(run, crew, "task", task=work.task, qa=_qa_result(work), why=tuple(gap.what for gap in work.gaps))
    _show_progress(run, crew)
    return await write_files(run, crew, f"docs: {work.task} put off")


def _without_questions(work: TaskInProgress) -> tuple[Finding, ...]:
    """The gaps by which progress is judged. All questions count as the same gap, because a question in other words is
    no progress."""
    asks = work.developed.asks if work.developed else None
    if asks is None:
        return work.gaps
    return tuple(Finding(what="a question") if asks.text in gap.what else gap for gap in work.gaps)


def _qa_result(work: TaskInProgress) -> str:
    """QA's own result, and whether the engine's evidence contradicts it."""
    if work.unchanged:
        return "not asked: nothing was changed"
    if not work.tested:
        return "skipped"
    objects = bool(work.tested.objections)
    result = "failed" if objects else "passed"
    return result if objects == bool(work.gaps) else f"{result}, overruled by evidence"


def _with_test(records: Records, work: TaskInProgress, task: BacklogTask, when: float) -> Records:
    """The team's records with this attempt added: QA's failures, the engine's findings and, if the task is done, what
    was done."""
    failures_by_text = {failure.finding.what: failure for failure in work.failures}
    failures = [failures_by_text.get(gap.what, gap.what) for gap in work.gaps]
    tried = [*work.tested.tried] if work.tested else []
    tried.append(f"the engine's own checks: {counted(len(work.judged), 'requirement')}")
    summary = work.developed.summary if work.developed else ""
    if work.qa and work.tested:
        request = f"Test {task.id}: {summary or task.description}"
        records = records.with_message("qa", f"dev, {task.id}", request, when, kind="request")
        records = records.with_answer("qa", _qa_result(work), when)
    records = records.with_test(
        task.id, (task.attempts, task.limit), failures, when, tried=tried, ended=task.state == "failed"
    )
    if failures and task.is_open:
        first = f"{task.id} failed, {task.attempts}/{task.limit}: see qa/results.md"
        records = records.with_message("dev", "qa", first, when, kind="notification", priority="high")
    if task.state == "done":
        records = records.with_completed(
            task.id, task.description, task.attempts, when, summary=summary, files=work.changed
        )
    return records


# -- a feature, and all of them ----------------------------------------------------------------------------------------


async def begin_feature(run: Run, crew: Crew, feature: str) -> Crew:
    crew = crew.with_feature(feature, status="in_progress")
    await report(run, crew, "feature", feature=feature)
    return crew


async def record_specification(run: Run, crew: Crew, feature: str, specified: FeatureSpecified) -> Crew:
    """Record the tech lead's specification and decisions, and the tests that will show the feature."""
    crew = crew.with_spec(feature, specified.spec, specified.tests, specified.needs)
    crew = _with_planner_doubt(crew, "techlead", feature, feature, specified)
    commands = [f"{test.command}{f' (after {test.task})' if test.task else ''}" for test in crew.tests[feature]]
    records = crew.records.with_spec(
        crew.backlog.feature(feature), specified.spec, commands, specified.decisions, run.branch.when
    )
    return await write_files(run, crew.with_records(records), f"docs: how {feature} is built")


async def record_fixes(run: Run, crew: Crew, feature: str, fixes: Fixes, issues: Sequence[Finding]) -> Crew:
    """Add the PM's fix tasks to the backlog. `feature`: the validated feature; "" for all features together."""
    about, titles, when = feature or "all features", [task.title for task in fixes.tasks], run.branch.when
    crew = crew.with_fixes(feature, fixes.tasks, issues)
    crew = _with_planner_doubt(crew, "pm", feature, f"fix tasks for {about}", fixes)
    await run.record(FixTasksMade(about=about, tasks=tuple(run.context.redact(titles))))
    wanted = "\n".join(issue.what for issue in issues)
    request = f"{about} failed:\n{wanted}"
    records = crew.records.with_message("pm", "uat", request, when, kind="request", priority="high")
    records = records.with_answer("pm", counted(len(titles), "fix task"), when)
    records = records.with_fix_tasks(about, titles, fixes.decisions, when)
    return await write_files(run, crew.with_records(records), f"docs: fix tasks for {about}")


def _with_planner_doubt(crew: Crew, role: str, feature: str, about: str, reply: Reply) -> Crew:
    """The crew with the planner's doubt, if the planner replied twice that it could not do its work. Otherwise an
    earlier doubt about the same work is withdrawn. No evidence can settle a doubt."""
    doubt = doubt_in(reply)
    return crew.with_doubt(f"{role}: {about}", feature, f"the {role} says about {about}: {doubt}" if doubt else "")


async def find_issues(
    run: Run, crew: Crew, subject: Task | Plan, validated: Validated | None, uat: Session[Validated] | None
) -> tuple[Finding, ...]:
    """The issues that keep a feature, or the goal, from being accepted: requirements that do not hold, and UAT's issues
    that evidence does not settle. The subject is not proven again if it is already proven and UAT has no issue. Closes
    UAT's session."""
    name, objections = subject_name(subject), validated.objections if validated else ()
    run.judgement.drop_objections(name)
    proven = not objections and name in crew.proven
    gaps = () if proven else verdict_gaps(await run.prove(subject, objections, by=uat))
    if uat:
        await uat.close()
    return gaps


async def record_validation(
    run: Run, crew: Crew, subject: Task | Plan, replies: Sequence[Validated], issues: Sequence[Finding]
) -> Crew:
    """Record how a validation ended. It passes only if there are no `issues`. `replies`: UAT's reply and, if UAT was
    asked again with the evidence, its second reply; empty if UAT is off."""
    validated = replies[0] if replies else None
    name, why = subject_name(subject), tuple(issue.what for issue in issues)
    crew = crew if issues else crew.with_proven(name)
    result = "failed" if issues else "passed"
    if isinstance(subject, Plan):
        crew = crew.model_copy(update={"integration": result, "unmet": why})
    elif validated:
        crew = crew.with_feature(name, uat=result)
    feature = "" if isinstance(subject, Plan) else name
    crew = crew.with_records(_with_validation(crew.records, feature, replies, issues, run.branch.when))
    uat = result if validated else ""
    await report(run, crew, "uat", feature=feature, uat=uat, why=why or _overruled(validated))
    return await write_files(run, crew, f"docs: UAT of {feature or 'all features'}: {result}")


def _with_validation(
    records: Records, feature: str, replies: Sequence[Validated], gaps: Sequence[Finding], when: float
) -> Records:
    """The team's records with a validation added: what was tried, which issues evidence did not settle, and which
    requirements are not met."""
    validated = replies[0] if replies else None
    own_issues = {issue.finding.what: issue for reply in replies for issue in reply.issues}
    tried = validated.tried if validated else ("nobody validated it, because UAT is off; only the engine's checks ran",)
    unmet = tuple(dict.fromkeys(requirement for reply in replies for requirement in reply.not_met)) if gaps else ()
    if len(replies) > 1:  # what UAT withdrew after seeing the evidence is not listed
        unmet = tuple(requirement for requirement in unmet if any(requirement in gap.what for gap in gaps))
    listed = {f"not met: {requirement}" for requirement in unmet}
    remaining = [own_issues.get(gap.what, gap.what) for gap in gaps if gap.what not in listed]
    if validated:
        records = records.with_message("uat", "pm", f"Validate {feature or 'all features'}", when, kind="request")
        records = records.with_answer("uat", "failed" if gaps else "passed", when)
    decision = "failed" if gaps else ", ".join(("passed", *_overruled(validated)))
    return records.with_validation(feature, decision, when, tried=tried, issues=remaining, not_met=unmet)


def _overruled(validated: Validated | None) -> tuple[str, ...]:
    """For a validation that passed: a sentence that evidence settled UAT's objections; empty if UAT had none."""
    objected = validated is not None and validated.objections
    return ("though UAT objected at first: evidence settled it",) if objected else ()


async def close_feature(run: Run, crew: Crew, feature: str) -> Crew:
    """Mark a feature as completed or failed, unless a person removed it from the backlog."""
    crew = crew.with_feature_closed(feature)
    if not crew.backlog.holds(feature):
        return crew
    await report(run, crew, "feature", feature=feature)
    return await write_files(run, crew, f"docs: {feature} {crew.backlog.feature(feature).status}")


async def finish(run: Run, plan: Plan, crew: Crew) -> Outcome:
    """Prove the last commit. What the team left open counts as objections: features that are not completed, tasks that
    are not done, a failed integration, and planners' doubts."""
    unmet = tuple(crew.gaps_in_plan())
    objections = [Finding(what=what, requirement=_first_criterion(crew, feature)) for feature, what in unmet]
    run.judgement.object("the team", objections)
    why = "it is in the backlog, but not in the contract"
    run.judgement.set_outside(partial(outside_criteria, crew=crew), plan, why)
    await report(run, crew, "finished", why=tuple(what for _, what in unmet))
    return await run.finish(plan)


def rejected_features(run: Run, crew: Crew, tasks: Iterable[Task]) -> Iterator[tuple[str, tuple[Finding, ...]]]:
    """Yield (feature, reasons) for people's rejections; feature "" if the same reasons reject several features."""
    features, reasons = {feature.id for feature in crew.features}, dict[tuple[Finding, ...], list[str]]()
    for task in tasks:
        gaps = run.take_feedback(task).gaps
        if task.id in features and gaps:
            reasons.setdefault(gaps, []).append(task.id)
    for gaps, names in reasons.items():
        yield names[0] if len(names) == 1 else "", gaps


def _first_criterion(crew: Crew, feature: str) -> str:
    criteria = crew.backlog.feature(feature).criteria if feature else ()
    return criteria[0].id if criteria else ""
