"""Roles of agents, and the settings of a run."""

import re
from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field, model_validator

from trued.model.grades import Grade
from trued.model.requirements import Environment, Serve
from trued.model.value import Value

RoleForm: TypeAlias = Literal["trued", "claude", "github", "opencode"]  # the tool whose format a role file has
SandboxLevel: TypeAlias = Literal["auto", "bubblewrap", "landlock", "none"]
AgentNetwork: TypeAlias = Literal["none", "loopback", "host"]  # the narrowest first
LoginPolicy: TypeAlias = Literal["auto", "key", "subscription", "none"]


class Role(Value):
    """A role that an agent plays: its prompt, its tools, and where it is defined."""

    name: str
    description: str = ""
    tools: tuple[str, ...] = ()
    model: str = ""
    prompt: str
    origin: str = "packaged"  # packaged | user | project, with the path
    writes: bool = True  # it has the tool `edit`, and its changes are committed
    form: RoleForm = "trued"
    notes: tuple[str, ...] = ()  # parts of its file that trued ignores, or reads differently from the tool in `form`


class Limit(Value):
    """The most that may be spent; 0 is no limit."""

    usd: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    tokens: int = Field(default=0, ge=0)  # sent (cached or not) and received
    calls: int = Field(default=0, ge=0)
    time: float = Field(default=0.0, ge=0, allow_inf_nan=False)  # working time of all agents together, in seconds


class Rate(Value):
    """Dollars for a million tokens."""

    usd_in: float = Field(ge=0, allow_inf_nan=False)
    usd_out: float = Field(ge=0, allow_inf_nan=False)
    usd_cached: float = Field(ge=0, allow_inf_nan=False)


class RunLimits(Limit):
    """The limits of a run, of each of its features and tasks, and of each role."""

    feature: Limit = Field(default_factory=Limit)
    task: Limit = Field(default_factory=Limit)
    roles: dict[str, Limit] = {}
    # how much of a subscription's window may be used, in per cent, if the agent reports it; 0: no limit
    quota: int = Field(default=0, ge=0, le=100)
    call_usd: float = Field(default=2.0, gt=0, allow_inf_nan=False)  # reserved for a call until past calls show more
    call_tokens: int = Field(default=2_000_000, gt=0)  # reserved, too: enough for thirty requests with a full context
    # the assumed price of a model that no price table has
    ceiling: Rate = Field(default_factory=lambda: Rate(usd_in=15.0, usd_out=75.0, usd_cached=15.0))


class ForgeSettings(Value):
    """Where pull requests go. A repository cannot set `url`, `token_env` or `remote`, because they decide which secret
    is sent where."""

    kind: Literal["auto", "github", "local"] = "auto"  # auto: by the address of the remote
    repository: str = ""  # owner/name; empty: the remote's
    url: str = ""  # address of the API of a GitHub server: https://github.example.com/api/v3
    token_env: str = "GITHUB_TOKEN"  # noqa: S105 (a variable's name)
    remote: str = "origin"


NotifyKind: TypeAlias = Literal["waits", "ends", "limits", "refuted"]
NOTIFY_KINDS: tuple[NotifyKind, ...] = ("waits", "ends", "limits", "refuted")


class WebhookSettings(Value):
    """Where notifications are posted, and where the secret that signs them is: in an environment variable, or in a file
    that only its owner can read."""

    url: str = Field(pattern=r"^https?://[^\s/@?#]+([/?][^\s#]*)?$")
    secret_env: str = ""
    secret_file: str = ""
    kinds: tuple[NotifyKind, ...] | None = None  # None: the same kinds as other notifications

    @model_validator(mode="after")
    def _has_one_secret(self) -> "WebhookSettings":
        if bool(self.secret_env) == bool(self.secret_file):
            raise ValueError("needs secret_env or secret_file, and not both: every notification is signed")
        return self


class NotifySettings(Value):
    """How a person is notified that a run waits, has ended or has reached a limit. Only the person's own settings file
    can set this, because the command runs with the person's rights."""

    kinds: tuple[NotifyKind, ...] = NOTIFY_KINDS
    webhook: WebhookSettings | None = None
    command: tuple[str, ...] = ()  # program and arguments; gets the facts in NOTIFY_… and as JSON on stdin
    bell: bool = False  # the terminal's bell
    desktop: bool = False  # by notify-send, if it is installed


class TicketSettings(Value):
    """Where tickets are. A repository cannot set `url`, `token_env` or `user_env`, because they decide which secret is
    sent where."""

    kind: Literal["auto", "file", "github", "jira"] = "auto"  # auto: by the form of the ticket's name
    url: str = ""  # address of the tracker: https://example.atlassian.net
    project: str = ""  # owner/name on GitHub, the letters before the number on Jira
    token_env: str = ""  # empty: GITHUB_TOKEN, or JIRA_TOKEN
    user_env: str = "JIRA_USER"  # without a user, the token counts as a personal access token of Jira Server
    acceptance: tuple[str, ...] = ("Acceptance criteria",)  # fields of the tracker that contain criteria, by name or id


class Commands(Value):
    """How the project is built, tested and started. A command that is "" is detected from the project's files."""

    build: str = ""
    test: str = ""
    start: str = ""


class TeamSettings(Value):
    """How many attempts a team makes, and which roles take part."""

    attempts: int = Field(default=10, ge=1)  # the limit on attempts of dev and QA at one task
    heal: bool = True  # False: one attempt per task
    uat_after_feature: bool = True
    uat_after_all: bool = True
    cycles: int = Field(default=3, ge=1)  # most cycles of UAT and fixes, for each feature and for all of them together
    off: tuple[str, ...] = ()  # roles that are left out; the report lists what nobody checks without them


class PreviewSettings(Value):
    """Where to find the preview that another service makes of every pushed branch."""

    push: str = Field(default="", pattern=r"^[\w.-]*$")  # remote to push the run's branch to before the check
    url: str = Field(default="", pattern=r"^(https?://.*)?$")  # the preview's address, with {branch} and {commit}
    within_s: float = Field(default=300.0, gt=0, allow_inf_nan=False)  # timeout for its first answer

    def address(self, branch: str, commit: str) -> str:
        """The preview's address for a branch, with the branch name as hosts write it: lower case, with dashes."""
        slug = re.sub(r"[^a-z0-9]+", "-", branch.lower()).strip("-")
        return self.url.replace("{branch}", slug).replace("{commit}", commit)


def _check_accepted(grade: object) -> object:
    """Return the grade. Raises ValueError for a value that is not a grade, and for a grade below `tested`."""
    enough = [str(grade) for grade in Grade if grade >= Grade.TESTED]
    if str(grade) not in enough:
        what = "can never be enough" if str(grade) in list(Grade) else "is not a grade"
        raise ValueError(f"{grade} {what}; accept one of {', '.join(enough)}")
    return grade


class Settings(Value):
    """The settings of a run, copied into it at its start, so that a resume cannot mix two configurations."""

    workflow: str = "purple"
    agents: dict[str, str] = {}  # role → agent; "*" for all others
    roles: dict[str, str] = {}  # role of the workflow → name of the role file to use
    progress: str = Field(default="progress.txt", pattern=r"^[\w.-]+$")  # file name of a handoff's progress notes
    # per cent of lines: a target that coders are told; no grade depends on it
    coverage_target: float = Field(default=80.0, ge=0, le=100)
    rounds: int = Field(default=3, ge=1)  # the limit on rounds; most gaps are caught in the second
    cap: int = Field(default=4, ge=1)
    parallel: int = Field(default=1, ge=1)  # the limit on tasks that a team works on at the same time
    team: TeamSettings = Field(default_factory=TeamSettings)
    commands: Commands = Field(default_factory=Commands)
    yes: bool = False
    commit_author: Literal["user", "role"] = "user"  # the author of commits; with "user", the role is a trailer
    accept: Annotated[Grade, BeforeValidator(_check_accepted)] = Grade.ATTESTED  # the lowest grade that is a success
    sandbox: SandboxLevel = "auto"
    allow_unsandboxed: bool = False
    readable: tuple[str, ...] = ()
    network: AgentNetwork = "host"  # the network of agents, not of checks
    idle_s: float = Field(default=600.0, gt=0, allow_inf_nan=False)
    wall_s: float = Field(default=3600.0, gt=0, allow_inf_nan=False)
    plan_only: bool = False
    without_cases: bool = False  # build even if no case could be sealed
    chunks: tuple[str, ...] = ()  # of a plan: the only ones to build, by id
    phases: tuple[str, ...] = ()  # of a plan: the only ones to build, by number or title
    draft: bool = False  # of a ticket: offer even unproven work, as a draft
    variables: tuple[str, ...] = ()  # environment variables that agents may see
    login: dict[str, LoginPolicy] = {}  # agent → how it may log in; "*" for all others
    bring: tuple[str, ...] = ()  # agents that may load the project's own hooks, servers and skills
    wait: bool = True  # wait until a provider's limit has passed; False: the run ends and can be resumed
    prompts: Literal["policy", "ask"] = "policy"  # actions outside a role's tools: refuse them, or ask the person
    limits: RunLimits = Field(default_factory=RunLimits)
    prices: dict[str, Rate] = {}  # the user's own prices, by model or agent
    environment: Environment = Field(default_factory=Environment)  # for checks; a requirements file takes precedence
    serve: Serve | None = None  # for pages, previews and HTTP cases; a requirements file takes precedence
    preview: PreviewSettings = Field(default_factory=PreviewSettings)
    forge: ForgeSettings = Field(default_factory=ForgeSettings)
    tickets: TicketSettings = Field(default_factory=TicketSettings)
    notify: NotifySettings = Field(default_factory=NotifySettings)

    def agent_for(self, role: str) -> str:
        """The agent that plays this role; "" if none does."""
        return self.agents.get(role) or self.agents.get("*", "")

    def login_of(self, agent: str) -> LoginPolicy:
        """How this agent may log in."""
        return self.login.get(agent_kind(agent)) or self.login.get("*", "auto")


def agent_kind(agent: str) -> str:
    """The agent without its model. Agents of one kind share the user's login."""
    return agent.partition(":")[0]
