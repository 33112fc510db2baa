"""The three things that can be swapped: who works, where, and what remembers."""

import socket
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from trued.wire import Confinement, Order, Report, Spend

if TYPE_CHECKING:
    from trued.model import Approval
    from trued.model.events import JournalEvent

Tell: TypeAlias = Callable[..., None]  # tell(kind, **data): what an agent or its supervisor reports, as plain data
Emit: TypeAlias = "Callable[[JournalEvent], None]"  # takes one event of the engine


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a runtime can do by itself; the engine makes up for the rest or says what is missing."""

    resume: bool = False  # goes on with a session's conversation
    chosen_session: bool = False  # the engine picks the session id
    early_session: bool = False  # else: it tells its own before the first paid request
    native_schema: bool = False  # it keeps a schema by itself; it is checked again all the same
    native_budget: bool = False  # it ends by itself when its money is used up
    reports_usage: bool = False
    reports_cost: bool = False
    running_usage: bool = False  # it tells what it used while it works, not only at the end
    cumulative_usage: bool = False  # what it tells counts the whole session, not this call
    withholds_tools: bool = False  # a role's tools are all that it has; else what it starts is watched
    vendor: str = ""  # known by itself; "" is no other vendor than anybody's

    @property
    def limitations(self) -> tuple[str, ...]:
        """What the engine makes up for, or what is simply missing, in words for a person."""
        missing = {
            "cannot resume: a later turn starts afresh and is told all facts again": not self.resume,
            "its session is known only after the first paid request": self.resume
            and not (self.chosen_session or self.early_session),
            "no schema of its own: the answer is read from its text": not self.native_schema,
            "no budget of its own: it is watched and ended"
            if self.running_usage
            else "no budget of its own, and tells its usage only at the end": not self.native_budget,
            "reports no usage: it is estimated": not self.reports_usage,
            "reports no cost: it is computed from a price table": not self.reports_cost,
            "keeps all its tools: what the role may not do is refused or watched": not self.withholds_tools,
        }
        return tuple(words for words, is_so in missing.items() if is_so)


class Runtime(Protocol):
    """Lets one agent work once: Claude Code, an ACP agent, any program, a script."""

    @property
    def capabilities(self) -> Capabilities: ...

    async def work(self, order: Order, tell: Tell) -> Report: ...


@dataclass(frozen=True, slots=True)
class AgentCommit:
    """What an agent left in its clone, as a commit in the private store."""

    commit: str
    changed: tuple[str, ...]  # paths, against the head that the clone began with
    undone: Mapping[str, bytes | None] = field(default_factory=dict)  # what it wrote where nothing is the agent's


@dataclass(frozen=True, slots=True)
class MergeResult:
    """Two commits as one; with both sides of the files in which they contradict each other (None: not there)."""

    commit: str
    both: Mapping[str, tuple[bytes | None, bytes | None]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Command:
    """Something to run confined: a check's own process."""

    argv: Sequence[str]
    folder: Path
    stdin: bytes = b""
    variables: Mapping[str, str] | None = None
    readable: Sequence[str] = ()
    writable: Sequence[str] = ()  # beyond the room
    within_s: float = 60.0
    output_bytes: int = 4 * 1024 * 1024
    memory_bytes: int = 4 * 1024**3
    processes: int = 512
    network: str = "none"  # or "loopback": its own, on which nobody else listens; "host" for preparations alone
    second: bool = False  # in other surroundings than the first time: host name, user, HOME, time zone
    channel: bool = False  # give it a pipe of its own for answers; its number is in TRUED_CHANNEL
    ports: Sequence[int] = ()  # of TCP, where the network is not its own: these alone
    inherited: Sequence[int] = ()  # open files that it gets under the same numbers; closed here when it has begun


@dataclass(frozen=True, slots=True)
class CommandResult:
    exit_code: int | None  # None: ended by the engine
    stdout: bytes
    stderr: bytes
    answers: bytes  # what came over the channel
    seconds: float
    timed_out: bool
    flooded: bool  # wrote more than allowed
    isolation: str


class Server(Protocol):
    """A server at work in a sandbox of its own. Nobody but the engine can reach it, and only through this."""

    @property
    def port(self) -> int:
        """Where it was told to listen, in there."""
        ...

    def connect(self) -> socket.socket:
        """A connection to that port; closed at once where nobody listens."""
        ...

    def dialer(self) -> int:
        """A file to inherit for another sandbox: a stream socket that is sent over it is connected to that port."""
        ...

    def has_ended(self) -> bool:
        """The command has ended, or failed."""
        ...

    async def end(self) -> CommandResult:
        """End it with all its descendants: what it said. Its exit code is its own, or None if it was still at work."""
        ...


class Workspace(Protocol):
    """Where agents work and checks run. The user's repository is read; only the run's branch in it is moved."""

    base: str
    start: str  # where clones begin: the base, or the head of a branch that the run goes on from
    kept: Path | None  # where facts outlive the run; None: they do not
    environments: Path | None  # where environments are built and outlive the run; None: none are built

    async def begin(self) -> None:
        """Once a process: the base is there, and what a killed process left half done is gone."""
        ...

    def confinement(self) -> Confinement:
        """What agents of this run may see; clone and HOME are added by the order."""
        ...

    async def clone(self, name: str, head: str, *, token: str) -> tuple[Path, Path]:
        """A clone at `head` and a HOME. One that is there is brought to `head`, once for each token: a call that is
        adopted, or looked at again after a crash, finds its clone as its agent left it."""
        ...

    async def commit_clone(
        self,
        name: str,
        head: str,
        *,
        author: str,
        message: str,
        when: float,
        fixed: Collection[str] = (),
        only: Collection[str] = (),
    ) -> AgentCommit:
        """Commit what the agent left, take the commit into the store by hash. The same clone gives the same commit.
        What it changed in `fixed` paths (or, where `only` names any, in all others) is undone there, and told. A path
        that ends with "/" means all below it."""
        ...

    async def execute_in_clone(self, name: str, argv: Sequence[str], *, within_s: float) -> CommandResult:
        """Run a command in a clone that is there, confined as its agent is."""
        ...

    async def drop_clone(self, name: str, why: str) -> None:
        """Remove a clone; what is in it and nowhere else goes to a rescue ref first."""
        ...

    async def commit_files(self, head: str, files: Mapping[str, bytes], *, message: str, when: float) -> str:
        """The engine's own commit on top of `head`: these files and nothing else."""
        ...

    async def commit_without_history(self, files: Mapping[str, bytes], *, message: str, when: float) -> str:
        """A commit of the engine's own without any history: these files and nothing else."""
        ...

    async def is_known_commit(self, commit: str) -> bool:
        """Is that a commit of this run: of its line, or one that an agent made in a clone that has been dropped?"""
        ...

    async def squash(
        self, head: str, onto: str, owned: Collection[str], *, author: str, message: str, when: float
    ) -> str:
        """All that `head` has beyond `onto` as one commit on it, without what was changed in `owned` files."""
        ...

    async def merge(self, ours: str, theirs: str, *, message: str, when: float) -> MergeResult:
        """Both as one commit, in the private store. Where they contradict each other, it holds both sides between
        markers, and says in which files."""
        ...

    async def publish(self, head: str, branch: str = "") -> str:
        """Move the run's branch, or one beside it, to `head`. Returns "" or why it could not be moved."""
        ...

    async def push(self, remote: str, commit: str, ref: str) -> str:
        """Push in the user's name, never by force. Returns "" or why it could not be done."""
        ...

    async def read(self, commit: str, path: str) -> bytes | None: ...

    async def read_all(self, commit: str, paths: Iterable[str]) -> dict[str, bytes]:
        """Those of these files that the commit has: one look for all of them."""
        ...

    async def tree(self, commit: str) -> str: ...
    async def changed_files(self, base: str, head: str) -> tuple[str, ...]: ...
    async def blobs(self, commit: str, prefix: str = "") -> dict[str, str]: ...

    def room(self, commit: str) -> AbstractAsyncContextManager[Path]:
        """A clean room: a fresh, writable, throw-away checkout, without `.git`. What is put beside it goes with it."""
        ...

    def missing_content(self, commit: str) -> tuple[str, ...]:
        """What a room of this commit could not be given: large files and submodules that are not here."""
        ...

    async def execute(self, command: Command) -> CommandResult: ...

    def serve(self, command: Command, port_env: str) -> AbstractAsyncContextManager[Server]:
        """Start a server: its port is chosen here, told by this variable and by {port} in its command line."""
        ...

    async def save_artifact(self, content: bytes) -> str:
        """Keep something for people to look at, by the hash that is returned."""
        ...

    async def load_artifact(self, name: str) -> bytes | None:
        """What was kept under this hash, if it is still there and still the same."""
        ...

    def describe_second_surroundings(self) -> str:
        """What is different for a command in its second setting, at this level of the sandbox."""
        ...

    async def can_agents_read(self, path: Path) -> bool:
        """Probe: can a process confined as agents are read this file?"""
        ...

    async def clean_up(self) -> None:
        """Nothing of the run is left but its refs: clones are dropped, rooms removed."""
        ...


Decide: TypeAlias = Callable[[Sequence[Spend]], Spend | None]
Step: TypeAlias = Callable[[], Awaitable[str]]


class Journal(Protocol):
    """Remembers the result of every step of one run, so that no step is paid for twice."""

    async def once(self, key: str, inputs: str, step: Step) -> str: ...
    def emit(self, event: "JournalEvent", key: str = "") -> None:
        """Write an event for people, under the key of the step that it belongs to."""
        ...

    def question(self, key: str, text: str, options: Sequence[str]) -> tuple[str, str, str] | None:
        """The answer, comment and name that a person gave; None while nobody has."""
        ...

    def answer(self, key: str, answer: str, comment: str, who: str) -> bool:
        """The first answer stands; whether it is this one."""
        ...

    def spend(self, decide: Decide) -> Spend | None:
        """One synced transaction: `decide` sees all that the run has reserved and spent, and says what is written."""
        ...

    def approvals(self) -> "list[Approval]":
        """What people said of the run, oldest first."""
        ...

    def approve(self, approval: "Approval", *, instead: bool = False) -> bool:
        """The first word on a requirement at a commit stands, unless this one comes instead; whether it does."""
        ...

    def past(self, role: str, agent: str) -> list[Spend]:
        """What such calls used before, in all runs that are remembered, newest first."""
        ...


# -- the edge: trackers and forges


@dataclass(frozen=True, slots=True)
class TrackerIssue:
    """A ticket as its tracker holds it; nothing is read into it yet."""

    key: str
    title: str
    body: str = ""  # Markdown
    kind: str = ""  # bug | feature | "" where the tracker does not say
    labels: tuple[str, ...] = ()
    fields: Mapping[str, str] = field(
        default_factory=dict
    )  # by the tracker's own names: acceptance criteria, preview …
    pictures: tuple[str, ...] = ()
    url: str = ""


class Tracker(Protocol):
    """Holds tickets. Another one is one small class."""

    def issue(self, name: str) -> TrackerIssue: ...


@dataclass(frozen=True, slots=True)
class PullRequestProposal:
    """A pull request as we want it."""

    branch: str
    onto: str
    title: str
    body: str  # Markdown
    head: str  # the commit that was proven
    draft: bool = False


@dataclass(frozen=True, slots=True)
class ForgePullRequest:
    """A pull request as it is."""

    number: int
    url: str
    state: Literal["open", "closed", "merged"]
    title: str = ""
    body: str = ""
    draft: bool = False
    head: str = ""


class Forge(Protocol):
    """Takes pull requests."""

    @property
    def name(self) -> str: ...

    @property
    def remote(self) -> str:
        """Where branches are pushed to: a remote's name or an address; "" where nothing is pushed."""
        ...

    def ready(self) -> None:
        """Raise one sentence where it cannot be offered to: no token, no rights, no such repository, not now."""
        ...

    def offered(self, branch: str) -> ForgePullRequest | None:
        """The newest pull request of that branch, whatever became of it."""
        ...

    def offer(self, offer: PullRequestProposal) -> ForgePullRequest:
        """Open one, or bring the open one of that branch up to date; one that is closed or merged is not touched."""
        ...

    def picture(self, commit: str, path: str) -> str:
        """The address at which a file of a pushed commit can be seen."""
        ...
