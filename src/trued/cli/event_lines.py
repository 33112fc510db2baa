"""Journal events as lines of a log: time, kind, step, and the few facts that matter."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trued.cli.format import line, local_time, sentences_line, spent, tokens, until
from trued.model import Event
from trued.model.events import JournalEvent, call, landing, people, proof, run
from trued.model.events.proof import test_counts
from trued.model.step_keys import label_of, scope_of
from trued.reporting.views.cases import base_outcomes
from trued.reporting.views.event_kinds import typed
from trued.support.durations import duration
from trued.support.plurals import counted, few
from trued.workflows.view import WorkflowView

LENGTH = 300  # maximum length of a fact, in characters
PARTS = 12  # at most this many items of a list are shown; the others are counted
WORKFLOW_LENGTH = 400  # maximum length of the facts that a workflow adds itself, in characters


def event_line(stored: Event, view: WorkflowView | None = None) -> str:
    """One event as one line. `view`: the workflow's view, which describes the workflow's own events."""
    view = view or WorkflowView()
    event = typed(stored, view.EVENTS)
    if isinstance(event, call.CallWaits):
        moment, why = until(event.until, stored.at), line(event.why, 200)
        return f"{local_time(stored.at)} waits {line(stored.key)}: until {moment}: {line(event.waits_for)}; {why}"
    facts = _facts(event, view)
    # `line` removes control characters: the facts may contain an agent's text
    facts = line(_every_fact(stored.data) if facts is None else facts)
    where = f" {line(key)}" if (key := _key_text(stored, event, view)) else ""
    return f"{local_time(stored.at)} {event.SHOWN or stored.kind}{where}{f': {facts}' if facts else ''}"


def _key_text(stored: Event, event: JournalEvent, view: WorkflowView) -> str:
    # if the step is named like the event's kind, only its scope is printed: the line shows the kind already
    key = scope_of(stored.key) if label_of(stored.key) == stored.kind else stored.key
    return view.logged_key(key, event)


def _facts(event: JournalEvent, view: WorkflowView) -> str | None:
    """An event's most important facts, as text. None if there is no text for this kind of event; `event_line` then
    shows all fields."""
    texts = (read(event) for read in (_call_facts, _start_facts, _proof_facts, _run_facts))
    shared = next((text for text in texts if text is not None), None)
    workflow_text = view.describe(event) if shared is None else None
    return shared if workflow_text is None else line(workflow_text, WORKFLOW_LENGTH)


def _call_facts(event: JournalEvent) -> str | None:
    match event:
        case call.CallAsked():
            again = ", resumes its session" if event.resume else ""
            return f"{line(event.role)} ({line(event.agent)}), brief of {counted(event.chars, 'character')}{again}"
        case call.CallAnswered():
            parts = [
                event.state,
                duration(event.ended - event.began),
                tokens(event.tokens.total, estimated=event.tokens.estimated),
                spent(event.cost_usd, event.cost),
                counted(len(event.changed), "file") if event.changed else "",
                f"attempt {event.attempts}" if event.attempts > 1 else "",
                f'claims "{line(event.claim)}"' if event.claim else "",
                line(event.why or event.kind, 200),
            ]
            return ", ".join(part for part in parts if part)
        case call.CallWaited():
            return duration(event.seconds)
        case call.CallPostponed():
            return line(event.why, LENGTH)
        case _:
            return None


def _start_facts(event: JournalEvent) -> str | None:
    """The facts in the event that a run began, or that a server was found; None for other events."""
    if isinstance(event, run.RunBegan):
        facts = (f"branch {line(event.branch)}" if event.branch else "", f"sandbox {line(event.level)}")
        return ", ".join(filter(None, (f"{line(event.title, LENGTH)} ({line(event.workflow)})", *facts)))
    if isinstance(event, proof.ServerFound):
        return f"{event.command}, found in {event.where}; it answers on the base"
    return None


def _proof_facts(event: JournalEvent) -> str | None:
    match event:
        case proof.BaseFactsReused():
            return f"what {counted(event.checks, 'check')} showed on the base in an earlier run"
        case proof.CheckSealed() if event.serves:
            served = ", ".join(line(requirement) for requirement in event.serves)
            lacks = f" ({line('; '.join(event.lacks), LENGTH)})" if event.lacks else ""
            return f"{served} {event.sort}: on the base {base_outcomes(event.cases) or 'nothing'}{lacks}"
        case proof.ContractSealed():
            held_out = "held out" if event.held_out else "visible"
            return f"{counted(event.requirements, 'requirement')}, {held_out}: {line(event.why)}"
        case proof.CheckRan():
            what = f"{event.sort} turn {event.turn}"
            return f"{what}, not counted: {line(event.void, LENGTH)}" if event.void else what
        case proof.RequirementJudged():
            return _grade_text(event.requirement, event.grade, event.why, LENGTH)
        case proof.VerdictReached():
            judged = [_grade_text(row.id, row.grade, row.why, 160) for row in event.requirements or ()]
            return "; ".join((f"{event.grade}, {'holds' if event.holds else 'does not hold'}", *judged))
        case proof.TextWithheld():
            return line(f"{event.about}: quotes held-out data, so it is not passed to agents", LENGTH)
        case proof.NoProgress():
            why = f": {_sentences(event.gaps)}" if event.gaps else ""
            return f"the last round had the same gaps as before and changed nothing{why}"
        case proof.ObjectionNotRun():
            return line(f"{event.what}: {event.why}", LENGTH)
        case proof.ObjectionRan():
            return f"{'its case passes' if event.passed else 'its case fails'}: {line(event.what, LENGTH)}"
        case proof.TestsCounted():
            return test_counts(event.passing, event.total, event.coverage) or "no tests"
        case _:
            return None


def _sentences(sentences: Iterable[str]) -> str:
    """Join sentences; none is shortened, because people read them in full."""
    return "; ".join(line(sentence).rstrip(".") for sentence in sentences)


def _grade_text(name: str, grade: str, why: Iterable[str], length: int) -> str:
    return f"{line(name)} {grade} ({line('; '.join(why), length)})"


def _run_facts(event: JournalEvent) -> str | None:
    match event:
        case run.RunEnded():
            why = line(event.why, LENGTH)
            return f"{event.state}, {event.grade}, exit code {event.code}{f': {why}' if why else ''}"
        case run.AgentsDetected():
            return line(event.says)
        case run.MachineChanged():
            return f"{line(event.machine)} continues the run (sandbox: {line(event.level)})"
        case run.PartMerged():
            return f"{line(event.part)} at {line(event.commit)[:10]}"
        case run.MergeConflict():
            return line(f"{event.part}: {', '.join(event.files)}", LENGTH)
        case run.EditApplied():
            return f"{line(event.path)}: {_sentences(event.said)}"
        case run.SetUpRan():
            return "init.sh works" if event.code == 0 else line(f"init.sh: {event.said}", LENGTH)
        case landing.WorkLanded():
            part = f", with chunks up to {line(event.through)}" if event.through else ""
            return f"{line(event.onto)} is at {line(event.commit)[:10]}{part} ({line(event.how)}), by {line(event.who)}"
        case people.CommentGiven():
            whom = f"{event.to or 'every role'}{', now' if event.stops else ''}"
            return f"{line(event.who)} to {line(whom)}: {line(event.text, LENGTH)}"
        case people.CommentTaken():
            return f"{line(event.role)} received comments from {line(', '.join(event.who))}"
        case people.QuestionAsked():
            return f"{sentences_line(event.text, LENGTH)} ({' / '.join(event.options or ('in your own words',))})"
        case _:
            return None


def _every_fact(data: Mapping[str, Any]) -> str:
    """All fields of an event, each with its name."""
    shown = {name.replace("_", " "): _value_text(value) for name, value in data.items()}
    return ", ".join(f"{name} {text}" for name, text in shown.items() if text)


def _value_text(value: Any) -> str:
    """A value as a person would write it: lists and objects are written out, so that nothing looks like code."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {text}" for name, part in value.items() if (text := _value_text(part)))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return few([text for part in value if (text := _value_text(part))], PARTS, "; ")
    return line(value, LENGTH)
