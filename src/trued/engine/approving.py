"""What people say of a run: their word for a contract or a requirement, and answers to what it asks."""

from typing import TYPE_CHECKING

from .. import proof
from ..errors import BadInput
from ..spool.folder import held
from ..types import Approval, Contract, Grade, Question, RunRecord

if TYPE_CHECKING:
    from . import Engine

REGRADED = ("done", "not proven", "waiting", "unjudged")


def approvals(engine: "Engine", run_id: str) -> list[Approval]:
    """What people said. Who approved a contract has not approved another one."""
    contract = engine.contract(run_id)
    name = proof.contract_hash(contract) if contract else ""
    return [one for one in engine.journal.approvals(run_id) if one.requirement != "*" or one.contract in ("", name)]


def approve(engine: "Engine", run_id: str, requirement: str | None, *, who: str, why: str) -> RunRecord:
    """A person's word: for one requirement, or for the contract. Grades follow at once; no agent is called."""
    record = engine.journal.run(run_id)
    contract = _approvable(engine, record, requirement)
    given = Approval(requirement=requirement or "*", who=who, why=why, contract=proof.contract_hash(contract))
    engine.journal.approve(record.id, given)
    engine._of(record).tell("approved", requirement=given.requirement, who=who, why=why)
    verdict = engine.verdict(record.id) if engine.journal.step(record.id, "finish#1") else None
    if verdict is None or record.state not in REGRADED:
        return record
    return engine._concluded(record, proof.concluded(verdict, engine.inputs(record.id).settings.accept))


def _approvable(engine: "Engine", record: RunRecord, requirement: str | None) -> Contract:
    contract, verdict = engine.contract(record.id), engine.verdict(record.id)
    if contract is None:
        raise BadInput(f"run {record.id} has no contract yet", then=f"`trued resume {record.id}` seals one")
    known = [one.id for one in contract.requirements]
    if requirement and requirement not in known:
        raise BadInput(f"run {record.id} has no requirement {requirement!r}", then=f"it has {', '.join(known)}")
    spoken_by_a_person(engine, record)
    if verdict and any(one.id == requirement and one.grade is Grade.REFUTED for one in verdict.requirements):
        what = f"{requirement} is refuted by a check"
        raise BadInput(what, then="mend the work, or start anew with another requirement")
    return contract


def spoken_by_a_person(engine: "Engine", record: RunRecord) -> None:
    """No word is taken while an agent could give it: one that nothing confines, and that is at work."""
    at_work = any(held(folder) for folder in (engine.folder(record.id) / "spool").glob("*"))
    if engine.inputs(record.id).level == "none" and at_work:
        what = f"run {record.id} is at work without a sandbox: its agents could speak for you"
        raise BadInput(what, then="wait until they have ended, or cancel the run")


def answered(engine: "Engine", run_id: str, answer: str, *, comment: str, who: str) -> Question:
    """Answer the open question of a run; `resume` goes on from there."""
    record = engine.journal.run(run_id)
    questions = engine.journal.questions(record.id, only_open=True)
    if not questions:
        raise BadInput(f"run {record.id} asks nothing", then=f"`trued show {record.id}` tells where it stands")
    question = questions[0]
    if question.options and answer not in question.options:
        raise BadInput(f"{answer!r} is no answer here", then=f"say one of {', '.join(question.options)}")
    if not answer.strip():
        raise BadInput("the answer is empty", then="say it in your own words")
    spoken_by_a_person(engine, record)
    if not engine._of(record).answer(question.key, answer, comment, who):
        raise BadInput(f"the question of run {record.id} has just been answered by somebody else")
    engine._of(record).tell("said", question.key, answer=answer, comment=comment, who=who)
    return question.model_copy(update={"answer": answer, "comment": comment, "who": who})
