"""What people say of a run: their word for a contract or a requirement, and answers to what it asks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from trued.engine.records import End
from trued.errors import BadInput, Waiting
from trued.model import Approval, Grade, Heard, Judged, Question, RunRecord, Verdict
from trued.proof.contract import conclude, contract_hash
from trued.run import approvals as people
from trued.run.approvals import WHOLE, Since, asked_of
from trued.support.path_sets import without
from trued.support.redaction import Redactor

if TYPE_CHECKING:
    from trued.engine.engine import Engine
    from trued.wire import Confinement

REGRADED = ("done", "not proven", "waiting", "unjudged")
HEARD = ("by hand ", "decided#")  # steps in which a workflow heard of people


@dataclass(frozen=True)
class Word:
    """What a person says of one requirement, or of the contract."""

    who: str
    why: str
    rejected: bool = False
    instead: bool = False  # of what was said before about the same work


# -- what stands -------------------------------------------------------------------------------------------------------


def approvals(engine: "Engine", run_id: str) -> list[Approval]:
    """What people said, as it stands for the work that was judged last: what does not says why. Who approved a
    contract has not approved another one."""
    words = engine.journal.approvals(run_id)
    contract = engine.contract(run_id) if words else None
    if contract is None:
        return words
    name = contract_hash(contract)
    words = [one for one in words if one.requirement != WHOLE or one.contract in ("", name)]
    seen = judged_at(engine, run_id)
    at = {name: verdict.commit for name, verdict in seen.items()}
    owned = {path for verdict in seen.values() for path in verdict.owned}
    record = engine.journal.run(run_id)

    def compare(before: str, after: str) -> Since:
        from trued.workspace.git.changes_since import changes_since

        found = changes_since(Path(record.repository), engine.home, run_id, before, after)
        return Since(without(found[1], owned), found[0]) if found else Since(known=False)

    asked = {one.id: asked_of(one) for one in contract.requirements}
    return people.standing(words, at, people.taken(heard(engine, run_id)), compare, asked)


def judged_at(engine: "Engine", run_id: str) -> dict[str, Verdict]:
    """The verdict that was the last one on each requirement: on the finished work, else on the newest task."""
    if final := engine.final(run_id):
        return {one.id: final for one in final.requirements}
    return {one.id: verdict for verdict in engine.verdicts(run_id) for one in verdict.requirements}


def heard(engine: "Engine", run_id: str) -> list[Heard]:
    """What the run's workflow has heard of people so far."""
    keys = [key for key, _, _ in engine.journal.steps(run_id) if key.rpartition("/")[2].startswith(HEARD)]
    return [Heard.model_validate_json(engine.journal.step(run_id, key) or "") for key in keys]


def untaken(engine: "Engine", run_id: str) -> list[Approval]:
    """Words that the run's workflow still has to hear."""
    words = engine.journal.approvals(run_id)
    if not words:
        return []
    return people.untaken(words, heard(engine, run_id), every=_recorded_on_branch(engine.journal.run(run_id)))


def settled(engine: "Engine", record: RunRecord) -> bool:
    """Is nothing left to be done but to write down what people said? Then going on calls no agent."""
    news = untaken(engine, record.id) if record.state == "waiting" and _recorded_on_branch(record) else []
    over = engine.final(record.id) is not None and not engine.journal.driver(record.id)
    return bool(news) and over and not any(one.rejected for one in news)


def _recorded_on_branch(record: RunRecord) -> bool:
    """Do files on the run's branch say what people approved?"""
    from trued.workflows.registry import find_descriptor  # few commands ask for it

    workflow = find_descriptor(record.workflow)
    return workflow is not None and workflow.records_approvals


# -- what is said ------------------------------------------------------------------------------------------------------


def say(engine: "Engine", run_id: str, requirements: Sequence[str | None], word: Word) -> RunRecord:
    """A person's word, on all of these or on none; None is the contract. Grades follow at once; no agent is called,
    but a resumed run works on what was rejected."""
    from trued.model.events.people import decision_event  # loaded when somebody speaks: `ls` imports this module

    record = engine.journal.run(run_id)
    redact = Redactor(engine._secrets(engine.inputs(record.id))).within
    word = replace(word, who=word.who.strip(), why=str(redact(word.why.strip())))
    for given in [_sayable(engine, record, one, word) for one in dict.fromkeys(requirements)]:
        if not engine.journal.approve(record.id, given, instead=word.instead):
            _refuse_second(engine, record, given)
        engine._of(record).emit(decision_event(given))
    return _regraded(engine, record)


def _regraded(engine: "Engine", record: RunRecord) -> RunRecord:
    """A run that had ended has another end now, if its workflow need not hear of it first."""
    verdict = engine.verdict(record.id) if engine.final(record.id) else None
    record = engine.journal.run(record.id)
    if verdict is None or record.state not in REGRADED or engine.journal.driver(record.id):
        return record
    outcome = conclude(verdict, engine.inputs(record.id).settings.accept)
    if outcome.state == "waiting" or not (news := untaken(engine, record.id)):
        return engine._concluded(record, outcome)
    record = record.model_copy(update={"grade": outcome.grade})
    return engine._ended(record, End("waiting", Waiting.code, _goes_on(record, news)))


def _goes_on(record: RunRecord, news: list[Approval]) -> str:
    rejected = [one for one in news if one.rejected]
    if not rejected:
        return f"all is decided; `trued resume {record.id}` goes on"
    said = "; ".join(one.gap.what for one in rejected)
    return f"{said}; `trued resume {record.id}` works on it"


def _sayable(engine: "Engine", record: RunRecord, requirement: str | None, word: Word) -> Approval:
    """The word as it will stand in the journal, or why it cannot be said."""
    contract = engine.contract(record.id)
    if contract is None:
        raise BadInput(f"run {record.id} has no contract yet", then=f"`trued resume {record.id}` seals one")
    _named(word)
    spoken_by_a_person(engine, record)
    name = contract_hash(contract)
    if requirement is None:
        return Approval(requirement=WHOLE, who=word.who, why=word.why, contract=name)
    asked = {one.id: one for one in contract.requirements}
    if requirement not in asked:
        raise BadInput(f"run {record.id} has no requirement {requirement!r}", then=f"it has {', '.join(asked)}")
    seen = judged_at(engine, record.id).get(requirement)
    if seen is None:
        what = f"run {record.id} has not come to {requirement} yet: there is nothing to look at"
        raise BadInput(what, then=f"`trued show {record.id}` tells where it stands")
    given = Approval(
        requirement=requirement,
        who=word.who,
        why=word.why,
        contract=name,
        commit=seen.commit,
        asked=asked_of(asked[requirement]),
        rejected=word.rejected,
    )
    _decidable(engine, record, given, instead=word.instead)
    return given


def _named(word: Word) -> None:
    if not word.who.strip():
        raise BadInput("a word needs a name", then="--as NAME")
    if not word.why.strip():
        raise BadInput("a word needs a reason", then="--reason TEXT")


def _decidable(engine: "Engine", record: RunRecord, given: Approval, *, instead: bool) -> None:
    """Nobody is asked twice, nobody can attest what a check refutes, and what is proven needs no word."""
    name = given.requirement
    said = [one for one in approvals(engine, record.id) if one.requirement == name and not one.stale]
    if said and not instead:
        _refuse_second(engine, record, given)
    if given.rejected:
        return
    bare = _bare(engine, record.id, name)
    if bare.grade is Grade.REFUTED:
        what = f"{name} is refuted by a check"
        raise BadInput(what, then="mend the work, or start anew with another requirement")
    if bare.grade is Grade.PROVEN and not said:
        raise BadInput(f"{name} is proven already: it needs nobody's word", then=f"`trued why {name} {record.id}`")


def _bare(engine: "Engine", run_id: str, name: str) -> Judged:
    """What checks alone say."""
    return next(one for one in judged_at(engine, run_id)[name].requirements if one.id == name)


def _refuse_second(engine: "Engine", record: RunRecord, given: Approval) -> None:
    said = [one for one in engine.journal.approvals(record.id) if one.requirement == given.requirement]
    first = said[-1]
    how = "rejected" if first.rejected else "approved" if first.requirement == WHOLE else "accepted"
    what = "the contract" if first.requirement == WHOLE else given.requirement
    where = f" at {first.commit[:10]}" if first.commit else ""
    raise BadInput(f"{first.who} has {how} {what} already{where}: {first.why}", then="--instead says otherwise")


def spoken_by_a_person(engine: "Engine", record: RunRecord) -> None:
    """No word is taken while an agent of the run is at work that could give it."""
    if reached := could_speak(engine, record):
        what = f"an agent of run {record.id} is at work and can reach {reached}: it could speak for you"
        raise BadInput(
            what, then=f"say it when the agent has ended, or `trued cancel {record.id}`; `trued doctor` says why"
        )


def could_speak(engine: "Engine", record: RunRecord) -> str:
    """What an agent of the run that is at work can reach of the person's own session, in words; "" where nothing is
    open or nobody is at work. The sandbox is tried out as the agent has it, and its name is not believed."""
    from trued.workspace.sandbox.levels import reachable_sockets

    return ", ".join(dict.fromkeys(one for sight in _at_work(engine, record) for one in reachable_sockets(sight)))


def _at_work(engine: "Engine", record: RunRecord) -> "Iterator[Confinement]":
    """How those are confined that are at work: agents, and what they wrote, where the engine runs it."""
    from trued.agents.spool.call_folder import is_supervised
    from trued.workspace.git.workspace import ALONE, CONNECTED, ROOMS

    folder = engine.folder(record.id)
    called = any(is_supervised(one) for one in (folder / "spool").glob("*"))
    driven = bool(engine.journal.driver(record.id))  # what a dead one left in its rooms is not at work
    connected, alone = (driven and any((folder / ROOMS).glob(f"{mark}*")) for mark in (CONNECTED, ALONE))
    if called or connected or alone:
        sight = engine._workspace(record, engine.inputs(record.id)).confinement()
        yield sight if called or connected else replace(sight, network="none")


def answered(engine: "Engine", run_id: str, answer: str, *, comment: str, who: str) -> Question:
    """Answer the open question of a run; `resume` goes on from there."""
    from trued.model.events.people import QuestionAnswered

    record = engine.journal.run(run_id)
    questions = engine.journal.questions(record.id, only_open=True)
    if not questions:
        raise BadInput(f"run {record.id} asks nothing", then=f"`trued show {record.id}` lists what it waits for")
    question = questions[0]
    if question.options and answer not in question.options:
        raise BadInput(f"{answer!r} is no answer here", then=f"say one of {', '.join(question.options)}")
    if not answer.strip():
        raise BadInput("the answer is empty", then="say it in your own words")
    spoken_by_a_person(engine, record)
    redact = Redactor(engine._secrets(engine.inputs(record.id))).within
    answer, comment = str(redact(answer)), str(redact(comment))
    if not engine._of(record).answer(question.key, answer, comment, who):
        raise BadInput(f"the question of run {record.id} has just been answered by somebody else")
    engine._of(record).emit(QuestionAnswered(answer=answer, comment=comment, who=who), question.key)
    return question.model_copy(update={"answer": answer, "comment": comment, "who": who})
