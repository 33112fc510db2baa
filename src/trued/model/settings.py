"""Roles, settings, and what the journal knows of a run."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from trued.model.grades import Grade, Grown, Value
from trued.model.replies import Finding
from trued.model.requests import Environment, Serve


class Role(Value):
    """A kind of agent: who it is, what it may touch, how it must work."""

    name: str
    description: str = ""
    tools: tuple[str, ...] = ()
    model: str = ""
    prompt: str
    origin: str = "packaged"  # packaged | user | project, with the path
    writes: bool = True  # it has the tool `edit`: what it leaves is taken
    form: str = "trued"  # trued | claude | github | opencode: whose kind of file it is
    notes: tuple[str, ...] = ()  # what of such a file is not used here, or used otherwise


class Limit(Value):
    """The most that may be used; 0 is no limit."""

    usd: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    tokens: int = Field(default=0, ge=0)  # all that is sent, cached or not, and all that is said
    calls: int = Field(default=0, ge=0)
    time: float = Field(default=0.0, ge=0, allow_inf_nan=False)  # seconds that agents work, all of them added up


class Rate(Value):
    """Dollars for a million tokens."""

    usd_in: float = Field(ge=0, allow_inf_nan=False)
    usd_out: float = Field(ge=0, allow_inf_nan=False)
    usd_cached: float = Field(ge=0, allow_inf_nan=False)


class Spending(Limit):
    """What a run may use, each of its features and tasks, and each role in it."""

    feature: Limit = Field(default_factory=Limit)
    task: Limit = Field(default_factory=Limit)
    roles: dict[str, Limit] = {}
    quota: int = Field(default=0, ge=0, le=100)  # per cent of a subscription's window, where the agent tells; 0: all
    call_usd: float = Field(default=2.0, gt=0, allow_inf_nan=False)  # reserved for a call that nobody knows yet
    call_tokens: int = Field(default=2_000_000, gt=0)  # thirty requests of a full context
    ceiling: Rate = Field(
        default_factory=lambda: Rate(usd_in=15.0, usd_out=75.0, usd_cached=15.0)
    )  # of a model whose price nobody knows


class ForgeSettings(Value):
    """Where pull requests go. `url`, `token_env` and `remote` are never a repository's to say."""

    kind: Literal["auto", "github", "local"] = "auto"  # auto: by the address of the remote
    repository: str = ""  # owner/name; empty: that of the remote
    url: str = ""  # of the API, for a GitHub of one's own: https://github.example.com/api/v3
    token_env: str = "GITHUB_TOKEN"  # noqa: S105 (a variable's name)
    remote: str = "origin"


class TicketSettings(Value):
    """Where tickets are held. `url`, `token_env` and `user_env` are never a repository's to say."""

    kind: Literal["auto", "file", "github", "jira"] = "auto"  # auto: by the look of a ticket's name
    url: str = ""  # of the tracker: https://example.atlassian.net
    project: str = ""  # owner/name on GitHub, the letters before the number on Jira
    token_env: str = ""  # empty: GITHUB_TOKEN, or JIRA_TOKEN
    user_env: str = "JIRA_USER"  # a token without a user is a personal access token of Jira Server
    acceptance: tuple[str, ...] = ("Acceptance criteria",)  # fields of the tracker that hold criteria, by name or id


class Commands(Value):
    """How the project is built, tested and started, where the user says so; "" leaves it to what is found."""

    build: str = ""
    test: str = ""
    start: str = ""


class TeamSettings(Value):
    """How long a team tries, and who is in it."""

    attempts: int = Field(default=10, ge=1)  # of dev and QA on one task
    heal: bool = True  # else a task is tried once
    uat_after_feature: bool = True
    uat_after_all: bool = True
    cycles: int = Field(default=3, ge=1)  # of UAT and what the PM makes of it, for a feature and for all together
    off: tuple[str, ...] = ()  # roles that nobody plays: what they would have looked at is said to be unchecked


def _can_be_enough(grade: Grade) -> Grade:
    if grade.rank < Grade.TESTED.rank:
        enough = ", ".join(one for one in Grade if one.rank >= Grade.TESTED.rank)
        raise ValueError(f"{grade} can never be enough; accept one of {enough}")
    return grade


class Settings(Value):
    """What a run was started with; copied into it, so that a resume cannot mix two configurations."""

    workflow: str = "purple"
    agents: dict[str, str] = {}  # role → agent; "*" for all others
    roles: dict[str, str] = {}  # role of the workflow → name of the role file that says how it works
    progress: str = Field(default="progress.txt", pattern=r"^[\w.-]+$")  # the note that a handoff keeps, by name
    coverage_target: float = Field(default=80.0, ge=0, le=100)  # per cent of lines; told to coders, held against nobody
    rounds: int = Field(default=3, ge=1)  # most gaps are caught in the second; the third is the last attempt
    cap: int = Field(default=4, ge=1)
    parallel: int = Field(default=1, ge=1)  # tasks of a team at the same time
    team: TeamSettings = Field(default_factory=TeamSettings)
    commands: Commands = Field(default_factory=Commands)
    yes: bool = False
    accept: Annotated[Grade, AfterValidator(_can_be_enough)] = Grade.ATTESTED  # the lowest grade that counts as success
    sandbox: Literal["auto", "bubblewrap", "landlock", "none"] = "auto"
    allow_unsandboxed: bool = False
    readable: tuple[str, ...] = ()
    network: Literal["none", "loopback", "host"] = "host"  # of agents; evidence never has any
    idle_s: float = Field(default=600.0, gt=0, allow_inf_nan=False)
    wall_s: float = Field(default=3600.0, gt=0, allow_inf_nan=False)
    plan_only: bool = False
    draft: bool = False  # of a ticket: work that is not proven is offered, too, and says so
    variables: tuple[str, ...] = ()  # environment variables that agents may see
    login: dict[
        str, Literal["auto", "key", "subscription", "none"]
    ] = {}  # agent → how it may log in; "*" for all others
    bring: tuple[str, ...] = ()  # agents that load the project's own hooks, servers and skills, by the user's word
    wait: bool = True  # for a provider that lets nobody go on; else the run ends and can be resumed
    prompts: Literal["policy", "ask"] = "policy"  # what a role's tools do not allow: refused, or asked about
    limits: Spending = Field(default_factory=Spending)
    prices: dict[str, Rate] = {}  # the user's own, by model or agent
    environment: Environment = Field(default_factory=Environment)  # of checks, where the requirements file names none
    serve: Serve | None = None  # of pages, previews and exchanges, where the requirements file names none
    forge: ForgeSettings = Field(default_factory=ForgeSettings)
    tickets: TicketSettings = Field(default_factory=TicketSettings)

    def login_of(self, agent: str) -> str:
        kind = agent.partition(":")[0]
        return self.login.get(kind) or self.login.get("*", "auto")


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


class Approval(Grown):
    """A person's word: for the whole contract (requirement "*"), or for one requirement at one commit."""

    later = ("commit", "asked", "rejected", "stale")

    requirement: str
    who: str
    why: str
    at: float = 0.0
    contract: str = ""  # hash of what was approved
    commit: str = ""  # what the person saw; "" in words from before this was kept
    asked: str = ""  # hash of the requirement's words and steps: of another one nothing was said
    rejected: bool = False
    stale: str = ""  # why it does not stand any more; found out, never kept in the journal

    @property
    def gap(self) -> Finding:
        """What the implementer is told of a rejection."""
        what = f"{self.who} rejected {self.requirement}: {self.why}"
        return Finding(what=what, where="looked at by hand", requirement=self.requirement, by=self.who)


class Heard(Value):
    """What a workflow has heard of people at one head, and what it went on without."""

    head: str
    words: tuple[Approval, ...] = ()
    parked: tuple[str, ...] = ()  # requirements


class RunRecord(Value):
    """A run as the journal knows it."""

    id: str
    workflow: str
    title: str
    repository: str
    base: str
    branch: str
    # running | planned | waiting | limited | done | not proven | unjudged | stopped | failed | cancelled | interrupted
    state: str = "running"
    grade: Grade = Grade.UNPROVEN
    code: int = 0  # exit code of the state
    why: str = ""
    head: str = ""
    created_at: float = 0.0
    updated_at: float = 0.0
