"""Consulting: asks roles that plan, test or validate. Their replies count; their changes in the clone do not."""

from collections.abc import Mapping

from trued.model import Reply, Status
from trued.run.run import Run
from trued.run.session import BriefContext, R, Session, Subject


async def consult(session: Session[R], subject: Subject, **context: BriefContext) -> R:
    """Ask an agent, and drop whatever it changed in its clone: the run continues from the same commit."""
    position = session.steps.state.position
    head = position.head
    reply = await session.ask(subject, **context)
    position.head = head
    return reply


async def consult_twice_if_unsure(run: Run, role: str, reply: type[R], subject: Subject, **context: BriefContext) -> R:
    """Ask a fresh agent. If its status is not DONE, ask another fresh agent, and return the second reply whatever its
    status."""
    first = await _consult_once(run.session(role, reply, publishes=False), subject, context)
    if not doubt_in(first):
        return first
    return await _consult_once(run.session(role, reply, publishes=False), subject, context)


async def _consult_once(session: Session[R], subject: Subject, context: Mapping[str, BriefContext]) -> R:
    reply = await consult(session, subject, **context)
    await session.close()
    return reply


def last_reply(session: Session[R] | None) -> R | None:
    """The last reply of a session; None if there is no session or no reply. An agent that raised objections may have
    replied twice, because it is asked once more, with evidence."""
    if session is None or session.last is None or session.last.reply is None:
        return None
    return session.reply.model_validate(session.last.reply)


def doubt_in(reply: Reply) -> str:
    """What an agent says against its own work: its status and summary; "" if it says DONE."""
    return "" if reply.status is Status.DONE else f"{reply.status}: {reply.summary or 'no summary was given'}"
