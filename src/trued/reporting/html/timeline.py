"""The timeline's geometry, in per cent: one lane per agent, one for the engine's own checks, one for people."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeAlias

from markupsafe import Markup

from trued.model import Approval, Grade, Question
from trued.model.events import of_kind
from trued.model.events.run import RunResumed
from trued.model.step_keys import inner_scope, step_name
from trued.reporting.html.calls import ProviderWait, ReportedCall
from trued.reporting.html.format import agent_name, counted
from trued.reporting.html.material import CheckRun, Material, ProofSummary
from trued.reporting.views.rows import Remark
from trued.support.durations import duration

MOST_BARS, MOST_MARKS = 240, 60  # the most in one lane
FEWEST = 12  # a lane may always have this many bars, however many lanes there are
NARROW = 0.35  # per cent of the width: the thinnest bar that can be seen and clicked
TOUCHING = 0.12  # per cent of the width: narrow bars that are closer than this become one
WIDE = 1.0  # per cent: joined bars are not wider than this, so that links still lead to different parts of the run
TRACKS = 6  # at most this many bars of one lane are stacked
QUIET_S = 45.0  # an idle time is cut out if it is longer than this and longer than a fifth of the working time
BREAK = 4.0  # per cent of the width that a cut takes
LABELLED = 88.0  # per cent: a label that begins further right would be cut off in the narrowest picture
TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)


CallOrWait: TypeAlias = ReportedCall | tuple[ReportedCall, ProviderWait]


class Stretch(NamedTuple):
    """A stretch of time that may become a bar. It has no title, because only bars that are drawn need titles: of twenty
    thousand stretches, a few hundred are drawn."""

    began: float
    ended: float
    kind: str
    of: Any  # what the bar shows; the lane makes a title from it
    number: int = 1  # how many bars are joined in this one
    last: Any = None  # what the last of the joined bars shows


class Span(NamedTuple):
    """A stretch with its place on the axis, from `x` to `until` in per cent. Bars are joined again and again, but each
    place is computed only once."""

    x: float
    until: float
    stretch: Stretch


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of the timeline. `kind`: `work`, `open` (still running), `failed`, `wait`, `check`, `check failed`,
    `check base` (a check on the base) or `scope`."""

    began: float
    ended: float
    kind: str
    title: str
    link: str = ""
    count: int = 1
    x: float = 0.0
    width: float = 0.0
    track: int = 0

    @property
    def place(self) -> Markup:
        """The bar's SVG attributes `x` and `width`: two numbers, no text from outside."""
        return Markup(f'x="{self.x:.3f}%" width="{self.width:.3f}%"')  # noqa: S704


@dataclass(frozen=True, slots=True)
class Mark:
    """One mark on the timeline. `kind`: `refuted`, `crash`, or `word` (a person's decision)."""

    at: float
    kind: str
    title: str
    link: str = ""
    x: float = 0.0
    track: int = 0


@dataclass(frozen=True)
class Stretches:
    """The bars of a lane. They are not kept, but made again for each iteration, because the bars of a long run would
    take five megabytes."""

    make: Callable[[], Iterator[Stretch]]

    def __iter__(self) -> Iterator[Stretch]:
        return self.make()


@dataclass(frozen=True)
class LaneDraft:
    """A lane before it is drawn."""

    name: str
    detail: str
    kind: str
    stretches: Iterable[Stretch]
    title: Callable[[Any, str], str]  # makes a bar's title from what it shows and its kind
    link: Callable[[Any], str]
    marks: Sequence[Mark] = ()
    says: str = ""

    def bar_title(self, stretch: Stretch) -> str:
        if stretch.number == 1:
            return self.title(stretch.of, stretch.kind)
        first, last = self.title(stretch.of, stretch.kind), self.title(stretch.last, stretch.kind)
        title = f"{first.partition(' … ')[0]} … {last.rpartition(' … ')[2]}"
        return f"{counted(stretch.number, 'bar')} drawn as one: {title}"


@dataclass(frozen=True)
class Lane:
    name: str
    detail: str
    kind: str  # agent | engine | person | scope
    bars: tuple[Bar, ...]
    marks: tuple[Mark, ...] = ()
    tracks: int = 1
    says: str = ""  # the lane as text, for readers who cannot see it


@dataclass(frozen=True)
class Tick:
    x: float
    label: str


@dataclass(frozen=True)
class Cut:
    """An idle period, cut out of the axis."""

    x: float
    width: float
    label: str


@dataclass(frozen=True)
class Timeline:
    lanes: tuple[Lane, ...]
    ticks: tuple[Tick, ...]
    cuts: tuple[Cut, ...]
    resumes: tuple[Mark, ...]
    seconds: float


@dataclass(frozen=True)
class Links:
    """The link targets of bars and marks."""

    call: Callable[[ReportedCall], str] = lambda call: call.link
    ledger: str = "#ledger"
    refuted: Callable[[str], str] = lambda requirement: "#ledger"  # the verdict that refuted a requirement
    people: str = "#people"


@dataclass
class Axis:
    """Maps times to per cent of the width; long idle periods are cut out."""

    start: float
    end: float
    quiet: list[tuple[float, float]] = field(default_factory=list)
    zero: float = 0.0  # when the run began: ticks count from here

    @cached_property
    def shown_seconds(self) -> float:
        return max(1e-3, self.end - self.start - sum(end - begin for begin, end in self.quiet))

    def x(self, moment: float) -> float:
        moment = self.start if moment < self.start else self.end if moment > self.end else moment
        if not self.quiet:  # a fast path, because most runs have no idle period, and this is called for every bar
            return (moment - self.start) / self.shown_seconds * 100
        passed, cuts = moment - self.start, 0.0
        for begin, end in self.quiet:
            if moment >= end:
                passed, cuts = passed - (end - begin), cuts + BREAK
            elif moment > begin:
                passed, cuts = begin - self.start - self._before(begin), cuts + BREAK * (moment - begin) / (end - begin)
                break
        return passed / self.shown_seconds * (100 - BREAK * len(self.quiet)) + cuts

    def _before(self, moment: float) -> float:
        return sum(end - begin for begin, end in self.quiet if end <= moment)


def timeline(
    material: Material,
    every: Sequence[ReportedCall],
    links: Links | None = None,
    *,
    most: int = 0,
    scopes: bool = False,
    last_s: float = 0.0,
    now: float = 0.0,
) -> Timeline:
    """The timeline of a run.

    `links`: where clicks on bars and marks lead. `most`: about how many bars all lanes may have together; 0: each lane
    may have MOST_BARS. `scopes`: add a lane with the parts of the work, such as tasks. `last_s`: show only this many
    seconds at the end; 0: show all. `now`: where the bars of running calls end, if this is after the newest event.
    """
    links, now = links or Links(), max(now, material.now)
    lanes = [*(_scopes(material, now) if scopes else ()), *_agents(every, links, now), *_engine(material, links)]
    lanes += _people(material, links, now)
    axis = _axis(material, _busy(lanes))
    total = axis.end - axis.start
    if 0 < last_s < total:
        every_near = [_since(lane, axis.end - last_s) for lane in lanes]
        lanes = [near for near in every_near if near.stretches or near.marks]
        axis = _axis(material, _busy(lanes), axis.end - last_s)
    resumes = tuple(
        Mark(stored.at, "crash", f"the engine was started again ({event.after or 'killed'})", x=axis.x(stored.at))
        for stored, event in of_kind(material.events, RunResumed)
        if stored.at >= axis.start
    )
    cuts = (Cut(axis.x(begin), BREAK, duration(end - begin)) for begin, end in axis.quiet)
    share = max(FEWEST, most // max(1, len(lanes))) if most else MOST_BARS
    placed = tuple(_place(lane, axis, min(MOST_BARS, share)) for lane in lanes)
    return Timeline(placed, tuple(_ticks(axis)), tuple(cuts), resumes, total)


def _busy(lanes: Iterable[LaneDraft]) -> list[tuple[float, float]]:
    """Begin and end of every stretch of work, sorted; waits are left out."""
    return sorted(
        (stretch.began, stretch.ended) for lane in lanes for stretch in lane.stretches if stretch.kind != "wait"
    )


def _since(lane: LaneDraft, begin: float) -> LaneDraft:
    near = [stretch._replace(began=max(stretch.began, begin)) for stretch in lane.stretches if stretch.ended >= begin]
    return replace(lane, stretches=near, marks=[mark for mark in lane.marks if mark.at >= begin])


# -- lanes -----------------------------------------------------------------------------------------------------------


def _scopes(material: Material, now: float) -> Iterator[LaneDraft]:
    """A lane with one bar for each named part of the work; no lane if there is none."""
    spans: dict[str, list[float]] = {}
    for row in material.progress.rows.values():
        if isinstance(row, Remark) or not row.began:
            continue
        name = inner_scope(row.key) or step_name(row.key)
        spans.setdefault(name, []).extend((row.began, row.ended or now))
    bars = [Stretch(min(times), max(times), "scope", name) for name, times in spans.items()]
    if bars:
        says = counted(len(bars), "part")
        yield LaneDraft("work on", "", "scope", bars, lambda name, _: str(name), lambda _: "", says=says)


def _agents(every: Sequence[ReportedCall], links: Links, now: float) -> Iterator[LaneDraft]:
    by_agent: dict[tuple[str, str], list[ReportedCall]] = {}
    for call in every:
        by_agent.setdefault((call.role, call.agent), []).append(call)
    for (role, agent), calls in by_agent.items():
        bars = Stretches(partial(_work, calls, now))
        lies = sum(bool(call.refuted) for call in calls)
        says = f"{counted(len(calls), 'call')}, {duration(sum(call.seconds for call in calls))}"
        says += f", {counted(lies, 'claim')} refuted" if lies else ""
        marks = tuple(mark for call in calls for mark in _marks(call, links))
        yield LaneDraft(
            role, agent_name(agent), "agent", bars, _work_title, lambda of: links.call(_parts(of)[0]), marks, says=says
        )


def _work(calls: Sequence[ReportedCall], now: float) -> Iterator[Stretch]:
    return (stretch for call in calls for stretch in _stretches(call, now))


def _marks(call: ReportedCall, links: Links) -> Iterator[Mark]:
    for incident in call.incidents:
        yield Mark(incident.at, "crash", f"{call.key}: {incident.text}", links.call(call))
    if call.refuted:
        title = f"{call.key}: claimed {call.claim or 'done'}; refuted by the engine's own check of {call.refuted}"
        yield Mark(call.ended, "refuted", title, links.call(call))


def _stretches(call: ReportedCall, now: float) -> Iterator[Stretch]:
    """The bars of a call: its work, and its waits to start and for its provider."""
    asked, began = call.row.asked, call.began
    if began - asked > 0.05:
        yield Stretch(asked, began, "wait", call)
    for wait in call.waits:
        yield Stretch(began, max(began, wait.began), "work", (call, wait))
        yield Stretch(wait.began, wait.ended, "wait", (call, wait))
        began = max(began, wait.ended)
    kind = "failed" if call.state == "failed" else "open" if call.state == "at work" else "work"
    yield Stretch(began, max(began, now if kind == "open" else call.ended), kind, call)


def _parts(of: CallOrWait) -> tuple[ReportedCall, ProviderWait | None]:
    return (of, None) if isinstance(of, ReportedCall) else of


def _work_title(of: CallOrWait, kind: str) -> str:
    call, wait = _parts(of)
    if wait and kind == "work":
        return f"{call.key}: worked until its provider refused"
    if wait:
        return f"{call.key}: waited {duration(wait.ended - wait.began)}: {wait.text}"
    if kind == "wait":
        return f"{call.key}: waited {duration(call.began - call.row.asked)} to start"
    claim = f", claimed {call.claim}" if call.claim else ""
    return f"{call.key}: at work" if kind == "open" else f"{call.key}: {duration(call.seconds)}{claim}"


def _engine(material: Material, links: Links) -> Iterator[LaneDraft]:
    # a check whose evidence comes from an earlier run took no time in this run, so it has no bar
    runs = {
        check_run.id: check_run
        for check_run in material.check_runs
        if check_run.began and check_run.began >= material.progress.began
    }
    bars = Stretches(partial(_check_bars, runs.values()))
    marks = tuple(mark for proof in material.proofs for mark in _verdict(proof, links))
    if runs or marks:
        failed = sum(_bar_kind(check_run) == "check failed" for check_run in runs.values())
        says = f"{counted(len(runs), 'check run')}, {failed} failed on the head"
        yield LaneDraft(
            "engine", "its own checks", "engine", bars, _check_title, lambda _: links.ledger, marks, says=says
        )


def _check_bars(runs: Iterable[CheckRun]) -> Iterator[Stretch]:
    return (
        Stretch(check_run.began, check_run.began + check_run.seconds, _bar_kind(check_run), check_run)
        for check_run in runs
    )


def _verdict(proof: ProofSummary, links: Links) -> Iterator[Mark]:
    refuted = [name for name, grade in proof.grades.items() if grade == Grade.REFUTED]
    if refuted:
        yield Mark(proof.at, "refuted", f"{proof.key}: {', '.join(refuted[:20])} refuted", links.refuted(refuted[0]))


def _bar_kind(check_run: CheckRun) -> str:
    is_bad = check_run.passed < check_run.tried or check_run.is_void
    return "check base" if check_run.side == "base" else "check failed" if is_bad else "check"


def _check_title(check_run: CheckRun, _: str) -> str:
    counts = f"{check_run.passed} passed, {check_run.tried - check_run.passed} did not"
    return (
        f"{check_run.requirement} on {check_run.side}, run {check_run.turn}: {counts}, in {duration(check_run.seconds)}"
    )


def _people(material: Material, links: Links, now: float) -> Iterator[LaneDraft]:
    bars = [
        Stretch(question.asked_at, question.answered_at or now, "wait", question) for question in material.questions
    ]
    marks = [
        Mark(
            approval.at,
            "word",
            f"{approval.who} {_decision_verb(approval)} {_subject(approval.requirement)}",
            links.people,
        )
        for approval in material.approvals
    ]
    if bars or marks:
        says = f"{counted(len(bars), 'question')}, {counted(len(marks), 'decision')}"
        detail = "questions and decisions"
        yield LaneDraft("people", detail, "person", bars, _question_title, lambda _: links.people, marks, says=says)


def _question_title(question: Question, _: str) -> str:
    outcome = f"{question.who or 'somebody'} answered {question.answer}" if question.answer else "not answered yet"
    return f"{question.key}: {outcome}"


def _decision_verb(decision: Approval) -> str:
    return "rejected" if decision.rejected else "approved"


def _subject(requirement: str) -> str:
    return "the contract" if requirement == "*" else requirement


# -- geometry --------------------------------------------------------------------------------------------------------


def _axis(material: Material, work: Sequence[tuple[float, float]], begin_at: float = 0.0) -> Axis:
    """The axis of a run. It begins when the run began, but not before `begin_at`. `work`: begin and end of every
    stretch of work, sorted."""
    seen = material.progress
    worked = list(_union(work))
    times = [seen.began, seen.last, *(time for stretch in worked for time in stretch)]
    start = seen.began or min((time for time in times if time > 0), default=material.record.created_at)
    zero, start = start, max(start, begin_at)
    end = max([start + 0.1, *times])
    busy = sum(end - begin for begin, end in worked)
    quiet = []
    last = start
    for begin, finish in worked:
        if begin - last > max(QUIET_S, busy / 5):
            quiet.append((last, begin))
        last = max(last, finish)
    return Axis(start, end, quiet[:8], zero)


def _union(work: Iterable[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    begin = end = None
    for began, ended in work:
        if begin is None or end is None:
            begin, end = began, ended
        elif began <= end:
            end = max(end, ended)
        else:
            yield begin, end
            begin, end = began, ended
    if begin is not None and end is not None:
        yield begin, end


def _place(lane: LaneDraft, axis: Axis, most: int) -> Lane:
    bars = []
    free = [0.0] * TRACKS
    for x, until, stretch in _bars_to_draw(lane.stretches, axis, most):
        width = max(NARROW, until - x)
        track = next((number for number, until in enumerate(free) if until <= x + 1e-6), TRACKS - 1)
        free[track] = x + width if stretch.kind != "wait" else x
        bars.append(
            Bar(
                stretch.began,
                stretch.ended,
                stretch.kind,
                lane.bar_title(stretch),
                lane.link(stretch.of),
                stretch.number,
                x,
                width,
                track,
            )
        )
    tracks = max((bar.track for bar in bars), default=0) + 1
    marks = tuple(_marks_to_draw(sorted(lane.marks, key=lambda mark: mark.at), axis, min(MOST_MARKS, most)))
    return Lane(lane.name, lane.detail, lane.kind, tuple(bars), marks, tracks, lane.says)


def _bars_to_draw(stretches: Iterable[Stretch], axis: Axis, most: int) -> list[Span]:
    """The bars to draw, at most about `most`. Neighbours are joined, because a reader cannot tell more bars apart."""
    by_kind: dict[str, list[Stretch]] = {}
    for stretch in sorted(stretches, key=lambda stretch: stretch.began):
        by_kind.setdefault(stretch.kind, []).append(stretch)
    coarser = 1.0
    # spans are joined while they are made, because the spans of all stretches together would take some megabytes
    spans = [list(_merge(_spans(group, axis), coarser)) for group in by_kind.values()]
    while sum(map(len, spans)) > most and coarser <= 1000:
        coarser *= 2
        spans = [list(_merge(group, coarser)) for group in spans]
    return sorted((span for group in spans for span in group), key=lambda span: span.stretch.began)


def _spans(stretches: Iterable[Stretch], axis: Axis) -> Iterator[Span]:
    return (Span(axis.x(stretch.began), axis.x(stretch.ended), stretch) for stretch in stretches)


def _merge(spans: Iterable[Span], coarser: float) -> Iterator[Span]:
    """Join each bar narrower than NARROW with the bar before it, if the gap is less than TOUCHING and the joined bar is
    narrower than WIDE. `coarser`: a factor for these three limits."""
    first: Stretch | None = None
    last, ended, count, left, right = first, 0.0, 0, 0.0, 0.0
    short, near, wide = NARROW * coarser, TOUCHING * coarser, WIDE * coarser
    for begin, end, stretch in spans:
        if first and end - begin < short and begin - right < near and end - left < wide:
            last, ended, right, count = stretch, max(ended, stretch.ended), max(right, end), count + stretch.number
            continue
        if first and last:
            yield Span(left, right, _join(first, last, ended, count))
        first, last, ended, count, left, right = stretch, stretch, stretch.ended, stretch.number, begin, end
    if first and last:
        yield Span(left, right, _join(first, last, ended, count))


def _join(first: Stretch, last: Stretch, ended: float, count: int) -> Stretch:
    if last is first:
        return first
    return first._replace(ended=ended, number=count, last=last.of if last.number == 1 else last.last)


def _marks_to_draw(marks: Sequence[Mark], axis: Axis, most: int) -> Iterator[Mark]:
    """The marks to draw. If marks of one kind are too close together, only the first is drawn. If there are more than
    `most` marks, they must be farther apart."""
    last: dict[str, float] = {}
    apart = NARROW / 2 if len(marks) <= most else 100 / most
    for mark in marks:
        x = axis.x(mark.at)
        if x - last.get(mark.kind, -100.0) < apart:
            continue
        last[mark.kind] = x
        yield replace(mark, x=x)


def _ticks(axis: Axis) -> Iterator[Tick]:
    step = next((tick for tick in TICKS if axis.shown_seconds / tick <= 8), axis.shown_seconds / 8)
    edges = [axis.start, *(edge for cut in axis.quiet for edge in cut), axis.end]
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        number = math.ceil((begin - axis.zero) / step - 1e-9)
        while axis.zero + number * step <= end:
            x = axis.x(axis.zero + number * step)
            label = duration(number * step) if number else "0"
            yield Tick(x, label if x < LABELLED else "")
            number += 1
