"""Requests and results of landings, and their records in the journal."""

from dataclasses import dataclass
from typing import Literal

from trued.engine.inputs import Inputs
from trued.engine.run_store import RunStore
from trued.model import Approval, Contract, Finding, RunRecord, Value, Verdict
from trued.model.events import of_kind
from trued.model.events.landing import WorkLanded
from trued.model.step_keys import is_landing_record, landing_part
from trued.run.context import Person
from trued.support.hashing import digest
from trued.workspace.git.landing import TargetBranch
from trued.workspace.git.workspace import GitWorkspace


class LandingRequest(Value):
    """What a person asks for with `trued land`."""

    onto: str = ""  # "": the branch that was checked out when the run began
    way: Literal["", "ff", "merge", "pr"] = ""  # "": fast-forward; if impossible, rebase and prove again first
    draft: bool = False  # open the pull request as a draft, even if the work is not proven
    agree: str = ""  # digest of the sensitive changes that the person agrees to
    through: str = ""  # land only this chunk of the plan and the chunks before it
    carry: bool = False  # approvals of single requirements also apply to the rebased commit
    who: str = ""
    commit: str = ""  # the commit that the person looked at: no other is landed


class LandingResult(Value):
    """The result of a landing. If `landed` is false, no branch of the user has changed. An offered pull request also
    counts as `landed`."""

    run: str
    landed: bool = False
    code: int = 0
    why: str = ""
    then: str = ""  # the next step for the person
    onto: str = ""
    how: str = ""
    before: str = ""  # the branch's commit before the landing
    commit: str = ""
    said: tuple[str, ...] = ()  # remarks for people
    conflicts: tuple[str, ...] = ()
    asks: dict[str, str] = {}  # noqa: RUF012  changed sensitive files, and why they are sensitive
    digest: str = ""  # of the changes in `asks`
    verdict: Verdict | None = None  # the new verdict, if the work was proven again
    url: str = ""  # of a pull request


@dataclass(frozen=True)
class LandingContext:
    """Everything that one landing works with."""

    store: RunStore
    record: RunRecord
    inputs: Inputs
    contract: Contract
    workspace: GitWorkspace
    request: LandingRequest
    target: TargetBranch
    person: Person
    objections: tuple[Finding, ...] = ()  # if only a part of the run lands: the open objections against it

    @property
    def onto(self) -> str:
        return self.target.branch

    def result(self, **more: object) -> LandingResult:
        return LandingResult.model_validate({"run": self.record.id, "onto": self.onto, **more})


@dataclass(frozen=True)
class LandingCandidate:
    """A commit that could land."""

    commit: str
    tip: str  # the newest commit of the target branch
    how: str
    part: str  # the prefix of this landing's steps in the journal
    replaced: tuple[str, ...] = ()  # files of an earlier run on the target that this commit replaces


class LandingRecord(Value):
    """A landing, recorded before the branch `onto` is moved. The landing has taken place only if `onto` contains
    `commit`."""

    onto: str
    before: str
    commit: str
    head: str  # the run's own commit
    how: str
    who: str = ""
    contract: str = ""  # key of the step with the contract by which `commit` was proven again; "" if it was not
    verdict: str = ""  # key of the step with the verdict by that contract
    words: tuple[Approval, ...] = ()  # people's approvals that apply to this commit


def journal_part(onto: str, commit: str, tip: str, contract: str) -> str:
    """The prefix of all journal keys of one landing. Landings that differ in branch, commits or contract have different
    prefixes."""
    return landing_part(onto, digest(commit, tip, contract)[:10])


def begun_landings(store: RunStore, run_id: str) -> list[LandingRecord]:
    """All landings that were begun, also those that were killed: these may or may not have moved the branch."""
    keys = [key for key, _, _ in store.journal.steps(run_id) if is_landing_record(key)]
    return [LandingRecord.model_validate_json(store.journal.step(run_id, key) or "") for key in keys]


def finished_landings(store: RunStore, run_id: str) -> list[LandingRecord]:
    """Landings that were finished, oldest first."""
    landings_ended = of_kind(store.journal.events(run_id), WorkLanded)
    begun = {(landing.onto, landing.commit): landing for landing in begun_landings(store, run_id)}
    pairs = [(landing.onto, landing.commit) for _, landing in landings_ended]
    return [begun[pair] for pair in pairs if pair in begun]


def contract_and_verdict(store: RunStore, run_id: str, landing: LandingRecord) -> tuple[Contract, Verdict] | None:
    """Contract and verdict of a landed commit that was proven again; None if the run's own commit landed."""
    contract, verdict = [
        store.journal.step(run_id, key) if key else None for key in (landing.contract, landing.verdict)
    ]
    if contract is None or verdict is None:
        return None
    return Contract.model_validate_json(contract), Verdict.model_validate_json(verdict)
