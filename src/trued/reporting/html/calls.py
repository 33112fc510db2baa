"""Every agent call of a run for the report: what it was asked, what it claimed, and what became of the claim."""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from trued.model import Event
from trued.model.events.call import CallAnswered, CallAsked, CallWaits
from trued.model.history import claim_of
from trued.reporting.html.format import agent_name, clock, cut, facts_line, moment
from trued.reporting.html.material import Material, ProofSummary, Spooled
from trued.reporting.views.claims import CallEnd, VerdictFact, claims_done, done_claims
from trued.reporting.views.rows import Call, CallOutcome

TRANSCRIPTS = 1_200_000  # the most characters of all calls' texts together, so that the page opens at once
LINES, FEWEST_LINES = 2_000, 5  # at most about LINES lines of all transcripts together, but always FEWEST_LINES of each
SHOWN = 60  # at most this many calls have brief, reply and transcript: the most interesting, then the newest
LONGEST, SHORTEST = 60_000, 1_500  # room for the texts of one call, in characters: the most, and the least
INCIDENTS = {  # kind of event → what happened to the call, which the call's own report does not say
    "adopted": "the engine died; this call continued by itself and was adopted",
    "report found": "the engine died; this call ended by itself, and its answer was found",
    "died": "the call died",
    "session resumed": "the call died; its session was resumed",
    "run again": "nothing was left of the call; it was run again",
}


@dataclass(frozen=True)
class TranscriptLine:
    """One line of a transcript."""

    at: float
    kind: str
    text: str

    @property
    def clock(self) -> str:
        return clock(self.at)


@dataclass(frozen=True)
class ProviderWait:
    """A wait for the provider."""

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
        shown, left_out = cut(text, most)
        return cls(shown, len(text), left_out)


NOTHING = Text("", 0, 0)


@dataclass(frozen=True, slots=True)
class ReportedCall:
    """A call of the run's tree with its brief, reply and transcript."""

    row: Call
    anchor: str
    began: float
    ended: float
    claim: str  # the result that the agent claims: PASS, DONE, …
    claims_done: bool
    brief: Text
    reply: Text
    transcript: tuple[TranscriptLine, ...]
    transcript_left_out: int
    has_unread_events: bool  # some earlier events were not read, and `transcript_left_out` does not count them
    folder: str
    incidents: tuple[TranscriptLine, ...]  # crashes that the call survived
    waits: tuple[ProviderWait, ...] = ()
    refuted: str = ""  # the requirements for which the engine's next check failed
    held_back: bool = False  # its texts may quote held-out cases, and are left out while agents may still be called
    is_shown: bool = True  # False: its texts are left out, and it appears only in the timeline and the sums

    @property
    def link(self) -> str:
        return f"#{self.anchor}" if self.is_shown else "#transcripts"

    @property
    def key(self) -> str:
        return self.row.key

    @property
    def role(self) -> str:
        return self.row.role

    @property
    def agent(self) -> str:
        return self.row.agent

    @property
    def state(self) -> str:
        """One of `done`, `failed` and `at work`."""
        return self.row.answer.state or "at work" if self.row.answer else "at work"

    @property
    def answer(self) -> CallOutcome | None:
        return self.row.answer

    @property
    def is_scripted(self) -> bool:
        return self.agent.startswith("scripted")

    @property
    def agent_name(self) -> str:
        return agent_name(self.agent)

    @property
    def summary(self) -> str:
        """The agent's own summary of what it did."""
        if self.held_back:
            return ""
        reply = self.answer.reply if self.answer else None
        return cut(str((reply or {}).get("summary") or ""), 600)[0]

    @property
    def why(self) -> str:
        return cut(self.answer.why, 2000)[0] if self.answer and not self.held_back else ""

    @property
    def seconds(self) -> float:
        return max(0.0, self.ended - self.began)


def calls(
    material: Material, *, texts: bool = True, known: Sequence[ReportedCall] = (), is_judged: bool = False
) -> tuple[ReportedCall, ...]:
    """All calls of a run, in the order in which they were first asked. If there are more than `SHOWN` calls, only the
    most interesting ones have texts. If `texts` is false, no call has texts.

    `known`: an earlier result of this function, with the same `material.ended`. Calls that have not changed are reused.
    `is_judged`: whether the claims in `known` were already compared with all verdicts, because no verdict has been
    added since then. They are not compared again.
    """
    by_key: dict[str, list[Event]] = defaultdict(list)
    for event in material.events:
        by_key[event.key].append(event)
    rows = [row for row in material.progress.calls if row.asked]
    every = [
        known[position]
        if position < len(known) and _has_stayed(known[position], row) and row.key not in by_key
        else _reported_call(material, row, by_key.get(row.key, ()), f"call-{position + 1}" if texts else "")
        for position, row in enumerate(rows)
    ]
    judged = known if is_judged else ()  # without a new verdict, nothing can refute the claims of these calls
    fresh = [call for position, call in enumerate(every) if position >= len(judged) or call is not judged[position]]
    fell = _refutations(fresh, material.proofs) if fresh else {}
    changed = {
        call.key: replace(call, refuted=fell.get(call.key, ""))
        for call in fresh
        if fell.get(call.key, "") != call.refuted
    }
    every = [changed.get(call.key, call) for call in every] if changed else every
    if not texts:
        return tuple(every)
    number = max(1, min(SHOWN, len(every)))
    room, lines = min(LONGEST, max(SHORTEST, TRANSCRIPTS // number)), max(FEWEST_LINES, LINES // max(1, len(every)))
    shown = {call.key for call in sorted(every, key=_weight)[:SHOWN]}
    return tuple(
        _with_texts(material, call, by_key.get(call.key, ()), room, lines)
        if call.key in shown
        else replace(call, is_shown=False)
        for call in every
    )


def _has_stayed(call: ReportedCall, row: Call) -> bool:
    """Whether the call had already ended in the earlier result, and has not changed since then."""
    return call.row is row and bool(row.ended)


def _weight(call: ReportedCall) -> tuple[int, float]:
    """Sort key by what readers look for first: refuted claims, failures, running calls, crashes; then the newest."""
    looked_for = (bool(call.refuted), call.state == "failed", call.state == "at work", bool(call.incidents))
    return next((rank for rank, is_so in enumerate(looked_for) if is_so), len(looked_for)), -call.began


def _reported_call(material: Material, row: Call, events: Sequence[Event], anchor: str) -> ReportedCall:
    answer, reply = row.answer, (row.answer.reply if row.answer else None) or {}
    ended = row.ended or material.now
    state = answer.state if answer else ""
    held_back = material.holds_back(row.role, row.key)
    claim = "" if held_back else claim_of(reply)
    waits = tuple(_waits(events, ended, held_back=held_back))
    started = row.started or row.asked
    # if the call waited for its provider, its report covers only the time after the wait, so `started` is used
    began = started if waits or not answer else answer.began or started
    return ReportedCall(
        row=row,
        anchor=anchor,
        began=min(ended, max(row.asked, began)),
        ended=max(row.asked, ended),
        claim=claim,
        claims_done=claims_done(row.role, state, reply),
        brief=NOTHING,
        reply=NOTHING,
        transcript=(),
        transcript_left_out=0,
        has_unread_events=False,
        folder="",
        incidents=tuple(TranscriptLine(at, kind, INCIDENTS[kind]) for at, kind in row.incidents),
        waits=waits,
        held_back=held_back,
    )


def _with_texts(material: Material, call: ReportedCall, events: Sequence[Event], room: int, lines: int) -> ReportedCall:
    """The call with its last brief, its reply and its transcript. Before the run has ended, an examiner's call gets no
    texts.

    `room`: how many characters brief and reply may have together, roughly. `lines`: how many of the agent's newest
    events are read for the transcript, at most.
    """
    if call.held_back:
        return call
    briefs = [request.brief for event in events if (request := CallAsked.read(event))]
    wanted = min(lines, max(FEWEST_LINES, room // 400))
    spooled, reply = material.spool(call.key, wanted), (call.answer.reply if call.answer else None) or {}
    transcript = tuple(_transcript(events, spooled, room // 5))
    return replace(
        call,
        brief=Text.of(briefs[-1] if briefs else "", room * 3 // 5),
        reply=Text.of(json.dumps(reply, indent=2, ensure_ascii=False) if reply else "", room // 4),
        transcript=transcript[-2 * wanted :],
        transcript_left_out=spooled.left_out + max(0, len(transcript) - 2 * wanted),
        has_unread_events=spooled.unread > 0,
        folder=spooled.folder,
    )


def _waits(events: Sequence[Event], ended: float, *, held_back: bool) -> Iterator[ProviderWait]:
    """Each wait for the provider. A wait lasts until the call's next event; without a next event, until `ended`.
    `held_back`: leave out the reason for the wait, because the texts of this call must not be shown yet."""
    for number, stored in enumerate(events):
        if event := CallWaits.read(stored):
            over = events[number + 1].at if number + 1 < len(events) else max(stored.at, ended)
            why = "" if held_back else f": {cut(event.why, 300)[0]}"
            yield ProviderWait(stored.at, over, f"{event.waits_for}{why}")


def _transcript(events: Sequence[Event], spooled: Spooled, room: int) -> Iterator[TranscriptLine]:
    """The events of the engine and of the agent, by time, each cut to `room` characters (but at least 200)."""
    shown_elsewhere = (CallAsked.KIND, CallAnswered.KIND)
    lines = [
        TranscriptLine(event.at, event.kind, _event_text(event))
        for event in events
        if event.kind not in shown_elsewhere
    ]
    for row in spooled.events:
        rest = {name: value for name, value in row.items() if name not in ("at", "kind")}
        lines.append(TranscriptLine(_time(row.get("at")), str(row.get("kind", "")), facts_line(rest)))
    for line in sorted(lines, key=lambda line: line.at):
        yield replace(line, text=cut(line.text, max(200, room))[0])


def _time(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _event_text(stored: Event) -> str:
    if event := CallWaits.read(stored):
        return f"until {moment(event.until)}: {event.waits_for}: {event.why}"
    return facts_line(stored.data)


def _refutations(every: Sequence[ReportedCall], proofs: Sequence[ProofSummary]) -> dict[str, str]:
    """Key of a call that claimed to be done → the requirements that the engine's next check of the same task or feature
    refuted."""
    verdicts = (VerdictFact(proof.key, proof.at, proof.grades) for proof in proofs)
    claims = done_claims((CallEnd.of(call.row) for call in every), verdicts)
    return {claim.key: ", ".join(claim.refuted) for claim in claims if claim.refuted}
