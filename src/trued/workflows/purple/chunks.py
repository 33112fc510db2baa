"""Chunks of a plan: which are chosen, which are already met, and whether each has a change of its own."""

from trued.inputs.plans.plan_to_seal import plan_to_seal
from trued.inputs.recognition import plan_of
from trued.model import Finding, Goal, Grade, Plan, Task, Verdict
from trued.model.events.proof import ClaimRefuted
from trued.model.events.run import TaskSkipped
from trued.run.claims import unchanged_files
from trued.run.run import Run
from trued.workflows.purple.memory import MemoryLog
from trued.workflows.purple.replies import Built


def as_chosen(run: Run, goal: Goal, plan: Plan) -> Plan:
    """The plan to seal: only the chunks and phases that the user chose. A goal in plain words has no chunks to choose
    from: its plan is returned as it is."""
    if plan_of(goal) is None:
        return plan
    return plan_to_seal(plan, run.settings, run.context.requirements)


async def is_met_without_work(run: Run, memory: MemoryLog, chunk: Task, plan: Plan) -> bool:
    """Whether the chunk needs no work: the user's own cases pass on the base and on the newest commit, or the plan
    marks the chunk as done and no check contradicts that. An event and the log report a chunk that needs no work."""
    marked = chunk.id in plan.done
    if not (marked or run.judgement.was_met_on_base(chunk)):
        return False
    verdict = await run.prove(chunk)
    if not (_is_uncontradicted(verdict) if marked else verdict.holds):
        return False
    section = memory.section(run, chunk).without_work(verdict)
    tried = any(judgement.evidence for judgement in verdict.requirements)
    how = "its cases passed before this run" if tried else "no check covers it"
    why = f"{chunk.source} marks it as done, and {how}" if marked else how
    await run.record(TaskSkipped(task=chunk.id, why=why))
    await memory.add(run, section)
    return True


def _is_uncontradicted(verdict: Verdict) -> bool:
    judged = (*verdict.requirements, *verdict.suites)
    return (
        all(judgement.grade not in (Grade.REFUTED, Grade.UNJUDGED) for judgement in judged) and not verdict.objections
    )


async def require_change(run: Run, chunk: Task, verdict: Verdict, start: str) -> Verdict:
    """Return the verdict on a chunk. If nothing was changed since the commit `start`, the verdict gets a gap and does
    not hold, because earlier work belongs to other chunks. Only a change, or a person who accepts the chunk, closes
    this gap."""
    by, changed = f"the engine ({chunk.id})", await run.branch.changes(start)
    if changed:
        run.judgement.object(by, ())
        return verdict
    what = f"nothing was changed for chunk {chunk.id}: earlier work belongs to other chunks"
    run.judgement.object(by, [Finding(what=what, requirement=judgement.id) for judgement in verdict.requirements])
    return verdict.model_copy(update={"remarks": (*verdict.remarks, Finding(what=what))})


async def refuted_claims(run: Run, built: Built, start: str) -> tuple[str, ...]:
    """Files that Team A says it changed, although git shows no change since the chunk began; each is reported as an
    event."""
    changed = await run.branch.changes(start)
    refuted = unchanged_files((file.path for file in built.files), changed)
    for path in refuted:
        what = f"purple-team-a says that it changed {path}, and git has no change of it"
        await run.record(ClaimRefuted(what=what))
    return refuted


def still_open(run: Run, plan: Plan, last: Verdict | None) -> tuple[tuple[Task, ...], tuple[Finding, ...]]:
    """What further rounds begin with: the chunks that do not hold according to the run's last verdict, and the gaps of
    that verdict. If only requirements of the whole plan fail, the last chunk has to meet them."""
    verdict = last or Verdict.open("plan")
    failing = {judgement.id for judgement in verdict.requirements if not judgement.holds}
    contract = run.judgement.contract()
    chunks = tuple(
        task for task in plan.tasks if failing & {requirement.id for requirement in contract.serving(task.id)}
    )
    return chunks or plan.tasks[-1:], verdict.gaps
