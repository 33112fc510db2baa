"""Records what people decide about a run: approvals, rejections, and answers to its questions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NoReturn

from trued.engine.run_store import REGRADED, RunStore, records_approvals
from trued.errors import BadInput
from trued.model import Approval, Grade, Question, RunRecord, Way
from trued.model.records import WHOLE_CONTRACT
from trued.run.approvals import asked_of

if TYPE_CHECKING:  # heavy modules are imported only where needed, so that a person's answer takes effect at once
    from trued.model import Judged

SHOWN = 80  # maximum length of a question in a list of several, in characters


@dataclass(frozen=True)
class Decision:
    """A person's approval or rejection of a requirement, or approval of the contract."""

    who: str
    why: str
    rejected: bool = False
    instead: bool = False  # replaces an earlier decision on the same work
    way: Way = "command"
    # What the person was shown: the contract's hash, and requirement → commit. If either has changed since, the
    # decision is refused; an empty value is not compared.
    contract: str = ""
    commits: Mapping[str, str] = field(default_factory=dict)


def is_settled(store: RunStore, record: RunRecord) -> bool:
    """Whether resuming the run only writes people's approvals to its branch, and calls no agent."""
    writes = record.state == "waiting" and records_approvals(record)
    news = store.unprocessed_approvals(record.id) if writes else []
    over = store.final_verdict(record.id) is not None and not store.journal.driver(record.id)
    return bool(news) and over and not any(approval.rejected for approval in news)


def decide(store: RunStore, run_id: str, requirements: Sequence[str | None], decision: Decision) -> RunRecord:
    """Record a decision on all of these requirements (`None` stands for the contract), or on none of them. Raises
    BadInput for a decision that cannot be made.

    Grades change at once, and no agent is called. A resumed run works on what was rejected.
    """
    from trued.model.events.people import decision_event

    record = store.journal.run(run_id)
    redact = store.redact(store.inputs(record.id))
    decision = replace(decision, who=decision.who.strip(), why=str(redact(decision.why.strip())))
    given = [_checked_decision(store, record, requirement, decision) for requirement in dict.fromkeys(requirements)]
    decisions = [(approval, decision_event(approval)) for approval in given]
    if (refused := store.journal.decide(record.id, decisions, instead=decision.instead)) is not None:
        _refuse_second(store, record, refused)
    return _regrade(store, record)


def _regrade(store: RunStore, record: RunRecord) -> RunRecord:
    """Grade the run again if it has a final verdict and no process drives it. Return its record. If the workflow has to
    process the decision first, the run waits until it is resumed."""
    verdict = store.verdict(record.id) if store.final_verdict(record.id) else None
    record = store.journal.run(record.id)
    if verdict is None or record.state not in REGRADED or store.journal.driver(record.id):
        return record
    from trued.engine.run_end import conclude_after_decision
    from trued.proof.verdict.conclusion import conclude

    return conclude_after_decision(
        store, record, conclude(verdict, store.sealed_contract(record.id), store.accepted(record.id))
    )


def _checked_decision(store: RunStore, record: RunRecord, requirement: str | None, decision: Decision) -> Approval:
    """The decision as the journal will store it. Raises BadInput for a decision that cannot be made."""
    from trued.engine.impersonation import refuse_if_agent_could_answer
    from trued.proof.hashes import contract_hash

    contract = store.sealed_contract(record.id)
    if requirement is None and decision.rejected:
        raise BadInput("a contract cannot be rejected as a whole", then="name the requirements that are not met")
    _check_name_and_reason(decision)
    refuse_if_agent_could_answer(store, record)
    name = contract_hash(contract)
    if decision.contract not in ("", name):
        _refuse_unseen(record, "its contract has changed")
    if requirement is None:
        return Approval(requirement=WHOLE_CONTRACT, who=decision.who, why=decision.why, contract=name, way=decision.way)
    asked = {known.id: known for known in contract.requirements}
    if requirement not in asked:
        raise BadInput(f"run {record.id} has no requirement {requirement!r}", then=f"it has {', '.join(asked)}")
    seen = store.latest_verdicts(record.id).get(requirement)
    if seen is None:
        what = f"run {record.id} has not judged {requirement} yet: there is nothing to decide on"
        raise BadInput(what, then=f"`trued show {record.id}` shows its state")
    if decision.commits.get(requirement, seen.commit) != seen.commit:
        _refuse_unseen(record, f"{requirement} was judged at another commit, {seen.commit[:10]}")
    given = Approval(
        requirement=requirement,
        who=decision.who,
        why=decision.why,
        contract=name,
        commit=seen.commit,
        asked=asked_of(asked[requirement]),
        rejected=decision.rejected,
        way=decision.way,
    )
    _check_decidable(store, record, given, instead=decision.instead)
    return given


def _refuse_unseen(record: RunRecord, what: str) -> NoReturn:
    raise BadInput(f"run {record.id} has moved on since you looked: {what}", then="nothing was recorded; look again")


def _check_name_and_reason(decision: Decision) -> None:
    if not decision.who.strip():
        raise BadInput("a decision needs a name", then="--as NAME")
    if not decision.why.strip():
        raise BadInput("a decision needs a reason", then="--reason TEXT")


def _check_decidable(store: RunStore, record: RunRecord, given: Approval, *, instead: bool) -> None:
    """Raise BadInput if the decision cannot be recorded. A requirement that is refuted or already proven cannot be
    approved. A second decision on the same requirement needs `instead`."""
    name = given.requirement
    said = [approval for approval in store.approvals(record.id) if approval.requirement == name and not approval.stale]
    if said and not instead:
        _refuse_second(store, record, given)
    if given.rejected:
        return
    bare = _judged_without_approvals(store, record.id, name)
    if bare.grade is Grade.REFUTED:
        what = f"{name} is refuted by a check"
        raise BadInput(what, then="fix the work, or start a new run with another requirement")
    if bare.grade is Grade.PROVEN and not said:
        raise BadInput(f"{name} is proven already and needs no approval", then=f"`trued why {name} {record.id}`")


def _judged_without_approvals(store: RunStore, run_id: str, name: str) -> "Judged":
    """The requirement's judgement without approvals."""
    return next(
        requirement for requirement in store.latest_verdicts(run_id)[name].requirements if requirement.id == name
    )


def _refuse_second(store: RunStore, record: RunRecord, given: Approval) -> None:
    said = [approval for approval in store.journal.approvals(record.id) if approval.requirement == given.requirement]
    first = said[-1]
    how = "rejected" if first.rejected else "approved" if first.is_of_contract else "accepted"
    what = "the contract" if first.is_of_contract else given.requirement
    where = f" at {first.commit[:10]}" if first.commit else ""
    raise BadInput(f"{first.who} has {how} {what} already{where}: {first.why}", then="--instead replaces that decision")


def answer_question(store: RunStore, run_id: str, answer: str, *, comment: str, who: str, key: str = "") -> Question:
    """Answer a question of the run; `resume` continues from there. `key`: which question, if several are open.

    The first answer counts. Raises BadInput for a second answer, and names the person who answered first. Also raises
    BadInput for an empty answer, for an answer that is no option of the question, and if it is unclear which question
    is meant.
    """
    record = store.journal.run(run_id)
    question = _question_to_answer(store, record, key)
    if question.options and answer not in question.options:
        raise BadInput(f"{answer!r} is not a valid answer", then=f"use one of {', '.join(question.options)}")
    if not answer.strip():
        raise BadInput("the answer is empty", then="say it in your own words")
    from trued.engine.impersonation import refuse_if_agent_could_answer
    from trued.model.events.people import QuestionAnswered

    refuse_if_agent_could_answer(store, record)
    redact = store.redact(store.inputs(record.id))
    answer, comment = str(redact(answer)), str(redact(comment))
    if not store.writer(record).answer(question.key, answer, comment, who):
        _refuse_second_answer(store, record, question.key)
    store.writer(record).emit(QuestionAnswered(answer=answer, comment=comment, who=who), question.key)
    return question.model_copy(update={"answer": answer, "comment": comment, "who": who})


def _question_to_answer(store: RunStore, record: RunRecord, key: str) -> Question:
    """The open question that `key` means. `key` is the question's key, or a part of it; "" means the only open
    question. Raises BadInput unless exactly one open question fits."""
    questions = store.journal.questions(record.id)
    still_open = [question for question in questions if not question.answer]
    fitting = [question for question in still_open if question.key == key] or [
        question for question in still_open if key in question.key
    ]
    if len(fitting) == 1:
        return fitting[0]
    if key and any(question.key == key for question in questions):
        _refuse_second_answer(store, record, key)
    if not still_open:
        raise BadInput(
            f"run {record.id} has no open question", then=f"`trued show {record.id}` lists what it waits for"
        )
    named = "; ".join(
        f"{question.key} ({question.text.strip().partition(chr(10))[0][:SHOWN]})" for question in still_open
    )
    unknown = f"run {record.id} has no open question {key!r}; open: {named}"
    what = unknown if key and not fitting else f"which question is meant? Open: {named}"
    raise BadInput(what, "--question", f"trued answer {record.id} --question KEY ANSWER")


def _refuse_second_answer(store: RunStore, record: RunRecord, key: str) -> NoReturn:
    first = next(question for question in store.journal.questions(record.id) if question.key == key)
    said = f"{first.answer} ({first.comment})" if first.comment else first.answer
    then = f"that answer counts; `trued resume {record.id}` continues with it"
    raise BadInput(f"{first.who or 'somebody else'} has answered {key} already: {said}", then=then)
