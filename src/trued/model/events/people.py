"""Events of people: questions, answers, approvals."""

from trued.model.events import JournalEvent
from trued.model.records import Approval, Way


class QuestionAsked(JournalEvent, kind="question"):
    """A person is asked; the run waits."""

    text: str
    options: tuple[str, ...]  # empty: people answer in their own words


class QuestionAnswered(JournalEvent, kind="said", shown="person answered"):
    """A person answered."""

    answer: str
    comment: str
    who: str


class QuestionLeftOpen(JournalEvent, kind="left open"):
    """Nobody decided on a requirement that only a person can judge."""

    requirement: str


class QuestionNotAsked(JournalEvent, kind="not asked"):
    """Nobody was asked at this terminal, because an agent could have answered there."""

    why: str


class RequirementApproved(JournalEvent, kind="approved", omits=("commit", "way")):
    """A person accepts a requirement, or the contract ("*")."""

    requirement: str
    who: str
    why: str
    commit: str = ""
    way: Way = ""  # how the decision was given; "" in journals of earlier versions


class RequirementRejected(RequirementApproved, kind="rejected", omits=("commit", "way")):
    """A person rejects a requirement."""


class DecisionTooLate(JournalEvent, kind="said too late", shown="decision too late"):
    """A person's decision on a requirement came too late: another person had already decided."""

    requirement: str
    who: str
    why: str
    commit: str
    first: str  # who decided first


class RequirementParked(JournalEvent, kind="parked"):
    """A requirement waits for a person; the run continues without the decision."""

    requirement: str
    commit: str


class CommentGiven(JournalEvent, kind="comment"):
    """A person said something to the agents of the run. `stops`: the call that is stopped for it, if any."""

    number: int
    to: str  # a role, or a call without its number; "" is every role
    text: str
    who: str
    way: Way
    stops: str


class CommentTaken(JournalEvent, kind="comment taken up"):
    """A call got people's comments, in its brief or after it was stopped for them."""

    role: str
    numbers: tuple[int, ...]
    who: tuple[str, ...]


def decision_event(approval: Approval) -> RequirementApproved:
    """The event of a person's decision."""
    kind = RequirementRejected if approval.rejected else RequirementApproved
    return kind(
        requirement=approval.requirement, who=approval.who, why=approval.why, commit=approval.commit, way=approval.way
    )


EVENTS = (
    *(QuestionAsked, QuestionAnswered, QuestionLeftOpen, QuestionNotAsked),
    *(RequirementApproved, RequirementRejected, DecisionTooLate, RequirementParked, CommentGiven, CommentTaken),
)
