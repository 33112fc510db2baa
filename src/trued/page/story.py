"""A run as a story: one line per important event, and one sentence about what happens now."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from trued.engine.pending import Wait
from trued.model import Event, RunRecord
from trued.model.events import JournalEvent, call, people, proof, run
from trued.model.step_keys import inner_scope, is_examiners, scope_of, step_name
from trued.model.titles import cut_title
from trued.reporting.html.page import STATE_SENTENCES
from trued.reporting.views.event_kinds import EventHead
from trued.reporting.views.notices import few, notices_of
from trued.reporting.views.progress import Progress
from trued.reporting.views.rows import Call, Checks
from trued.support.plurals import counted

LENGTH = 240  # maximum length of a quoted text, in characters
ENGINE = "engine"
# frequent events that have no line in the story
SILENT = {
    call.CallStarted,
    call.QuotaReported,
    proof.CheckRan,
    proof.RequirementJudged,
}


@dataclass(frozen=True, slots=True)
class StoryLine:
    """One line of the story."""

    id: int  # the event's id
    at: float
    who: str
    text: str
    tone: str = ""  # a grade, `wait`, or "" for nothing special
    call: str = ""  # key of the call that the line is about, if any
    requirement: str = ""  # the first refuted requirement


def story_lines(stored: EventHead | Event, event: JournalEvent) -> Iterator[StoryLine]:
    """The lines of one event; most events have none."""
    if type(event) in SILENT:
        return
    if is_examiners(stored.key, str(getattr(event, "role", ""))):
        yield from _examiner_lines(stored, event)
        return
    yield from _engine_lines(stored, event)
    yield from _call_lines(stored, event)
    if isinstance(event, people.QuestionAsked):
        yield StoryLine(stored.id, stored.at, ENGINE, f"asks a person: {_shorten(event.text)}", "wait")
    for text, warning in notices_of(event):
        yield StoryLine(stored.id, stored.at, "", _shorten(text), "unproven" if warning else "")


def _engine_lines(stored: EventHead | Event, event: JournalEvent) -> Iterator[StoryLine]:
    def line(text: str, tone: str = "") -> StoryLine:
        return StoryLine(stored.id, stored.at, ENGINE, text, tone)

    match event:
        case run.RunBegan():
            yield line(f"begins: {_shorten(event.title)}")
        case run.RunResumed():
            yield line("resumes the run")
        case run.RunEnded():
            yield line(
                f"ends the run: {event.state}{f', {_shorten(event.why)}' if event.why else ''}", str(event.grade)
            )
        case proof.ContractSealed():
            held = "held out" if event.held_out else "visible"
            yield line(f"seals the contract: {counted(event.requirements, 'requirement')}, cases {held}")
        case proof.VerdictReached():
            refuted = next(
                (requirement.id for requirement in event.requirements or () if requirement.grade == "refuted"), ""
            )
            yield replace(line(*_verdict(event)), requirement=refuted)
        case _:
            return


def _verdict(event: proof.VerdictReached) -> tuple[str, str]:
    every = event.requirements or ()
    refuted = [requirement.id for requirement in every if requirement.grade == "refuted"]
    at = f" on {event.commit[:10]}" if event.commit else ""
    if refuted:
        others = len(every) - len(refuted)
        rest = f"; {counted(others, 'other')} not refuted" if others else ""
        return f"refutes {few(refuted)}{at}{rest}", "refuted"
    if event.holds:
        return f"checks {event.subject or 'the work'}{at}: it holds, {event.grade}", str(event.grade)
    return f"checks {event.subject or 'the work'}{at}: {event.grade or 'it does not hold'}", str(event.grade)


def _examiner_lines(stored: EventHead | Event, event: JournalEvent) -> Iterator[StoryLine]:
    """The lines of an examiner's call. They state only facts, because texts of the agent or its provider may quote a
    held-out case."""
    match event:
        case call.CallAsked():
            text, tone = "is asked", ""
        case call.CallAnswered():
            text, tone = ("fails", "refuted") if event.state == "failed" else ("answers", "")
        case call.CallWaits():
            text, tone = "waits for its provider", "wait"
        case call.CallDied() | call.CallRepeated():
            text, tone = (
                "the call died; the engine uses its report if there is one, otherwise it makes the call again",
                "unproven",
            )
        case _:
            return
    yield StoryLine(stored.id, stored.at, step_name(stored.key), text, tone, stored.key)


def _call_lines(stored: EventHead | Event, event: JournalEvent) -> Iterator[StoryLine]:
    part = inner_scope(stored.key)
    where = f" for {part}" if part else ""

    def line(who: str, text: str, tone: str = "") -> StoryLine:
        return StoryLine(stored.id, stored.at, who, text, tone, stored.key)

    match event:
        case call.CallAsked():
            yield line(event.role, f"is asked{' again, in the same conversation' if event.resume else ''}{where}")
        case call.CallAnswered() if event.state == "failed":
            yield line(event.role, f"fails{where}: {_shorten(event.why or event.kind)}", "refuted")
        case call.CallAnswered():
            summary = _shorten(str((event.reply or {}).get("summary") or ""))
            says = f"says {event.claim}" if event.claim else "answers"
            yield line(event.role, f"{says}{where}{f': “{summary}”' if summary else ''}")
        case call.CallWaits():
            yield line(step_name(stored.key), f"waits for its provider: {event.waits_for}", "wait")
        case call.CallDied() | call.CallRepeated():
            yield line(
                step_name(stored.key),
                "the call died; the engine uses its report if there is one, otherwise it makes the call again",
                "unproven",
            )
        case _:
            return


def _shorten(text: str) -> str:
    flat = " ".join(text.split())
    return cut_title(flat, LENGTH)


# -- now -------------------------------------------------------------------------------------------------------------


def sentence(record: RunRecord, seen: Progress, waits: Sequence[Wait]) -> tuple[str, str]:
    """Who works now, and on what; if no agent works, why not."""
    if record.state == "running":
        return _work_sentence(seen)
    if waits:
        first = waits[0]
        more = f" (and {len(waits) - 1} more)" if len(waits) > 1 else ""
        return "", f"It waits for you: {_shorten(first.what.partition(chr(10))[0])}{more}"
    if record.state == "queued":
        return "", f"It is queued: {_shorten(record.why)}"
    if record.state == "done":
        return "", "It has ended: every requirement is met."
    why = f" {_shorten(record.why)}" if record.why not in ("", record.state) else ""
    return "", f"{STATE_SENTENCES.get(record.state, record.state)}{why}"


def _work_sentence(seen: Progress) -> tuple[str, str]:
    rows = seen.at_work
    asked = [row for row in rows if isinstance(row, Call)]
    if seen.question:
        return "", f"It waits for you: {_shorten(seen.question[1])}"
    if asked:
        waiting = [call for call in asked if call.waits_until]
        working = [call for call in asked if not call.waits_until]
        first, *others = working or waiting
        part = inner_scope(first.key)
        again = _refuted_requirements(first, seen)
        words = f"works{f' on {part}' if part else ''}{f' again, after the engine refuted {again}' if again else ''}"
        if first.waits_until:
            words = f"waits for its provider ({first.waits_for})"
        more = f"; so do {_roles(others)}" if others else ""
        if working and waiting:
            more += f"; {_roles(waiting)} {'wait for their providers' if waiting[1:] else 'waits for its provider'}"
        return first.role, f"{words}{more}."
    checks = next((row for row in rows if isinstance(row, Checks)), None)
    if checks is not None:
        part = inner_scope(checks.key) or {"seal": "the base, before any work", "finish": "the final commit"}.get(
            step_name(checks.key), ""
        )
        runs = f", {counted(checks.runs, 'check')} so far" if checks.runs else ""
        return ENGINE, f"checks {part or 'the work'}{runs}."
    return ENGINE, "prepares the next step."


def _roles(calls: Sequence[Call]) -> str:
    return few(list(dict.fromkeys(call.role for call in calls)))


def _refuted_requirements(call: Call, seen: Progress) -> str:
    """The names of the requirements that the last proof before this call refuted; "" if there are none. Only proofs in
    the call's own scope count, such as proofs of the same task."""
    names = seen.scopes.get(scope_of(call.key), ())
    proofs = [row for name in names if isinstance(row := seen.rows[name], Checks) and row.began <= call.asked]
    last = proofs[-1].grades if proofs else ()
    return few([name for name, grade, _ in last if grade == "refuted"])
