"""Sentences for events that are worth a line between calls and checks."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from trued.model import Outcomes
from trued.model.events import JournalEvent, landing, people, proof, run
from trued.model.events.proof import test_counts
from trued.support import plurals

FILES = 6  # at most this many values of a list are shown; the others are counted
LENGTH = 300  # maximum length of one fact, in characters
PROOFS = frozenset(proof.EVENTS)

Notice: TypeAlias = tuple[str, bool]  # the sentence, and whether it is a warning


def notices_of(event: JournalEvent) -> Iterator[Notice]:
    """The lines that a reader of the tree is shown for an event of the engine; most events have none."""
    yield from _work_notices(event)
    if type(event) not in PROOFS:
        yield from _run_notices(event)
        yield from _people_notices(event)


def _run_notices(event: JournalEvent) -> Iterator[Notice]:
    match event:
        case run.AgentsDetected():
            yield f"using the agents found on this machine: {_shorten(event.says)}", False
        case run.WorkingTreeDirty():
            yield f"uncommitted changes are not part of the run and stay as they are: {few(event.files)}", True
        case run.ForeignRoleUsed():
            yield f"{_shorten(event.role)} uses {_shorten(event.origin)}, not the packaged role", True
        case run.TicketIncomplete():
            yield f"the ticket {_shorten(event.key)} does not say: {few(event.what)}", False
        case run.BranchContinued():
            yield f"continues from {event.branch}: {event.why}", False
        case run.MachineChanged():
            where = f"{_shorten(event.machine)} (sandbox: {_shorten(event.level)})"
            yield f"continued on another machine: {where}; agents begin fresh sessions there", False
        case run.BranchNotMoved():
            yield f"the run's branch was not moved: {_shorten(event.why)}", True
        case run.LimitRaised():  # or LimitLowered, its subclass
            whose = f"{event.scope}: " if event.scope else ""
            did = "lowered or set" if isinstance(event, run.LimitLowered) else "raised"
            yield f"{event.who or 'somebody'} {did} a limit: {whose}{event.what} = {event.to:g}", False
        case run.FileEdited():
            yield f"somebody edited {_shorten(event.path)}", False
        case run.EditApplied():
            yield f"the edit of {_shorten(event.path)} is applied: {few(event.said)}", False
        case run.EditNotUnderstood():
            yield (
                f"the edit of {_shorten(event.path)} could not be read and was not applied: {_shorten(event.why)}",
                True,
            )
        case _:
            return


def foreign_edits(event: run.SealedFileEdited) -> Iterator[str]:
    """Files that an agent changed without permission, and what the engine did about them."""
    role = _shorten(event.role)
    if event.put_back:
        yield f"{role} edited files that it may not change; they were restored: {few(event.put_back)}"
    if frozen := tuple(path for path in event.files if path not in event.put_back):
        yield f"{role} changed tests that the contract has frozen; checks use the sealed ones: {few(frozen)}"


def _work_notices(event: JournalEvent) -> Iterator[Notice]:
    match event:
        case run.SealedFileEdited():
            yield from ((sentence, True) for sentence in foreign_edits(event))
        case run.TaskSkipped():
            yield f"{_shorten(event.task)} is not built: {_shorten(event.why)}", False
        case run.RoundsAdded():
            yield f"{_shorten(event.who)} grants {event.rounds} more rounds", False
        case run.AgentStartRefused():
            yield "its attempt to start another agent was refused", True
        case proof.NoProgress():
            yield "no progress: the last round had the same gaps as before and changed nothing", True
        case proof.ClaimRefuted():
            yield f"a claim that git contradicts: {_shorten(event.what)}", True
        case proof.TestsCounted():
            good = event.total > 0 and event.passing == event.total
            yield test_counts(event.passing, event.total, event.coverage) or "the test command finds no tests", not good
        case proof.TestsNotCounted():
            yield f"the named tests could not be counted: {_shorten(event.command)}: {_shorten(event.why)}", True
        case proof.BuildRan() if event.outcome != Outcomes.PASSED:
            yield f"{event.command} {event.outcome}{_last_line(event.said)}", True
        case run.WorkSetAside() if event.branch:
            yield f"given up; its work is on {event.branch}", True
        case run.SetUpRan() if event.code != 0:
            how = "does not end" if event.code is None else f"fails ({event.code})"
            yield f"init.sh {how}{_last_line(event.said)}", True
        case _:
            return


def _people_notices(event: JournalEvent) -> Iterator[Notice]:
    match event:
        case landing.PullRequestWithheld():
            files = f"{few(event.files)}: " if event.files else ""
            yield f"not offered as a pull request: {files}{_shorten(event.why)}", True
        case landing.PullRequestOffered():
            yield f"offered as a pull request: {_shorten(event.url)}", False
        case landing.ConsentGiven():
            yield f"{_shorten(event.who)} agreed to the changes to {few(event.files)}", False
        case landing.ApprovalsCarried():
            yield f"{_shorten(event.who)} confirmed for the new commit: {few(event.requirements)}", False
        case people.QuestionAnswered():
            comment = f": {event.comment}" if event.comment else ""
            yield f"{event.who or 'somebody'} answered {event.answer}{comment}", False
        case people.RequirementApproved():
            what = "the contract" if event.requirement == "*" else event.requirement
            where = f" at {event.commit[:10]}" if event.commit else ""
            yield f"{event.who} {event.stored_kind} {what}{where}: {event.why}", False
        case people.RequirementParked():
            yield f"{event.requirement} waits for a person to look at it; the run continues meanwhile", False
        case people.QuestionNotAsked():
            yield f"not asked at this terminal: {event.why}", False
        case people.CommentGiven():
            did = f"stopped {event.stops} to say" if event.stops else f"says to {event.to or 'every role'}"
            yield f"{event.who or 'somebody'} {did}: {_shorten(event.text)}", False
        case people.CommentTaken():
            yield f"received comments from {few(event.who)}", False
        case people.DecisionTooLate():
            yield f"{event.who} decided {event.requirement} too late: {event.first} had decided before", False
        case _:
            return


def few(values: Sequence[str]) -> str:
    """The first values of a list, and how many more there are."""
    return plurals.few(values, FILES)


def _shorten(text: str) -> str:
    return text[:LENGTH]


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f": {lines[-1][:LENGTH]}" if lines else ""
