"""The material of a report: values from the journal, gathered once, before anything is laid out."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from sys import intern
from typing import Any

from trued.engine.pending import Wait
from trued.model import (
    Approval,
    Comment,
    Contract,
    Event,
    Evidence,
    Goal,
    Outcomes,
    Question,
    RunRecord,
    Settings,
    Verdict,
)
from trued.model.step_keys import is_examiners, scope_of
from trued.reporting.views.progress import Progress


@dataclass(frozen=True)
class Spooled:
    """The last events that one agent call left in its spool folder."""

    events: tuple[Mapping[str, Any], ...] = ()
    left_out: int = 0  # number of earlier events that were read
    unread: int = 0  # bytes of earlier events that were not read, so their number is unknown
    folder: str = ""


def no_spool(_: str, __: int) -> Spooled:
    return Spooled()


def nothing_kept(_: str) -> bytes:
    return b""


@dataclass(frozen=True)
class Proved:
    """A verdict, the key of its step, and the time at which the step ended."""

    key: str
    at: float
    verdict: Verdict

    @property
    def scope(self) -> str:
        """The scope of the step: `chunk 1B` for `chunk 1B/prove#2`."""
        return scope_of(self.key)


# the fields of stored evidence that a CheckRun is read from
CHECK_RUN_FIELDS = {
    *("id", "requirement", "side", "turn", "began", "seconds", "tried", "pictures"),
    *("why_void", "held_out", "tainted"),
}


@dataclass(frozen=True, slots=True)
class CheckRun:
    """One run of a check by the engine, without its output."""

    id: str  # the evidence's id
    requirement: str
    side: str
    turn: int
    began: float
    seconds: float
    tried: int
    passed: int
    is_void: bool
    may_quote_held_out: bool
    pictures: tuple[str, ...]  # hashes of the screenshots

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> "CheckRun":
        """Read a check run from stored evidence. To save memory, equal names share one string, and no `Evidence` is
        made: an `Evidence` is ten times as large."""
        tried = stored.get("tried", ())
        return cls(
            id=stored["id"],
            requirement=intern(stored["requirement"]),
            side=intern(stored["side"]),
            turn=stored.get("turn", 1),
            began=stored.get("began", 0.0),
            seconds=stored.get("seconds", 0.0),
            tried=len(tried),
            passed=sum(case["outcome"] == Outcomes.PASSED for case in tried),
            is_void=bool(stored.get("why_void")),
            may_quote_held_out=bool(stored.get("held_out") or stored.get("tainted")),
            pictures=tuple(picture["sha256"] for picture in stored.get("pictures", ())),
        )

    @classmethod
    def of(cls, evidence: Evidence) -> "CheckRun":
        return cls.read(evidence.model_dump(mode="json", include=CHECK_RUN_FIELDS))


@dataclass(frozen=True, slots=True)
class ProofSummary:
    """A verdict without its texts: the grade of each requirement, and the checks that were run."""

    key: str
    at: float
    grades: Mapping[str, str]
    suites: tuple[str, ...]  # names of the base's own tests
    runs: tuple[CheckRun, ...]

    @classmethod
    def read(cls, key: str, at: float, stored: Mapping[str, Any]) -> "ProofSummary":
        """Read the summary from a stored verdict."""
        grades = {intern(row["id"]): intern(row["grade"]) for row in stored.get("requirements", ())}
        suites = tuple(intern(suite["id"]) for suite in stored.get("suites", ()))
        return cls(key, at, grades, suites, tuple(map(CheckRun.read, stored.get("evidence", ()))))

    @classmethod
    def of(cls, proved: Proved) -> "ProofSummary":
        parts = {"requirements": {"id", "grade"}, "suites": {"id"}, "evidence": CHECK_RUN_FIELDS}
        include = {name: {"__all__": fields} for name, fields in parts.items()}
        return cls.read(proved.key, proved.at, proved.verdict.model_dump(mode="json", include=include))

    def is_about(self, name: str) -> bool:
        """Whether the verdict judges the requirement or the suite of existing tests that has this name."""
        return name in self.grades or name in self.suites


@dataclass(frozen=True)
class Material:
    record: RunRecord
    events: Sequence[Event]
    settings: Settings
    goal: Goal
    level: str = ""
    version: str = ""
    contract: Contract | None = None
    contract_hash: str = ""
    verdict: Verdict | None = None
    history: Sequence[Proved] = ()  # oldest first
    approvals: Sequence[Approval] = ()
    comments: Sequence[Comment] = ()
    questions: Sequence[Question] = ()
    waits: Sequence[Wait] = ()
    documents: Mapping[str, str] = field(default_factory=dict)
    folder: Path = Path()
    spool: Callable[[str, int], Spooled] = no_spool  # a call's key, number of lines → its newest spooled events
    kept: Callable[[str], bytes] = nothing_kept  # the content of a picture or recording, by hash
    now: float = 0.0
    compared: Mapping[str, Any] | None = None  # the comparison with other runs, as `compare --json` prints it
    picture_address: str = ""  # prefix of a picture's address, if pictures are not embedded in the page
    folded: Progress | None = None  # the run's tree, if the caller has it already
    summed_up: Sequence[ProofSummary] | None = None  # the history without its texts, if already loaded
    base_runs: Sequence[CheckRun] | None = None  # check runs on the base, if already loaded

    @cached_property
    def progress(self) -> Progress:
        """The run's tree."""
        return self.folded or Progress(self.events, self.record.workflow)

    @cached_property
    def proofs(self) -> Sequence[ProofSummary]:
        """The verdicts of `history` without their texts."""
        return self.summed_up if self.summed_up is not None else tuple(map(ProofSummary.of, self.history))

    @property
    def check_runs(self) -> Iterator[CheckRun]:
        """Every time that the engine ran a check: on the base first, then in the order of the verdicts."""
        if self.base_runs is not None:
            yield from self.base_runs
        else:
            yield from map(CheckRun.of, self.contract.base_facts if self.contract else ())
        for proof in self.proofs:
            yield from proof.runs

    @property
    def ended(self) -> bool:
        """Whether the run has ended, so that held-out cases may be shown to people.

        A run that ended as `not proven` counts, although a person can still continue it. Agents do not see the report
        unless a person shows it to them.
        """
        return self.record.has_ended

    def holds_back(self, role: str, key: str = "") -> bool:
        """Whether the briefs and replies of this role, or of the call `key`, are still secret. Until the run has ended,
        those of examiners are, because examiners know the held-out cases."""
        return is_examiners(key, role) and not self.ended

    @property
    def holds_out(self) -> bool:
        """Whether some held-out cases must not be shown yet. Then the notes of contract and verdicts must not be shown
        either, because they can quote cases."""
        return bool(self.contract and self.contract.held_out and not self.ended)

    @property
    def facts(self) -> Iterator[Evidence]:
        """The evidence of every check run: on the base first, then in the order of the verdicts."""
        yield from self.contract.base_facts if self.contract else ()
        for proved in self.history:
            yield from proved.verdict.evidence
