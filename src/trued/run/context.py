"""RunContext: what the engine gives a run at its start. It does not change while this process drives the run."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from trued.model import Contract, Goal, PersonAnswer, Question, Requirements, Role, Settings, Ticket, Verdict
from trued.protocols import ForgePullRequest, Journal, Runtime, Workspace
from trued.run.budget import Budget
from trued.wire import Capabilities

# The version of all rules, briefs, schemas and files that are part of recorded steps. Every change to one of them needs
# a new edition. A run of an edition before OLDEST is not resumed: a replay would mix its rules with today's. To keep
# older runs resumable, code must ask for the run's edition wherever the rules differ.
EDITION = OLDEST = 11

# Puts a question to a person. Returns None if nobody is there.
Person: TypeAlias = Callable[[Question], Awaitable[PersonAnswer | None]]


class AmendedContract(NamedTuple):
    """A contract that a person amended. It is in force since the amendment."""

    before: frozenset[str]  # the keys of the steps recorded before the amendment
    contract: Contract
    verdict: Verdict | None  # the verdict by this contract, if the run had finished


class GrantedRounds(NamedTuple):
    """Rounds that a person granted after the run had finished."""

    finishes: int  # how often the run had finished by then
    rounds: int
    amendments: int  # how often the contract had been amended by then


@dataclass(frozen=True)
class RunContext:
    """A run's immutable dependencies, filled in by the engine."""

    run: str
    folder: Path  # the run's own folder in the private state directory
    journal: Journal
    workspace: Workspace
    runtime: Runtime
    budget: Budget
    capabilities: Callable[[str], Capabilities]  # name of an agent → what it can do
    settings: Settings
    roles: Mapping[str, Role]
    goal: Goal
    requirements: Requirements | None
    hidden_paths: tuple[Path, ...]  # agents must not read them; the user's requirements file comes first
    secret_blobs: frozenset[str]  # git blob ids of the requirements file; a base with such a blob shows the cases
    instructions: str  # the project's own instructions to agents
    redact: Callable[[Any], Any]  # replaces the secrets that the engine knows, before anything is written
    person: Person
    began: float
    amended: tuple[AmendedContract, ...] = ()  # one for each amendment by a person, in order
    # limits how many runs of this process prove at the same time
    turn: Callable[[], AbstractAsyncContextManager[Any]] = nullcontext
    ticket: Ticket | None = None
    branch: str = ""  # the run's branch in the user's repository
    with_approvals: Callable[[Verdict], Verdict] = lambda verdict: verdict  # applies people's approvals
    # Opens or updates the pull request of the head (True: as a draft) and returns it. If files need a person's consent
    # first, it opens nothing and returns these files with the reasons. If this machine cannot open a pull request, it
    # returns a sentence that says how to do it.
    offer: Callable[[bool], Awaitable[ForgePullRequest | Mapping[str, str] | str]] | None = None
    records_approvals: bool = False  # whether the workflow's files on the branch say what people decided
    # Roles that check the work. If an agent in such a role changes code, it counts as an implementer from then on.
    repairing_roles: frozenset[str] = frozenset()
    more_rounds: tuple[GrantedRounds, ...] = ()
    person_files: tuple[str, ...] = ()  # people's documents in the repository: agents cannot change them
    reviewing_roles: frozenset[str] = frozenset()  # roles that write a document about the code, and no code
    asks_people: bool = True  # whether agents may put a question to a person
    # For a run that was on another machine before: whether that machine began this attempt at a call (its name and
    # number), and whether this machine has the session of this clone.
    is_begun_elsewhere: Callable[[str, int], bool] = lambda call, attempt: False
    has_session: Callable[[str], bool] = lambda clone: True
