"""What a run needs from a person, read from the journal: the same list after every restart."""

from collections.abc import Container, Iterator
from shlex import quote
from typing import TYPE_CHECKING, Literal

from trued.engine.run_store import RunStore
from trued.model import RunRecord, Value
from trued.model.step_keys import asked_first
from trued.support.plurals import few

if TYPE_CHECKING:  # at run time, imported only where a verdict is read
    from trued.model import Judged, Requirement

STOP = "stop"  # the answer that pauses a run
SIGNED = "--as NAME --reason TEXT"
NAMED = 5  # at most this many criteria are named in a sentence; the others are counted


class Wait(Value):
    """One thing that only a person can do, and the command that does it."""

    kind: Literal["go on", "answer", "judge", "attest", "amend", "approve", "limit", "branch", "resume"]
    what: str
    since: float
    command: str
    requirement: str = ""
    steps: tuple[str, ...] = ()  # what to do before deciding
    commit: str = ""  # the commit to look at
    question: str = ""  # the key of the question to answer
    options: tuple[str, ...] = ()  # the question's possible answers; empty: a free text
    paused_by: str = ""  # who answered this question with "stop" the last time, which paused the run


def waits(store: RunStore, record: RunRecord, to_decide: Container[str] | None = None) -> list[Wait]:
    """Everything the run waits for: open questions, and decisions on requirements. If nothing is open: what halted the
    run.

    `to_decide`: the result of `JournalStore.runs_to_decide()`. Callers with many runs pass it, so that questions and
    verdicts are read only for the runs in it.
    """
    if record.has_ended:
        return []
    found = []
    if to_decide is None or record.id in to_decide:
        found = [*_questions(store, record), *_decisions(store, record)]
    return found or [*_halted(store, record)]


def _questions(store: RunStore, record: RunRecord) -> Iterator[Wait]:
    every = store.journal.questions(record.id)
    questions = [question for question in every if not question.answer]
    paused = {asked_first(question.key): question.who or "somebody" for question in every if question.answer == STOP}
    for question in questions:
        words = "|".join(question.options) or "'your own words'"
        which = f"--question {quote(question.key)} " if len(questions) > 1 else ""
        yield Wait(
            kind="go on" if question.options else "answer",
            what=question.text,
            since=question.asked_at,
            command=f"trued answer {record.id} {which}{words}",
            question=question.key,
            options=question.options,
            paused_by=paused.get(asked_first(question.key), ""),
        )


def _decisions(store: RunStore, record: RunRecord) -> Iterator[Wait]:
    verdict, contract = store.verdict(record.id), store.contract(record.id)
    if verdict is None or contract is None:
        return
    from trued.run.approvals import is_manual

    final, asked = (
        store.final_verdict(record.id),
        {requirement.id: requirement for requirement in contract.requirements},
    )
    lacking = {judged.id for judged in verdict.requirements if judged.lacks}
    by_person = [
        (judged, requirement)
        for judged in verdict.requirements
        if judged.lacks == "attest"
        # a requirement is met when its parts are: while a part lacks something, only the part waits for a person
        and lacking.isdisjoint(judged.parts)
        and (requirement := asked.get(judged.id))
        and (final or is_manual(requirement))
    ]
    unapproved = [judged.id for judged in verdict.requirements if judged.lacks == "approve"] if final else []
    # only if needed, because it is slow for a long run
    since = _since(store, record) if by_person or unapproved else {}
    for judged, requirement in by_person:
        yield _judged(record, judged, requirement, verdict.commit, since.get(judged.id, record.updated_at))
    yield from _not_checked(
        record, [judged for judged in verdict.requirements if judged.outside and judged.id not in asked]
    )
    if unapproved:
        verb = "depends" if len(unapproved) == 1 else "depend"
        what = f"nobody has approved the contract that {', '.join(unapproved)} {verb} on"
        when = max(since.get(name, record.updated_at) for name in unapproved)
        yield Wait(kind="approve", what=what, since=when, command=f"trued approve {record.id} {SIGNED}")


def _not_checked(record: RunRecord, criteria: "list[Judged]") -> Iterator[Wait]:
    """One Wait for all criteria that are not in the contract: one command adds them all. Yields nothing if there are no
    criteria."""
    if not criteria:
        return
    named = few([f"{criterion.id}: {criterion.text}" for criterion in criteria], NAMED, "; ")
    which = quote(criteria[0].id) if len(criteria) == 1 else "all"
    yield Wait(
        kind="amend",
        what=f"not checked, because it is not in the contract: {named}",
        since=record.updated_at,
        command=f"trued amend {record.id} --criterion {which} {SIGNED}",
    )


def _judged(record: RunRecord, judged: "Judged", requirement: "Requirement", commit: str, since: float) -> Wait:
    from trued.run.approvals import is_manual, steps_of

    by_hand = is_manual(requirement)
    said = "; ".join(judged.why[:2])
    return Wait(
        kind="judge" if by_hand else "attest",
        what=f"{judged.id}: {requirement.text}" if by_hand else f"{judged.id} is {judged.grade}: {said}",
        since=since,
        command=f"trued approve {record.id} {quote(judged.id)} {SIGNED}",
        requirement=judged.id,
        steps=steps_of(requirement) if by_hand else (),
        commit=commit,
    )


def _since(store: RunStore, record: RunRecord) -> dict[str, float]:
    """Requirement → the time when it was judged last."""
    from trued.model.events import of_kind  # imported here, because `ls` uses this module but needs no events
    from trued.model.events.proof import RequirementJudged

    judged = of_kind(store.journal.events_of_kind(record.id, RequirementJudged.KIND), RequirementJudged)
    return {event.requirement: stored.at for stored, event in judged}


def _halted(store: RunStore, record: RunRecord) -> Iterator[Wait]:
    """What a halted run without open decisions waits for; in most cases, somebody has to resume it."""
    name, when = record.id, record.updated_at
    if record.state == "limited":
        # imported here, because most runs are not limited
        from trued.run.budget import command_for_more, reason_of_limit

        command = command_for_more(record.why) or f"trued resume {name}"
        yield Wait(kind="limit", what=reason_of_limit(record.why), since=when, command=command)
    elif record.state == "planned":
        yield Wait(kind="go on", what="the contract is sealed", since=when, command=f"trued resume {name}")
    elif record.state == "waiting" and _unpublished(store, record):
        yield Wait(kind="branch", what=record.why, since=when, command=f"trued diff {name}")
    elif record.state == "waiting":
        news = [approval.gap.what for approval in store.unprocessed_approvals(name) if approval.rejected]
        what = "; ".join(news) or _answered(store, record) or record.why or "everything is decided"
        yield Wait(kind="resume", what=what, since=when, command=f"trued resume {name}")


def _answered(store: RunStore, record: RunRecord) -> str:
    """If the run stopped for an answer, and somebody has answered since: a sentence that says who answered what. Else
    "". (The run's `why` still says that the answer is missing.)"""
    for question in store.journal.questions(record.id)[::-1]:
        if question.answer and question.key in record.why:
            return f"{question.who or 'somebody'} answered {question.answer}: the run continues when it is resumed"
    return ""


def _unpublished(store: RunStore, record: RunRecord) -> bool:
    from trued.model.events import of_kind
    from trued.model.events.run import BranchNotMoved

    found = store.journal.events_of_kind(record.id, BranchNotMoved.KIND)
    stuck = [event for _, event in of_kind(found, BranchNotMoved)]
    return bool(stuck and record.why and stuck[-1].why == record.why)
