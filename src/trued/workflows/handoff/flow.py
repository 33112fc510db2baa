"""Handoff: an initializer lists the features of a specification; then coders build them, one after another."""

from trued.errors import Stopped
from trued.model import Finding, Goal, Outcome, Plan
from trued.run.branch import SetUp
from trued.run.run import Run
from trued.run.session import Session
from trued.workflows.handoff import steps
from trued.workflows.handoff.events import PassUndone, SetUpFailed
from trued.workflows.handoff.feature_list import Feature
from trued.workflows.handoff.init_script import SCRIPT
from trued.workflows.handoff.project import HandoffProject, message_of, task_of
from trued.workflows.handoff.replies import Coded, Initialized
from trued.workflows.handoff.steps import Attempt


async def handoff(run: Run, goal: Goal) -> Outcome:
    project = await list_features(run, goal)
    plan = await run.seal(project.plan(goal))
    project = steps.with_requirements(run, project)
    project = await build_and_judge(run, await recheck_passed(run, project))
    project, outcome = await finish(run, plan, project)
    while True:
        if attempts := run.people.granted_rounds():
            project = steps.with_unmet_reopened(run, project, run.people.amended_verdict())
        elif (rejected := await run.people.rejected_tasks(plan)) is not None:
            project = project.with_features_reopened(task.id for task in rejected)
        else:
            return outcome
        project = await build_and_judge(run, project, attempts)
        project, outcome = await finish(run, plan, project)


async def list_features(run: Run, goal: Goal) -> HandoffProject:
    """Read the feature list of the user or of an earlier run; if there is none, an initializer makes one from the
    specification."""
    project = await steps.find_feature_list(run, goal)
    if project is None:
        initializer, gaps = run.session("initializer", Initialized), tuple[Finding, ...]()
        while project is None:
            reply = await initializer.ask(goal, gaps=gaps)
            project, gaps = steps.project_of_reply(run, goal, reply, again=not gaps)
        await initializer.close()
        project = await steps.with_notes(run, project)
    await steps.write_first_files(run, project)
    return project


async def recheck_passed(run: Run, project: HandoffProject) -> HandoffProject:
    """Prove all features again if the files mark any as passed, or if the run continues an earlier run's branch. The
    verdict then sets each feature's status, because the files are not trusted."""
    claimed, awaited, project = project.claimed, project.awaited, project.unproven
    if not claimed and not run.branch.is_continued:
        return project
    first, *rest = project.tasks
    verdict = await run.prove(first, also=rest)
    for feature in project.features.features:
        project, holds = await steps.judge_unbuilt(run, project, feature, verdict, awaited=feature.id in awaited)
        if feature.id in claimed and not holds and feature.id not in project.unjudged:
            await run.record(PassUndone(feature=feature.id, why=project.features[feature.id].agent_notes))
    await run.branch.write(project.files, "docs: features that passed were checked again", event=project.list_event())
    return project


async def build_and_judge(run: Run, project: HandoffProject, attempts: int = 0) -> HandoffProject:
    """Build all features. `attempts`: the number of attempts for each feature; 0 means the number in the settings.

    Raises `CannotJudge`, which ends the run, if features could not be judged because the environment lacks something.
    Whenever somebody resumes the run, these features are judged again, without calling an agent.
    """
    project = await build_features(run, project, attempts)
    while project.unjudged:
        await steps.stop_for_environment(run, project)
        first, *rest = [task for task in project.tasks if task.id in project.unjudged]
        verdict = await run.prove(first, also=rest)
        for task in (first, *rest):
            project = await steps.judge_again(run, project, project.features[task.id], verdict)
        project = await build_features(run, project, attempts)
    return project


async def build_features(run: Run, project: HandoffProject, attempts: int = 0) -> HandoffProject:
    """Build feature by feature, until no feature is left that can be started."""
    while feature := project.next_feature:
        scope, holds = run.scope(f"feature {feature.id}"), False
        if feature.id in project.green:  # perhaps it needs no coder: its checks passed after work on another feature
            verdict = await scope.prove(task_of(feature))
            project, holds = await steps.judge_unbuilt(scope, project, feature, verdict)
        if not holds:
            project = await build_feature(scope, project, feature, attempts or run.settings.rounds)
        project = project.with_result_logged(feature, run.branch.when)
        await steps.write_files(run, project, feature)
    return project


async def build_feature(run: Run, project: HandoffProject, feature: Feature, attempts: int) -> HandoffProject:
    """Let one fresh coder after another work on a feature, until no gap is left, the coders make no progress, or all
    attempts are used up. If only the environment keeps a feature from being judged, the feature has not failed."""
    task, before, work = task_of(feature), run.branch.head, ""
    gaps, project = run.take_feedback(task).gaps, project.with_feature_begun(feature, run.branch.when)
    for number in range(attempts):
        coder = run.session("coder", Coded, publishes=False)
        set_up = await steps.set_up_clone(run, project, coder, attempt=number + 1, of=attempts)
        if number == 0 and not set_up.works:
            before, set_up = await fix_set_up(run, project, coder, set_up)
        coded = await coder.ask(task, handoff=project.handoff_note, gaps=(*gaps, *steps.set_up_gaps(set_up)))
        await run.branch.squash(message_of(feature, run.id), onto=before, author="coder")
        work = run.branch.head
        verdict = await run.prove(task, disputes=coded.disputes, also=project.other_tasks(feature))
        changed = await steps.changes_of_work(run, before)
        tests = await steps.count_tests(run, feature, changed)
        attempt = Attempt(feature, coded, coder.last_answer, verdict, tests, changed)
        broken = (*steps.regressions(run, project, verdict), *await steps.damaged_tests(run, project, before))
        gaps = (*attempt.gaps, *broken)
        project = await steps.record_attempt(run, project, attempt, gaps, broken)
        await coder.close()
        if not gaps and (why := steps.unjudged(verdict)):
            # Only the environment lacks something, and no coder could fix that: the feature has not failed.
            return project.with_feature_unjudged(feature, why, steps.command_to_judge_again(run))
        if not gaps:
            approval = await run.people.review(task) if feature.verification_method == "manual" else None
            if not (approval and approval.rejected):
                return project.with_verdict(feature, verdict, attested=run.people.approved_now(approval))
            gaps = (approval.gap,)
        if broken:
            run.branch.reset(before)  # the next attempt does not build on work that breaks a finished feature
        if run.judgement.check_for_stall(verdict.model_copy(update={"remarks": gaps})):
            break
    side_branch = await run.branch.set_aside(project.side_name(feature), back_to=before, work=work)
    return project.with_feature_failed(feature, side_branch)


async def fix_set_up(run: Run, project: HandoffProject, coder: Session[Coded], set_up: SetUp) -> tuple[str, SetUp]:
    """Have `init.sh` fixed before a coder works on a feature. A fix that breaks finished features is undone.

    Returns the head with the fix, and how the set-up ended in the coder's clone. Raises `Stopped` if no fix
    works after as many attempts as the setting `rounds` allows.
    """
    before, work, gaps = run.branch.head, "", steps.set_up_gaps(set_up)
    run.branch.disown(SCRIPT)
    for _ in range(run.settings.rounds):
        await run.record(SetUpFailed(said=set_up.said))
        fixer = run.session("coder", Coded, publishes=False)
        await fixer.ask(steps.FIX_SCRIPT, gaps=gaps)
        await fixer.close()
        await run.branch.squash(f"fix: repair {SCRIPT}", onto=before, author="coder")
        work = run.branch.head
        broken = await steps.broken_features(run, project)
        if broken:
            run.branch.reset(before)
        set_up = await steps.set_up_clone(run, project, coder)
        if set_up.works and not broken:
            run.branch.own(SCRIPT)
            return run.branch.head, set_up
        gaps = (*steps.set_up_gaps(set_up), *broken)
    await run.branch.set_aside(SCRIPT, back_to=before, work=work)
    raise Stopped(f"{SCRIPT} still fails after {run.settings.rounds} attempts to fix it: {steps.last_line(set_up)}")


async def finish(run: Run, plan: Plan, project: HandoffProject) -> tuple[HandoffProject, Outcome]:
    """Prove the last commit, and correct the feature list where the proof shows something else. If the list changed,
    also prove the commit with the new list."""
    await steps.count_what_may_install(run, project)
    outcome = await run.finish(plan)
    corrected = await steps.correct_list(run, project, outcome)
    return (corrected, await run.finish(plan)) if corrected != project else (project, outcome)
