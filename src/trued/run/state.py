"""RunState: what a run has learned so far. A replay rebuilds all of it from the journal; nothing here is stored."""

from collections import Counter
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from trued.model import Contract, Evidence, Finding, Judged, ProcessedDecisions, Verdict


@dataclass(frozen=True)
class Unmerged:
    """A merge conflict that a part still has to resolve."""

    files: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()  # git's lines before and after the two sides; each ends with the commit of a side
    commit: str = ""  # the commit that has both sides


@dataclass
class Position:
    """Where one line of work is: its head and what is known about it. Work that runs concurrently has a position of its
    own until it is merged."""

    head: str
    when: float  # time of the last accepted work; the engine dates its commits with it: a replay makes the same commits
    live: bool = False  # a step has run in this process; until then all results came from the journal
    changes: int = 0  # how many agent calls changed something
    published: str = ""  # the head that the run's branch shows
    unpublished: str = ""  # why the run's branch could not be moved
    unmerged: Unmerged = Unmerged()


@dataclass
class FileState:
    """Files on the branch that are not the agents' work."""

    owned: tuple[str, ...] = ()  # the engine's own files: agents' changes to them are undone
    noted: tuple[str, ...] = ()  # owned files into which agents may write notes: the workflow reads them
    background: tuple[str, ...] = ()  # documents from before the work: changes to them do not count as work
    counted: tuple[str, ...] = ()  # owned or background files to which changes count as part of the work
    edits: dict[str, tuple[str, str]] = field(default_factory=dict)  # file → hash and text of a person's last edit


class RoundsInARow(NamedTuple):
    """Rounds of a loop that ended alike, one after another."""

    ended_with: object = None  # what the last round ended with; compared with what the next round ends with
    rounds: int = 0


class LastVerdict(NamedTuple):
    """The last verdict, to be reused if its inputs are the same."""

    inputs: str = ""  # hash of its inputs
    step: str = ""  # the step that recorded it
    verdict: str = ""  # as JSON


@dataclass
class ProofState:
    """The contract in force, and what verdicts so far have shown."""

    contract: Contract | None = None
    contract_hash: str = ""  # kept, because hashing a contract of a thousand requirements takes long
    amendments: int = 0  # how many of the context's amendments are in force
    evidence: list[Evidence] = field(default_factory=list)
    upheld: dict[str, tuple[Finding, ...]] = field(default_factory=dict)  # objections whose case fails, by subject
    open_objections: dict[str, tuple[Finding, ...]] = field(default_factory=dict)  # not settled yet, by task or author
    # subject → the signature of the cases that fail, and for how many rounds in a row they have failed
    failing_alike: dict[str, RoundsInARow] = field(default_factory=dict)
    # scope → gaps and `changes` after the last round, and how many rounds in a row ended like the one before
    without_progress: dict[str, RoundsInARow] = field(default_factory=dict)
    tried_cases: set[tuple[str, str]] = field(default_factory=set)  # role and case of every objection that was run
    disputed: set[str] = field(default_factory=set)  # requirements whose cases were disputed and answered again
    also: set[str] = field(default_factory=set)  # further tasks that the current commit is evaluated for
    unverified: dict[str, tuple[str, ...]] = field(default_factory=dict)  # warnings that every verdict lists
    # a contract → criteria that are not in it; the verdict of `finish` lists them
    outside: Callable[[Contract], tuple[Judged, ...]] = lambda _: ()
    last: LastVerdict = field(default_factory=LastVerdict)
    final: Verdict | None = None  # the verdict of `finish`, before approvals are applied


@dataclass
class PeopleState:
    """Decisions and comments of people on this run."""

    processed: list[ProcessedDecisions] = field(default_factory=list)  # one entry for each step that took decisions
    comments: dict[str, Finding] = field(default_factory=dict)  # the comment of a redo, by scope
    rejections: dict[str, tuple[Finding, ...]] = field(default_factory=dict)  # task → gaps for its next agent


@dataclass
class RunState:
    """The whole state of a run, by area."""

    position: Position
    counts: Counter[str] = field(default_factory=Counter)  # how often each step name was used
    clones: dict[str, str] = field(default_factory=dict)  # clone of an open session → its scope
    implementers: set[tuple[str, str]] = field(default_factory=set)  # role and agent of everybody who changed code
    files: FileState = field(default_factory=FileState)
    proof: ProofState = field(default_factory=ProofState)
    people: PeopleState = field(default_factory=PeopleState)

    def apart(self) -> "RunState":
        """A state with a copy of this state's position: its head can move without moving the head of this state. Both
        states share everything else."""
        return replace(self, position=copy(self.position))
