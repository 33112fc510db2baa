"""What people say of a run: their word for a contract or a requirement, and answers to what it asks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trued.engine.impersonation import refuse_if_agent_could_answer
from trued.engine.run_end import End, conclude_run, end_run
from trued.engine.run_store import RunStore, records_approvals
from trued.errors import BadInput, Waiting
from trued.model import Approval, Grade, Judged, Question, RunRecord
from trued.model.events.people import QuestionAnswered, decision_event
from trued.proof.contract import conclude, contract_hash
from trued.run.approvals import WHOLE, asked_of

REGRADED = ("done", "not proven", "waiting", "unjudged")


@dataclass(frozen=True)
class Decision:
    """A person's approval or rejection of a requirement, or approval of the contract."""

    who: str
    why: str
    rejected: bool = False
    instead: bool = False  # replaces an earlier decision on the same work


def is_settled(store: RunStore, record: RunRecord) -> bool:
    """Is nothing left to be done but to write down what people said? Then going on calls no agent."""
    writes = record.state == "waiting" and records_approvals(record)
    news = store.unheard_approvals(record.id) if writes else []
    over = store.final_verdict(record.id) is not None and not store.journal.driver(record.id)
    return bool(news) and over and not any(one.rejected for one in news)


def decide(store: RunStore, run_id: str, requirements: Sequence[str | None], decision: Decision) -> RunRecord:
    """A person's word, on all of these or on none; None is the contract. Grades follow at once; no agent is called,
    but a resumed run works on what was rejected."""
    record = store.journal.run(run_id)
    redact = store.redact(store.inputs(record.id))
    decision = replace(decision, who=decision.who.strip(), why=str(redact(decision.why.strip())))
    for given in [_sayable(store, record, one, decision) for one in dict.fromkeys(requirements)]:
        if not store.journal.approve(record.id, given, instead=decision.instead):
            _refuse_second(store, record, given)
        store.writer(record).emit(decision_event(given))
    return _regraded(store, record)


def _regraded(store: RunStore, record: RunRecord) -> RunRecord:
    """A run that had ended has another end now, if its workflow need not hear of it first."""
    verdict = store.verdict(record.id) if store.final_verdict(record.id) else None
    record = store.journal.run(record.id)
    if verdict is None or record.state not in REGRADED or store.journal.driver(record.id):
        return record
    outcome = conclude(verdict, store.inputs(record.id).settings.accept)
    if outcome.state == "waiting" or not (news := store.unheard_approvals(record.id)):
        return conclude_run(store, record, outcome)
    record = record.model_copy(update={"grade": outcome.grade})
    return end_run(store, record, End("waiting", Waiting.code, _goes_on(record, news)))


def _goes_on(record: RunRecord, news: list[Approval]) -> str:
    rejected = [one for one in news if one.rejected]
    if not rejected:
        return f"all is decided; `trued resume {record.id}` goes on"
    said = "; ".join(one.gap.what for one in rejected)
    return f"{said}; `trued resume {record.id}` works on it"


def _sayable(store: RunStore, record: RunRecord, requirement: str | None, decision: Decision) -> Approval:
    """The word as it will stand in the journal, or why it cannot be said."""
    contract = store.contract(record.id)
    if contract is None:
        raise BadInput(f"run {record.id} has no contract yet", then=f"`trued resume {record.id}` seals one")
    _named(decision)
    refuse_if_agent_could_answer(store, record)
    name = contract_hash(contract)
    if requirement is None:
        return Approval(requirement=WHOLE, who=decision.who, why=decision.why, contract=name)
    asked = {one.id: one for one in contract.requirements}
    if requirement not in asked:
        raise BadInput(f"run {record.id} has no requirement {requirement!r}", then=f"it has {', '.join(asked)}")
    seen = store.latest_verdicts(record.id).get(requirement)
    if seen is None:
        what = f"run {record.id} has not come to {requirement} yet: there is nothing to look at"
        raise BadInput(what, then=f"`trued show {record.id}` tells where it stands")
    given = Approval(
        requirement=requirement,
        who=decision.who,
        why=decision.why,
        contract=name,
        commit=seen.commit,
        asked=asked_of(asked[requirement]),
        rejected=decision.rejected,
    )
    _decidable(store, record, given, instead=decision.instead)
    return given


def _named(decision: Decision) -> None:
    if not decision.who.strip():
        raise BadInput("a word needs a name", then="--as NAME")
    if not decision.why.strip():
        raise BadInput("a word needs a reason", then="--reason TEXT")


def _decidable(store: RunStore, record: RunRecord, given: Approval, *, instead: bool) -> None:
    """Nobody is asked twice, nobody can attest what a check refutes, and what is proven needs no decision."""
    name = given.requirement
    said = [one for one in store.approvals(record.id) if one.requirement == name and not one.stale]
    if said and not instead:
        _refuse_second(store, record, given)
    if given.rejected:
        return
    bare = _bare(store, record.id, name)
    if bare.grade is Grade.REFUTED:
        what = f"{name} is refuted by a check"
        raise BadInput(what, then="mend the work, or start anew with another requirement")
    if bare.grade is Grade.PROVEN and not said:
        raise BadInput(f"{name} is proven already: it needs nobody's word", then=f"`trued why {name} {record.id}`")


def _bare(store: RunStore, run_id: str, name: str) -> Judged:
    """What checks alone say."""
    return next(one for one in store.latest_verdicts(run_id)[name].requirements if one.id == name)


def _refuse_second(store: RunStore, record: RunRecord, given: Approval) -> None:
    said = [one for one in store.journal.approvals(record.id) if one.requirement == given.requirement]
    first = said[-1]
    how = "rejected" if first.rejected else "approved" if first.requirement == WHOLE else "accepted"
    what = "the contract" if first.requirement == WHOLE else given.requirement
    where = f" at {first.commit[:10]}" if first.commit else ""
    raise BadInput(f"{first.who} has {how} {what} already{where}: {first.why}", then="--instead says otherwise")


def answer_question(store: RunStore, run_id: str, answer: str, *, comment: str, who: str) -> Question:
    """Answer the open question of a run; `resume` goes on from there."""
    record = store.journal.run(run_id)
    questions = store.journal.questions(record.id, only_open=True)
    if not questions:
        raise BadInput(f"run {record.id} asks nothing", then=f"`trued show {record.id}` lists what it waits for")
    question = questions[0]
    if question.options and answer not in question.options:
        raise BadInput(f"{answer!r} is no answer here", then=f"say one of {', '.join(question.options)}")
    if not answer.strip():
        raise BadInput("the answer is empty", then="say it in your own words")
    refuse_if_agent_could_answer(store, record)
    redact = store.redact(store.inputs(record.id))
    answer, comment = str(redact(answer)), str(redact(comment))
    if not store.writer(record).answer(question.key, answer, comment, who):
        raise BadInput(f"the question of run {record.id} has just been answered by somebody else")
    store.writer(record).emit(QuestionAnswered(answer=answer, comment=comment, who=who), question.key)
    return question.model_copy(update={"answer": answer, "comment": comment, "who": who})
