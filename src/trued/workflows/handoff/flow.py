"""Handoff: an initializer writes down what is to be built; then one coder after the other builds one feature each."""

from pydantic import Field

from trued import Finding, Goal, Outcome, Plan, Reply, Run, Session, SetUp, Stopped, Value
from trued.workflows.handoff import steps as handing
from trued.workflows.handoff.events import PassUndone, SetUpFailed
from trued.workflows.handoff.feature_list import Feature
from trued.workflows.handoff.project import Project, message_of, task_of
from trued.workflows.handoff.steps import Attempt

SCRIPT = handing.SCRIPT


class Planned(Value):
    """One feature, as it will stand in the list."""

    id: str = Field(default="", description="short, like feat_001_login; made from its place where you give none")
    category: str = "functional"
    description: str = Field(description="what must hold, in the words of the specification")
    priority: str = Field(default="medium", description="critical, high, medium or low")
    steps: tuple[str, ...] = Field(description="how to see that it holds, step by step")
    test_command: str = Field(default="", description="the command whose tests will show it")
    verification_method: str = Field(default="automated", description="automated, e2e (a browser) or manual (a person)")
    verification_tool: str = ""
    depends_on: tuple[str, ...] = ()


class Initialized(Reply):
    """A specification as features, in the order of work, and how the project is run."""

    features: tuple[Planned, ...] = Field(min_length=1)
    start: str = Field(default="", description="the command that starts the app")
    test: str = Field(default="", description="the command that runs all tests")
    set_up: tuple[str, ...] = Field(default=(), description="commands beyond installing what the manifests name")


class Coded(Reply):
    """What a coder says of its one feature. All of it is checked."""

    passes: bool = Field(description="whether the feature is complete, as far as you saw it yourself")
    implemented: tuple[str, ...]
    files: tuple[str, ...] = Field(default=(), description="every file that you changed")
    tests: tuple[str, ...] = Field(default=(), description="files or ids of the tests that show it")
    tests_passing: int = 0
    tests_total: int = 0
    notes: tuple[str, ...] = ()
    continue_from: str = Field(default="", description="path:line, where the next agent should begin")
    proposed: tuple[Planned, ...] = Field(default=(), description="features that the list lacks; a person decides")
    disputes: tuple[Finding, ...] = Field(
        default=(), description="requirements whose held-out examples must be wrong by the user's words, and why"
    )


async def handoff(run: Run, goal: Goal) -> Outcome:
    project = await begun(run, goal)
    plan = await run.seal(project.plan(goal))
    project, outcome = await finished(run, plan, await built(run, await looked_at(run, project)))
    while (refused := await run.people.rejected_tasks(plan)) is not None:
        project = await built(run, project.reopened(task.id for task in refused))
        project, outcome = await finished(run, plan, project)
    return outcome


async def finished(run: Run, plan: Plan, project: Project) -> tuple[Project, Outcome]:
    """The list says what was found on the last commit; where that changes it, the commit with the list is proven."""
    outcome = await run.finish(plan)
    true = await handing.kept_true(run, project, outcome)
    return (true, await run.finish(plan)) if true != project else (project, outcome)


async def begun(run: Run, goal: Goal) -> Project:
    """The four files: from what the user or an earlier run left, else from what an initializer makes of the words."""
    project = await handing.found(run, goal)
    if project is None:
        initializer, gaps = run.session("initializer", Initialized), tuple[Finding, ...]()
        while project is None:
            reply = await initializer.ask(goal, gaps=gaps)
            project, gaps = handing.initialized(run, goal, reply, again=not gaps)
        await initializer.close()
        project = await handing.with_notes(run, project)
    await handing.laid_down(run, project)
    return project


async def looked_at(run: Run, project: Project) -> Project:
    """What the files call passed is a hint: it is proven again, and what does not hold is open again."""
    claimed, awaited, project = project.claimed, project.awaited, project.unproven
    if not claimed and not run.branch.is_continued:
        return project
    first, *rest = project.tasks
    verdict = await run.prove(first, also=rest)
    for feature in project.features.features:
        project, there = await handing.there(run, project, feature, verdict, awaited=feature.id in awaited)
        if feature.id in claimed and not there:
            await run.record(PassUndone(feature=feature.id, why=project.features[feature.id].agent_notes))
    await run.branch.write(project.files, "docs: what holds was looked at again", event=project.list_event())
    return project


async def built(run: Run, project: Project) -> Project:
    while feature := project.next:
        scope, there = run.scope(f"feature {feature.id}"), False
        if feature.id in project.green:  # the work on another one brought it along
            verdict = await scope.prove(task_of(feature))
            project, there = await handing.there(scope, project, feature, verdict)
        if not there:
            project = await turn(scope, project, feature)
        await handing.noted(run, project, feature)
    return project


async def turn(run: Run, project: Project, feature: Feature) -> Project:
    """One feature: coder after coder, each with fresh eyes, until it holds or the attempts are used up."""
    task, before, work = task_of(feature), run.branch.head, ""
    gaps, project = run.open(task).gaps, project.begun(feature, run.branch.when)
    for number in range(run.settings.rounds):
        coder = run.session("coder", Coded, publishes=False)
        set_up = await handing.set_up(run, project, coder, attempt=number + 1)
        if number == 0 and not set_up.works:
            before, set_up = await mended(run, project, coder, set_up)
        coded = await coder.ask(task, handoff=project.handoff_note, gaps=(*gaps, *handing.fails(set_up)))
        await run.branch.squash(message_of(feature, run.id), onto=before, author="coder")
        work = run.branch.head
        verdict = await run.prove(task, disputes=coded.disputes, also=project.others(feature))
        attempt = Attempt(feature, coded, coder.last_answer, verdict, await handing.count_tests(run, feature))
        bent = await handing.bent(run, project, before)
        gaps = (*handing.gaps_of(run, project, attempt), *bent)
        project = await handing.recorded(run, project, attempt, gaps)
        await coder.close()
        if verdict.holds and not gaps:
            word = await run.people.review(task) if feature.verification_method == "manual" else None
            if not (word and word.rejected):
                return project.judged(feature, verdict, attested=run.people.approved_now(word))
            gaps = (word.gap,)
        if bent or handing.broken(run, project, verdict):
            run.branch.reset(before)  # what breaks a finished feature is not built upon
        if run.judgement.is_stuck(verdict.model_copy(update={"remarks": gaps})):
            break
    await run.branch.set_aside(feature.id, back_to=before, work=work)
    return project.given_up(feature)


async def mended(run: Run, project: Project, coder: Session[Coded], set_up: SetUp) -> tuple[str, SetUp]:
    """`init.sh` works before any feature is begun: a coder mends it, and what was finished must still hold."""
    before, work, gaps = run.branch.head, "", handing.fails(set_up)
    for _ in range(run.settings.rounds):
        await run.record(SetUpFailed(said=set_up.said))
        mender = run.session("coder", Coded, publishes=False)
        await mender.ask(handing.MENDING, gaps=gaps)
        await mender.close()
        await run.branch.squash(f"fix: mend {SCRIPT}", onto=before, author="coder")
        work = run.branch.head
        hurt = await handing.hurt(run, project)
        if hurt:
            run.branch.reset(before)
        set_up = await handing.set_up(run, project, coder)
        if set_up.works and not hurt:
            return run.branch.head, set_up
        gaps = (*handing.fails(set_up), *hurt)
    await run.branch.set_aside(SCRIPT, back_to=before, work=work)
    raise Stopped(f"{SCRIPT} still fails after {run.settings.rounds} attempts to mend it: {handing.last_line(set_up)}")
