"""Checks the demo's own claims against the journal and the bill."""

from collections.abc import Sequence
from dataclasses import dataclass

from trued.cli.demo.bill import Bill
from trued.model import Event, Grade
from trued.model.events import of_kind
from trued.model.events.call import CallAdopted, CallAnswered, ReportFound
from trued.support.plurals import counted

LIE = "chunk 1B/"  # the chunk in which team A lies and team B believes the lie
VICTIM = "chunk 2A/purple-team-a#1"  # the call during which the engine is killed


@dataclass(frozen=True)
class DemoEnd:
    """How the demo ended, according to the journal and the operating system."""

    events: Sequence[Event]
    lie: Grade | None  # the engine's first verdict on the chunk with the lie
    killed: bool
    code: int
    grade: Grade


def check_facts(end: DemoEnd, paid: Bill) -> list[tuple[bool, str]]:
    """Each thing that the demo shows, and whether it really happened."""
    claims = {stored.key: answer.claim for stored, answer in of_kind(end.events, CallAnswered)}
    agreed = claims.get(f"{LIE}purple-team-a#1") == "DONE" and claims.get(f"{LIE}purple-team-b#1") == "PASS"
    after = {event.kind for event in end.events if event.key == VICTIM}
    return [
        (agreed and end.lie is Grade.REFUTED, "the engine's own checks refuted a lie that two agents agreed on"),
        (end.killed, "the engine was killed with kill -9 in the middle of a call"),
        (CallAdopted.KIND in after or ReportFound.KIND in after, _survival(after)),
        (paid.complete and not paid.repeated, repeated_calls(paid)),
        (
            end.code == 0 and end.grade is Grade.PROVEN,
            "every requirement is proven on the final commit",
        ),
    ]


def repeated_calls(paid: Bill) -> str:
    return f"{counted(paid.repeated, 'call')} repeated"


def _survival(kinds: set[str]) -> str:
    how = "the resumed run adopted it" if CallAdopted.KIND in kinds else "the resumed run used its answer"
    return f"the call in progress continued without the engine, and {how}"
