"""Records that cross a process boundary: plain frozen dataclasses, written and read as JSON.

They are not pydantic models because the supervisor, which reads them, has to start quickly.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any, TypeAlias, TypeVar, get_origin

T = TypeVar("T")
EmitAgentEvent: TypeAlias = Callable[..., None]  # emit(kind, **data): an agent or its supervisor reports an event


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an agent supports natively. The engine makes up for a missing capability, or reports that it cannot."""

    resume: bool = False  # it can continue the conversation of a session
    chosen_session: bool = False  # the engine picks the session id
    early_session: bool = False  # the agent reports its own session id before the first paid request
    native_schema: bool = False  # it enforces a reply schema itself; the engine checks the reply again
    native_budget: bool = False  # it enforces its own budget
    reports_usage: bool = False
    reports_cost: bool = False
    running_usage: bool = False  # it reports usage while it works, not only at the end
    withholds_tools: bool = False  # it has only the tools of its role; otherwise the processes it starts are watched
    vendor: str = ""  # the vendor of its models; "": unknown, which never counts as another vendor

    @property
    def limitations(self) -> tuple[str, ...]:
        """What the agent cannot do, and what the engine does about it, as sentences for people."""
        missing = {
            "cannot resume: a later turn starts a new conversation and gets all facts again": not self.resume,
            "its session is known only after the first paid request": self.resume
            and not (self.chosen_session or self.early_session),
            "no schema of its own: the reply is parsed from its text": not self.native_schema,
            "no budget of its own: the engine watches its usage and stops it"
            if self.running_usage
            else "no budget of its own, and reports usage only at the end": not self.native_budget,
            "reports no usage: the engine estimates it": not self.reports_usage,
            "reports no cost: the engine computes it from a price table": not self.reports_cost,
            "keeps all its tools: actions beyond its role are refused or watched": not self.withholds_tools,
        }
        return tuple(sentence for sentence, applies in missing.items() if applies)


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """The limits at which an agent is ended."""

    idle_s: float = 600.0  # seconds without any output or event
    wall_s: float = 3600.0
    output_bytes: int = 16 * 1024 * 1024  # of stdout, so that an agent cannot fill the disk
    memory_bytes: int = 0  # 0: no limit
    processes: int = 0


@dataclass(frozen=True, slots=True)
class Confinement:
    """What a confined process may read, write and reach on the machine. Everything that is not listed is invisible."""

    level: str = "bubblewrap"  # bubblewrap | landlock | none
    writable: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()  # besides the system's own folders
    network: str = "none"  # none | loopback | host
    hidden: tuple[str, ...] = ()  # invisible even inside a readable folder
    ports: tuple[int, ...] = ()  # the only TCP ports it may use if it has no network of its own
    scoped: bool = True  # it cannot reach abstract sockets and processes outside, if the kernel supports that


@dataclass(frozen=True, slots=True)
class Amount:
    """Money, tokens, calls and time: spent, reserved or allowed. As a limit, 0 means no limit."""

    usd: float = 0.0
    tokens: int = 0
    calls: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens: the model's price, or the setting `limits.ceiling` if that price is unknown."""

    usd_in: float = 0.0
    usd_out: float = 0.0
    usd_cached: float = 0.0
    source: str = ""  # "genai-prices 0.2.1: claude-sonnet-4-5" or "ceiling"; empty: no price was asked for


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and money of one call; `estimated` if the agent did not report them."""

    tokens_in: int = 0  # everything that was sent, cached or not
    tokens_out: int = 0
    tokens_cached: int = 0  # the part of tokens_in that was cached
    peak: int = 0  # the largest context of one request
    cost_usd: float = 0.0
    estimated: bool = True
    cost: str = ""  # where cost_usd comes from: reported | computed | ceiling; empty: unknown
    requests: int = 0  # to the model, if the agent reports them
    compactions: int = 0  # how often the agent shortened its own context


@dataclass(frozen=True, slots=True)
class Spend:
    """The spending of one attempt at an order: what is reserved while the attempt is open, and what it used."""

    call: str
    attempt: int
    step: str  # the call's key; it stays the same when the call continues after a wait or a question
    task: str  # the part of the run: "chunk 1A"; empty: the run itself
    role: str
    agent: str
    state: str = "open"  # open | done | failed | died
    reserved: Amount = field(default_factory=Amount)
    spent: Amount = field(default_factory=Amount)
    cost: str = ""  # how the money spent is known: reported | computed | ceiling
    at: float = 0.0  # when this row was written

    @property
    def charge(self) -> Amount:
        """What this attempt takes from a limit now: its reservation while it is open, then what it spent."""
        return self.reserved if self.state == "open" else self.spent


@dataclass(frozen=True, slots=True)
class Order:
    """One attempt at an order of a call. It is self-contained: any machine that has the clone folder can execute it."""

    run: str
    key: str  # the name of the step: "chunk 1A/purple-team-b#2"
    call: str  # the order's name, made from the key; with the attempt, it is the name of the spool folder
    attempt: int
    role: str
    agent: str  # "claude", "codex:gpt-5", "command:python agent.py", "scripted:script.py"
    brief: str
    schema: dict[str, Any]
    session: str  # chosen by the engine; the same for every call of one session
    resume: bool  # continue the conversation of that session
    folder: str  # the clone to work in
    home: str  # HOME of the agent; lives as long as its session
    tools: tuple[str, ...] = ()
    browser: tuple[str, ...] = ()  # the command of an MCP server that drives a browser on the preview; empty: none
    model: str = ""  # small | medium | large, or a name that the agent knows
    native: str = ""  # the agent's own id of the session, if an earlier call learnt it
    interrupted: bool = False  # the agent has started on this brief before and continues from there
    anew: str = ""  # the brief for a new session, if the old session is lost; empty: `brief` is used
    before: Usage = field(default_factory=Usage)  # the session's usage so far: some agents report only its new total
    bring: bool = False  # load the project's own settings for this agent: hooks, servers, skills
    login: str = "auto"  # how it may log in: auto | key | subscription | none
    prompts: str = "policy"  # what its role does not allow is refused (policy) or becomes a question (ask)
    allowance: Amount = field(default_factory=Amount)  # reserved for this call, which is ended when it uses more
    price: Price = field(default_factory=Price)
    limits: ProcessLimits = field(default_factory=ProcessLimits)
    confinement: Confinement = field(default_factory=Confinement)


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one agent call: a claim, before anything is checked."""

    call: str
    attempt: int
    # done | failed | asks | stopped (by a person, to comment) | died (nothing is left of the call: start the next
    # attempt)
    state: str
    reply: dict[str, Any] | None = None
    # kind of a failure. Detected by trued: crashed | contract | idle | wall | output | missing | refused;
    # reported by the agent or its provider: auth | credit | rate | overloaded | context | budget
    kind: str = ""
    why: str = ""
    until: float = 0.0  # when the provider accepts requests again; 0: it did not say
    question: str = ""  # with state "asks": what a person has to answer
    session: str = ""
    native: str = ""  # the agent's own id of the session; empty: it never had one
    resumed: bool = False  # the agent continued its conversation
    asks: int = 1  # 2 if the agent was asked again, because its reply broke the reply contract
    reaped: int = 0  # processes that outlived the agent and were ended
    commands: tuple[str, ...] = ()  # command lines that it ran, as far as it reports them
    usage: Usage = field(default_factory=Usage)
    quota: dict[str, Any] = field(default_factory=dict)  # of a subscription: window, used (per cent), until
    began: float = 0.0
    ended: float = 0.0


def add_usage(first: Usage, second: Usage) -> Usage:
    """The sum of two usages. An empty usage does not make the sum count as estimated."""
    parts = [part for part in (first, second) if part != Usage()]
    return Usage(
        tokens_in=first.tokens_in + second.tokens_in,
        tokens_out=first.tokens_out + second.tokens_out,
        tokens_cached=first.tokens_cached + second.tokens_cached,
        peak=max(first.peak, second.peak),
        cost_usd=first.cost_usd + second.cost_usd,
        estimated=any(part.estimated for part in parts) or not parts,
        cost=next((cost for cost in ("ceiling", "computed", "reported") if cost in (first.cost, second.cost)), ""),
        requests=first.requests + second.requests,
        compactions=first.compactions + second.compactions,
    )


def with_cost(usage: Usage, price: Price) -> Usage:
    """The usage with a cost: the cost that the agent reported, or a cost computed from `price`. A usage that is empty,
    or that already says how its cost is known, is returned unchanged. So is any usage if `price` has no `source`."""
    if usage.cost or not price.source or usage == Usage():
        return usage
    if usage.cost_usd:
        return replace(usage, cost="reported")
    fresh = max(0, usage.tokens_in - usage.tokens_cached)
    cost = fresh * price.usd_in + usage.tokens_cached * price.usd_cached + usage.tokens_out * price.usd_out
    kind = "ceiling" if price.source == "ceiling" else "computed"
    return replace(usage, cost_usd=cost / 1_000_000, cost=kind)


def remaining(allowed: Amount, used: Usage) -> Amount:
    """What is left of an allowance. A used-up limit becomes a tiny one, because 0 means no limit."""
    usd = max(allowed.usd - used.cost_usd, 0.0001) if allowed.usd else 0.0
    tokens = max(allowed.tokens - used.tokens_in - used.tokens_out, 1) if allowed.tokens else 0
    return replace(allowed, usd=usd, tokens=tokens)


def to_json(record: Any) -> str:
    """The record as canonical JSON: equal records give equal bytes."""
    return json.dumps(asdict(record), sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def from_json(kind: type[T], text: str | bytes) -> T:
    """Read a record from its JSON; missing keys take their default. Raises ValueError for broken JSON and unknown keys,
    TypeError for a missing key without default."""
    return _build(kind, json.loads(text))


def _build(kind: type[T], data: dict[str, Any]) -> T:
    types = {f.name: f.type for f in fields(kind)}  # type: ignore[arg-type]
    if unknown := set(data) - set(types):
        raise ValueError(f"{kind.__name__} has no field {', '.join(sorted(unknown))}")
    return kind(**{name: _value(types[name], value) for name, value in data.items()})


def _value(kind: Any, value: Any) -> Any:
    """Convert a value that was read from JSON to the type of its field: a list to a tuple, an object to a record."""
    if isinstance(value, dict) and isinstance(kind, type) and is_dataclass(kind):
        return _build(kind, value)
    return tuple(value) if isinstance(value, list) and get_origin(kind) is tuple else value
