"""Avoids paying for unprovable work: if no case could be sealed, another agent tries once; then a person is asked."""

from dataclasses import replace

from trued.errors import Stopped, Waiting
from trued.model import FactNote, Requirements
from trued.model.events.people import QuestionAsked
from trued.run.examination.admissibility import is_open
from trued.run.examination.examiner import Examination, ExaminerConversation, examine, other_examiner
from trued.run.questions import ask_person
from trued.run.steps import Steps
from trued.support.hashing import digest
from trued.support.plain_text import plain_line

AGAIN, WITHOUT, STOP = OPTIONS = ("again", "without", "stop")
REASON = 300  # characters of one reason
REASONS = 4  # reasons listed in the question; the contract's notes have all of them


async def examine_before_work(steps: Steps, requirements: Requirements, *, provable: bool) -> Examination:
    """The requirements with cases. If an examiner was asked and no case is left, another agent of the run tries once.
    If there is still no case, a person decides: ask again, build the work without cases, or stop.

    `provable`: whether a part of the work can be proven without an examiner's cases. If it can, or with the setting
    `without_cases`, nobody is asked again. If the user wants only the plan, no person is asked. Raises `Waiting` if the
    person has not answered yet, `Stopped` if the person decides to stop.
    """
    examination, context = await examine(steps, requirements), steps.context
    if provable or context.settings.without_cases or not examination.is_fruitless:
        return examination
    if _next_agent(steps, examination) not in examination.examiners:
        examination = await _examine_again(steps, requirements, examination)
    while examination.is_fruitless and not steps.context.settings.plan_only:
        answer = await _decision(steps, requirements, examination)
        if answer == STOP:
            raise Stopped("no case could be sealed, and nothing was built")
        if answer == WITHOUT:
            break
        examination = await _examine_again(steps, requirements, examination)
    return examination


async def _examine_again(steps: Steps, requirements: Requirements, before: Examination) -> Examination:
    """Ask the next examiner for cases for the same requirements, in a session that knows nothing of the earlier
    examinations."""
    agent = _next_agent(steps, before)
    examination = await ExaminerConversation(steps.below("again").apart(), requirements, agent=agent).run()
    sessions = (*before.sessions, *examination.sessions)
    if examination.is_fruitless:
        return replace(
            examination, sessions=sessions, undecided=tuple(dict.fromkeys((*before.undecided, *examination.undecided)))
        )
    asked_again = agent in before.examiners
    these = f"{agent} was asked again, and these are its new ones" if asked_again else f"these are by {agent}"
    note = FactNote(f"no case of {', '.join(before.examiners)} could be used; {these}")
    return replace(examination, sessions=sessions, undecided=(note, *examination.undecided))


def _next_agent(steps: Steps, before: Examination) -> str:
    return other_examiner(steps.context, before.examiners)


async def _decision(steps: Steps, requirements: Requirements, examination: Examination) -> str:
    """A person's decision, as a durable step. Raises `Waiting` if there is no answer yet; with `--yes`, the terminal
    does not ask."""
    context, key = steps.context, steps.key("no cases")
    names = [
        requirement.id for requirement in requirements.requirements if is_open(requirement) and not requirement.parts
    ]
    why = "; ".join(
        plain_line(note, REASON) for note in examination.undecided[:REASONS]
    )  # an agent's words, on one line
    agent = _next_agent(steps, examination)
    is_known = agent in examination.examiners
    again = f"ask {agent} again (the run has no other agent)" if is_known else "ask another examiner"
    text = (
        f"No case could be sealed for {', '.join(names)}, because: {why}\n"
        "Agents would build it, and nothing could prove it.\n"
        f"{AGAIN}: {again} · {WITHOUT}: build it without cases · {STOP}: end here, nothing is built"
    )

    async def step() -> str:
        if context.settings.yes:
            answer = context.journal.question(key, text, OPTIONS)
            if answer is None:
                context.journal.emit(QuestionAsked(text=text, options=OPTIONS), key)
                raise Waiting(f"no case could be sealed for {', '.join(names)}, so nothing was built: {why}")
            return answer.answer
        return (await ask_person(context, key, text, OPTIONS)).answer

    return await steps.once(key, digest(text), step)
