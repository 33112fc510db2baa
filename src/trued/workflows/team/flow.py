"""Team: a PM, a tech lead, developers, QA and UAT work until the goal is accepted or nothing more can be done."""

from trued.model import Finding, Goal, Outcome, Plan, Task
from trued.run.run import Run
from trued.workflows.team import briefs, steps
from trued.workflows.team.consulting import consult, consult_twice_if_unsure, last_reply
from trued.workflows.team.replies import Clarified, FeatureSpecified, Fixes, Validated
from trued.workflows.team.reply_parts import Query
from trued.workflows.team.state import Crew
from trued.workflows.team.task_in_progress import TaskInProgress

QUESTIONS = 3  # questions in one attempt: an agent that asks more is not working


async def team(run: Run, goal: Goal) -> Outcome:
    crew = await plan_goal(run, goal)
    plan = await run.seal(crew.plan())
    crew = await build_and_integrate(run, plan, crew)
    outcome = await steps.finish(run, plan, crew)
    while (changed := await take_up_changes(run, plan, crew)) is not None:
        crew = await build_and_integrate(run, plan, changed)
        outcome = await steps.finish(run, plan, crew)
    return outcome


async def take_up_changes(run: Run, plan: Plan, crew: Crew) -> Crew | None:
    """Apply what people decided or edited after the run had ended: rejections become fix tasks, and an edit of the
    backlog reopens work. None if there is nothing new."""
    rejected = await run.people.rejected_tasks(plan)
    edited = await steps.apply_new_edit(run, crew)
    if rejected is None and edited is None:
        return None
    crew = edited or crew
    for feature, issues in steps.rejected_features(run, crew, rejected or ()):
        crew = await plan_fixes(run, crew, feature, issues)
    return crew


async def plan_goal(run: Run, goal: Goal) -> Crew:
    """Break the goal down into features, stories and tasks. If the goal itself is a list of tasks, no PM is asked."""
    crew = await steps.start_crew(run, goal)
    if crew.planned_before:
        return await steps.write_first_files(run, crew)
    breakdown = await steps.break_down_goal(run, crew)
    return await steps.write_first_files(run, crew.with_features(breakdown.features), breakdown.decisions)


async def build_and_integrate(run: Run, plan: Plan, crew: Crew) -> Crew:
    """Build all features, then validate them together. Issues become fix tasks, and everything is validated again."""
    scope = run.scope("integration")
    for cycle in range(1, crew.settings.cycles + 1):
        crew = await build_features(run, plan, await steps.apply_edits(scope, crew))
        if not crew.is_completed:
            return crew
        crew, issues = await validate(scope, crew, plan)
        if not issues or cycle == crew.settings.cycles:
            return crew
        crew = await plan_fixes(scope, crew, "", issues)
    return crew


async def build_features(run: Run, plan: Plan, crew: Crew) -> Crew:
    """Build feature by feature, the most important first, until no feature is left that can be started. Then each
    feature is completed, has failed, or depends on a feature that is not completed."""
    while feature := crew.next_feature:
        scope = run.scope(f"feature {feature}")
        crew = await work_on_tasks(scope, plan, await specify(scope, crew, feature), feature)
        for cycle in range(1, crew.settings.cycles + 1):
            if not crew.has_all_tasks_done(feature):
                break
            crew, issues = await validate(scope, crew, crew.feature_task(feature))
            if not issues or cycle == crew.settings.cycles:
                break
            crew = await work_on_tasks(scope, plan, await plan_fixes(scope, crew, feature, issues), feature)
        crew = await steps.close_feature(scope, crew, feature)
    return crew


async def specify(run: Run, crew: Crew, feature: str) -> Crew:
    """Before a feature's first task, have the tech lead specify how to build it and which tests show it."""
    crew = await steps.begin_feature(run, crew, feature)
    if not crew.plays("techlead") or feature in crew.specs:
        return crew
    known = briefs.for_techlead(crew, feature)
    specified = await consult_twice_if_unsure(run, "techlead", FeatureSpecified, crew.feature_task(feature), **known)
    return await steps.record_specification(run, crew, feature, specified)


async def work_on_tasks(run: Run, plan: Plan, crew: Crew, feature: str) -> Crew:
    """Work on a feature's tasks, wave by wave. A person's edits to the backlog are applied between two waves."""
    crew = await steps.apply_edits(run, crew)
    while wave := crew.next_wave(feature, run.settings.parallel):
        crew = await steps.apply_edits(run, await work_on_wave(run, plan, crew, wave))
    return crew


async def work_on_wave(run: Run, plan: Plan, crew: Crew, wave: tuple[str, ...]) -> Crew:
    """Let developers work concurrently, and merge their work in the order of the tasks.

    Each merge is tested and proven. A task that fails goes back to its developer until it passes, until two attempts in
    a row change nothing, or until the attempts are used up.
    """
    in_progress = [TaskInProgress.open(run, crew, task) for task in wave]
    crew = crew.without_idle(wave)
    while active := [work for work in in_progress if crew.is_open(work.task)]:
        crew = await develop(run, crew, active)
        for work in active:
            crew = await check_attempt(run, plan, crew, work)
    for work in in_progress:
        await work.close()
    return crew


async def develop(run: Run, crew: Crew, in_progress: list[TaskInProgress]) -> Crew:
    """Run one attempt of each developer, all at once. A developer that asks a question continues with the answer."""
    crew = await steps.begin_attempts(run, crew, [work.task for work in in_progress])
    await run.parallel.gather({work.task: work.ask_developer(crew) for work in in_progress})
    for _ in range(QUESTIONS):
        asking = [(work, work.developed.asks) for work in in_progress if work.developed and work.developed.asks]
        for work, query in asking:
            crew, work.answer = await answer(work.scope, crew, ("dev", work.task), query)
        await run.parallel.gather({work.task: work.ask_developer(crew) for work, _ in asking})
    return crew


async def answer(run: Run, crew: Crew, asker: tuple[str, str], query: Query) -> tuple[Crew, str]:
    """Have the role that was asked answer a question at once. If that role is off, the PM answers. Question and answer
    are written into the inbox of the role that answers."""
    role = crew.answering(query.to)
    crew = await steps.record_question(run, crew, asker, role, query)
    known = briefs.for_answer(crew, asker, query)
    clarified = await consult_twice_if_unsure(run, role, Clarified, crew.task(asker[1]), **known)
    return await steps.record_answer(run, crew, role, asker, clarified)


async def check_attempt(run: Run, plan: Plan, crew: Crew, work: TaskInProgress) -> Crew:
    """Merge one attempt and check it. QA can reject it; only evidence lets it pass."""
    work.tested, gaps = None, await work.merge(run)
    if not gaps:
        crew = crew if work.unchanged else await ask_qa(run, crew, work)  # without a change QA has nothing to test
        gaps = await work.prove(run, crew, plan)
    if gaps:
        work.take_back(run)
    return await steps.record_attempt(run, crew, work, gaps)


async def ask_qa(run: Run, crew: Crew, work: TaskInProgress) -> Crew:
    """Have QA test the merge. QA may ask the PM what a criterion means; a question left open counts as an objection."""
    await work.ask_qa(crew)
    for _ in range(QUESTIONS):
        if not work.tested or not work.tested.asks:
            break
        work.take_back(run)
        query = work.tested.asks.model_copy(update={"to": "pm"})
        crew, work.answer = await answer(work.scope, crew, ("qa", work.task), query)
        await work.merge(run)
        await work.ask_qa(crew)
    return crew


async def validate(run: Run, crew: Crew, subject: Task | Plan) -> tuple[Crew, tuple[Finding, ...]]:
    """Have UAT validate a feature, or all features together, as a user would. Returns the crew, and the issues that
    evidence does not settle."""
    uat = run.session("uat", Validated, publishes=False) if crew.validates(subject) else None
    validated = await consult(uat, subject, **briefs.for_uat(crew, subject)) if uat else None
    issues = await steps.find_issues(run, crew, subject, validated, uat)
    again = last_reply(uat)
    replies = [reply for reply in (validated, again) if reply is not None]
    return await steps.record_validation(run, crew, subject, replies, issues), issues


async def plan_fixes(run: Run, crew: Crew, feature: str, issues: tuple[Finding, ...]) -> Crew:
    """Have the PM turn the issues of a validation into tasks. The sealed criteria do not change."""
    subject = crew.feature_task(feature) if feature else crew.goal
    known = briefs.for_fixes(crew, feature)
    fixes = await consult_twice_if_unsure(run, "pm", Fixes, subject, **known, issues=issues)
    return await steps.record_fixes(run, crew, feature, fixes, issues)
