"""Events of a run as a whole: its beginning and end, its branch, its files, and the merging of concurrent work."""

from typing import Literal

from trued.model.events import JournalEvent
from trued.model.grades import Grade


class RunBegan(JournalEvent, kind="run began", omits=("run", "accept")):
    """A new run was recorded."""

    title: str
    workflow: str
    branch: str
    level: str  # of the sandbox
    run: str = ""  # the run's id (its branch may have another name); "" in journals of earlier versions
    accept: Grade = Grade.ATTESTED  # with this grade or a better one, a requirement is met


class BranchContinued(JournalEvent, kind="going on"):
    """The run continues the work that an earlier run left on its branch."""

    branch: str
    start: str
    base: str
    why: str


class TicketIncomplete(JournalEvent, kind="missing in the ticket"):
    """The ticket lacks sections that the workflow could have used."""

    key: str
    what: tuple[str, ...]


class AgentsDetected(JournalEvent, kind="agents found"):
    """The user named no agent for some roles, so installed agents were chosen. `agents`: all agents of the run."""

    says: str
    agents: dict[str, str]


class WorkingTreeDirty(JournalEvent, kind="working tree is dirty", omits=("place", "why")):
    """The repository has uncommitted changes, which are not part of the work."""

    files: tuple[str, ...]
    place: str = ""
    why: str = ""


class ForeignRoleUsed(JournalEvent, kind="role of another tool"):
    """A role's prompt comes from a file that was written for another tool."""

    role: str
    origin: str
    notes: tuple[str, ...]


class RunResumed(JournalEvent, kind="resumed"):
    """A run that had stopped works again, in a new process."""

    after: str  # the state that the last process left; "running" after a crash


class MachineChanged(JournalEvent, kind="machine changed"):
    """Another machine continues the run: agents begin fresh sessions there."""

    machine: str
    place: str  # the unique id of its state folder
    level: str  # of the sandbox there


class HandoverWritten(JournalEvent, kind="handed over"):
    """HANDOVER.md was written for a run that halted."""

    file: str


class RunEnded(JournalEvent, kind="ended", omits=("halted",)):
    """The run ended, or halted until it is resumed."""

    state: str
    code: int  # exit code
    why: str
    grade: Grade | Literal[""]
    halted: bool = False  # its workflow stopped in the middle; also False in journals of earlier versions


class LimitRaised(JournalEvent, kind="limit raised"):
    """A person raised a limit of the run."""

    scope: str  # "" is the whole run
    what: str
    to: float
    who: str


class LimitLowered(LimitRaised, kind="limit lowered"):
    """A person lowered a limit of the run, or set one where there was none."""


class BranchNotMoved(JournalEvent, kind="branch not moved"):
    """The run's branch in the user's repository could not be moved to the newest commit of the work."""

    why: str


class SealedFileEdited(JournalEvent, kind="sealed file edited"):
    """An agent edited files that only people or the engine may change. Edited documents were put back. Edited tests
    stay on the branch, but checks run with the tests of the base."""

    role: str
    files: tuple[str, ...]
    put_back: tuple[str, ...]  # those of `files` that were put back


class TaskSkipped(JournalEvent, kind="task skipped"):
    """A task is skipped: it was met before the run, or the plan marks it as done and no check contradicts the plan."""

    task: str
    why: str


class RoundsAdded(JournalEvent, kind="rounds added", omits=("amendments",)):
    """A person granted more rounds to a run that had ended without proof."""

    rounds: int
    finishes: int  # how often the run had finished by then: a replay adds the rounds at the same place
    who: str
    amendments: int = 0  # how often its contract had been amended by then; 0 in journals of earlier versions


class FileEdited(JournalEvent, kind="edited"):
    """A person edited the copy of a file that the run keeps in its folder for people."""

    path: str


class EditApplied(JournalEvent, kind="edit honoured"):
    """A person's edit of the run's copy of a file was read, and the run uses the edited text."""

    path: str
    said: tuple[str, ...]


class EditNotUnderstood(JournalEvent, kind="edit not understood"):
    """A person's edit of the run's copy of a file could not be read and was not applied. The copy still has the edited
    text."""

    path: str
    why: str


class PartMerged(JournalEvent, kind="merged", omits=("given_up",)):
    """The work on one of several concurrent tasks or features was merged into the run's head."""

    part: str
    commit: str
    given_up: tuple[str, ...] = ()  # files in which one side's changes were dropped


class MergeConflict(JournalEvent, kind="conflict"):
    """The work on one of several concurrent tasks or features conflicts with what was merged before."""

    part: str
    files: tuple[str, ...]


class WorkSetAside(JournalEvent, kind="set aside"):
    """Work was given up. It is kept on a separate branch, if there was any work and the branch could be made."""

    branch: str  # the branch for the work; "" if there was no work
    head: str
    why: str  # why the branch could not be made; "" otherwise


class SetUpRan(JournalEvent, kind="set up"):
    """The project's set-up script was run in an agent's clone."""

    code: int | None  # None: it did not end in time
    said: str


class StepRepeated(JournalEvent, kind="tried again"):
    """A failed call, judgement or check is repeated because a person resumed the run."""

    why: str


class AgentStartRefused(JournalEvent, kind="tried to start an agent"):
    """An agent tried to start another agent, and was refused."""

    program: str


EVENTS = (
    *(RunBegan, BranchContinued, TicketIncomplete, AgentsDetected, WorkingTreeDirty, ForeignRoleUsed),
    *(
        RunResumed,
        MachineChanged,
        HandoverWritten,
        RunEnded,
        LimitRaised,
        LimitLowered,
        BranchNotMoved,
        SealedFileEdited,
    ),
    *(TaskSkipped, RoundsAdded),
    *(FileEdited, EditApplied, EditNotUnderstood, PartMerged, MergeConflict, WorkSetAside, SetUpRan),
    *(StepRepeated, AgentStartRefused),
)
