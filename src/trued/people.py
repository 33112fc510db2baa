"""What only a person can say: asked in the journal, so that the wait survives a restart."""

from collections.abc import Sequence

from .errors import Waiting
from .kit import Kit
from .types import Question


async def said(kit: Kit, key: str, text: str, options: Sequence[str] = ()) -> tuple[str, str, str]:
    """Answer, comment and name. Nobody there: the question stays, and the run waits for whoever answers it."""
    journal = kit.journal
    answer = journal.question(key, text, options)
    if answer is None:
        journal.tell("question", key, text=text, options=list(options))
        answer = await kit.person(Question(key=key, text=text, options=tuple(options)))
        if answer is None:
            raise Waiting(f"{key} waits for an answer: {text.splitlines()[0]}")
        if not journal.answer(key, *answer):  # somebody answered from elsewhere meanwhile
            answer = journal.question(key, text, options) or answer
        journal.tell("said", key, answer=answer[0], comment=answer[1], who=answer[2])
    return answer


async def told(kit: Kit, key: str, text: str) -> str:
    """An agent's question, answered in a person's own words, as the agent's next turn."""
    answer, comment, who = await said(kit, key, text)
    words = f"{answer}: {comment}" if comment else answer
    said_by = who or "The person in charge"
    return f"You asked: {text}\n\n{said_by} answers: {words}\n\nGo on, and answer as you were asked at first."
