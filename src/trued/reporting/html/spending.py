"""Tokens, money and time by role and agent; estimated and simulated values are marked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from trued.reporting.html.calls import ReportedCall
from trued.reporting.html.format import agent_name, amount, cost
from trued.support.durations import duration
from trued.support.money import least_certain, money
from trued.support.plurals import counted


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
    for own in by_agent.values():
        yield _sum_up(own, 100 * _total(own) / everything)


def spent_by_all(every: Sequence[ReportedCall]) -> Spent:
    """What all agents used together. There must be at least one call."""
    return replace(_sum_up(every, 100.0), role="all", agent="", remark="")


def tokens_of(every: Sequence[ReportedCall]) -> str:
    return _tokens_text(_total(every), every)


def _sum_up(own: Sequence[ReportedCall], share: float) -> Spent:
    return Spent(
        role=own[0].role,
        agent=agent_name(own[0].agent),
        calls=len(own),
        tokens_in=_tokens_text(sum(call.row.tokens.tokens_in for call in own), own),
        tokens_out=_tokens_text(sum(call.row.tokens.tokens_out for call in own), own),
        cached=_tokens_text(sum(call.row.tokens.cached for call in own), own),
        peak=_tokens_text(max(call.row.tokens.peak for call in own), own),
        cost=_cost(own),
        time=duration(sum(call.seconds for call in own)),
        share=share,
        remark=_remark(own),
    )


def _cost(own: Sequence[ReportedCall]) -> str:
    paid = sum(call.row.cost_usd for call in own)
    known = least_certain(call.row.cost for call in own)
    if known == "ceiling":
        return f"{money(paid, known)} (upper bound)"
    if known == "computed":
        return f"{money(paid, known)} computed"
    return cost(paid, "" if all(call.row.cost == "reported" for call in own) else _mark(own))


def _remark(own: Sequence[ReportedCall]) -> str:
    if own[0].is_scripted:
        return "simulated: a script, not a model"
    times = sum(call.row.compactions for call in own)
    return f"shortened its context {counted(times, 'time')}" if times else ""


def _tokens_text(number: int, every: Sequence[ReportedCall]) -> str:
    return f"{_mark(every) if number else ''}{amount(number)}"


def _mark(every: Sequence[ReportedCall]) -> str:
    return "~" if any(call.answer and call.row.tokens.estimated for call in every) else ""


def _total(every: Sequence[ReportedCall]) -> int:
    return sum(call.row.tokens.total for call in every)
