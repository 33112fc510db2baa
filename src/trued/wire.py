"""What crosses a process border: plain frozen records, JSON in and out.

They are dataclasses and not pydantic models because the supervisor lives on them alone: it has to start in a blink.
"""

import json
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Limits:
    """When an agent is ended from outside."""

    idle_s: float = 600.0  # no output and no new event for so long
    wall_s: float = 3600.0
    output_bytes: int = 16 * 1024 * 1024  # of stdout; more is an agent gone wild, and would fill the disk
    memory_bytes: int = 0  # 0: no limit
    processes: int = 0


@dataclass(frozen=True, slots=True)
class Confinement:
    """What a confined process sees of the machine. Whatever is not named is not there."""

    level: str = "bubblewrap"  # bubblewrap | landlock | none
    writable: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()  # beyond the system's own folders
    network: str = "none"  # none | loopback | host
    hidden: tuple[str, ...] = ()  # stays out of sight even where a readable folder contains it
    ports: tuple[int, ...] = ()  # of TCP, allowed where the network is not its own: a server's
    scoped: bool = True  # abstract sockets and processes outside are out of reach, where the kernel can do that


@dataclass(frozen=True, slots=True)
class Amount:
    """Something spent, reserved or allowed. As a limit, 0 is none."""

    usd: float = 0.0
    tokens: int = 0
    calls: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens. An unknown price is the ceiling that the user was told."""

    usd_in: float = 0.0
    usd_out: float = 0.0
    usd_cached: float = 0.0
    source: str = ""  # "genai-prices 0.2.1: claude-sonnet-4-5", "ceiling"; empty: nobody asked for a price


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and money of one call. `estimated` when nobody reported them."""

    tokens_in: int = 0  # all that was sent, cached or not
    tokens_out: int = 0
    tokens_cached: int = 0  # of those sent
    peak: int = 0  # the largest context of one request
    cost_usd: float = 0.0
    estimated: bool = True
    cost: str = ""  # where cost_usd comes from: reported | computed | ceiling; empty: nobody knows one
    requests: int = 0  # to the model, where the agent tells
    compactions: int = 0  # how often the agent shortened its own context


@dataclass(frozen=True, slots=True)
class Spend:
    """One attempt of one order: what is reserved for it while it is open, and what it used."""

    call: str
    attempt: int
    step: str  # the key of the call that it belongs to: one that goes on after a wait or a question is one call
    task: str  # the part of the run: "chunk 1A"; empty: the run itself
    role: str
    agent: str
    state: str = "open"  # open | done | failed | died
    reserved: Amount = field(default_factory=Amount)
    spent: Amount = field(default_factory=Amount)
    cost: str = ""  # how its money is known: reported | computed | ceiling
    at: float = 0.0  # when this was written

    @property
    def held(self) -> Amount:
        """What it takes from a limit now."""
        return self.reserved if self.state == "open" else self.spent


@dataclass(frozen=True, slots=True)
class Order:
    """Everything that is needed to let one agent work once, on any machine that has the folder."""

    run: str
    key: str  # the step's name: "chunk 1A/purple-team-b#2"
    call: str  # the key as a folder name; with the attempt it names the spool folder
    attempt: int
    role: str
    agent: str  # "claude", "codex:gpt-5", "command:python agent.py", "scripted:script.py"
    brief: str
    schema: dict[str, Any]
    session: str  # chosen by the engine; the same for every ask of one session
    resume: bool  # go on with that session's conversation
    folder: str  # the clone to work in
    home: str  # HOME of the agent: kept as long as its session
    tools: tuple[str, ...] = ()
    model: str = ""  # small | medium | large, or a name that the agent knows
    native: str = ""  # the agent's own name for the session, where an earlier call learnt it
    interrupted: bool = False  # this very brief was begun before: the agent goes on with what it left
    anew: str = ""  # the brief for a session that is lost and has to begin afresh; empty: the same one
    before: Usage = field(default_factory=Usage)  # of earlier calls of the session: some agents count all of it again
    bring: bool = False  # the project's own settings for this agent (hooks, servers, skills) are loaded
    login: str = "auto"  # how it may log in: auto | key | subscription | none
    prompts: str = "policy"  # what it may not do by itself is refused (policy), or becomes a question (ask)
    allowance: Amount = field(default_factory=Amount)  # reserved for this call: what goes beyond it is ended
    price: Price = field(default_factory=Price)
    limits: Limits = field(default_factory=Limits)
    confinement: Confinement = field(default_factory=Confinement)


@dataclass(frozen=True, slots=True)
class Report:
    """What came back from one agent call, before anyone believes it."""

    call: str
    attempt: int
    state: str  # done | failed | asks | died (nothing is left of the call: try again with the next attempt)
    reply: dict[str, Any] | None = None
    # of failure: crashed | contract | idle | wall | output | missing | refused: ours to say;
    # auth | credit | rate | overloaded | context | budget: said by the agent or its provider
    kind: str = ""
    why: str = ""
    until: float = 0.0  # when the provider lets us go on; 0: it did not say
    question: str = ""  # of an agent that asks: what a person has to answer
    session: str = ""
    native: str = ""  # the session as the agent calls it; empty: it never had one
    resumed: bool = False  # the agent went on with its conversation
    asks: int = 1  # 2 when it was asked again for a broken contract
    reaped: int = 0  # descendants that outlived the agent and were ended
    commands: tuple[str, ...] = ()  # command lines that it ran, as far as it tells
    usage: Usage = field(default_factory=Usage)
    quota: dict[str, Any] = field(default_factory=dict)  # of a subscription, as told: window, used (per cent), until
    began: float = 0.0
    ended: float = 0.0


def add_usage(one: Usage, two: Usage) -> Usage:
    """Both together. An empty one says nothing on where the other's figures come from."""
    parts = [part for part in (one, two) if part != Usage()]
    return Usage(
        tokens_in=one.tokens_in + two.tokens_in,
        tokens_out=one.tokens_out + two.tokens_out,
        tokens_cached=one.tokens_cached + two.tokens_cached,
        peak=max(one.peak, two.peak),
        cost_usd=one.cost_usd + two.cost_usd,
        estimated=any(part.estimated for part in parts) or not parts,
        cost=next((cost for cost in ("ceiling", "computed", "reported") if cost in (one.cost, two.cost)), ""),
        requests=one.requests + two.requests,
        compactions=one.compactions + two.compactions,
    )


def with_cost(usage: Usage, price: Price) -> Usage:
    """With a cost: the agent's own figure, or one by the price of its model."""
    if usage.cost or not price.source or usage == Usage():
        return usage
    if usage.cost_usd:
        return replace(usage, cost="reported")
    fresh = max(0, usage.tokens_in - usage.tokens_cached)
    cost = fresh * price.usd_in + usage.tokens_cached * price.usd_cached + usage.tokens_out * price.usd_out
    kind = "ceiling" if price.source == "ceiling" else "computed"
    return replace(usage, cost_usd=cost / 1_000_000, cost=kind)


def remaining(allowed: Amount, used: Usage) -> Amount:
    """What is left of it. What is used up is next to nothing: 0 would be no limit."""
    usd = max(allowed.usd - used.cost_usd, 0.0001) if allowed.usd else 0.0
    tokens = max(allowed.tokens - used.tokens_in - used.tokens_out, 1) if allowed.tokens else 0
    return replace(allowed, usd=usd, tokens=tokens)


def to_json(record: Any) -> str:
    """Canonical JSON: the same record is the same bytes."""
    return json.dumps(asdict(record), sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def from_json(kind: type[T], text: str | bytes) -> T:
    """The record back from its JSON; unknown keys are an error, missing ones take their default."""
    return _build(kind, json.loads(text))


_NESTED: dict[str, type[Any]] = {
    "limits": Limits,
    "confinement": Confinement,
    "usage": Usage,
    "before": Usage,
    "allowance": Amount,
    "price": Price,
}


_TUPLES = ("tools", "writable", "readable", "hidden", "ports", "commands")


def _build(kind: type[T], data: dict[str, Any]) -> T:
    known = {f.name for f in fields(kind)}  # type: ignore[arg-type]
    if unknown := set(data) - known:
        raise ValueError(f"{kind.__name__} does not have {', '.join(sorted(unknown))}")
    return kind(**{name: _value(name, value) for name, value in data.items()})


def _value(name: str, value: Any) -> Any:
    if name in _NESTED and isinstance(value, dict):
        return _build(_NESTED[name], value)
    return tuple(value) if isinstance(value, list) and name in _TUPLES else value
