"""The nouns. Frozen values, no behaviour beyond what a reader would compute in their head."""

from enum import IntEnum, StrEnum
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer


class Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


# -- scales ------------------------------------------------------------------------------------------------------------


class Grade(StrEnum):
    """How far a requirement is proven, worst first."""

    REFUTED = "refuted"
    UNJUDGED = "unjudged"
    UNPROVEN = "unproven"
    SELF_TESTED = "self-tested"
    TESTED = "tested"
    EXAMINED = "examined"
    ATTESTED = "attested"
    PROVEN = "proven"

    @property
    def rank(self) -> int:
        return list(Grade).index(self)


class Status(StrEnum):
    """How an agent says its own work ended. A missing report counts as ERROR."""

    DONE = "DONE"
    NEEDS_REVISION = "NEEDS_REVISION"
    ERROR = "ERROR"


class Severity(IntEnum):
    """One ladder for two taxonomies: MINOR, MAJOR and BLOCKER are aliases on it."""

    NONE = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3
    CRITICAL = 4
    MINOR = 1
    MAJOR = 3
    BLOCKER = 4


class Answer(StrEnum):
    """What a person says when asked whether to go on."""

    GO_ON = "yes"
    STOP = "stop"
    REDO = "redo"


# -- what the user asked -----------------------------------------------------------------------------------------------


class Source(Value):
    """Where the user's words stand."""

    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else ""


class _AsGiven(Value):
    """Written without what was not given: an expected null is not the same as no expectation."""

    @model_serializer(mode="wrap")
    def _given(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: part for name, part in write(self).items() if name in self.model_fields_set}


class CallCase(_AsGiven):
    """A function called in another process; its answer is compared in the engine's."""

    call: str  # "package.module:function"
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    returns: Any = None
    raises: str | None = None
    args_after: tuple[Any, ...] | None = None  # None: arguments must come back unchanged
    within_s: float = 10.0


class RunCase(_AsGiven):
    """A command line, what it is fed, and what it must say."""

    run: tuple[str, ...]
    files: dict[str, str] = {}  # written to a scratch folder that is named {files} in the command line
    stdin: str = ""
    stdout: str | None = None
    stdout_json: Any = None
    exit: int = 0
    within_s: float = 10.0


Case: TypeAlias = CallCase | RunCase


class TestsCheck(Value):
    """Counted tests; the files are frozen as they are on the base commit."""

    __test__ = False  # not a test class, whatever pytest thinks of its name

    kind: Literal["tests"] = "tests"
    command: str = "python -m pytest -q"
    files: tuple[str, ...] = ()
    within_s: float = 600.0


class ExamplesCheck(Value):
    """Data only: nothing of it runs in the process that compares."""

    kind: Literal["examples"] = "examples"
    cases: tuple[Case, ...] = Field(min_length=1)


class CommandCheck(Value):
    """An exit code. Red on base to count; its files are frozen."""

    kind: Literal["command"] = "command"
    command: str
    files: tuple[str, ...] = ()
    within_s: float = 600.0


class ManualCheck(Value):
    """Steps for a person. Nothing but a person's word can meet it."""

    kind: Literal["manual"] = "manual"
    steps: tuple[str, ...] = Field(min_length=1)


Check: TypeAlias = Annotated[TestsCheck | ExamplesCheck | CommandCheck | ManualCheck, Field(discriminator="kind")]


class Requirement(Value):
    """One thing that must hold when the goal is met: the user's words, verbatim."""

    id: str
    text: str
    source: Source = Source()
    covers: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    keep: bool = False
    checks: tuple[Check, ...] = ()


class Environment(Value):
    """How checks are run; sealed with the contract, inferred where absent."""

    path: tuple[str, ...] = ()
    prepare: tuple[str, ...] = ()
    variables: dict[str, str] = {}
    packages: tuple[str, ...] = ()


class Requirements(Value):
    """A requirements file, read."""

    file: str = ""
    environment: Environment = Environment()
    requirements: tuple[Requirement, ...]


class Task(Value):
    """A unit of work: a chunk, a feature, a story."""

    id: str
    title: str
    scope: str = ""  # the user's words for it, where they are more than the title: nested points of a list
    brief: str = ""  # the user's own lines about it
    files: tuple[str, ...] = ()
    phase: str = ""
    source: Source = Source()


class Criterion(Value):
    """A line of the user's source that must hold: a goal, a ship criterion, a constraint."""

    text: str
    kind: str = "ship"  # ship | goal | constraint | text
    phase: str = ""
    source: Source = Source()


class Goal(Value):
    """What the user asked: a sentence, or a file's whole text."""

    id: str = "goal"
    text: str
    source: Source = Source()


class Plan(Value):
    """The goal as tasks, with every criterion of its source."""

    title: str = ""
    tasks: tuple[Task, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    unread: tuple[Criterion, ...] = ()  # words that are neither task, criterion nor background: nothing is lost
    context: str = ""  # problem, goals, non-goals: what every agent may know
    source: Source = Source()
    text: str = ""  # the whole source, byte for byte
    contract: str = ""  # hash of the sealed contract; empty before sealing


# -- what agents say ---------------------------------------------------------------------------------------------------


class Finding(Value):
    """Something that stands in the way. With a `case` the engine can run it, and then it is a check."""

    what: str
    where: str = ""
    severity: Severity = Severity.MAJOR
    requirement: str = ""
    case: Case | None = None


class Reply(Value):
    """What an agent claims. Subclass it to state the contract of a role."""

    status: Status = Status.DONE
    summary: str = ""


class Note(Reply):
    """The isolated memory of one agent: small enough to route on, never the artifact itself."""

    findings: tuple[Finding, ...] = ()
    decisions: tuple[str, ...] = ()
    artifacts: tuple[str, ...] = ()

    @property
    def worst(self) -> Severity:
        return max((finding.severity for finding in self.findings), default=Severity.NONE)


# -- what the engine found out -----------------------------------------------------------------------------------------


class Outcomes(StrEnum):
    """How one case or test id ended in one execution."""

    PASSED = "passed"
    FAILED = "failed"
    MISSING = "missing"  # the id, or the thing that it calls, is not there
    SKIPPED = "skipped"
    BROKEN = "broken"  # the check failed before it reached the project
    UNJUDGED = "unjudged"  # the environment failed: time, memory, a third-party module


class Tried(Value):
    """One case or test id, executed."""

    id: str
    outcome: Outcomes
    kind: str = ""  # of failure: returned, raised, missing, exit, stdout, time, …
    detail: str = ""  # what the head printed or returned; never leaves the engine for held-out cases
    seconds: float = 0.0


class Evidence(Value):
    """What happened when the engine, not an agent, ran a check on a commit."""

    id: str
    requirement: str
    check: str  # content hash of the check: facts are kept by tree and check
    kind: str
    side: Literal["base", "head"]
    turn: int = 1
    command: str = ""
    commit: str
    tree: str
    interpreter: str = ""
    versions: dict[str, str] = {}
    isolation: str
    exit_code: int | None = None
    tried: tuple[Tried, ...] = ()
    output: str = ""
    began: float = 0.0
    seconds: float = 0.0
    held_out: bool = False
    tainted: bool = False  # taken where held-out cases had run before: what it printed may quote them
    why_void: str = ""  # why this run of the check is worth nothing: a canary that passed, nothing collected, …


class Judged(Value):
    """The verdict on one requirement, with the reasons in plain words."""

    id: str
    text: str
    source: str = ""
    grade: Grade
    why: tuple[str, ...]
    evidence: tuple[str, ...] = ()  # ids of Evidence
    gaps: tuple[Finding, ...] = ()  # what the implementer may know of what is missing
    holds: bool  # nothing failed, nothing disputed; at most a person's word is missing
    lacks: str = ""  # what only a person can give: "attest" | "approve" | ""


class Verdict(Value):
    """Judged requirements of one commit. Only `run.prove` and `run.finish` make one."""

    subject: str
    commit: str = ""
    tree: str = ""
    requirements: tuple[Judged, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    objections: tuple[Finding, ...] = ()
    remarks: tuple[Finding, ...] = ()  # gaps that are no requirement's: a person's comment, an empty diff
    undecided: tuple[str, ...] = ()  # what no check can decide, said and not hidden

    @classmethod
    def open(cls, subject: str, *remarks: Finding) -> Self:
        return cls(subject=subject, remarks=remarks)

    @property
    def grade(self) -> Grade:
        return min((one.grade for one in self.requirements), key=lambda grade: grade.rank, default=Grade.UNPROVEN)

    @property
    def holds(self) -> bool:
        return bool(self.commit) and not self.gaps and all(one.holds for one in self.requirements)

    @property
    def gaps(self) -> tuple[Finding, ...]:
        every = (*self.remarks, *(gap for one in self.requirements for gap in one.gaps), *self.objections)
        return tuple({(gap.what, gap.where): gap for gap in every}.values())  # one objection may dispute several


class Contract(Value):
    """Requirements and checks, sealed before work starts: kept outside every clone, named by its hash."""

    base: str
    requirements: tuple[Requirement, ...]
    environment: Environment = Environment()
    frozen: dict[str, str] = {}  # path → blob hash, as on base; "" where base has no such file
    held_out: bool = False  # nobody but the engine can read the cases: probed
    held_out_why: str = ""
    users_own: bool = True  # the cases are the user's own words
    interpreter: str = ""  # with which red was taken: green is taken with the same
    base_facts: tuple[Evidence, ...] = ()  # red taken three times

    def serving(self, subject: str) -> tuple[Requirement, ...]:
        """The requirements that stand for a task, or that are it."""
        return tuple(one for one in self.requirements if one.id == subject or subject in one.covers)


class Outcome(Value):
    """How a run ended."""

    state: str  # done | not proven | waiting | stopped | planned
    grade: Grade = Grade.UNPROVEN
    head: str = ""
    verdict: Verdict | None = None
    why: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()  # requirements that only wait for a person


# -- roles and settings ------------------------------------------------------------------------------------------------


class Role(Value):
    """A kind of agent: who it is, what it may touch, how it must work."""

    name: str
    description: str = ""
    tools: tuple[str, ...] = ()
    model: str = ""
    prompt: str
    origin: str = "packaged"  # packaged | user | project, with the path
    writes: bool = True  # it has the tool `edit`: what it leaves is taken


class Settings(Value):
    """What a run was started with; copied into it, so that a resume cannot mix two configurations."""

    workflow: str = "purple"
    agents: dict[str, str] = {}  # role → agent; "*" for all others
    rounds: int = Field(default=3, ge=1)  # most gaps are caught in the second; the third is the last attempt
    cap: int = Field(default=4, ge=1)
    yes: bool = False
    accept: Grade = Grade.ATTESTED  # the lowest grade that counts as success
    sandbox: Literal["auto", "bubblewrap", "landlock", "none"] = "auto"
    allow_unsandboxed: bool = False
    readable: tuple[str, ...] = ()
    network: Literal["none", "loopback", "host"] = "host"  # of agents; evidence never has any
    idle_s: float = 600.0
    wall_s: float = 3600.0
    plan_only: bool = False
    variables: tuple[str, ...] = ()  # environment variables that agents may see


class Question(Value):
    """A wait for a person. It lasts as long as it lasts."""

    id: int = 0
    key: str
    text: str
    options: tuple[str, ...] = ()
    answer: str = ""
    comment: str = ""
    who: str = ""
    asked_at: float = 0.0
    answered_at: float = 0.0


class Event(Value):
    """One line of the journal: everything that people see is made from these."""

    id: int
    at: float
    key: str
    kind: str
    data: dict[str, Any] = {}


class Approval(Value):
    """A person's word: for the whole contract (requirement "*"), or for one requirement."""

    requirement: str
    who: str
    why: str
    at: float = 0.0
    contract: str = ""  # hash of what was approved


class RunRecord(Value):
    """A run as the journal knows it."""

    id: str
    workflow: str
    title: str
    repository: str
    base: str
    branch: str
    # running | planned | waiting | done | not proven | unjudged | stopped | failed | cancelled | interrupted
    state: str = "running"
    grade: Grade = Grade.UNPROVEN
    code: int = 0  # exit code of the state
    why: str = ""
    head: str = ""
    created_at: float = 0.0
    updated_at: float = 0.0
