"""What stands in the journal of a run: inputs, end, amendments. Light: commands that look at runs load no more."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trued.model import Contract, Goal, Outcome, Requirements, Role, Settings, Ticket, Value, Verdict

FINISH = "finish#"
AMENDED = "amend#"
FINISHED = ("done", "not proven", "stopped", "cancelled")  # such a run never goes on


@dataclass(frozen=True)
class End:
    """How a drive ended: with an outcome, or before one."""

    state: str
    code: int = 0
    why: str = ""
    outcome: Outcome | None = None


class Request(Value):
    """What a person asks for on the command line."""

    goal: str
    repository: Path
    workflow: str | None = None
    requirements: Path | None = None
    flags: dict[str, Any] = {}  # noqa: RUF012 (a frozen value)
    trust: str = ""
    branch: str = ""  # that an earlier run left, to go on from; HEAD: begin anew
    base: str = ""  # the user's commit from which that branch began, where nobody else can tell


class Inputs(Value):
    """Everything a run was started with, copied into it: a resume reads nothing else."""

    goal: Goal
    settings: Settings
    roles: dict[str, Role]
    requirements: Requirements | None
    requirements_file: str  # absolute: agents must not be able to read it
    requirements_blobs: tuple[str, ...] = ()
    instructions: str
    level: str
    version: str
    dirty: tuple[str, ...] = ()  # uncommitted when it began: the run started from HEAD, without them
    looked: str = ""  # agents that nobody named, in words; empty: all were named
    start: str = ""  # where it goes on from, if not from its base
    branch: str = ""  # its own, if it is not named after the run
    base: str = ""  # the red side, if it is not the commit that was checked out
    ticket: Ticket | None = None
    onto: str = ""  # the branch that was checked out when it began, and where it lands; "" where none was


def is_contract(key: str) -> bool:
    """Is this step's result a contract?"""
    return key.rpartition("/")[2].startswith(("seal#", "sealed anew#", AMENDED))


class Change(Value):
    """What a person wants of the contract."""

    requirements: Path | None = None  # another requirements file, in the place of the old one
    add: Path | None = None  # requirements beside those that are there
    remove: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    supersedes: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 (a frozen value)
    who: str
    why: str

    @property
    def what(self) -> tuple[str, ...]:
        """In words, for the journal."""
        words = [f"requirements from {self.requirements.name}"] if self.requirements else []
        words += [f"requirements of {self.add.name} added"] if self.add else []
        words += [f"{name} removed" for name in self.remove] + [f"{name} is kept work" for name in self.keep]
        return (*words, *(f"{name} supersedes {', '.join(tests)}" for name, tests in self.supersedes.items()))


class Amendment(Value):
    """As it stands in the journal: who, why, what, and the contract that is in force from there on."""

    who: str
    why: str
    what: tuple[str, ...]
    before: tuple[str, ...]  # steps that were taken under the contract before it
    contract: Contract
    verdict: Verdict | None = None  # of a run that had ended: the same commit, judged by the new contract
