"""Records how a run ended, and updates the files that tell people about it."""

from dataclasses import dataclass
from pathlib import Path

from trued.engine.run_store import RunStore
from trued.errors import Waiting
from trued.model import Approval, Grade, Outcome, RunRecord, Verdict
from trued.model.events.run import HandoverWritten, RunEnded
from trued.proof.verdict.conclusion import apply_approvals, conclude, exit_code_of_run
from trued.support import atomic_files

_NO_VERDICT = "the workflow ended without a final verdict: it has to return what `run.finish` gives it"


@dataclass(frozen=True)
class DriveEnd:
    """How a drive (one process's turn at a run) ended: with an outcome, or without one."""

    state: str
    code: int = 0
    why: str = ""
    outcome: Outcome | None = None
    halted: bool = False  # the workflow stopped in the middle; a resumed run continues there


def conclude_run(store: RunStore, record: RunRecord, outcome: Outcome) -> RunRecord:
    """Grade a run whose workflow has finished, with the approvals that apply, and record its end.

    The verdicts in the journal decide, not what the workflow returned: a workflow is a plug-in, and may claim that it
    is done without having proven anything. The workflow is only trusted to say that a person stopped the run, and why.
    """
    if outcome.state != "stopped":
        final = store.final_verdict(record.id)
        if final is None:
            return end_run(store, record, DriveEnd("not proven", 1, _NO_VERDICT))
        verdict = apply_approvals(final, store.approvals(record.id))
        outcome = conclude(verdict, store.sealed_contract(record.id), store.inputs(record.id).settings.accept)
    else:
        so_far = store.verdict(record.id)
        grade = min(outcome.grade, so_far.grade if so_far else Grade.UNPROVEN)
        outcome = outcome.model_copy(update={"grade": grade, "verdict": so_far})
    _tick_plan(store, record, outcome.verdict)
    record = record.model_copy(update={"head": outcome.head, "grade": outcome.grade})
    return end_run(store, record, DriveEnd(outcome.state, exit_code_of_run(outcome), "; ".join(outcome.why)))


def conclude_after_decision(store: RunStore, record: RunRecord, outcome: Outcome) -> RunRecord:
    """Conclude a run that nobody drives, after a person's decision or amendment. Three kinds of runs are not concluded:

    - A run that continued to work after its final verdict, and halted, is left as it is. Its newer work, and objections
      to that work, are judged only when the run is resumed.
    - A run whose workflow still has to process a decision is left waiting until it is resumed.
    - A run that would become done, but has not read a person's edit of its file, is left waiting, too: a run that is
      done reads no edits.
    """
    from trued.engine.continuations import has_unread_edit  # imported here, because only decisions need it

    if store.is_halted_at_work(record.id):
        return record
    if outcome.state != "waiting" and (news := store.unprocessed_approvals(record.id)):
        why = _next_step(record, news)
    elif outcome.state == "done" != record.state and has_unread_edit(store, record):
        why = f"an edit of the run's file has not been read; continue with: trued resume {record.id}"
    else:
        return conclude_run(store, record, outcome)
    return end_run(store, record.model_copy(update={"grade": outcome.grade}), DriveEnd("waiting", Waiting.code, why))


def _next_step(record: RunRecord, news: list[Approval]) -> str:
    rejected = [approval for approval in news if approval.rejected]
    if not rejected:
        return f"everything is decided; continue with: trued resume {record.id}"
    said = "; ".join(approval.gap.what for approval in rejected)
    return f"{said}; `trued resume {record.id}` passes it to the agents"


def end_run(store: RunStore, record: RunRecord, end: DriveEnd) -> RunRecord:
    """Record the state in which the run ended, and write HANDOVER.md and ROUNDS.md if they are due."""
    from trued.engine.handover_file import write_handover  # imported here, because it is needed only when a run ends
    from trued.engine.pull_request import write_rounds

    ended = record.model_copy(update={"state": end.state, "code": end.code, "why": end.why})
    writer = store.writer(record)
    if file := write_handover(store, ended):
        writer.emit(HandoverWritten(file=file))
    write_rounds(store, ended)
    writer.emit(RunEnded(state=end.state, code=end.code, why=end.why, grade=record.grade, halted=end.halted))
    store.journal.update(ended)
    return ended


def _tick_plan(store: RunStore, record: RunRecord, verdict: Verdict | None) -> None:
    """Write the run's copy of the plan again, with ticks that follow the newest verdict and approvals."""
    goal, contract = store.inputs(record.id).goal, store.contract(record.id)
    if contract is None or verdict is None:
        return
    from trued.workflows.descriptor import Input  # imported here, because only a plan needs it
    from trued.workflows.registry import find_descriptor

    workflow = find_descriptor(record.workflow)
    if workflow is None or workflow.takes is not Input.PLAN:
        return
    from trued.inputs.plans.ticks import ticked_plan
    from trued.inputs.recognition import plan_of

    plan = plan_of(goal)
    if plan is None:
        return
    folder = store.folder(record.id) / "files"
    folder.mkdir(exist_ok=True)
    text = ticked_plan(plan, contract.requirements, verdict)
    atomic_files.write(folder / Path(goal.source.file).name, text, sync=False)
