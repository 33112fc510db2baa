"""Pipeline: research, spec, design, critique, plan, waves, verification, review. Each cluster has a decision table.

`run/clusters.py` explains the patterns A (all agents at once), B (one agent goes first) and C (repeated checks).
"""

from trued.model import Goal, Outcome, Plan, Severity, Status
from trued.model.events.run import StepRepeated
from trued.run.clusters import Returned
from trued.run.run import Run
from trued.workflows.pipeline import verification
from trued.workflows.pipeline.decision_tables import (
    CHECKERS,
    CRITICS,
    CRITIQUE_TABLE,
    GATE,
    RESEARCH,
    RESEARCH_TABLE,
    REVIEWERS,
    VERIFIERS,
)
from trued.workflows.pipeline.feature_folder import DESIGN, FEATURE, PLAN, REQUEST, with_distinct_ids
from trued.workflows.pipeline.orchestrator import CRITIQUES, RESEARCH_FILES, VERIFICATION, Orchestrator
from trued.workflows.pipeline.replies import (
    BuildChecked,
    Critique,
    Designed,
    Researched,
    Reviewed,
    Specified,
    TasksPlanned,
    Verified,
)
from trued.workflows.pipeline.verification import NO_OBJECTION, AgentAnswers, CheckEnd, CheckResult
from trued.workflows.pipeline.waves import Gaps, implement


async def pipeline(run: Run, goal: Goal) -> Outcome:
    lead = await Orchestrator.start(run, goal)
    await research(lead)
    spec = await lead.send_one("spec", lead.errand("spec", Specified, (REQUEST, *RESEARCH_FILES)))
    lead.criteria = with_distinct_ids(spec.criteria)
    await design(lead)
    await lead.make_plan(
        lead.errand("planner", TasksPlanned, (*RESEARCH_FILES, FEATURE, DESIGN), **lead.critique_context)
    )
    plan = await run.seal(lead.plan)
    await implement(lead, lead.tasks)
    outcome, end = await check(lead, plan)
    while True:
        rejected = await run.people.rejected_tasks(plan)
        if rejected is not None:  # people's reasons for the rejection are gaps to fix
            await fix(lead, {task.id: run.take_feedback(task).gaps for task in rejected})
            outcome, end = await check(lead, plan)
        elif end.was_resumed and not end.is_good:
            outcome, end = await check_again(lead, plan, end)
        else:
            return outcome


async def research(lead: Orchestrator) -> None:
    """Pattern A: four researchers at once. If fewer than two answer, the run ends. If an answer is missing, later
    briefs say so."""
    errands = [lead.errand(name, Researched, (REQUEST,), focus=name.partition("-")[2]) for name in RESEARCH]
    await lead.send_cluster("research", errands, RESEARCH_TABLE)


async def design(lead: Orchestrator) -> None:
    """Have a design made and criticized. A critique of High or worse leads to one revision. Critiques that are still
    High or worse after the revision are listed in later briefs."""
    reads = (*RESEARCH_FILES, FEATURE)
    await lead.send_one("design", lead.errand("designer", Designed, reads))
    decision, before = await criticize(lead)
    if decision is Status.NEEDS_REVISION:
        await lead.send_one("design", lead.errand("designer", Designed, (*reads, DESIGN, *CRITIQUES)))
        _, returned = await criticize(lead)
        lead.critiques = verification.grave_critiques(returned, before)


async def criticize(lead: Orchestrator) -> tuple[Status, dict[str, Returned[Critique]]]:
    """Pattern A: four critics review the current design."""
    errands = [lead.errand(name, Critique, (FEATURE, DESIGN)) for name in CRITICS]
    decision, returned = await lead.send_cluster("critique", errands, CRITIQUE_TABLE)
    return decision.status, returned


async def check(lead: Orchestrator, plan: Plan) -> tuple[Outcome, CheckEnd]:
    """Verify in rounds, review, and prove the last commit. If the review asks for a revision, its findings are fixed
    once, and everything is checked again."""
    verified = await lead.run.clusters.repeat(lambda _: verify(lead, plan), lambda result: replan(lead, result))
    return await prove_last_commit(lead, plan, verified, await review(lead, plan))


async def check_again(lead: Orchestrator, plan: Plan, end: CheckEnd) -> tuple[Outcome, CheckEnd]:
    """Check again after a person resumed a run whose checks had ended badly.

    If verifiers gave no answer, only these are asked. If verification passes then, or had passed, the same is done for
    the reviewers. If verification fails, its failures are fixed. If all agents had answered, the review's findings and
    the critiques that are still open are fixed. After such fixes everything is checked again.
    """
    await lead.run.record(StepRepeated(why=end.why_again))
    if end.verified.silent:
        verified = await verify(lead, plan, end.verified.good)
        if verified.settled:
            return await prove_last_commit(lead, plan, verified, await review(lead, plan, end.reviewed.good))
        await replan(lead, verified)
        return await check(lead, plan)
    if not end.verified.settled:
        await replan(lead, end.verified)
        return await check(lead, plan)
    if end.reviewed.silent:
        return await prove_last_commit(lead, plan, end.verified, await review(lead, plan, end.reviewed.good))
    await fix(lead, verification.gaps_by_task(lead, (*end.reviewed.findings, *end.critiques)))
    return await check(lead, plan)


async def prove_last_commit(
    lead: Orchestrator, plan: Plan, verified: CheckResult, reviewed: CheckResult
) -> tuple[Outcome, CheckEnd]:
    """If the review asks for a revision, have its findings fixed once, and verify and review again. Then record what is
    still open, and prove the last commit."""
    if reviewed.needs_revision:
        await fix(lead, verification.gaps_by_task(lead, reviewed.findings))
        verified = await verify(lead, plan)
        reviewed = await review(lead, plan)
    await ask_critics_again(lead)
    verification.note_unchecked_criteria(lead)
    await verification.record_open_objections(lead, verified, reviewed)
    critiques = tuple(critique for critique in lead.critiques.values() if critique.severity >= Severity.CRITICAL)
    end = CheckEnd(verified, reviewed, critiques, was_resumed=not lead.run.is_live)
    return await lead.run.finish(plan), end


async def ask_critics_again(lead: Orchestrator) -> None:
    """Ask critics about the finished work if their critique was still Critical after the design was revised. A critique
    stays open until its critic withdraws it."""
    names = {critique.by for critique in lead.critiques.values() if critique.severity >= Severity.CRITICAL}
    if not names:
        return
    more = {**await lead.changes_context(), **lead.critique_context}
    reads = (FEATURE, DESIGN, *lead.task_files)
    await lead.begin_step("critique", sorted(names))
    returned = await lead.run.clusters.send_all([lead.errand(name, Critique, reads, **more) for name in sorted(names)])
    decision = CRITIQUE_TABLE.decide(
        {**dict.fromkeys(CRITICS, NO_OBJECTION), **await lead.write_files("critique", returned)}
    )
    await lead.end_step("critique", decision, sorted(names))
    settled = verification.withdrawn_by(returned)
    lead.critiques = {name: critique for name, critique in lead.critiques.items() if critique.by not in settled}


async def verify(lead: Orchestrator, plan: Plan, answered: AgentAnswers | None = None) -> CheckResult:
    """Pattern B: if the work does not build, no other verifier is asked. The engine also builds and proves the work,
    and the worse result counts. `answered`: answers that agents gave on the same work before, and need not give
    again."""
    known = dict(answered or {})
    reads, build = (FEATURE, PLAN, *lead.task_files), await verification.build_project(lead)
    gate = lead.errand("v-build", BuildChecked, reads, evidence=verification.build_in_words(build))
    more = {**await lead.changes_context(), **lead.critique_context}
    others = [lead.errand(name, Verified, reads, **more) for name in CHECKERS if name not in known]
    await lead.begin_step("verification", VERIFIERS)
    builds = build is None or build.ok
    if GATE in known and builds:
        answers = {**known, **await lead.run.clusters.send_all(others)}
    else:
        answers = await lead.run.clusters.send_behind_gate(gate, others, opens=lambda first: first.good and builds)
        answers = {**known, **answers} if len(answers) > 1 else answers
    returned = {name: answers[name] for name in VERIFIERS if name in answers}
    gaps = await verification.proof_gaps(lead, plan, returned) if len(returned) > 1 else ()
    return await verification.decide_verification(lead, returned, build, gaps)


async def replan(lead: Orchestrator, result: CheckResult) -> bool:
    """Have the planner read the verification files and assign every failure to a task, and have those tasks fixed.
    Returns whether to verify again: something was fixed, or an agent that gave no answer is to be asked again."""
    reads = (FEATURE, DESIGN, PLAN, *lead.task_files, *VERIFICATION)
    before = lead.tasks
    reply = await lead.make_plan(lead.errand("planner", TasksPlanned, reads, gaps=result.gaps), again=True)
    assigned = [(failure.task, failure.what) for failure in reply.failures] if reply else []
    return await fix(lead, verification.gaps_by_task(lead, result.findings, assigned, before)) or bool(result.silent)


async def fix(lead: Orchestrator, gaps: Gaps) -> bool:
    """Implement again the tasks that have gaps. Returns whether any task has gaps."""
    await implement(lead, [work for work in lead.tasks if work.id in gaps], gaps)
    return bool(gaps)


async def review(lead: Orchestrator, plan: Plan, answered: AgentAnswers | None = None) -> CheckResult:
    """Pattern A: four reviewers; the security review is mandatory. The engine runs the cases that reviewers give.
    `answered`: answers that agents gave on the same work before, and need not give again."""
    known = dict(answered or {})
    await lead.begin_step("review", REVIEWERS)
    reads = (FEATURE, PLAN, *lead.task_files, *VERIFICATION)
    more = {**await lead.changes_context(), **lead.critique_context}
    errands = [lead.errand(name, Reviewed, reads, **more) for name in REVIEWERS if name not in known]
    answers = {**known, **await lead.run.clusters.send_all(errands)}
    returned = {name: answers[name] for name in REVIEWERS}
    gaps = await verification.proof_gaps(lead, plan, returned) if verification.runnable_objections(returned) else ()
    return await verification.decide_review(lead, returned, gaps)
