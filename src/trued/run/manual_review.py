"""Work that a person judges by hand: asked for where somebody is there, else parked; heard of when they speak."""

from collections.abc import Iterable

from trued.errors import BadInput
from trued.model import Approval, Contract, Finding, Heard, Plan, Question, Requirement, Task, Verdict
from trued.run import approvals as people
from trued.run.approvals import WHOLE, WRITING, Since, asked_of, is_manual, steps_of
from trued.run.context import Line, digest
from trued.run.steps import Steps
from trued.support.path_sets import without

ACCEPT, REJECT = "accept", "reject"


class _Nothing(Exception):
    """Nobody has said anything yet: no step, so that the next life may hear of it."""


def due(contract: Contract, subject: Task | str) -> tuple[Requirement, ...]:
    """What a person has to look at for a task: what has steps by hand, else all that it serves."""
    name = subject if isinstance(subject, str) else subject.id
    serving = contract.serving(name)
    if not serving:
        raise BadInput(f"no requirement stands for {name}: there is nothing that a person could judge")
    return tuple(one for one in serving if is_manual(one)) or serving


async def heard(steps: Steps, key: str, contract: Contract, wanted: tuple[Requirement, ...]) -> Heard:
    """What people decide at this head. What nobody is there to judge is parked; a replay goes on without it, too."""
    head, ids = steps.line.head, [one.id for one in wanted]

    async def step() -> str:
        words = {one.id: await _standing(steps, one) or await _asked(steps, one) for one in wanted}
        parked = tuple(name for name, word in words.items() if word is None)
        for name in parked:
            steps.kit.journal.tell("parked", key, requirement=name, commit=head)
        return Heard(head=head, words=tuple(filter(None, words.values())), parked=parked).model_dump_json()

    asked = [asked_of(one) for one in wanted]
    got = Heard.model_validate_json(await steps.once(key, digest(head, ids, asked), step))
    steps.line.heard.append(got)
    return got


async def news(steps: Steps, *, every: bool = False) -> tuple[Approval, ...]:
    """What people said that no step has heard yet. Silence is no step: only the end of a workflow may ask for it."""
    key, head = steps.key("decided"), steps.line.head

    async def step() -> str:
        words = people.untaken(steps.kit.journal.approvals(), steps.line.heard, every=every)
        if not words:
            raise _Nothing
        return Heard(head=head, words=tuple(words)).model_dump_json()

    try:
        got = Heard.model_validate_json(await steps.once(key, digest(head), step))
    except _Nothing:
        return ()
    steps.line.heard.append(got)
    return got.words


def again(line: Line, contract: Contract, plan: Plan, words: Iterable[Approval]) -> tuple[Task, ...]:
    """The tasks that rejections send back, each with what was said; one that no task serves goes to all of them."""
    gaps: dict[str, list[Finding]] = {}
    for word in (one for one in words if one.rejected):
        served = [task for task in plan.tasks if word.requirement in {one.id for one in contract.serving(task.id)}]
        for task in served or plan.tasks:
            gaps.setdefault(task.id, []).append(word.gap)
    line.rejected.update({name: tuple(found) for name, found in gaps.items()})
    return tuple(task for task in plan.tasks if task.id in gaps)


async def words(steps: Steps, contract: Contract) -> tuple[Approval, ...]:
    """What people have said of the finished work by now: a step, so that a replay ends as it did."""
    manual = [one for one in contract.requirements if is_manual(one)]
    every = steps.kit.settings.workflow in WRITING
    if not manual and not every:
        return ()
    key, head = steps.key("words"), steps.line.head

    async def step() -> str:
        found = [await _standing(steps, one) for one in (contract.requirements if every else manual)]
        whole = [one for one in steps.kit.journal.approvals() if every and one.requirement == WHOLE]
        agreed = [one for one in whole if one.contract in ("", steps.line.contract_hash)]
        return Heard(head=head, words=(*filter(None, found), *agreed)).model_dump_json()

    return Heard.model_validate_json(await steps.once(key, digest(head, [one.id for one in manual]), step)).words


async def last_words(steps: Steps, contract: Contract, verdict: Verdict | None) -> None:
    """At the end: whoever is there is asked for what only a person can judge. What they say is in the journal."""
    lacking = {one.id for one in verdict.requirements if one.lacks == "attest"} if verdict else set()
    for one in contract.requirements:
        if one.id in lacking and is_manual(one) and not await _standing(steps, one) and not await _asked(steps, one):
            return  # nobody is there, or they want to be asked later


async def _standing(steps: Steps, requirement: Requirement) -> Approval | None:
    """What somebody has said of this very work already."""
    words = [one for one in steps.kit.journal.approvals() if one.requirement == requirement.id]
    at, known = {requirement.id: steps.line.head}, people.taken(steps.line.heard)
    found = {pair: await _since(steps, *pair) for pair in set(people.compared(words, at, known))}
    asked = {requirement.id: asked_of(requirement)}
    words = people.standing(words, at, known, lambda *pair: found[pair], asked)
    return next((one for one in words if not one.stale), None)


async def _since(steps: Steps, before: str, after: str) -> Since:
    owned = {*steps.owned, *steps.line.laid}  # as a proof has it: no part of the work
    return Since(without(await steps.kit.workspace.changed(before, after), owned))


async def _asked(steps: Steps, requirement: Requirement) -> Approval | None:
    """The checklist, put to whoever is there; `--yes` says that nobody is."""
    kit, key, head = steps.kit, f"{requirement.id} by hand", steps.line.head
    if kit.settings.yes:
        return None
    text = checklist(requirement, head)
    kit.journal.tell("question", key, text=text, options=[ACCEPT, REJECT])
    answer = await kit.person(Question(key=key, text=text, options=(ACCEPT, REJECT)))
    if answer is None or answer[0] not in (ACCEPT, REJECT) or not answer[1].strip():
        kit.journal.tell("left open", key, requirement=requirement.id)
        return None
    word = Approval(
        requirement=requirement.id,
        who=answer[2],
        why=str(kit.redact(answer[1])),
        contract=steps.line.contract_hash,
        commit=head,
        asked=asked_of(requirement),
        rejected=answer[0] == REJECT,
    )
    first = kit.journal.approve(word)
    stands = await _standing(steps, requirement)
    if first or stands is None:
        kit.journal.tell("rejected" if word.rejected else "approved", key, **_told(word))
    else:
        kit.journal.tell("said too late", key, **_told(word), first=stands.who)
    return stands


def _told(word: Approval) -> dict[str, object]:
    return {"requirement": word.requirement, "who": word.who, "why": word.why, "commit": word.commit}


def checklist(requirement: Requirement, commit: str) -> str:
    """What a person is asked, with what they are to do first."""
    steps = "\n".join(f"  [ ] {step}" for step in steps_of(requirement))
    return f"{requirement.id}: {requirement.text}\n{steps}\nat commit {commit[:10]}: does it hold?"
