"""Manual review: asks people about requirements that only they can judge, and parks a requirement if nobody is
there: the run continues without the decision."""

from collections.abc import Iterable

from trued.errors import BadInput
from trued.model import Approval, Contract, Finding, Plan, ProcessedDecisions, Question, Requirement, Task, Verdict
from trued.model.events.people import (
    DecisionTooLate,
    QuestionAsked,
    QuestionLeftOpen,
    RequirementParked,
    decision_event,
)
from trued.run import approvals
from trued.run.approvals import Since, asked_of, is_manual, steps_of
from trued.run.questions import ask_here_and_elsewhere
from trued.run.state import PeopleState
from trued.run.steps import Steps
from trued.support.hashing import digest
from trued.support.path_sets import paths_outside

ACCEPT, REJECT = "accept", "reject"


class _NothingYet(Exception):
    """There are no new decisions. Raised so that no step is recorded, and a resumed run looks again."""


def due(contract: Contract, subject: Task | str) -> tuple[Requirement, ...]:
    """The requirements that a person has to judge for a task: those with manual steps, or all if none has manual
    steps."""
    name = subject if isinstance(subject, str) else subject.id
    serving = contract.serving(name)
    if not serving:
        raise BadInput(f"no requirement stands for {name}: there is nothing that a person could judge")
    return tuple(one for one in serving if is_manual(one)) or serving


async def review(steps: Steps, key: str, wanted: tuple[Requirement, ...]) -> ProcessedDecisions:
    """Ask people about these requirements at this head. If nobody is there, park them; a replay parks the same ones."""
    head, ids = steps.state.position.head, [one.id for one in wanted]

    async def step() -> ProcessedDecisions:
        words = {one.id: await _approval_of(steps, one) or await _ask_by_hand(steps, one) for one in wanted}
        parked = tuple(name for name, word in words.items() if word is None)
        for name in parked:
            steps.context.journal.emit(RequirementParked(requirement=name, commit=head), key)
        return ProcessedDecisions(head=head, words=tuple(filter(None, words.values())), parked=parked)

    asked = [asked_of(one) for one in wanted]
    got = await steps.compute(ProcessedDecisions, key, digest(head, ids, asked), step)
    steps.state.people.processed.append(got)
    return got


async def new_approvals(steps: Steps, contract: Contract, *, every: bool = False) -> tuple[Approval, ...]:
    """People's decisions under this contract that no step has processed yet. If there are none, no step is recorded, so
    that a resumed run looks again. Call this only at the end of a workflow: elsewhere, a replay could find decisions
    that were made later."""
    key, head = steps.key("decided"), steps.state.position.head
    ids = [one.id for one in contract.requirements]

    async def step() -> ProcessedDecisions:
        words = approvals.unprocessed_decisions(
            steps.context.journal.approvals(), steps.state.people.processed, ids, every=every
        )
        if not words:
            raise _NothingYet
        made = len(steps.context.amended)
        return ProcessedDecisions(head=head, words=tuple(words), amendments=made)

    try:
        got = await steps.compute(ProcessedDecisions, key, digest(head), step)
    except _NothingYet:
        return ()
    steps.state.people.processed.append(got)
    return got.words


def tasks_to_redo(
    people: PeopleState, contract: Contract, plan: Plan, words: Iterable[Approval], whole: Iterable[Task]
) -> tuple[Task, ...]:
    """The tasks to redo because of rejections; `people.rejections` gets the reasons by task. If no task serves a
    rejected requirement, the tasks in `whole` are redone."""
    gaps: dict[str, list[Finding]] = {}
    for word in (one for one in words if one.rejected):
        served = [task for task in plan.tasks if word.requirement in {one.id for one in contract.serving(task.id)}]
        for task in served or whole:
            gaps.setdefault(task.id, []).append(word.gap)
    people.rejections.update({name: tuple(found) for name, found in gaps.items()})
    return tuple(task for task in plan.tasks if task.id in gaps)


async def final_approvals(steps: Steps, contract: Contract) -> tuple[Approval, ...]:
    """People's decisions on the finished work, recorded as a step, so that a replay ends the same way."""
    manual = [one for one in contract.requirements if is_manual(one)]
    every = steps.context.records_approvals
    if not manual and not every:
        return ()
    key, head = steps.key("words"), steps.state.position.head

    async def step() -> ProcessedDecisions:
        found = [await _approval_of(steps, one) for one in (contract.requirements if every else manual)]
        whole = [one for one in steps.context.journal.approvals() if every and one.is_of_contract]
        agreed = [one for one in whole if one.contract in ("", steps.state.proof.contract_hash)]
        return ProcessedDecisions(head=head, words=(*filter(None, found), *agreed))

    return (await steps.compute(ProcessedDecisions, key, digest(head, [one.id for one in manual]), step)).words


async def ask_about_missing(steps: Steps, contract: Contract, verdict: Verdict | None) -> None:
    """At the end, ask whoever is there about what only a person can judge. Their answers go into the journal."""
    lacking = {one.id for one in verdict.requirements if one.lacks == "attest"} if verdict else set()
    for one in contract.requirements:
        if (
            one.id in lacking
            and is_manual(one)
            and not await _approval_of(steps, one)
            and not await _ask_by_hand(steps, one)
        ):
            return  # nobody is there, or they want to be asked later


async def _approval_of(steps: Steps, requirement: Requirement) -> Approval | None:
    """The decision (approval or rejection) that applies to the work as it is now, if there is one."""
    words = [one for one in steps.context.journal.approvals() if one.requirement == requirement.id]
    at, known = {requirement.id: steps.state.position.head}, approvals.head_by_decision(steps.state.people.processed)
    found = {pair: await _changes_between(steps, *pair) for pair in set(approvals.commits_to_compare(words, at, known))}
    asked = {requirement.id: asked_of(requirement)}
    words = approvals.current_decisions(words, at, known, lambda *pair: found[pair], asked)
    return next((one for one in words if not one.stale), None)


async def _changes_between(steps: Steps, before: str, after: str) -> Since:
    owned = {*steps.not_part_of_work}
    return Since(paths_outside(await steps.context.workspace.changed_files(before, after), owned))


async def _ask_by_hand(steps: Steps, requirement: Requirement) -> Approval | None:
    """Ask a person to go through the checklist and decide. None if nobody is there (`--yes`) or nobody decides."""
    context, key, head = steps.context, f"{requirement.id} by hand", steps.state.position.head
    if context.settings.yes:
        return None
    text = checklist(requirement, head)
    context.journal.emit(QuestionAsked(text=text, options=(ACCEPT, REJECT)), key)
    question, known = Question(key=key, text=text, options=(ACCEPT, REJECT)), len(context.journal.approvals())

    def decided() -> Approval | None:
        return next((one for one in context.journal.approvals()[known:] if one.requirement == requirement.id), None)

    answer, elsewhere = await ask_here_and_elsewhere(context, question, decided)
    if elsewhere:
        return await _approval_of(steps, requirement)
    if answer is None or answer.answer not in (ACCEPT, REJECT) or not answer.comment.strip():
        context.journal.emit(QuestionLeftOpen(requirement=requirement.id), key)
        return None
    word = Approval(
        requirement=requirement.id,
        who=answer.who,
        why=str(context.redact(answer.comment)),
        contract=steps.state.proof.contract_hash,
        commit=head,
        asked=asked_of(requirement),
        rejected=answer.answer == REJECT,
        way="terminal",
    )
    first = context.journal.approve(word)
    stands = await _approval_of(steps, requirement)
    if first or stands is None:
        context.journal.emit(decision_event(word), key)
    else:
        too_late = {"requirement": word.requirement, "who": word.who, "why": word.why, "commit": word.commit}
        context.journal.emit(DecisionTooLate(**too_late, first=stands.who), key)
    return stands


def checklist(requirement: Requirement, commit: str) -> str:
    """The question to a person, with the steps to do first."""
    steps = "\n".join(f"  [ ] {step}" for step in steps_of(requirement))
    return f"{requirement.id}: {requirement.text}\n{steps}\nat commit {commit[:10]}: does it hold?"
