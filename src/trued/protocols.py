"""The protocols through which the engine uses the outside world.

`Runtime` lets an agent work, `Workspace` is where it works, and `Journal` remembers what happened in one run.
`JournalStore` keeps the journals of all runs. `Tracker` holds tickets, and `Forge` holds pull requests.
"""

import socket
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

from trued.wire import Capabilities, Confinement, EmitAgentEvent, Order, Report, Spend

if TYPE_CHECKING:
    from trued.model import Approval, Comment, Event, PersonAnswer, Question, RunRecord
    from trued.model.events import JournalEvent
    from trued.model.history import StoredAnswer, StoredVerdict
    from trued.support.lease_file import LeaseFile

Emit: TypeAlias = "Callable[[JournalEvent], None]"  # called with each event of the engine


class Runtime(Protocol):
    """Carries out one order of a call with an agent: Claude Code, an ACP agent, any program, a script."""

    @property
    def capabilities(self) -> Capabilities:
        """What this agent supports natively."""
        ...

    async def work(self, order: Order, emit: EmitAgentEvent) -> Report:
        """Carry out one order and return its report; events are passed to `emit` as they happen. If the agent fails,
        the report has the state "failed", and no exception is raised."""
        ...


@runtime_checkable
class StoppableRuntime(Runtime, Protocol):
    """A runtime whose calls outlive this process, so that a call can be stopped by a process that did not start it."""

    async def stop(self, order: Order, emit: EmitAgentEvent) -> Report:
        """End the call if it is running. Return the report that the call wrote. If it wrote none, return one with the
        state "stopped" and the call's usage. Calling this again returns the same report."""
        ...


@dataclass(frozen=True, slots=True)
class AgentCommit:
    """What an agent left in its clone, as a commit in the private store."""

    commit: str
    changed: tuple[str, ...]  # paths that differ from the head that the clone started from
    # file that the agent may not change → what the agent wrote into it, or None if the agent removed it. The commit has
    # these files as they were before.
    undone: Mapping[str, bytes | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MergeResult:
    """Two commits merged into one. `both`: path of a file in conflict → our version and their version; None for a
    commit that does not have the file."""

    commit: str
    both: Mapping[str, tuple[bytes | None, bytes | None]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Command:
    """A command to run in the sandbox: one process of a check."""

    argv: Sequence[str]
    folder: Path
    stdin: bytes = b""
    variables: Mapping[str, str] | None = None
    readable: Sequence[str] = ()
    writable: Sequence[str] = ()  # paths that the command may write besides the room itself
    # a folder to move into the command's TMPDIR; in the command line, the folder's old path is replaced by the new one
    temporary: Path | None = None
    # folders of editable installs: the room is not shown at any of their paths, because then code would be imported
    # from the room by accident
    avoided: Sequence[str] = ()
    mount_points: Sequence[str] = ()  # paths in `readable` that are shown on an empty folder of the room
    # folder → a path below HOME. If the sandbox can show the folder there, too, the command gets that path.
    aliases: Mapping[str, str] = field(default_factory=dict)
    within_s: float = 60.0
    output_bytes: int = 4 * 1024 * 1024
    memory_bytes: int = 4 * 1024**3
    processes: int = 512
    # "none", "loopback" (a network of its own, without access to other networks) or "host" (the machine's network, to
    # prepare a room)
    network: str = "none"
    second: bool = False  # this is the second run: its host name, user, HOME and time zone differ from the first run's
    channel: bool = False  # it gets a pipe for its answers; TRUED_CHANNEL holds the pipe's file descriptor
    ports: Sequence[int] = ()  # the only TCP ports it may use if it has no network of its own
    lists_ports: bool = True  # TRUED_PORTS names the ports that it may use
    # file descriptors that the command gets under the same numbers; the engine closes its own copies once it runs
    inherited: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a confined command ended, and what it wrote."""

    exit_code: int | None  # None: the engine ended it
    stdout: bytes
    stderr: bytes
    answers: bytes  # what it wrote to its channel
    seconds: float
    timed_out: bool
    flooded: bool  # it wrote more than allowed
    isolation: str  # the sandbox level, and what that level leaves open


class Server(Protocol):
    """A server that runs in a sandbox of its own. Only the engine can reach it, and only through these methods."""

    @property
    def port(self) -> int:
        """The port that the server must listen on, inside its sandbox."""
        ...

    def connect(self) -> socket.socket:
        """Open a connection to the server's port. If no process listens there, the connection ends at once."""
        ...

    def dialer(self) -> int:
        """A file descriptor for a process in another sandbox to inherit. Each stream socket that the process sends over
        this descriptor is connected to the server."""
        ...

    def has_ended(self) -> bool:
        """Whether the server's command has failed or ended. A command that exited with 0 counts as ended only after a
        while, because it may have left a server in the background."""
        ...

    async def end(self) -> CommandResult:
        """End the server with all its descendants; return its output. The exit code is None if the command was still
        running."""
        ...


class Workspace(Protocol):
    """Where the agents of one run work, and where the run's checks run. In the user's repository, a workspace changes
    only branches of the run.

    Most code needs six of these methods. An agent call uses `clone` (a folder for the agent), `commit_clone` (what it
    left, as a commit) and `publish` (move the run's branch to that commit). A check uses `room` (a clean checkout) and
    `execute` (a confined command). Calls and checks read files with `read`. The other methods are grouped below by what
    they work on. Commits are named by their full hash.
    """

    base: str  # the commit that the run started from
    start: str  # where clones begin: the base, or the head of a branch that the run continues
    repository: str  # the path of the user's repository; failures of a head are cached for this repository only
    kept: Path | None  # folder for facts that outlive the run; None: nothing is kept
    environments: Path | None  # folder for built environments that outlive the run; None: none are built

    # -- the whole run

    async def begin(self) -> None:
        """Copy the base into the private store and remove what a killed process left half done. Call it once per
        process, before anything else."""
        ...

    async def clean_up(self) -> None:
        """Drop all clones and remove all rooms; only the run's refs remain."""
        ...

    # -- clones: where agents work

    def confinement(self) -> Confinement:
        """What agents of this run may read, write and reach on the machine. The order of a call adds its clone and
        HOME."""
        ...

    async def clone(self, name: str, head: str, *, token: str) -> tuple[Path, Path]:
        """Make a clone at `head`; return its working folder and a HOME for the agent.

        An existing clone is moved to `head`, but only once for each token. So a call that is adopted, or checked again
        after a crash, finds its clone as its agent left it.
        """
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
        """Commit what the agent left in its clone, and copy the commit into the store. The same files give the same
        commit.

        Changes to `fixed` paths are undone and returned. If `only` is given, `fixed` is ignored, and changes to all
        paths outside `only` are undone and returned. A path that ends with "/" means everything below this folder.
        Raises StateFailed if the clone is not at `head`.
        """
        ...

    async def execute_in_clone(self, name: str, argv: Sequence[str], *, within_s: float) -> CommandResult:
        """Run a command in an existing clone, confined like the clone's agent, except that it can also read toolchain
        folders on PATH."""
        ...

    async def drop_clone(self, name: str, why: str) -> None:
        """Remove a clone; work that exists nowhere else is saved under a rescue ref first."""
        ...

    async def can_agents_read(self, path: Path) -> bool:
        """Whether agents can read this file: a process that is confined like an agent tries it."""
        ...

    # -- commits: written by the engine, in the private store

    async def commit_files(self, head: str, files: Mapping[str, bytes], *, message: str, when: float) -> str:
        """Commit these files on top of `head`, with the engine as author. Return `head` if these files change
        nothing."""
        ...

    async def commit_without_history(self, files: Mapping[str, bytes], *, message: str, when: float) -> str:
        """Make a commit without parents that holds exactly these files."""
        ...

    async def squash(
        self, head: str, onto: str, owned: Collection[str], *, author: str, message: str, when: float
    ) -> str:
        """Turn everything that `head` has beyond `onto` into one commit on `onto`, without changes to `owned` files."""
        ...

    async def merge(self, ours: str, theirs: str, *, message: str, when: float) -> MergeResult:
        """Merge two commits. Files in conflict get both sides between markers, and are listed in the result."""
        ...

    async def is_known_commit(self, commit: str) -> bool:
        """Whether this hash, or the beginning of one, names a commit of the run: one in its history, or one that an
        agent made in a clone that has been dropped."""
        ...

    # -- branches of the user's repository

    async def publish(self, head: str, branch: str = "") -> str:
        """Fast-forward the run's branch, or the `branch` named here, to `head`. Return "" or why that failed."""
        ...

    async def push(self, remote: str, commit: str, ref: str) -> str:
        """Push with the user's own git, never by force. Return "" or why that failed."""
        ...

    # -- reading commits

    async def read(self, commit: str, path: str) -> bytes | None:
        """The content of one file of a commit; None if the commit does not have it."""
        ...

    async def read_all(self, commit: str, paths: Iterable[str]) -> dict[str, bytes]:
        """Path → content of these files, except those that the commit does not have."""
        ...

    async def tree(self, commit: str) -> str:
        """The hash of the commit's tree: equal for commits with equal files."""
        ...

    async def changed_files(self, base: str, head: str) -> tuple[str, ...]:
        """Paths that differ between two commits."""
        ...

    async def blobs(self, commit: str) -> dict[str, str]:
        """Path → content hash of all files of a commit, including files in submodules that a room of the commit would
        have."""
        ...

    async def submodules(self, commit: str) -> dict[str, str]:
        """Path → commit of the submodules of a commit."""
        ...

    async def symbolic_links(self, commit: str) -> frozenset[str]:
        """The paths of a commit at which there is a symbolic link."""
        ...

    # -- rooms: where evidence is taken

    def room(self, commit: str) -> AbstractAsyncContextManager[Path]:
        """A clean room: a fresh, writable, throw-away checkout without `.git`. Files that the engine puts beside it are
        removed with the room."""
        ...

    async def make_repository(self, room: Path, commit: str) -> Path:
        """Make a repository beside the room that can serve as the room's `.git`. It is like a shallow clone: its only
        commit holds the room's files as they are now. Call this at most once, before any code of the commit has run in
        the room."""
        ...

    def copy_of_room(self, room: Path) -> AbstractAsyncContextManager[Path]:
        """A copy of this room as it is now: the same names, contents, modes and times."""
        ...

    async def can_run_side_by_side(self, saving_s: float = 0.0) -> bool:
        """Whether two commands can run at once without reaching or delaying each other: each has its own network,
        processes and /tmp, and a core is idle for each. `saving_s`: how many seconds running them at once would save.
        The more it would save, the longer this method waits for idle cores."""
        ...

    def missing_content(self, commit: str) -> tuple[str, ...]:
        """What a room of this commit lacks because this machine does not have it: large files and submodules, as texts
        for people."""
        ...

    async def execute(self, command: Command) -> CommandResult:
        """Run a command confined, without network unless it asks for one, in a fresh HOME.

        If the sandbox can show folders at other paths, the command sees the room at the path of the user's own
        checkout, and a copy of a room at a different path. In the command line, the variables and the input, paths of
        the room and of aliased folders are replaced by the paths that the command sees.
        """
        ...

    def shown_at(self, room: Path) -> tuple[str, ...]:
        """The paths inside the sandbox at which commands saw this room. Commands with `Command.avoided` see it at one
        path, all other commands at another. Empty if no command has run in the room, or if the sandbox shows folders
        only at their own paths."""
        ...

    def serve(self, command: Command, port_env: str) -> AbstractAsyncContextManager[Server]:
        """Start a server in a sandbox. The workspace chooses the port. The server finds the port in the environment
        variable `port_env`, and in its command line in place of {port}."""
        ...

    def describe_second_surroundings(self) -> str:
        """What differs for a command with `second=True` at this sandbox level (its HOME, user, time zone and so on), as
        a text for people."""
        ...

    # -- artifacts: files that are kept for people

    async def save_artifact(self, content: bytes) -> str:
        """Save an artifact; return its hash."""
        ...

    async def load_artifact(self, name: str) -> bytes | None:
        """The artifact with this hash; None if it is gone or was changed."""
        ...


Decide: TypeAlias = Callable[[Sequence[Spend]], Spend | None]
Step: TypeAlias = Callable[[], Awaitable[str]]


class Journal(Protocol):
    """Remembers the result of every step of one run, so that no step is paid for twice."""

    async def once(self, key: str, inputs: str, step: Step) -> str:
        """Return the recorded result of the step `key`. If no result is recorded, run `step` and record its result.
        Raises Diverged if the result was recorded for other `inputs` (a hash)."""
        ...

    def emit(self, event: "JournalEvent", key: str = "") -> None:
        """Write an event for people, under the key of the step that it belongs to."""
        ...

    async def available(self) -> None:
        """Wait until the journal can be used, without blocking other tasks. Code that polls the journal while agents
        work awaits this before each read. Raises StateFailed if the journal stays unavailable."""
        ...

    def question(self, key: str, text: str, options: Sequence[str]) -> "PersonAnswer | None":
        """Ask a person; return the answer, or None while there is none."""
        ...

    def answer(self, key: str, answer: str, comment: str, who: str) -> bool:
        """Record an answer; the first one counts. Return whether this was the first."""
        ...

    def spend(self, decide: Decide) -> Spend | None:
        """Reserve or settle the spending of an attempt, in one synced transaction. `decide` gets all spending of the
        run and returns the row to write, or None to write nothing. Returns the row as it was written, or None."""
        ...

    def limit_changes(self) -> list[tuple[str, str, float]]:
        """Scope, kind and amount of every limit of this run that people changed, oldest first."""
        ...

    def has_step(self, key: str) -> bool:
        """Whether the result of this step is recorded."""
        ...

    def has_begun(self, key: str) -> bool:
        """Whether spending was reserved for this call. From then on, the call's brief is fixed."""
        ...

    def comments(self) -> "list[Comment]":
        """What people said to this run's agents, oldest first, each with the calls whose agents got it."""
        ...

    def approvals(self) -> "list[Approval]":
        """What people approved or rejected in this run, oldest first."""
        ...

    def approve(self, approval: "Approval", *, instead: bool = False) -> bool:
        """Record an approval, unless the same requirement at the same commit, or the same contract, already has one.
        With `instead`, the new approval replaces the earlier one. Return whether the new approval was recorded."""
        ...

    def past(self, role: str, agent: str) -> list[Spend]:
        """What earlier calls of this role by this agent used, over all runs in the journal, newest first."""
        ...


class JournalStore(Protocol):
    """The journals of all runs: in one file for one machine, or in a database that several machines share.

    Reading needs no claim. The driver of a run is the process that calls the run's agents. It writes steps, questions
    and spending, under its claim. Answers, approvals, comments and limits are written by the process in which a person
    gives them.
    """

    # -- runs

    def add(self, record: "RunRecord", inputs: str = "", *, queue: str = "") -> None:
        """Add a run with all its inputs, in one write. `queue`: where `put` puts the run."""
        ...

    def put(self, run: str) -> None:
        """Put the run into its queue, unless it is there already. If a worker drives the run now, the run is driven
        again afterwards. Raises BadInput if there is no hub."""
        ...

    def queue_of(self, run: str) -> str:
        """The queue from which workers take this run; "" if it has none."""
        ...

    def queued(self, run: str = "") -> dict[str, str]:
        """Run → a sentence that says why no worker drives it yet, for every run that waits in a queue. `run`: only this
        run."""
        ...

    def update(self, record: "RunRecord") -> None:
        """Write the current record of a run; its id and creation time stay as they are."""
        ...

    def runs(self) -> "list[RunRecord]":
        """All runs, newest first."""
        ...

    def inputs(self, run: str) -> str:
        """The inputs of a run, as JSON."""
        ...

    def run(self, name: str) -> "RunRecord":
        """The run with this id, or the only run whose id begins with it. Raises BadInput if there is none, or
        several."""
        ...

    def of(self, run: str, listen: "Callable[[Event], None] | None" = None) -> Journal:
        """The journal of one run; `listen` is called with every event that is written through it."""
        ...

    def claim(self, run: str, end_driver: Callable[[], None] | None = None) -> AbstractContextManager[None]:
        """Claim the run, so that only this process drives it. Raises Busy if another process drives it, and BadInput
        if the run is not on this machine.

        `end_driver` is called when the driver has to end but gets no signal: the run was cancelled elsewhere, or
        another driver has it. It may be called several times, and from any thread.
        """
        ...

    def announce(self, run: str) -> None:
        """Record that this process is about to drive a new run, so that the run does not look abandoned."""
        ...

    def lease_file(self, run: str) -> "LeaseFile | None":
        """The file from which supervisors read how long the run's agents may work; None if there is no such limit."""
        ...

    def driver(self, run: str) -> int:
        """The process id of the run's driver, or its epoch if the store is a database for several machines; 0 if no
        process drives the run."""
        ...

    def drivers(self) -> dict[str, int]:
        """Run → what `driver` returns, for every run."""
        ...

    def cancel(self, run: str) -> None:
        """Record that the run has to end for good, and notify its driver, on whatever machine it is."""
        ...

    def is_cancelled(self, run: str) -> bool:
        """Whether somebody has cancelled the run."""
        ...

    def private_files(self) -> tuple[Path, ...]:
        """Files that give access to the journal: no agent may see them."""
        ...

    def password(self) -> str:
        """The journal's password, which must not appear in anything stored or shown; "" if there is none."""
        ...

    def refuse_if_open(self) -> None:
        """Raise BadInput if agents could read or write the journal in spite of their sandbox."""
        ...

    # -- events

    def events(self, run: str, after: int = 0, *, limit: int = 0, lean: bool = False) -> "list[Event]":
        """The events of a run after the id `after`, oldest first; at most `limit`, unless `limit` is 0. A reader that
        continues after the last id that it got misses no event.

        `lean`: without briefs. Replies have only the fields that claim a result, and the beginning of `summary`.
        """
        ...

    def last_events(self, run: str, limit: int, *, before: int = 0, lean: bool = False) -> "list[Event]":
        """The newest `limit` events of a run, oldest first. `before`: only events before this id; 0 for all."""
        ...

    def events_of_kind(self, run: str, *kinds: str, lean: bool = False) -> "list[Event]":
        """The events of a run that have one of these kinds, oldest first."""
        ...

    def events_of_call(self, run: str, key: str) -> "list[Event]":
        """The complete events under one key, oldest first: those of one call, with its brief and reply."""
        ...

    def search_events(
        self, run: str, words: Sequence[str] = (), *, before: int = 0, limit: int = 200, silent: Sequence[str] = ()
    ) -> "tuple[int, list[Event]]":
        """Find the events of a run that have all these words in their kind, key or lean data (see `events`). Returns
        how many there are, and the newest of them before the id `before`, newest first.

        `silent`: roles whose texts stay hidden. From the events of these roles, only facts without any text of an agent
        are searched and returned.
        """
        ...

    def runs_changed(self, after: int = 0) -> dict[str, int]:
        """Run → the id of its newest event, for every run with an event after this id."""
        ...

    def last_event_id(self) -> int:
        """The id of the newest event of all runs; 0 if there is none."""
        ...

    def data_version(self) -> int:
        """A number that changes whenever another connection has written something."""
        ...

    def landed(self) -> dict[str, list[str]]:
        """Run → the branches on which all of its work has landed."""
        ...

    def folded_events(self, run: str, after: int, limit: int) -> list[tuple[int, float, str, str, str]]:
        """Id, time, key, kind and lean data (as JSON, see `events`) of the events after this id, oldest first, at most
        `limit`. The data of `CallAsked` says only role, agent and whether the call resumes a session."""
        ...

    def read_snapshot(self) -> AbstractContextManager[None]:
        """All reads in the `with` block see one snapshot. For readers only: nothing can be written in the block."""
        ...

    # -- many runs: those begun at `since` or later, of one workflow if it is named

    def answers_since(self, since: float, workflow: str = "") -> "list[StoredAnswer]":
        """How each call of the runs that began at `since` or later ended, oldest first. `workflow`: only runs of this
        workflow."""
        ...

    def verdicts_since(self, since: float, workflow: str = "") -> "list[StoredVerdict]":
        """The verdicts of the runs that began at `since` or later, oldest first. `workflow`: only runs of this
        workflow."""
        ...

    def sealed_since(self, since: float, workflow: str = "") -> dict[str, int]:
        """Run → how many requirements its newest contract has, for the runs that began at `since` or later. `workflow`:
        only runs of this workflow."""
        ...

    def spends_of_runs_since(self, since: float, workflow: str = "") -> list[tuple[str, Spend]]:
        """Run and spending of each call of the runs that began at this time or later: step, role, agent, amount and how
        the cost is known."""
        ...

    def accepted(self, run: str = "") -> dict[str, str]:
        """Run → the grade that its user accepts. `run`: only this run; by default, all runs."""
        ...

    def agents_and_roles(self) -> list[tuple[str, str]]:
        """Each agent with each role that it ever played."""
        ...

    def runs_to_decide(self) -> set[str]:
        """The runs that have not ended and have an open question, a verdict or an amendment: no other run can need a
        person's decision."""
        ...

    def runs_at_work(self) -> list[str]:
        """The runs whose record says that they are driven; their drivers may be dead."""
        ...

    # -- steps and spending

    def step(self, run: str, key: str) -> str | None:
        """The result of a recorded step; None if it was not recorded."""
        ...

    def steps(self, run: str, *names: str) -> list[tuple[str, float, float]]:
        """Key, begin and end of each step, oldest first. `names`: only steps whose own name, or the name of a scope
        around them, begins with one of these."""
        ...

    def steps_after(self, run: str, after: int, *names: str) -> Iterator[tuple[int, str, float, str]]:
        """Number, key, end and result of the steps after this number, oldest first; `names` as in `steps`. A reader
        that continues after the last number that it got misses no step."""
        ...

    def step_count(self, run: str) -> int:
        """How many steps of a run are recorded."""
        ...

    def spends(self, run: str) -> list[Spend]:
        """Everything that a run has reserved and spent."""
        ...

    def past(self, role: str, agent: str) -> list[Spend]:
        """What earlier calls of this role and agent used, newest first."""
        ...

    # -- people

    def questions(self, run: str, *, only_open: bool = False) -> "list[Question]":
        """The questions of a run, oldest first; `only_open`: those without an answer."""
        ...

    def approve(self, run: str, approval: "Approval", *, instead: bool = False) -> bool:
        """Record an approval, unless the same requirement at the same commit, or the same contract, already has one.
        With `instead`, the new approval replaces the earlier one. Returns whether the new approval was recorded."""
        ...

    def decide(
        self, run: str, decisions: "Sequence[tuple[Approval, JournalEvent]]", *, instead: bool = False
    ) -> "Approval | None":
        """Record all of these approvals, each with its event, in one write. If `approve` would refuse one of them,
        record nothing and return the refused approval. Returns None if all were recorded."""
        ...

    def approvals(self, run: str) -> "list[Approval]":
        """Approvals and rejections, oldest first."""
        ...

    def runs_with_approvals(self) -> set[str]:
        """The runs in which somebody approved or rejected something."""
        ...

    def add_comment(self, run: str, comment: "Comment", event: "Callable[[int], JournalEvent]", key: str) -> int:
        """Record a comment and its event, which gets the comment's number, in one write. Returns that number."""
        ...

    def comments(self, run: str) -> "list[Comment]":
        """What people said to the run's agents, oldest first, each with the calls whose agents got it."""
        ...

    def change_limit(self, run: str, scope: str, what: str, amount: float, who: str) -> None:
        """Record a limit that a person raised, lowered or set."""
        ...

    def limit_changes(self, run: str) -> list[tuple[str, str, float]]:
        """Scope, kind and amount of every limit that people changed, oldest first."""
        ...

    def close(self) -> None:
        """Close every connection."""
        ...


# -- at the edge: trackers and forges


@dataclass(frozen=True, slots=True)
class TrackerIssue:
    """A ticket as its tracker holds it, before it is interpreted."""

    key: str
    title: str
    body: str = ""  # Markdown
    kind: str = ""  # bug | feature | "" if the tracker does not say
    # field name in the tracker → text: acceptance criteria, preview …
    fields: Mapping[str, str] = field(default_factory=dict)
    pictures: tuple[str, ...] = ()
    url: str = ""


class Tracker(Protocol):
    """Where tickets are kept: a tracker such as Jira, or files."""

    def issue(self, name: str) -> TrackerIssue:
        """The ticket of this name. Raises BadInput if it cannot be read."""
        ...


@dataclass(frozen=True, slots=True)
class PullRequestProposal:
    """A pull request as it should be, whether it must still be opened or is open already."""

    branch: str
    onto: str
    title: str
    body: str  # Markdown
    head: str  # the commit that was proven
    draft: bool = False


@dataclass(frozen=True, slots=True)
class ForgePullRequest:
    """A pull request as the forge shows it."""

    number: int
    url: str
    state: Literal["open", "closed", "merged"]
    title: str = ""
    body: str = ""
    draft: bool = False
    head: str = ""


class Forge(Protocol):
    """Hosts pull requests."""

    @property
    def name(self) -> str:
        """The forge's name, for people."""
        ...

    @property
    def remote(self) -> str:
        """Where branches are pushed to: the name of a remote or an address; "" if nothing is pushed."""
        ...

    def ready(self) -> None:
        """Raise BadInput with one sentence if no pull request can be opened: the token, the rights or the repository
        is missing."""
        ...

    def offered(self, branch: str) -> ForgePullRequest | None:
        """The newest pull request of that branch, open or not; None if there is none."""
        ...

    def offer(self, offer: PullRequestProposal) -> ForgePullRequest:
        """Update the open pull request of the branch; if none is open, open a new one. A closed or merged pull request
        stays as it is."""
        ...

    def picture(self, commit: str, path: str) -> str:
        """The address at which people can see a file of a pushed commit."""
        ...
