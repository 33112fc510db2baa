"""What the engine puts into a run's hands, and what the run has learnt so far."""

import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from trued.model import (
    Contract,
    Evidence,
    Finding,
    Goal,
    Heard,
    Question,
    Requirements,
    Role,
    Settings,
    Ticket,
    Verdict,
)
from trued.protocols import Capabilities, Journal, Offered, Runtime, Workspace
from trued.run.budget import Budget

if TYPE_CHECKING:
    from trued.workflows.purple.memory_log import Section

Person: TypeAlias = Callable[[Question], Awaitable[tuple[str, str, str] | None]]


@dataclass(frozen=True)
class Kit:
    """Everything that does not change while a run goes on; copied into it at its start."""

    run: str
    folder: Path  # of the run, in private state
    journal: Journal
    workspace: Workspace
    runtime: Runtime
    budget: Budget
    capabilities: Callable[[str], Capabilities]  # of an agent
    settings: Settings
    roles: Mapping[str, Role]
    goal: Goal
    requirements: Requirements | None
    secrets: tuple[Path, ...]  # files that agents must not be able to read, the user's requirements file first
    secret_blobs: frozenset[str]  # the requirements file as git would name it: a copy in the base is no secret
    instructions: str  # the project's own words to agents
    redact: Callable[[Any], Any]  # what the engine holds as secret never reaches the journal
    person: Person
    began: float
    amended: tuple[tuple[frozenset[str], Contract], ...] = ()  # by people: steps before it, and what is in force since
    turn: Callable[[], AbstractAsyncContextManager[Any]] = nullcontext  # to judge, among other runs of this process
    ticket: Ticket | None = None
    branch: str = ""  # the run's, in the user's repository
    lifted: Callable[[Verdict], Verdict] = lambda verdict: verdict  # with what people said of it
    # the head as a pull request, or as a draft of one; or the files of it that ask for trust first, with the reasons
    offer: Callable[[bool], Awaitable[Offered | Mapping[str, str]]] | None = None


@dataclass
class Line:
    """Where the run stands. Everything here is computed again from the journal when the workflow is called again."""

    head: str
    when: float  # of the last accepted work: engine's commits are dated by it, so that a replay makes the same ones
    contract: Contract | None = None
    contract_hash: str = ""  # computed once: a contract of a thousand requirements is long
    amended: int = 0  # amendments that are in force
    known: list[Evidence] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    sections: "dict[str, Section]" = field(default_factory=dict)
    comments: dict[str, Finding] = field(default_factory=dict)  # a redo's comment, by scope
    shown: dict[str, tuple[Finding, ...]] = field(default_factory=dict)  # objections whose case fails, by subject
    unsettled: dict[str, tuple[Finding, ...]] = field(default_factory=dict)  # objections nobody answered, by task
    fruitless: dict[str, tuple[object, int]] = field(default_factory=dict)  # failing set of a subject, and how long so
    changed: set[tuple[str, str]] = field(default_factory=set)  # role and agent of everybody who changed something
    objected: set[tuple[str, str]] = field(default_factory=set)  # role and case of every objection that was run
    disputed: set[str] = field(default_factory=set)  # requirements whose cases were answered blind again
    beside: set[str] = field(default_factory=set)  # tasks that a commit is looked at for, beside the one at hand
    laid: tuple[str, ...] = ()  # documents that came before the work: no part of it, but anybody's to change
    owned: tuple[str, ...] = ()  # the engine's own files: no agent's, and no part of the work
    heard: list[Heard] = field(default_factory=list)  # of people, and what the run went on without
    last: tuple[str, str, str] = ("", "", "")  # verdict: what it was taken from, its step, and the verdict itself
    finished: Verdict | None = None  # by checks alone, and only while nothing was done since
    rejected: dict[str, tuple[Finding, ...]] = field(default_factory=dict)  # by people, for those who build, by task
    clones: dict[str, str] = field(default_factory=dict)  # session clone → scope that it belongs to
    live: bool = False  # a step has really happened in this process; before that, all is remembered
    published: str = ""
    unpublished: str = ""  # why the run's branch could not be moved
    changes: int = 0  # asks that changed something
    # files with both sides in them, the marks there, and the commit that has both
    between: tuple[tuple[str, ...], tuple[str, ...], str] = ((), (), "")
    unsure: dict[str, tuple[str, ...]] = field(default_factory=dict)  # beyond the contract: said in every verdict
    copies: dict[str, tuple[str, str]] = field(default_factory=dict)  # file → hash and words of a person's last edit
    standing: dict[str, tuple[object, int]] = field(
        default_factory=dict
    )  # gaps and changes of a scope, and how long so


def digest(*parts: object) -> str:
    """A hash of plain JSON values: what a step's inputs are known by."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def content_hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def folder_name(key: str) -> str:
    """A key as a folder name: readable, and never the same for two keys."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in key).strip("-.")
    return f"{plain[:60]}-{digest(key)[:8]}"
