"""Tokens, money and time, by role and agent; what is estimated or simulated is marked so."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trued.reporting.html.calls import Call
from trued.reporting.html.format import agent_name, amount, duration, money


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
    share: float  # of all tokens, in per cent
    remark: str


def spent(every: Sequence[Call]) -> Iterator[Spent]:
    by_agent: dict[tuple[str, str], list[Call]] = {}
    for call in every:
        by_agent.setdefault((call.role, call.agent), []).append(call)
    everything = _total(every) or 1
    for own in by_agent.values():
        yield _spent(own, 100 * _total(own) / everything)


def tokens_of(every: Sequence[Call]) -> str:
    return _about(_total(every), every)


def _spent(own: Sequence[Call], share: float) -> Spent:
    return Spent(
        role=own[0].role,
        agent=agent_name(own[0].agent),
        calls=len(own),
        tokens_in=_about(_sum(own, "in"), own),
        tokens_out=_about(_sum(own, "out"), own),
        cached=_about(_sum(own, "cached"), own),
        peak=_about(max(_tokens(call, "peak") for call in own), own),
        cost=_cost(own),
        time=duration(sum(call.seconds for call in own)),
        share=share,
        remark=_remark(own),
    )


def _cost(own: Sequence[Call]) -> str:
    cost = sum(call.cost_usd for call in own)
    known = {call.cost for call in own}
    if "ceiling" in known:
        return f"≤{money(cost)} at the ceiling"
    if "computed" in known:
        return f"~{money(cost)} computed"
    return f"{'' if known == {'reported'} else _mark(own)}{money(cost)}" if cost else "not reported"


def _remark(own: Sequence[Call]) -> str:
    if own[0].scripted:
        return "simulated: a script, not a model"
    times = sum(call.compactions for call in own)
    return f"shortened its context {times} time{'' if times == 1 else 's'}" if times else ""


def _about(number: int, every: Sequence[Call]) -> str:
    return f"{_mark(every) if number else ''}{amount(number)}"


def _mark(every: Sequence[Call]) -> str:
    return "~" if any(call.tokens.get("estimated") for call in every) else ""


def _total(every: Sequence[Call]) -> int:
    return _sum(every, "in") + _sum(every, "out")


def _sum(every: Sequence[Call], name: str) -> int:
    return sum(_tokens(call, name) for call in every)


def _tokens(call: Call, name: str) -> int:
    return int(call.tokens.get(name) or 0)
