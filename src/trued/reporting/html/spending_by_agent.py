"""Tokens, money and time by role and agent; estimated and simulated values are marked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from trued.reporting.html.calls import ReportedCall
from trued.reporting.html.format import agent_name, cost
from trued.support.durations import duration
from trued.support.money import least_certain
from trued.support.plurals import counted
from trued.support.token_count import token_count


@dataclass(frozen=True)
class Spent:
    """What one agent used in one role."""

    role: str
    agent: str
    calls: int
    tokens_in: str
    tokens_out: str
    cached: str
    peak: str
    cost: str
    time: str
    share: float  # percentage of all tokens
    remark: str


def spent(every: Sequence[ReportedCall]) -> Iterator[Spent]:
    by_agent: dict[tuple[str, str], list[ReportedCall]] = {}
    for call in every:
        by_agent.setdefault((call.role, call.agent), []).append(call)
    everything = _total(every) or 1
    for calls in by_agent.values():
        yield _sum_up(calls, 100 * _total(calls) / everything)


def spent_by_all(every: Sequence[ReportedCall]) -> Spent:
    """What all agents used together. There must be at least one call."""
    return replace(_sum_up(every, 100.0), role="all", agent="", remark="")


def tokens_of(every: Sequence[ReportedCall]) -> str:
    return _tokens_text(_total(every), every)


def _sum_up(calls: Sequence[ReportedCall], share: float) -> Spent:
    return Spent(
        role=calls[0].role,
        agent=agent_name(calls[0].agent),
        calls=len(calls),
        tokens_in=_tokens_text(sum(call.row.tokens.tokens_in for call in calls), calls),
        tokens_out=_tokens_text(sum(call.row.tokens.tokens_out for call in calls), calls),
        cached=_tokens_text(sum(call.row.tokens.cached for call in calls), calls),
        peak=_tokens_text(max(call.row.tokens.peak for call in calls), calls),
        cost=_cost(calls),
        time=duration(sum(call.seconds for call in calls)),
        share=share,
        remark=_remark(calls),
    )


def _cost(calls: Sequence[ReportedCall]) -> str:
    known = least_certain(call.row.cost for call in calls if call.row.cost_usd)
    return cost(sum(call.row.cost_usd for call in calls), known)


def _remark(calls: Sequence[ReportedCall]) -> str:
    if calls[0].is_scripted:
        return "simulated: a script, not a model"
    times = sum(call.row.compactions for call in calls)
    return f"shortened its context {counted(times, 'time')}" if times else ""


def _tokens_text(number: int, every: Sequence[ReportedCall]) -> str:
    return token_count(number, estimated=any(call.answer and call.row.tokens.estimated for call in every))


def _total(every: Sequence[ReportedCall]) -> int:
    return sum(call.row.tokens.total for call in every)
