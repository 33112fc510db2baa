"""Events of sealing and proving: what was run on which commit, and what it showed."""

from typing import Literal

from pydantic import ConfigDict

from trued.model.events import JournalEvent
from trued.model.grades import Grade, Outcomes
from trued.model.value import Value


class EnvironmentBuilt(JournalEvent, kind="environment"):
    """The environment for checks was built, and there are notes about it for people."""

    said: tuple[str, ...]
    why: str


class ServerFound(JournalEvent, kind="server found"):
    """A command that starts a server was found in the base's files; on the base, the server answered."""

    command: str
    where: str  # the file that it was found in


class EnvironmentBuilding(JournalEvent, kind="environment building"):
    """Packages for the checks are being installed, which may take minutes."""

    packages: tuple[str, ...]


class BaseFactsReused(JournalEvent, kind="base known"):
    """The results of the checks on the base were taken from an earlier run."""

    checks: int


class SealingStarted(JournalEvent, kind="sealing"):
    """`verify` begins to run all checks on the base."""

    base: str
    requirements: int


class ProvingStarted(JournalEvent, kind="proving"):
    """`verify` begins to run all checks on the head."""

    head: str


class CheckSealed(JournalEvent, kind="sealed", omits=("lacks",)):
    """A check was run on the base before any work."""

    check: str
    sort: str  # kind of check
    serves: tuple[str, ...]  # requirements that it checks
    cases: dict[str, int]  # how many were red, green (guard), broken
    lacks: tuple[str, ...] = ()  # what the machine lacks for unjudged cases, and how to provide it


class ContractSealed(JournalEvent, kind="contract sealed"):
    """Requirements and checks are fixed."""

    contract: str  # the contract's hash
    requirements: int
    held_out: bool
    why: str


class ContractAmended(JournalEvent, kind="amended"):
    """A person changed the contract."""

    who: str
    why: str
    what: tuple[str, ...]
    contract: str


class CheckRan(JournalEvent, kind="checked"):
    """A check was run on the head."""

    check: str
    sort: str
    turn: int
    void: str  # why this run of the check does not count; "" if it counts


class RequirementJudged(JournalEvent, kind="judged"):
    """One requirement got its grade. After the last requirement, the verdict on the commit follows."""

    requirement: str
    grade: Grade | Literal[""]
    why: tuple[str, ...]


class GradedRequirement(Value):
    """One requirement of a verdict."""

    model_config = ConfigDict(extra="ignore")

    id: str
    grade: Grade | Literal[""] = ""
    why: tuple[str, ...] = ()


class VerdictReached(JournalEvent, kind="proven", shown="verdict", omits=("gaps", "requirements", "taken_by")):
    """All checks of a commit were run and judged. `holds`: nothing failed, and nothing is disputed."""

    subject: str
    commit: str
    grade: Grade | Literal[""]
    holds: bool
    gaps: tuple[str, ...] | None = None  # None for a landing, which has no further round
    requirements: tuple[GradedRequirement, ...] | None = None
    taken_by: str = ""  # the step whose verdict on the same commit is reused


class ProvingAgain(JournalEvent, kind="proving again"):
    """A commit is proven against another base before it lands."""

    base: str
    commit: str


class ObjectionNotRun(JournalEvent, kind="objection not run"):
    """An agent's objection could not be run as a check."""

    what: str
    by: str
    why: str


class ObjectionRan(JournalEvent, kind="objection"):
    """An agent's objection was run as a check."""

    what: str
    passed: bool


class TextWithheld(JournalEvent, kind="withheld"):
    """A text that quotes a held-out case was withheld from agents."""

    about: str


class DisputeAnswered(JournalEvent, kind="dispute"):
    """An implementer disputed cases of a requirement. Another examiner said what the cases should give, without
    seeing the expected results."""

    requirement: str
    what: str
    stands: bool  # the cases stay unchanged


class CaseDisclosed(JournalEvent, kind="disclosed"):
    """After fruitless rounds one held-out case was shown to the implementer and replaced."""

    requirement: str
    clause: str


class NoProgress(JournalEvent, kind="no progress"):
    """Two rounds in a row changed nothing and left the same gaps. So the loop ends early, even if rounds are left."""

    gaps: tuple[str, ...] = ()


class TestsCounted(JournalEvent, kind="figures"):
    """The engine counted the tests of a command and measured what they cover. This is information, not evidence."""

    passing: int
    total: int
    coverage: float | None  # per cent
    why: str
    said: str
    skipped: tuple[str, ...]


class TestsNotCounted(JournalEvent, kind="tests not counted"):
    """Tests that an agent named could not be counted."""

    command: str
    why: str


class BuildRan(JournalEvent, kind="built"):
    """The engine ran the project's own build."""

    outcome: Outcomes | Literal[""]
    said: str
    command: str
    unsure: tuple[str, ...]


class ClaimRefuted(JournalEvent, kind="claim refuted"):
    """An agent claims something that git contradicts."""

    what: str


def test_counts(passing: int, total: int, coverage: object) -> str:
    """The counts as text: `15/20 tests, 81.5 % covered`; "" if there are no tests."""
    covered = f", {coverage:.4g} % covered" if isinstance(coverage, int | float) else ""
    return f"{passing}/{total} tests{covered}" if total else ""


EVENTS = (
    *(
        EnvironmentBuilding,
        EnvironmentBuilt,
        ServerFound,
        BaseFactsReused,
        SealingStarted,
        ProvingStarted,
        CheckSealed,
        ContractSealed,
    ),
    *(ContractAmended, CheckRan, RequirementJudged, VerdictReached, ProvingAgain, ObjectionNotRun),
    *(ObjectionRan, TextWithheld, DisputeAnswered, CaseDisclosed, NoProgress, TestsCounted, TestsNotCounted),
    *(BuildRan, ClaimRefuted),
)
