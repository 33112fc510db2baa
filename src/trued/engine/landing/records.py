"""What is asked of a landing, what came of it, and where a run's work has been brought by its journal."""

from dataclasses import dataclass
from typing import Literal

from trued.engine.inputs import Inputs
from trued.engine.run_store import RunStore
from trued.model import Approval, Contract, RunRecord, Value, Verdict
from trued.model.events import of_kind
from trued.model.events.landing import WorkLanded
from trued.model.step_keys import is_landing_record, landing_part
from trued.run.context import Person
from trued.support.hashing import digest
from trued.workspace.git.landing import TargetBranch
from trued.workspace.git.workspace import GitWorkspace


class LandingRequest(Value):
    """What a person asks of `land`."""

    onto: str = ""  # else the branch that was checked out when the run began
    way: Literal["", "ff", "merge", "pr"] = ""  # else forward where possible, or rebased, proven again, and forward
    draft: bool = False  # of a pull request: also of work that is not proven
    agree: str = ""  # digest of the changes that ask for trust
    carry: bool = False  # words for single requirements hold for the rebased commit, too
    who: str = ""


class LandingResult(Value):
    """What came of it. Whatever is not `landed` has changed nothing in the user's repository."""

    run: str
    landed: bool = False
    code: int = 0
    why: str = ""
    then: str = ""  # what helps
    onto: str = ""
    how: str = ""
    before: str = ""  # where the branch stood
    commit: str = ""
    said: tuple[str, ...] = ()  # what a person should know of it
    conflicts: tuple[str, ...] = ()
    asks: dict[str, str] = {}  # noqa: RUF012  changed files that ask for trust, and why
    digest: str = ""  # of these changes
    verdict: Verdict | None = None  # where it was proven again
    url: str = ""  # of a pull request


@dataclass(frozen=True)
class LandingContext:
    """All that one landing works with."""

    store: RunStore
    record: RunRecord
    inputs: Inputs
    contract: Contract
    workspace: GitWorkspace
    request: LandingRequest
    target: TargetBranch
    person: Person

    @property
    def onto(self) -> str:
        return self.target.branch

    def result(self, **more: object) -> LandingResult:
        return LandingResult.model_validate({"run": self.record.id, "onto": self.onto, **more})


@dataclass(frozen=True)
class LandingCandidate:
    """A commit that could land."""

    commit: str
    tip: str  # of the target
    how: str
    part: str  # below which its steps stand in the journal
    replaced: tuple[str, ...] = ()  # the target's own, of a run before this one


class LandingRecord(Value):
    """A commit on a branch of the user's. Written before the branch is moved: it counts where the branch holds it."""

    onto: str
    before: str
    commit: str
    head: str  # the run's own commit
    how: str
    who: str = ""
    contract: str = ""  # step with the contract by which it was proven again; "" where it is the run's own commit
    verdict: str = ""  # step with that verdict
    words: tuple[Approval, ...] = ()  # of people, that hold for this commit


def journal_part(onto: str, commit: str, tip: str, contract: str) -> str:
    """One part of the journal for one commit on one target by one contract: another is never mistaken for it."""
    return landing_part(onto, digest(commit, tip, contract)[:10])


def begun_landings(store: RunStore, run_id: str) -> list[LandingRecord]:
    """All that were begun: one that was broken off has not moved its branch, or has and could not say so."""
    keys = [key for key, _, _ in store.journal.steps(run_id) if is_landing_record(key)]
    return [LandingRecord.model_validate_json(store.journal.step(run_id, key) or "") for key in keys]


def finished_landings(store: RunStore, run_id: str) -> list[LandingRecord]:
    """Those that came to their end, oldest first."""
    landings_ended = of_kind(store.journal.events(run_id), WorkLanded)
    begun = {(one.onto, one.commit): one for one in begun_landings(store, run_id)}
    pairs = [(one.onto, one.commit) for _, one in landings_ended]
    return [begun[pair] for pair in pairs if pair in begun]


def contract_and_verdict(store: RunStore, run_id: str, one: LandingRecord) -> tuple[Contract, Verdict] | None:
    """Contract and verdict of a commit that was proven again before it landed."""
    contract, verdict = [store.journal.step(run_id, key) if key else None for key in (one.contract, one.verdict)]
    if contract is None or verdict is None:
        return None
    return Contract.model_validate_json(contract), Verdict.model_validate_json(verdict)
