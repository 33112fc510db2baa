"""Sums up what each agent used in each role, from a run's events."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trued.model import Event, Ticket
from trued.model.events import of_kind
from trued.model.events.call import CallAnswered
from trued.support.money import MARKS, least_certain
from trued.workflows.ticket.events import RoundVerified

CHARACTERS = 4  # a token has about this many characters


@dataclass(frozen=True, slots=True)
class RoleSpending:
    """What one agent used in one role."""

    role: str
    agent: str
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cached: int = 0
    peak: int = 0  # the largest context of one request, in tokens
    usd: float = 0.0
    mark: str = ""  # before `usd`: ~ for an estimated or computed cost, ≤ for a ceiling


def spending_by_role(events: Sequence[Event]) -> Iterator[RoleSpending]:
    """What every agent used in every role, from the events of its calls."""
    answers = [answer for _, answer in of_kind(events, CallAnswered)]
    for role, agent in dict.fromkeys((answer.role, answer.agent) for answer in answers):
        calls = [answer for answer in answers if (answer.role, answer.agent) == (role, agent)]
        tokens = [call.tokens for call in calls]
        estimated = any(used.estimated for used in tokens)
        yield RoleSpending(
            role=role,
            agent=agent,
            calls=len(calls),
            tokens_in=sum(used.tokens_in for used in tokens),
            tokens_out=sum(used.tokens_out for used in tokens),
            cached=sum(used.cached for used in tokens),
            peak=max((used.peak for used in tokens), default=0),
            usd=sum(call.cost_usd for call in calls),
            mark=MARKS.get(least_certain(call.cost for call in calls)) or ("~" if estimated else ""),
        )


def orchestrator_spending(ticket: Ticket | None, events: Sequence[Event]) -> Iterator[RoleSpending]:
    """An estimate of how much text a ticket's orchestrator has read: the ticket's summary, the agents' summaries and
    the open issues. The orchestrator is the engine itself. Yields nothing if there is no ticket."""
    if ticket is None:
        return
    replies = [answer.reply for _, answer in of_kind(events, CallAnswered) if answer.reply is not None]
    summaries = [str(reply.get(name) or "") for reply in replies for name in ("summary", "changes_summary")]
    issues = [issue for _, verified in of_kind(events, RoundVerified) for issue in verified.open]
    characters = sum(map(len, (ticket.key, ticket.summary, ticket.branch, *summaries, *issues)))
    yield RoleSpending("orchestrator", "trued", peak=characters // CHARACTERS, mark="~")
