"""Questions: puts a run's questions to a person, through the journal."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import TypeVar

from trued.errors import Waiting
from trued.model import Answer, PersonAnswer, Question
from trued.model.events.people import QuestionAnswered, QuestionAsked
from trued.model.step_keys import asked_again
from trued.run.context import RunContext
from trued.support.plain_text import plain

LOOK_S = 0.3  # how often to poll the journal while somebody sits at the terminal
T = TypeVar("T")


async def ask_person(context: RunContext, key: str, text: str, options: Sequence[str] = ()) -> PersonAnswer:
    """A person's answer. The question is in the journal, so it survives a restart.

    Raises `Waiting` if nobody is there: the question stays open until somebody answers it.
    """
    journal = context.journal
    answer = journal.question(key, text, options)
    if answer is None:
        journal.emit(QuestionAsked(text=text, options=tuple(options)), key)
        asked = Question(key=key, text=text, options=tuple(options))
        elsewhere = partial(journal.question, key, text, options)
        answer, given = await ask_here_and_elsewhere(context, asked, elsewhere)
        if given is not None:  # the process that got the answer has recorded it
            return given
        if answer is None:
            raise Waiting(f"{key} waits for an answer: {text.splitlines()[0]}")
        answer = PersonAnswer(str(context.redact(answer.answer)), str(context.redact(answer.comment)), answer.who)
        if not journal.answer(key, *answer):  # somebody else answered meanwhile, and has recorded it
            return journal.question(key, text, options) or answer
        journal.emit(QuestionAnswered(answer=answer.answer, comment=answer.comment, who=answer.who), key)
    return answer


async def ask_here_and_elsewhere(
    context: RunContext, question: Question, elsewhere: Callable[[], T | None]
) -> tuple[PersonAnswer | None, T | None]:
    """Ask the person at this terminal until they answer, or until `elsewhere` finds an answer given in another place.
    Returns the answer given here and the answer found elsewhere, one of them None. Both are None if nobody is at the
    terminal."""
    asking = asyncio.ensure_future(context.person(question))
    try:
        while not asking.done():
            await asyncio.wait({asking}, timeout=LOOK_S)
            await context.journal.available()
            if not asking.done() and (found := elsewhere()) is not None:
                return None, found
        return asking.result(), None
    finally:
        asking.cancel()
        await asyncio.wait({asking})


async def ask_or_pause(context: RunContext, key: str, text: str, options: Sequence[str]) -> PersonAnswer:
    """A person's answer other than "stop": "stop" pauses the run, and the question is asked again on resume.

    Raises `Waiting` if nobody is there, or if the answer is "stop".
    """
    for number in count(1):
        name = asked_again(key, number)
        answered_before = context.journal.question(name, text, options)
        answer = answered_before or await ask_person(context, name, text, options)
        if answer.answer != Answer.STOP:
            return answer
        if not answered_before:
            context.journal.question(asked_again(key, number + 1), text, options)
            who = answer.who or "a person"
            asked = text.splitlines()[0].rstrip(":")
            raise Waiting(f"paused by {who} after {asked}; continue with: trued resume {context.run}")
    raise AssertionError("there is always a next question")


def question_text(role: str, question: str) -> str:
    """An agent's question for a person. Every line after the first is marked as a quotation, so that no line can
    look like words of the engine."""
    first, *more = [line for line in plain(question).splitlines() if line.strip()] or [""]
    return "\n".join((f"{role} asks: {first}", *(f"> {line}" for line in more)))


async def answer_for_agent(context: RunContext, key: str, text: str) -> str:
    """Ask a person an agent's question, and return the answer as the agent's next brief."""
    answer, comment, who = await ask_person(context, key, text)
    words = f"{answer}: {comment}" if comment else answer
    person = who or "The person in charge"
    return (
        f"You asked: {text}\n\n{person} answers: {words}\n\nContinue your work, and answer as you were first asked to."
    )
