"""Every agent call of a run, as it is told: what it was asked, what it claimed, and what became of the claim."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trued.model import Event, Grade
from trued.reporting.html.format import agent_name, clock, cut, moment
from trued.reporting.html.material import Material, Proved, Spooled
from trued.reporting.views import waits_for

TRANSCRIPTS = 6_000_000  # characters of all transcripts together: the page has to open at once
FIRST = ("impl-agent",)  # builds before the first round that looks at it
ADVISERS = (
    frozenset(  # say what is to be done, or look at something else than what is checked: no claim of theirs can fall
        {"pm", "techlead", "researcher", "spec", "designer", "planner", "v-build", "r-knowledge"}
        | {"ct-security", "ct-scalability", "ct-maintainability", "ct-strategy"}
    )
)
DONE = ("", "DONE", "PASS", "passed")  # words that claim that all is well
LONGEST, SHORTEST = 60_000, 1_500  # of one transcript
LOST = {  # what happened to a call that its own report does not tell
    "adopted": "the engine died; this call went on by itself and was adopted",
    "report found": "the engine died; this call ended by itself, and its answer was found",
    "died": "the call died",
    "session resumed": "the call died; its session was resumed",
    "run again": "nothing was left of the call; it was run again",
}


@dataclass(frozen=True)
class Told:
    """One line of a transcript."""

    at: float
    kind: str
    text: str

    @property
    def clock(self) -> str:
        return clock(self.at)


@dataclass(frozen=True)
class Wait:
    """For the provider."""

    began: float
    ended: float
    text: str


@dataclass(frozen=True)
class Text:
    """The beginning of a long text."""

    text: str
    length: int
    left_out: int

    @classmethod
    def of(cls, text: str, most: int) -> "Text":
        kept, left_out = cut(text, most)
        return cls(kept, len(text), left_out)


@dataclass(frozen=True)
class Call:
    key: str
    anchor: str
    role: str
    agent: str
    asked: float
    began: float
    ended: float
    state: str  # done | failed | at work
    claim: str  # in the agent's own word: PASS, DONE, …
    claims_done: bool
    summary: str
    why: str
    brief: Text
    reply: Text
    told: tuple[Told, ...]
    told_left_out: int
    folder: str
    tokens: Mapping[str, Any]
    cost_usd: float
    cost: str  # how it is known: reported | computed | ceiling
    compactions: int
    attempts: int
    asks: int
    reaped: int
    continued: bool  # the agent went on with its own conversation
    commit: str
    changed: tuple[str, ...]
    lost: tuple[Told, ...]  # crashes that it lived through
    waits: tuple[Wait, ...] = ()
    refuted: str = ""  # by what, when the engine's own check said otherwise

    @property
    def scripted(self) -> bool:
        return self.agent.startswith("scripted")

    @property
    def agent_name(self) -> str:
        return agent_name(self.agent)

    @property
    def scope(self) -> str:
        return self.key[: self.key.rfind("/") + 1]

    @property
    def seconds(self) -> float:
        return max(0.0, self.ended - self.began)


def calls(material: Material) -> tuple[Call, ...]:
    by_key: dict[str, list[Event]] = defaultdict(list)
    for event in material.events:
        if event.key:
            by_key[event.key].append(event)
    asked = [key for key, events in by_key.items() if any(one.kind == "asked" for one in events)]
    room = min(LONGEST, max(SHORTEST, TRANSCRIPTS // max(1, len(asked))))
    every = [_call(material, key, by_key[key], f"call-{number}", room) for number, key in enumerate(asked, 1)]
    return tuple(_refuted(every, material.history))


def _call(material: Material, key: str, events: Sequence[Event], anchor: str, room: int) -> Call:
    asked = next(one for one in events if one.kind == "asked")
    answered = next((one for one in reversed(events) if one.kind == "answered"), None)
    data: Mapping[str, Any] = answered.data if answered else {}
    reply: Mapping[str, Any] = data.get("reply") or {}
    ended = float(data.get("ended") or (answered.at if answered else material.now))
    spooled = material.spool(key, max(5, room // 400))
    claim = str(reply.get("result") or reply.get("decision") or reply.get("status") or "")
    if isinstance(passed := reply.get("passes", reply.get("passed")), bool):
        claim = "PASS" if passed else "not yet"
    state, role = str(data.get("state") or "at work"), str(asked.data.get("role", ""))
    claims_done = state == "done" and claim in DONE and role not in ADVISERS and not reply.get("asks")
    waits = tuple(_waits(events, ended))
    started = _started(
        events, asked.at
    )  # of a call that was refused and waited, the report tells of the last part only
    return Call(
        key=key,
        anchor=anchor,
        role=role,
        agent=str(asked.data.get("agent", "")),
        asked=asked.at,
        began=min(ended, max(asked.at, started if waits else float(data.get("began") or started))),
        ended=max(asked.at, ended),
        state=state,
        claim=claim,
        claims_done=claims_done,
        summary=cut(str(reply.get("summary") or ""), 600)[0],
        why=cut(str(data.get("why") or ""), 2000)[0],
        brief=Text.of(str(asked.data.get("brief", "")), room * 3 // 5),
        reply=Text.of(json.dumps(reply, indent=2, ensure_ascii=False) if reply else "", room // 4),
        told=tuple(_told(events, spooled, room // 5)),
        told_left_out=spooled.left_out,
        folder=spooled.folder,
        tokens=data.get("tokens") or {},
        cost_usd=float(data.get("cost_usd") or 0.0),
        cost=str(data.get("cost") or ""),
        compactions=int(data.get("compactions") or 0),
        attempts=int(data.get("attempts") or 1),
        asks=int(data.get("asks") or 1),
        reaped=int(data.get("reaped") or 0),
        continued=bool(data.get("resumed")),
        commit=str(data.get("commit") or ""),
        changed=tuple(map(str, data.get("changed") or ())),
        lost=tuple(Told(one.at, one.kind, LOST[one.kind]) for one in events if one.kind in LOST),
        waits=waits,
    )


def _waits(events: Sequence[Event], ended: float) -> Iterator[Wait]:
    """Each wait for the provider: until it was over, something else happened, or now."""
    for number, one in enumerate(events):
        if one.kind == "waits":
            over = events[number + 1].at if number + 1 < len(events) else max(one.at, ended)
            yield Wait(one.at, over, f"{waits_for(one.data)}: {cut(str(one.data.get('why') or ''), 300)[0]}")


def _started(events: Sequence[Event], otherwise: float) -> float:
    return next((one.at for one in events if one.kind == "started"), otherwise)


def _told(events: Sequence[Event], spooled: Spooled, room: int) -> Iterator[Told]:
    """The engine's events and the agent's own, by time, in no more than `room` characters."""
    lines = [Told(one.at, one.kind, _event(one)) for one in events if one.kind not in ("asked", "answered")]
    for one in spooled.events:
        rest = {name: value for name, value in one.items() if name not in ("at", "kind")}
        lines.append(Told(_time(one.get("at")), str(one.get("kind", "")), _words(rest)))
    for line in sorted(lines, key=lambda line: line.at):
        text = cut(line.text, max(200, room))[0]
        yield replace(line, text=text)


def _time(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _event(one: Event) -> str:
    if one.kind != "waits":
        return _words(one.data)
    return f"until {moment(_time(one.data.get('until')))}: {waits_for(one.data)}: {one.data.get('why') or ''}"


def _words(data: Mapping[str, Any]) -> str:
    if set(data) == {"text"}:
        return str(data["text"])
    return " · ".join(f"{name} {value}" for name, value in data.items() if value not in ("", None, [], {}))


def _refuted(every: Sequence[Call], history: Sequence[Proved]) -> Iterator[Call]:
    """A claim is refuted when the next check of the same chunk, made by the engine, failed."""
    for call in every:
        later = [one for one in history if one.at >= call.ended]
        after = next((one for one in later if one.scope == call.scope or call.role in FIRST), None)
        failed = [one.id for one in after.verdict.requirements if one.grade is Grade.REFUTED] if after else []
        yield replace(call, refuted=", ".join(failed)) if call.claims_done and failed else call
