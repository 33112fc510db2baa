"""Team: a PM, a tech lead, developers, QA and UAT, until the goal is accepted, or it is said what is not."""

from trued import Finding, Goal, Outcome, Plan, Run, Task
from trued.workflows.team import steps as teaming
from trued.workflows.team.replies import Breakdown, Clarified, Developed, Fixes, Specified, Tested, Validated
from trued.workflows.team.reply_parts import Query
from trued.workflows.team.state import Crew
from trued.workflows.team.task_desk import Desk

QUESTIONS = 3  # of one attempt: whoever asks more is not working


async def team(run: Run, goal: Goal) -> Outcome:
    crew = await begun(run, goal)
    plan = await run.seal(crew.plan())
    crew = await integrated(run, plan, crew)
    outcome = await teaming.finished(run, plan, crew)
    while (refused := await run.people.rejected_tasks(plan)) is not None:  # people's reasons are issues
        for name, issues in teaming.refused(run, crew, refused):
            crew = await fixed(run, crew, name, issues)
        crew = await integrated(run, plan, crew)
        outcome = await teaming.finished(run, plan, crew)
    return outcome


async def begun(run: Run, goal: Goal) -> Crew:
    """The goal as features, stories and tasks: the PM's, or what an older list of tasks comes to."""
    crew = await teaming.found(run, goal)
    if crew.planned_before:
        return await teaming.laid_down(run, crew)
    said = await teaming.broken_down(run, crew, Breakdown)
    return await teaming.laid_down(run, crew.planned(said.features), said.decisions)


async def built(run: Run, plan: Plan, crew: Crew) -> Crew:
    """Feature by feature, the most important first, until each is completed or failed."""
    while name := crew.upcoming:
        scope = run.scope(f"feature {name}")
        crew = await worked(scope, plan, await specified(scope, crew, name), name)
        for cycle in range(1, crew.settings.cycles + 1):
            if not crew.is_whole(name):
                break
            crew, issues = await validated(scope, crew, crew.feature_task(name))
            if not issues or cycle == crew.settings.cycles:
                break
            crew = await worked(scope, plan, await fixed(scope, crew, name, issues), name)
        crew = await teaming.closed(scope, crew, name)
    return crew


async def specified(run: Run, crew: Crew, name: str) -> Crew:
    """Before its first task the tech lead says how a feature is to be built, and which tests will show it."""
    crew = await teaming.feature_begun(run, crew, name)
    if not crew.plays("techlead") or name in crew.specs:
        return crew
    known = teaming.for_techlead(crew, name)
    said = await teaming.asked(run, "techlead", Specified, crew.feature_task(name), **known)
    return await teaming.specified(run, crew, name, said)


async def worked(run: Run, plan: Plan, crew: Crew, name: str) -> Crew:
    """A feature's tasks, those that wait for nothing side by side; what a person edits is heard in between."""
    crew = await teaming.as_edited(run, crew)
    while wave := crew.wave(name, run.settings.parallel):
        crew = await teaming.as_edited(run, await healed(run, plan, crew, wave))
    return crew


async def healed(run: Run, plan: Plan, crew: Crew, wave: tuple[str, ...]) -> Crew:
    """Developers side by side, merged in the order of their tasks. Each merge is tested and proven; what fails goes
    back to its developer, until it passes, nothing moves, or the attempts are used up."""
    desks = [Desk.of(run, crew, task, Developed, Tested) for task in wave]
    while at_work := [desk for desk in desks if crew.is_open(desk.task)]:
        crew = await developed(run, crew, at_work)
        for desk in at_work:
            crew = await looked_at(run, plan, crew, desk)
    for desk in desks:
        await desk.close()
    return crew


async def developed(run: Run, crew: Crew, desks: list[Desk[Developed, Tested]]) -> Crew:
    """All of them at once. Whoever asks waits for the answer, and goes on with it."""
    crew = await teaming.at_work(run, crew, [desk.task for desk in desks])
    await run.parallel.gather({desk.task: desk.works(crew) for desk in desks})
    for _ in range(QUESTIONS):
        asking = [(desk, desk.said.asks) for desk in desks if desk.said and desk.said.asks]
        for desk, query in asking:
            crew, desk.answer = await answered(desk.scope, crew, ("dev", desk.task), query)
        await run.parallel.gather({desk.task: desk.works(crew) for desk, _ in asking})
    return crew


async def answered(run: Run, crew: Crew, who: tuple[str, str], query: Query) -> tuple[Crew, str]:
    """A question blocks its task: the role that it goes to answers at once, and both stand in that role's inbox."""
    role = query.to if crew.plays(query.to) else "pm"
    crew = await teaming.asks(run, crew, who, role, query)
    said = await teaming.asked(run, role, Clarified, crew.task(who[1]), **teaming.for_answer(crew, who, query))
    return await teaming.answers(run, crew, role, who, said)


async def looked_at(run: Run, plan: Plan, crew: Crew, desk: Desk[Developed, Tested]) -> Crew:
    """One attempt, merged with what is accepted: QA's word can sink it; only evidence lets it pass."""
    desk.tested, gaps = None, await desk.joined(run)
    if not gaps:
        crew = await tested(run, crew, desk)
        gaps = await desk.proven(run, crew, plan)
    if gaps:
        desk.back(run)
    return await teaming.attempted(run, crew, desk, gaps)


async def tested(run: Run, crew: Crew, desk: Desk[Developed, Tested]) -> Crew:
    """QA on the merge; it may ask the PM what a criterion means. What it still asks then, it has not tested."""
    await desk.tests(crew)
    for _ in range(QUESTIONS):
        if not desk.tested or not desk.tested.asks:
            break
        desk.back(run)
        query = desk.tested.asks.model_copy(update={"to": "pm"})
        crew, desk.answer = await answered(desk.scope, crew, ("qa", desk.task), query)
        await desk.joined(run)
        await desk.tests(crew)
    return crew


async def validated(run: Run, crew: Crew, subject: Task | Plan) -> tuple[Crew, tuple[Finding, ...]]:
    """A feature, or all of them together, as a user would see it; an issue is what evidence does not settle."""
    uat = run.session("uat", Validated, publishes=False) if crew.validates(subject) else None
    said = await teaming.consulted(uat, subject, **teaming.for_uat(crew, subject)) if uat else None
    issues = await teaming.issues(run, crew, subject, said, uat)
    return await teaming.validated(run, crew, subject, said, issues), issues


async def fixed(run: Run, crew: Crew, name: str, issues: tuple[Finding, ...]) -> Crew:
    """The PM makes tasks of what a validation found; the criteria stay as they were sealed."""
    subject = crew.feature_task(name) if name else crew.goal
    said = await teaming.asked(run, "pm", Fixes, subject, **teaming.for_fixes(crew, name), issues=issues)
    return await teaming.fixing(run, crew, name, said, issues)


async def integrated(run: Run, plan: Plan, crew: Crew) -> Crew:
    """All features together, once each of them is completed; what is found is mended, and looked at again."""
    scope = run.scope("integration")
    for cycle in range(1, crew.settings.cycles + 1):
        crew = await built(run, plan, await teaming.as_edited(scope, crew))
        if not crew.is_completed:
            return crew
        crew, issues = await validated(scope, crew, plan)
        if not issues or cycle == crew.settings.cycles:
            return crew
        crew = await fixed(scope, crew, "", issues)
    return crew
