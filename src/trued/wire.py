"""What crosses a process border: plain frozen records, JSON in and out.

They are dataclasses and not pydantic models because the supervisor lives on them alone: it has to start in a blink.
"""

import json
from dataclasses import asdict, dataclass, field, fields
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


@dataclass(frozen=True, slots=True)
class Order:
    """Everything that is needed to let one agent work once, on any machine that has the folder."""

    run: str
    key: str  # the step's name: "chunk 1A/purple-team-b#2"
    call: str  # the key as a folder name; with the attempt it names the spool folder
    attempt: int
    role: str
    agent: str  # "command:python agent.py", "scripted:script.py"
    brief: str
    schema: dict[str, Any]
    session: str  # chosen by the engine; the same for every ask of one session
    resume: bool  # go on with that session's conversation
    folder: str  # the clone to work in
    home: str  # HOME of the agent: kept as long as its session
    tools: tuple[str, ...] = ()
    model: str = ""
    limits: Limits = field(default_factory=Limits)
    confinement: Confinement = field(default_factory=Confinement)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and money of one call. `estimated` when nobody reported them."""

    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    peak: int = 0
    cost_usd: float = 0.0
    estimated: bool = True


@dataclass(frozen=True, slots=True)
class Report:
    """What came back from one agent call, before anyone believes it."""

    call: str
    attempt: int
    state: str  # done | failed | died (nothing is left of the call: try again with the next attempt)
    reply: dict[str, Any] | None = None
    kind: str = ""  # of failure: crashed | contract | idle | wall | output | missing | refused
    why: str = ""
    session: str = ""
    resumed: bool = False  # the agent went on with its conversation
    asks: int = 1  # 2 when it was asked again for a broken contract
    reaped: int = 0  # descendants that outlived the agent and were ended
    usage: Usage = field(default_factory=Usage)
    began: float = 0.0
    ended: float = 0.0


def dump(record: Any) -> str:
    """Canonical JSON: the same record is the same bytes."""
    return json.dumps(asdict(record), sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def load(kind: type[T], text: str | bytes) -> T:
    """The record back from its JSON; unknown keys are an error, missing ones take their default."""
    return _build(kind, json.loads(text))


_NESTED: dict[str, type[Any]] = {"limits": Limits, "confinement": Confinement, "usage": Usage}


_TUPLES = ("tools", "writable", "readable", "hidden", "ports")


def _build(kind: type[T], data: dict[str, Any]) -> T:
    known = {f.name for f in fields(kind)}  # type: ignore[arg-type]
    if unknown := set(data) - known:
        raise ValueError(f"{kind.__name__} does not have {', '.join(sorted(unknown))}")
    return kind(**{name: _value(name, value) for name, value in data.items()})


def _value(name: str, value: Any) -> Any:
    if name in _NESTED and isinstance(value, dict):
        return _build(_NESTED[name], value)
    return (
        tuple(value)
        if isinstance(value, list) and name in ("tools", "writable", "readable", "hidden", "ports")
        else value
    )
