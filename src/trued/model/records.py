"""What the journal stores about a run: its record, events, questions, approvals, processed decisions, and comments with
their deliveries."""

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from trued.model.grades import Grade, OutcomeState
from trued.model.step_keys import call_name
from trued.model.value import Value, newer_fields

if TYPE_CHECKING:
    from trued.model.replies import Finding

RecordedState: TypeAlias = Literal[OutcomeState, "running", "limited", "failed", "cancelled", "interrupted"]
# In these states agents are no longer called, so held-out cases may be shown. A person can still continue a run that is
# "not proven".
ENDED_STATES: tuple[RecordedState, ...] = ("done", "not proven", "stopped", "cancelled")

Way: TypeAlias = Literal["", "terminal", "command", "page"]  # the run's own terminal, a trued command, the live page


class Question(Value):
    """A question to a person. `answer` is "" until a person answers."""

    id: int = 0
    key: str
    text: str
    options: tuple[str, ...] = ()
    answer: str = ""
    comment: str = ""
    who: str = ""
    asked_at: float = 0.0
    answered_at: float = 0.0


class PersonAnswer(NamedTuple):
    """A person's answer to a question."""

    answer: str  # one of the question's options; a free text if it has none
    comment: str
    who: str


class Event(Value):
    """One entry of the journal. Everything that people see is made from these entries."""

    id: int
    at: float
    key: str
    kind: str
    data: dict[str, Any] = {}


WHOLE_CONTRACT = "*"  # in place of a requirement's id in an approval


class Approval(Value):
    """A person's approval or rejection of the whole contract (requirement "*"), or of one requirement at one commit."""

    _as_before = newer_fields("commit", "asked", "rejected", "stale", "way")

    requirement: str
    who: str
    why: str
    at: float = 0.0
    contract: str = ""  # hash of the approved contract
    commit: str = ""  # the commit that the person saw; "" in records of older versions
    asked: str = ""  # hash of the requirement's text and steps: if these change, the approval no longer applies
    rejected: bool = False
    stale: str = ""  # why the approval is no longer valid; computed, never stored
    way: Way = ""  # how the approval was given; "" in records of older versions

    @property
    def is_of_contract(self) -> bool:
        """Whether the decision is about the whole contract, not about one requirement."""
        return self.requirement == WHOLE_CONTRACT

    @property
    def came_by(self) -> str:
        """How the approval was given, as the end of a sentence; "" if that was not recorded."""
        endings = {"terminal": "at the run's terminal", "command": "by command", "page": "on the page"}
        return endings.get(self.way, "")

    @property
    def gap(self) -> "Finding":
        """The finding that an implementer gets for a rejection."""
        from trued.model.replies import Finding  # imported here: it loads all kinds of checks, and few commands need it

        what = f"{self.who} rejected {self.requirement}: {self.why}"
        return Finding(what=what, where="looked at by hand", requirement=self.requirement, by=self.who)


class Delivery(Value):
    """The role and the call that got a comment."""

    role: str
    call: str


class Comment(Value):
    """What a person says to the agents of a run while it works. It is advice: nothing it says is evidence."""

    id: int = 0
    to: str  # a role, or a call without its number; "" is every role
    text: str
    who: str
    at: float = 0.0
    way: Way = ""
    stops: str = ""  # the call that is stopped for the comment; "": it goes into the next brief
    given: tuple[Delivery, ...] = ()  # computed from the steps in which calls took the comment, never stored

    def is_for(self, role: str, key: str) -> bool:
        """Whether the call with this role and step key should get the comment. A comment to a call or to one role is
        given once. A comment to every role is given once to each role."""
        if self.to and self.to not in (role, call_name(key)) and self.stops != key:
            return False
        return not any(delivery.role == role for delivery in self.given) if not self.to else not self.given


class TakenComments(Value):
    """The comments that one call was given. They are the result of a step, so a replay gives the call the same
    comments."""

    role: str
    call: str
    comments: tuple[Comment, ...]


class ProcessedDecisions(Value):
    """The decisions that one step found on the requirements at one commit, and the requirements on which nobody had
    decided."""

    head: str
    words: tuple[Approval, ...] = ()  # approvals and rejections
    parked: tuple[str, ...] = ()  # requirements without a decision; the step continued without them
    amendments: int | None = None  # number of amendments by then; None if an earlier version recorded the step


class RunRecord(Value):
    """A run as the journal knows it."""

    id: str
    workflow: str
    title: str
    repository: str
    base: str
    branch: str
    state: RecordedState | Literal["queued"] = "running"  # `queued` is never recorded: people see it while a run waits
    grade: Grade = Grade.UNPROVEN
    code: int = 0  # exit code of the state
    why: str = ""
    head: str = ""
    created_at: float = 0.0
    updated_at: float = 0.0

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED_STATES
