"""Events of the pipeline workflow: steps, waves, decisions, and what agents left undone or in the wrong place."""

from typing import Literal

from trued.model import Status
from trued.model.events import JournalEvent


class StepReported(JournalEvent, kind="step"):
    """A step of the flow began, or ended with a result."""

    step: str
    agents: tuple[str, ...] = ()
    result: str = ""  # "": the step has just begun
    why: tuple[str, ...] = ()


class WaveStarted(JournalEvent, kind="wave"):
    """Implementers begin with tasks that do not depend on each other."""

    number: int
    tasks: tuple[str, ...]


class ClusterDecided(JournalEvent, kind="decided", omits=("silent",)):
    """A decision table turned the answers of a cluster of agents into one result."""

    cluster: str
    result: Status | Literal[""]
    why: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()  # agents that were asked and gave no good answer


class CritiqueClosed(JournalEvent, kind="critique"):
    """Ids of the severe critiques of the design, recorded after the work. Those in `stands` are still open."""

    stands: tuple[str, ...]
    closed: tuple[str, ...]


class ArtifactMissing(JournalEvent, kind="artifact missing"):
    """An agent did not write its document."""

    agent: str
    path: str
    why: str


class MemoryMissing(JournalEvent, kind="memory missing"):
    """An agent gave no answer, so it has no memory. Its decision table counts the missing memory as ERROR."""

    agent: str
    step: str


class MemoryUndone(JournalEvent, kind="memory undone"):
    """An agent wrote into files of the feature's folder that are not its own, such as `memory.md`; this was undone."""

    agent: str
    files: tuple[str, ...]
    why: str


class StrayFilesUndone(JournalEvent, kind="left elsewhere"):
    """An agent that has only a document to write also changed files outside the feature's folder; this was undone."""

    agent: str
    files: tuple[str, ...]


class PlanRefused(JournalEvent, kind="plan refused"):
    """The planner's plan cannot be followed."""

    why: tuple[str, ...]


EVENTS = (
    *(StepReported, WaveStarted, ClusterDecided, CritiqueClosed, ArtifactMissing),
    *(MemoryMissing, MemoryUndone, StrayFilesUndone, PlanRefused),
)
