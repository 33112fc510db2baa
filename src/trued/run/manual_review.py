"""Manual review: asks people about requirements that only they can judge. If nobody is available, a requirement is
parked: the run continues without the decision."""

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
from trued.run.approvals import ChangesSince, asked_of, is_manual, steps_of
from trued.run.questions import ask_here_and_elsewhere
from trued.run.state import PeopleState
from trued.run.steps import Steps
from trued.support.hashing import digest
from trued.support.path_sets import paths_outside

ACCEPT, REJECT = "accept", "reject"


def due(contract: Contract, subject: Task | str) -> tuple[Requirement, ...]:
    """The requirements of a task that a person has to judge: those with manual steps, or all if no requirement has
    manual steps. Raises BadInput if the task has no requirement."""
    name = subject if isinstance(subject, str) else subject.id
    serving = contract.serving(name)
    if not serving:
        raise BadInput(f"no requirement stands for {name}: there is nothing that a person could judge")
    return tuple(requirement for requirement in serving if is_manual(requirement)) or serving


async def review(steps: Steps, key: str, wanted: tuple[Requirement, ...]) -> ProcessedDecisions:
    """Collect people's decisions on these requirements at this head, and ask about each requirement that lacks one.
    Requirements that get no decision are parked; a replay parks the same ones."""
    head, ids = steps.state.position.head, [requirement.id for requirement in wanted]

    async def step() -> ProcessedDecisions:
        decisions = {
            requirement.id: await _decision_on(steps, requirement) or await _ask_by_hand(steps, requirement)
            for requirement in wanted
        }
        parked = tuple(name for name, decision in decisions.items() if decision is None)
        for name in parked:
            steps.context.journal.emit(RequirementParked(requirement=name, commit=head), key)
        return ProcessedDecisions(head=head, words=tuple(filter(None, decisions.values())), parked=parked)

    asked = [asked_of(requirement) for requirement in wanted]
    processed = await steps.compute(ProcessedDecisions, key, digest(head, ids, asked), step)
    steps.state.people.processed.append(processed)
    return processed


async def new_approvals(steps: Steps, contract: Contract, *, every: bool = False) -> tuple[Approval, ...]:
    """The newest decisions of people under this contract that no step has processed yet. Some approvals are left out,
    unless `every` is true (see `unprocessed_decisions`).

    If there are no decisions, no step is recorded, so that a resumed run looks for decisions again. Call this only at
    the end of a workflow: elsewhere, a replay could find decisions that were made later.
    """
    key, head = steps.key("decided"), steps.state.position.head
    ids = [requirement.id for requirement in contract.requirements]

    async def step() -> str | None:
        decisions = approvals.unprocessed_decisions(
            steps.context.journal.approvals(), steps.state.people.processed, ids, every=every
        )
        if not decisions:
            return None
        amendments = len(steps.context.amended)
        return ProcessedDecisions(head=head, words=tuple(decisions), amendments=amendments).model_dump_json()

    recorded = await steps.once_unless_none(key, digest(head), step)
    if recorded is None:
        return ()
    processed = ProcessedDecisions.model_validate_json(recorded)
    steps.state.people.processed.append(processed)
    return processed.words


def tasks_to_redo(
    people: PeopleState, contract: Contract, plan: Plan, decisions: Iterable[Approval], whole: Iterable[Task]
) -> tuple[Task, ...]:
    """The tasks to redo because of rejections; `people.rejections` gets the reasons by task. If no task serves a
    rejected requirement, the tasks in `whole` are redone."""
    gaps: dict[str, list[Finding]] = {}
    requirements = {task.id: {requirement.id for requirement in contract.serving(task.id)} for task in plan.tasks}
    for decision in decisions:
        if decision.rejected:
            serving = [task for task in plan.tasks if decision.requirement in requirements[task.id]]
            for task in serving or whole:
                gaps.setdefault(task.id, []).append(decision.gap)
    people.rejections.update({task: tuple(findings) for task, findings in gaps.items()})
    return tuple(task for task in plan.tasks if task.id in gaps)


async def final_approvals(steps: Steps, contract: Contract) -> tuple[Approval, ...]:
    """People's decisions on the finished work, recorded as a step, so that a replay ends the same way. They are about
    manual requirements or, if the workflow records approvals, about all requirements and the contract."""
    manual = [requirement for requirement in contract.requirements if is_manual(requirement)]
    every = steps.context.records_approvals
    if not manual and not every:
        return ()
    key, head = steps.key("words"), steps.state.position.head

    async def step() -> ProcessedDecisions:
        requirements = contract.requirements if every else manual
        decisions = [await _decision_on(steps, requirement) for requirement in requirements]
        on_whole = [approval for approval in steps.context.journal.approvals() if every and approval.is_of_contract]
        on_contract = [approval for approval in on_whole if approval.contract in ("", steps.state.proof.contract_hash)]
        return ProcessedDecisions(head=head, words=(*filter(None, decisions), *on_contract))

    inputs = digest(head, [requirement.id for requirement in manual])
    return (await steps.compute(ProcessedDecisions, key, inputs, step)).words


async def ask_about_missing(steps: Steps, contract: Contract, verdict: Verdict | None) -> None:
    """At the end, ask people about manual requirements that still lack a decision. Their decisions go into the journal.
    After a question that gets no decision, no further question is asked."""
    lacking = {judged.id for judged in verdict.requirements if judged.lacks == "attest"} if verdict else set()
    for requirement in contract.requirements:
        if (
            requirement.id in lacking
            and is_manual(requirement)
            and not await _decision_on(steps, requirement)
            and not await _ask_by_hand(steps, requirement)
        ):
            return  # nobody is available, or they want to be asked later


async def _decision_on(steps: Steps, requirement: Requirement) -> Approval | None:
    """The decision (approval or rejection) that applies to the work as it is now, if there is one."""
    decisions = [approval for approval in steps.context.journal.approvals() if approval.requirement == requirement.id]
    commits = {requirement.id: steps.state.position.head}
    heads = approvals.head_by_decision(steps.state.people.processed)
    pairs = set(approvals.commits_to_compare(decisions, commits, heads))
    changes = {pair: await _changes_between(steps, *pair) for pair in pairs}
    asked = {requirement.id: asked_of(requirement)}
    current = approvals.current_decisions(decisions, commits, heads, lambda *pair: changes[pair], asked)
    return next((decision for decision in current if not decision.stale), None)


async def _changes_between(steps: Steps, before: str, after: str) -> ChangesSince:
    owned = {*steps.not_part_of_work}
    return ChangesSince(paths_outside(await steps.context.workspace.changed_files(before, after), owned))


async def _ask_by_hand(steps: Steps, requirement: Requirement) -> Approval | None:
    """Ask a person to go through the checklist and decide. If another person decided first, their decision is returned.
    None if nobody is available (also with `--yes`), or if the question gets no decision."""
    context, key, head = steps.context, f"{requirement.id} by hand", steps.state.position.head
    if context.settings.yes:
        return None
    text = checklist(requirement, head)
    context.journal.emit(QuestionAsked(text=text, options=(ACCEPT, REJECT)), key)
    question, known = Question(key=key, text=text, options=(ACCEPT, REJECT)), len(context.journal.approvals())

    def new_decision() -> Approval | None:
        decisions = context.journal.approvals()[known:]
        return next((decision for decision in decisions if decision.requirement == requirement.id), None)

    answer, elsewhere = await ask_here_and_elsewhere(context, question, new_decision)
    if elsewhere:
        return await _decision_on(steps, requirement)
    if answer is None or answer.answer not in (ACCEPT, REJECT) or not answer.comment.strip():
        context.journal.emit(QuestionLeftOpen(requirement=requirement.id), key)
        return None
    decision = Approval(
        requirement=requirement.id,
        who=answer.who,
        why=str(context.redact(answer.comment)),
        contract=steps.state.proof.contract_hash,
        commit=head,
        asked=asked_of(requirement),
        rejected=answer.answer == REJECT,
        way="terminal",
    )
    is_first = context.journal.approve(decision)
    current = await _decision_on(steps, requirement)
    if is_first or current is None:
        context.journal.emit(decision_event(decision), key)
    else:
        too_late = DecisionTooLate(
            requirement=decision.requirement,
            who=decision.who,
            why=decision.why,
            commit=decision.commit,
            first=current.who,
        )
        context.journal.emit(too_late, key)
    return current


def checklist(requirement: Requirement, commit: str) -> str:
    """The question to a person, with the steps to do first."""
    steps = "\n".join(f"  [ ] {step}" for step in steps_of(requirement))
    return f"{requirement.id}: {requirement.text}\n{steps}\nat commit {commit[:10]}: does it hold?"
