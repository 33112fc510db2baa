"""Pipeline: research, spec, design, critique, plan, waves, verification, review; decided by table, from memories."""

from trued import Goal, Outcome, Plan, Returned, Run, Status
from trued.workflows.pipeline import decision_tables as decide
from trued.workflows.pipeline import verification
from trued.workflows.pipeline.feature_folder import DESIGN, FEATURE, PLAN, REQUEST, distinct
from trued.workflows.pipeline.orchestrator import CRITIQUES, RESEARCH, VERIFICATION, Desk, set_up
from trued.workflows.pipeline.replies import (
    BuildChecked,
    Critique,
    Designed,
    Implemented,
    Planned,
    Researched,
    Reviewed,
    Specified,
    Verified,
)
from trued.workflows.pipeline.verification import Checked
from trued.workflows.pipeline.waves import Gaps, implemented


async def pipeline(run: Run, goal: Goal) -> Outcome:
    desk = await set_up(run, goal)
    await researched(desk)
    spec = await desk.one("spec", desk.errand("spec", Specified, (REQUEST, *RESEARCH)))
    desk.criteria = distinct(spec.criteria)
    await designed(desk)
    await desk.planned(desk.errand("planner", Planned, (*RESEARCH, FEATURE, DESIGN), **desk.about_design))
    plan = await run.seal(desk.plan)
    await implemented(desk, desk.works, Implemented)
    outcome = await checked(desk, plan)
    while (refused := await run.people.rejected_tasks(plan)) is not None:  # by people who looked: their words are gaps
        gaps = {task.id: run.open(task).gaps for task in refused}
        await mended(desk, gaps)
        outcome = await checked(desk, plan)
    return outcome


async def researched(desk: Desk) -> None:
    """Pattern A. A focus that nobody answered for is a gap; fewer than two answers are too few to go on with."""
    errands = [desk.errand(name, Researched, (REQUEST,), focus=name.partition("-")[2]) for name in decide.RESEARCH]
    await desk.needed("research", errands, decide.research)


async def designed(desk: Desk) -> None:
    """A design and its critics; what they call High is revised once, and what stays High is told to all who follow."""
    reads = (*RESEARCH, FEATURE)
    await desk.one("design", desk.errand("designer", Designed, reads))
    decision, before = await criticized(desk)
    if decision is Status.NEEDS_REVISION:
        await desk.one("design", desk.errand("designer", Designed, (*reads, DESIGN, *CRITIQUES)))
        _, returned = await criticized(desk)
        desk.critiques = verification.critiques(returned, before)


async def criticized(desk: Desk) -> tuple[Status, dict[str, Returned[Critique]]]:
    """Pattern A, on the design as it is now."""
    errands = [desk.errand(name, Critique, (FEATURE, DESIGN)) for name in decide.CRITICS]
    decision, returned = await desk.needed("critique", errands, decide.critique)
    return decision.status, returned


async def checked(desk: Desk, plan: Plan) -> Outcome:
    """Verification in rounds, then review; what a reviewer calls Major is mended once, and all is looked at again."""

    async def verify(_: int) -> Checked:
        return await verified(desk, plan)

    checks = await desk.run.clusters.repeat(verify, lambda found: replanned(desk, found))
    review = await reviewed(desk, plan)
    if review.revises:
        await mended(desk, verification.to_mend(desk, review.findings))
        checks = await verified(desk, plan)
        review = await reviewed(desk, plan)
    await verification.on_record(desk, checks, review)
    return await desk.run.finish(plan)


async def verified(desk: Desk, plan: Plan) -> Checked:
    """Pattern B: nothing else is looked at where it does not build. The engine looks, too, and the worse counts."""
    reads, build = (FEATURE, PLAN, *desk.tasks), await verification.built(desk)
    gate = desk.errand("v-build", BuildChecked, reads, evidence=verification.shown(build))
    more = {**await desk.diff(), **desk.about_design}
    others = [desk.errand(name, Verified, reads, **more) for name in decide.CHECKERS]
    await desk.begins("verification", decide.VERIFIERS)
    sound = build is None or build.ok
    returned = await desk.run.clusters.send_behind_gate(gate, others, opens=lambda first: first.good and sound)
    gaps = await verification.proven(desk, plan, returned) if len(returned) > 1 else ()
    return await verification.verified(desk, returned, build, gaps)


async def replanned(desk: Desk, found: Checked) -> bool:
    """The planner reads the verification files itself, and lays every failure at the door of a task."""
    reads = (FEATURE, DESIGN, PLAN, *desk.tasks, *VERIFICATION)
    before = desk.works
    reply = await desk.planned(desk.errand("planner", Planned, reads, gaps=found.gaps), again=True)
    mapped = [(one.task, one.what) for one in reply.failures] if reply else []
    return await mended(desk, verification.to_mend(desk, found.findings, mapped, before))


async def mended(desk: Desk, gaps: Gaps) -> bool:
    await implemented(desk, [one for one in desk.works if one.id in gaps], Implemented, gaps)
    return bool(gaps)


async def reviewed(desk: Desk, plan: Plan) -> Checked:
    """Pattern A. Without a security review there is none; what a reviewer gives a case for, the engine runs."""
    await desk.begins("review", decide.REVIEWERS)
    reads = (FEATURE, PLAN, *desk.tasks, *VERIFICATION)
    more = {**await desk.diff(), **desk.about_design}
    errands = [desk.errand(name, Reviewed, reads, **more) for name in decide.REVIEWERS]
    returned = await desk.run.clusters.send_all(errands)
    gaps = await verification.proven(desk, plan, returned) if verification.objections(returned) else ()
    return await verification.reviewed(desk, returned, gaps)
