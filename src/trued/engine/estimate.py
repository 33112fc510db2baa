"""Estimates a run before it starts: ranges of calls, money and time, and the source of each figure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, TypeAlias

from trued.engine.limits import limits_in_force, price_lookup
from trued.engine.run_store import RunStore
from trued.model import RunLimits
from trued.model.settings import agent_kind
from trued.run.agent_call import AgentAnswer
from trued.wire import Price, Spend
from trued.workflows.descriptor import SealedWork
from trued.workflows.registry import descriptor

Range: TypeAlias = tuple[float, float]

KNOWN = 3  # if there are this many earlier calls of a role by an agent, the estimate uses their figures
# The lowest and highest figures for a call without history: requests to the model, tokens of context beyond prompt and
# brief, output tokens, seconds.
REQUESTS: Range = (6, 40)
CONTEXT: Range = (4_000, 40_000)
OUTPUT: Range = (2_000, 25_000)
SECONDS: Range = (60, 900)
CACHED = 0.8  # share of the input tokens that come from a provider's cache, for the agents in OVERHEAD
OVERHEAD = {  # agent → tokens of its own prompt and tools, as measured with a coding role's tools
    "claude": 3_400,
    "codex": 10_400,
    "gemini": 12_600,
    "opencode": 7_800,
    "qwen": 20_000,
    "coder": 2_200,
}
UNKNOWN_OVERHEAD = 10_000


@dataclass(frozen=True, slots=True)
class PlannedRole:
    """A role of the run: its agent, the fewest and most calls, and the agent's price."""

    role: str
    agent: str
    fewest: int
    most: int
    price: Price
    brief: int = 0  # length of the goal, which every brief contains, in characters


@dataclass(frozen=True, slots=True)
class RoleEstimate:
    """The estimate for one role."""

    role: str
    agent: str
    calls: Range
    usd: Range
    tokens: Range
    seconds: Range
    basis: str  # where the figures come from
    price: str


@dataclass(frozen=True, slots=True)
class Estimate:
    parts: tuple[RoleEstimate, ...]
    remarks: tuple[str, ...] = ()

    def over(self, what: str) -> Range:
        lows, highs = zip(*(getattr(part, what) for part in self.parts), strict=True) if self.parts else ((0,), (0,))
        return sum(lows), sum(highs)

    @property
    def sentence(self) -> str:
        calls, usd, seconds = self.over("calls"), self.over("usd"), self.over("seconds")
        money = f"about {_range_text(usd, _money)}" if usd[1] else "no known cost"
        count = _range_text(calls, lambda number: f"{number:.0f}")
        return f"{count} calls, {money} and {_range_text(seconds, _time)} of work"

    @property
    def data(self) -> dict[str, Any]:
        whole = {what: list(self.over(what)) for what in ("calls", "usd", "tokens", "seconds")}
        return {**whole, "parts": [asdict(part) for part in self.parts], "remarks": list(self.remarks)}


def estimate_run(store: RunStore, run_id: str) -> Estimate:
    """The estimate for a planned run."""
    inputs = store.inputs(run_id)
    settings, price = inputs.settings, price_lookup(inputs.settings)
    events, reply = store.journal.events(run_id), partial(_last_reply, store, run_id)
    wanted = descriptor(settings.workflow).calls(SealedWork(inputs.goal, settings, events, reply))
    planned = [
        PlannedRole(role, agent, fewest, most, price(agent, _model(store, run_id, role)), len(inputs.goal.text))
        for role, (fewest, most) in wanted.items()
        if (agent := settings.agent_for(role))
    ]
    return estimate(planned, store.journal.past, limits_in_force(store, run_id))


def estimate(
    planned: Sequence[PlannedRole], past: Callable[[str, str], Sequence[Spend]], limits: RunLimits
) -> Estimate:
    parts = tuple(_part(role, [row for row in past(role.role, role.agent) if row.state == "done"]) for role in planned)
    found = Estimate(parts)
    remarks = [*_price_remarks(parts, planned), *_basis_remarks(parts), *_limit_remarks(found, limits)]
    return Estimate(parts, tuple(remarks))


def _part(role: PlannedRole, past: Sequence[Spend]) -> RoleEstimate:
    calls: Range = (role.fewest, role.most)
    if len(past) >= KNOWN:
        usd, tokens, seconds = (
            (min(amounts), max(amounts))
            for amounts in zip(*((row.spent.usd, row.spent.tokens, row.spent.seconds) for row in past), strict=True)
        )
        basis = f"as {len(past)} earlier calls"
    else:
        usd, tokens, seconds = _typical_call(role)
        basis = "stated"

    def all_of(per_call: Range) -> Range:
        return per_call[0] * calls[0], per_call[1] * calls[1]

    return RoleEstimate(
        role.role, role.agent, calls, all_of(usd), all_of(tokens), all_of(seconds), basis=basis, price=role.price.source
    )


def _typical_call(role: PlannedRole) -> tuple[Range, Range, Range]:
    kind = agent_kind(role.agent)
    prompt = OVERHEAD.get(kind, UNKNOWN_OVERHEAD) + role.brief / 4
    sent = [requests * (prompt + context) for requests, context in zip(REQUESTS, CONTEXT, strict=True)]
    cached = CACHED if kind in OVERHEAD else 0.0
    price = role.price
    usd_per_token = (1 - cached) * price.usd_in + cached * price.usd_cached
    usd = [
        (tokens * usd_per_token + said * price.usd_out) / 1_000_000 for tokens, said in zip(sent, OUTPUT, strict=True)
    ]
    tokens = [tokens + said for tokens, said in zip(sent, OUTPUT, strict=True)]
    return (usd[0], usd[1]), (tokens[0], tokens[1]), SECONDS


def _price_remarks(parts: Sequence[RoleEstimate], planned: Sequence[PlannedRole]) -> list[str]:
    unknown = sorted({role.agent for role in planned if role.price.source == "ceiling"})
    stated = {role.agent for role, part in zip(planned, parts, strict=True) if part.basis == "stated"}
    if not (named := [agent for agent in unknown if agent in stated]):
        return []
    rate = next(role.price for role in planned if role.price.source == "ceiling")
    per = f"${rate.usd_in:g} in and ${rate.usd_out:g} out for a million tokens"
    return [f"the price of {', '.join(named)} is unknown: estimated at the ceiling, {per}"]


def _basis_remarks(parts: Sequence[RoleEstimate]) -> list[str]:
    if names := sorted({part.agent for part in parts if part.basis == "stated" and part.agent}):
        return [f"a role has fewer than {KNOWN} earlier calls of {', '.join(names)}: estimated from typical calls"]
    return []


def _limit_remarks(found: Estimate, limits: RunLimits) -> list[str]:
    remarks = []
    for what, limit, said in (
        ("usd", limits.usd, _money(limits.usd)),
        ("tokens", limits.tokens, f"{limits.tokens:,} tokens"),
        ("calls", limits.calls, f"{limits.calls} calls"),
        ("seconds", limits.time, _time(limits.time)),
    ):
        low, high = found.over(what)
        if limit and high > limit:
            remarks.append(f"the limit of {said} {'will' if low > limit else 'may'} be reached before the end")
    return remarks


def _range_text(both: Range, said: Callable[[float], str]) -> str:
    low, high = said(both[0]), said(both[1])
    return low if low == high else f"{low}–{high}"


def _money(usd: float) -> str:
    return f"${usd:.2f}" if usd < 100 else f"${usd:.0f}"


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _model(store: RunStore, run_id: str, role: str) -> str:
    found = store.inputs(run_id).roles.get(role)
    return found.model if found else ""


def _last_reply(store: RunStore, run_id: str, role: str) -> Mapping[str, Any]:
    """The role's last reply while planning, before any task; {} if there is none."""
    asked = [key for key, _, _ in store.journal.steps(run_id) if key.startswith(f"{role}#")]
    found = store.journal.step(run_id, asked[-1]) if asked else None
    return (AgentAnswer.model_validate_json(found).reply or {}) if found else {}
