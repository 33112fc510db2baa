"""The content of the page as values, before any HTML is made."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from trued.engine.pending import Wait
from trued.model import Approval, Comment, Finding, Grade, Question, Verdict
from trued.model.events import of_kind
from trued.model.events.call import CallAdopted, ReportFound
from trued.model.events.run import EditApplied, RunResumed
from trued.proof.verdict.notes import fact_notes
from trued.reporting.html.calls import ReportedCall, Text, calls
from trued.reporting.html.comparison import Compared, compared
from trued.reporting.html.format import amount, counted, moment
from trued.reporting.html.ledger import Ledger, LedgerRow, grades, ledger
from trued.reporting.html.material import Material
from trued.reporting.html.notices import notices
from trued.reporting.html.spending_by_agent import Spent, spent, tokens_of
from trued.reporting.html.timeline import Timeline, timeline
from trued.reporting.views.progress import Progress
from trued.support.durations import duration
from trued.support.plurals import few
from trued.workflows.view import ReportSection

ASKED = ("go on", "answer")  # waits that are questions: they are listed with their answers, not with the other waits
SCRIPTED = 6  # at most this many roles that scripts play are named; the others are counted
DOCUMENT, DOCUMENTS = 200_000, 800_000  # the most characters of one document, and of all together
# the facts that are shown first; the others are folded, because they would fill the screen of a phone
FIRST_FACTS = ("repository", "branch", "commit", "success is")
SURVIVED = (CallAdopted.KIND, ReportFound.KIND)  # events of calls that kept working while the engine was dead
# in these states a run has no grade, even if its parts have one
ON_THE_WAY = ("running", "queued", "interrupted", "limited")
STATE_SENTENCES = {
    "not proven": "Not everything is proven.",
    "waiting": "It waits for a person.",
    "running": "It is still running.",
    "queued": "It waits in a queue for a worker.",
    "planned": "The contract is sealed; no work has begun.",
    "stopped": "It was stopped by a person.",
    "failed": "An agent or its provider failed.",
    "unjudged": "The environment broke: nothing could be judged.",
    "cancelled": "It was cancelled.",
    "interrupted": "It was interrupted and can be resumed.",
    "limited": "A limit is reached; the run can be resumed with a higher limit.",
}


@dataclass(frozen=True)
class CheckConditions:
    """The conditions that checks ran under, and how many checks had them."""

    interpreter: str
    versions: tuple[tuple[str, str], ...]
    times: int


@dataclass(frozen=True)
class Document:
    name: str
    text: Text


@dataclass(frozen=True)
class ReportPage:
    title: str
    run: str
    workflow: str
    state: str
    grade: str  # the run's grade; its state instead, if that is one of ON_THE_WAY
    says: str
    why: str
    scripted: str  # which agents are scripts, as the beginning of a sentence; "" if none is
    notices: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    more_facts: tuple[tuple[str, str], ...]
    figures: tuple[tuple[str, str, str], ...]  # number, what it counts, remark
    grades: tuple[tuple[str, int], ...]
    timeline: Timeline
    ledger: Ledger
    calls: tuple[ReportedCall, ...]
    spent: tuple[Spent, ...]
    gaps: tuple[Finding, ...]
    objections: tuple[Finding, ...]
    undecided: tuple[str, ...]  # what no check covers
    notes: tuple[str, ...]  # facts about how the checks ran, such as their environment
    approvals: tuple[Approval, ...]
    comments: tuple[Comment, ...]
    questions: tuple[Question, ...]
    edits: tuple[tuple[float, EditApplied], ...]  # people's edits of files that they may edit
    waits: tuple[Wait, ...]
    documents: tuple[Document, ...]
    environments: tuple[CheckConditions, ...]
    commands: tuple[tuple[str, str], ...]
    held_back: bool
    made: str
    version: str
    section: ReportSection | None = None  # the workflow's own section
    own: Any = None  # what that section shows
    compared: Compared | None = None  # the comparison with other runs of the same goal

    @property
    def rows(self) -> tuple[LedgerRow, ...]:
        return self.ledger.every


def page(material: Material) -> ReportPage:
    record, verdict = material.record, material.verdict
    every, full_ledger = calls(material), ledger(material)
    count = grades(material)
    facts = [(name, value) for name, value in _facts(material) if value]
    documents = material.documents.items()
    room = min(DOCUMENT, DOCUMENTS // max(1, len(documents)))
    line, seen = timeline(material, every), material.progress
    workflow_data = seen.view.data(seen.calls)
    return ReportPage(
        section=seen.view.SECTION if workflow_data else None,
        own=workflow_data,
        title=record.title or record.id,
        run=record.id,
        workflow=record.workflow,
        state=record.state,
        grade=record.state if record.state in ON_THE_WAY else str(record.grade),
        says=_says(material, count),
        why=record.why,
        scripted=_scripted(every),
        notices=tuple(notices(material, every)),
        facts=tuple(fact for fact in facts if fact[0] in FIRST_FACTS),
        more_facts=tuple(fact for fact in facts if fact[0] not in FIRST_FACTS),
        figures=tuple(_figures(material, every, count, line, seen)),
        grades=tuple((str(grade), count[grade]) for grade in reversed(Grade) if count[grade]),
        timeline=line,
        ledger=full_ledger,
        calls=every,
        spent=tuple(spent(every)),
        gaps=verdict.gaps if verdict else (),
        objections=verdict.objections if verdict else (),
        undecided=tuple(_not_checked(material, verdict)) if verdict else (),
        notes=fact_notes(verdict) if verdict and not material.holds_out else (),
        approvals=tuple(material.approvals),
        comments=tuple(material.comments),
        questions=tuple(material.questions),
        edits=tuple((stored.at, event) for stored, event in of_kind(material.events, EditApplied)),
        waits=tuple(wait for wait in material.waits if wait.kind not in ASKED),
        documents=tuple(Document(name, Text.of(text, room)) for name, text in documents),
        environments=tuple(_environments(material)),
        commands=tuple(_commands(material, full_ledger.every)),
        held_back=material.holds_out,
        made=moment(material.now),
        version=material.version,
        compared=compared(material.compared) if material.compared else None,
    )


def _scripted(every: Sequence[ReportedCall]) -> str:
    """Which agents are scripts, as the beginning of a sentence; "" if none is."""
    roles = dict.fromkeys(call.role for call in every if call.is_scripted)
    if not roles:
        return ""
    if all(call.is_scripted for call in every):
        return "The agents of this run are"
    return f"Some agents of this run ({few(list(roles), SCRIPTED)}) are"


def _facts(material: Material) -> Iterator[tuple[str, str]]:
    record, contract = material.record, material.contract
    yield "workflow", record.workflow
    yield "repository", record.repository
    yield "branch", record.branch
    yield "base", record.base
    yield "commit", record.head
    yield "contract", material.contract_hash
    yield "held out", contract.held_out_why or ("yes" if contract.held_out else "no") if contract else ""
    yield "isolation", material.level
    yield "success is", f"every requirement at {material.settings.accept} or better"
    yield "plan", str(material.goal.source)
    yield "began", moment(record.created_at)
    yield "ended" if material.ended else "last change", moment(record.updated_at)


def _figures(
    material: Material, every: Sequence[ReportedCall], grades: Counter[str], line: Timeline, seen: Progress
) -> Iterator[tuple[str, str, str]]:
    met = sum(number for grade, number in grades.items() if Grade(grade).is_met(material.settings.accept))
    yield f"{met}/{grades.total()}", "requirements met", ""
    yield from seen.view.figures()
    yield _figure(len(every), "agent call")
    yield _figure(sum(1 for call in every if call.refuted), "claim", " refuted", "by the engine's own checks")
    if crashes := sum(1 for event in material.events if event.kind == RunResumed.KIND):
        survived = sum(1 for call in every if any(incident.kind in SURVIVED for incident in call.incidents))
        yield _figure(crashes, "restart", "", f"{counted(survived, 'call')} kept working meanwhile")
    yield tokens_of(every), "tokens", "simulated" if every and all(call.is_scripted for call in every) else ""
    yield duration(line.seconds), "from first to last event", ""


def _figure(number: int, singular: str, rest: str = "", remark: str = "") -> tuple[str, str, str]:
    return amount(number), f"{singular}{'' if number == 1 else 's'}{rest}", remark


def _says(material: Material, grades: Counter[str]) -> str:
    state, accept = material.record.state, material.settings.accept
    if state in ON_THE_WAY:
        met = sum(number for grade, number in grades.items() if Grade(grade).is_met(accept))
        every = f"requirements met: {met} of {sum(grades.values())}"
        return f"{STATE_SENTENCES[state]} So far, {every}. The final proof repeats all checks: fewer may be met then."
    if state != "done":
        return STATE_SENTENCES.get(state, state)
    if accept.is_lowered_bar:
        return f"Every requirement is at {accept} or better, the bar set with --accept."
    word = " or a named person's attestation" if grades[Grade.ATTESTED] else ""
    return f"Every requirement is met, on evidence{word}."


def _not_checked(material: Material, verdict: Verdict) -> Iterator[str]:
    """The notes about what no check covers. While cases are held out, only the number of notes is shown, because a note
    can quote a case."""
    if material.holds_out:
        if verdict.undecided:
            number = counted(len(verdict.undecided), "note")
            verb = "is" if len(verdict.undecided) == 1 else "are"
            yield f"{number} {verb} hidden until the run ends, because notes can quote held-out cases"
        return
    yield from (note for note in verdict.undecided if note not in fact_notes(verdict))


def _environments(material: Material) -> Iterator[CheckConditions]:
    kinds = Counter((fact.interpreter, tuple(fact.versions.items())) for fact in material.facts)
    for (interpreter, versions), times in kinds.items():
        yield CheckConditions(interpreter or "no interpreter recorded", versions, times)


def _commands(material: Material, rows: Sequence[LedgerRow]) -> Iterator[tuple[str, str]]:
    record = material.record
    yield "what happened, step by step", f"trued show {record.id}"
    yield "the same ledger", f"trued ledger {record.id}"
    if rows:
        yield "one requirement and its evidence", f"trued why {rows[0].id} {record.id}"
    yield "one call and its transcript", f"trued logs {record.id} --call KEY"
    yield "what changed", f"git -C {record.repository} diff {record.base[:10]}..{record.branch}"
    yield "the work itself", f"git -C {record.repository} log --oneline {record.base[:10]}..{record.branch}"
    yield "this page again, from the journal", f"trued report {record.id}"
