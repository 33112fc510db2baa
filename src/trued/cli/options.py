"""Groups of options as dataclasses: `take_options` turns each field into an option of a command."""

import re
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from trued.errors import BadInput

# -- options that several commands have --------------------------------------------------------------------------------

RepositoryOption = Annotated[
    Path, typer.Option("--repo", metavar="DIR", help="The repository.", show_default="this folder")
]
AcceptOption = Annotated[
    str | None, typer.Option(metavar="GRADE", help="The lowest grade that counts as met.", show_default="attested")
]
RoundsOption = Annotated[
    int | None,
    typer.Option(
        help="Maximum rounds for each chunk (purple), attempts for each feature (handoff), or rounds of verify and fix "
        "(ticket).",
        show_default="3",
    ),
]
YesOption = Annotated[
    bool,
    typer.Option(
        "--yes",
        help="Answer yes whenever the run asks whether to continue: after a chunk, after it proposes a plan, or if"
        " something cannot be judged here. This approves nothing.",
    ),
]
Who = Annotated[str, typer.Option("--as", metavar="NAME", help="Your name.", show_default=False)]
Reason = Annotated[str, typer.Option(help="Your reason.", show_default=False)]
Cap = Annotated[int | None, typer.Option(help="Maximum number of agents that work at the same time.", show_default="4")]
WithoutCases = Annotated[
    bool,
    typer.Option("--without-cases", help="Build even if no case could be sealed. Nothing can be proven then."),
]


def take_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take dataclasses of options: on the command line, each field is an option of its own."""
    parameters = signature(command, eval_str=True).parameters
    groups: dict[str, Any] = {
        name: parameter.annotation for name, parameter in parameters.items() if is_dataclass(parameter.annotation)
    }
    flat: list[Parameter] = []
    for name, parameter in parameters.items():
        flat += _parameters(groups[name]) if name in groups else [parameter.replace(kind=Parameter.KEYWORD_ONLY)]

    @wraps(command)
    def with_flat_options(**values: Any) -> None:
        grouped = {
            name: group(**{option.name: values.pop(option.name) for option in fields(group)})
            for name, group in groups.items()
        }
        command(**values, **grouped)

    with_flat_options.__signature__ = Signature(flat)  # type: ignore[attr-defined]  # typer reads the options from here
    with_flat_options.__annotations__ = {parameter.name: parameter.annotation for parameter in flat}
    return with_flat_options


def _parameters(group: Any) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(
            option.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if option.default is MISSING else option.default,
            annotation=hints[option.name],
        )
        for option in fields(group)
    ]


# -- groups of options -------------------------------------------------------------------------------------------------


LOGIN_HELP = "How agents may log in: auto, key, subscription or none."
SANDBOX_HELP = "Sandbox: auto, bubblewrap, landlock or none."
UNSANDBOXED_HELP = "Allow the sandbox level none, at which agents and checks are not confined."
TRUST_HELP = "Trust this repository: the digest from `trued trust`."


@dataclass(frozen=True)
class AgentOptions:
    """Which agents work, how they log in, what happens to actions outside a role's tools, and which role files they
    follow."""

    agent: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[ROLE=]AGENT",
            help="The agent for all roles or one role: claude, codex:MODEL, command:PROGRAM ARGS; see `trued agents`.",
            show_default="the installed agents",
        ),
    ] = None
    login: Annotated[
        list[str] | None,
        typer.Option(metavar="[AGENT=]HOW", help=LOGIN_HELP, show_default="auto"),
    ] = None
    prompts: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="Actions outside a role's tools: policy (they are refused) or ask (you are asked).",
            show_default="policy",
        ),
    ] = None
    role: Annotated[
        list[str] | None,
        typer.Option(metavar="ROLE=NAME", help="Use another role file for a role; see `trued roles`."),
    ] = None

    def settings(self) -> dict[str, Any]:
        return {
            "agents": parse_agents(self.agent or ()),
            "login": parse_logins(self.login or ()),
            "prompts": self.prompts,
            "roles": parse_roles(self.role or ()),
        }


@dataclass(frozen=True)
class WorkOptions:
    """Options for the work itself: rounds, parallel agents, limits, and the grade that is enough."""

    rounds: RoundsOption = None
    cap: Cap = None
    parallel: Annotated[
        int | None, typer.Option(help="With team: maximum number of tasks at once.", show_default="1")
    ] = None
    yes: YesOption = False
    accept: Annotated[
        str | None,
        typer.Option(
            metavar="GRADE", help="The lowest grade that counts as met, such as tested.", show_default="attested"
        ),
    ] = None
    wait: Annotated[
        bool | None,
        typer.Option("--wait/--no-wait", help="At a provider's rate limit: wait, or end the run.", show_default="wait"),
    ] = None
    limits: Annotated[
        list[str] | None,
        typer.Option(
            "--limit", metavar="WHAT=AMOUNT", help="Limit what the run may use: usd=5, tokens=2M, calls=20, time=2h."
        ),
    ] = None
    chunks: Annotated[
        list[str] | None,
        typer.Option("--chunk", metavar="ID", help="With purple: build only this chunk of the plan; repeatable."),
    ] = None
    phases: Annotated[
        list[str] | None,
        typer.Option("--phase", metavar="NUMBER", help="With purple: build only this phase of the plan; repeatable."),
    ] = None
    plan_only: Annotated[bool, typer.Option("--plan-only", help="Seal and show the contract; start no work.")] = False
    without_cases: WithoutCases = False
    draft: Annotated[
        bool, typer.Option("--draft", help="With ticket: open a draft pull request for work that is not proven.")
    ] = False

    def settings(self) -> dict[str, Any]:
        return _given_settings(self)


@dataclass(frozen=True)
class SafetyOptions:
    """The sandbox for agents and checks, and the user's trust in the repository."""

    sandbox: Annotated[
        str | None,
        typer.Option(metavar="LEVEL", help=SANDBOX_HELP, show_default="auto"),
    ] = None
    allow_unsandboxed: Annotated[bool, typer.Option("--allow-unsandboxed", help=UNSANDBOXED_HELP)] = False
    trust: Annotated[
        str,
        typer.Option(metavar="DIGEST", help=TRUST_HELP, show_default=False),
    ] = ""

    def settings(self) -> dict[str, Any]:
        return _given_settings(self, "trust")


@dataclass(frozen=True)
class StartOptions:
    """Where a run starts (repository, branch of an earlier run), and who watches and drives the run."""

    branch: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="BRANCH",
            help="With handoff: the branch of an earlier run to continue; HEAD starts over.",
            show_default=False,
        ),
    ] = ""
    base: Annotated[
        str,
        typer.Option(
            metavar="COMMIT",
            help="With --from: the commit of yours that the branch started from, if git cannot tell.",
            show_default=False,
        ),
    ] = ""
    notify: Annotated[
        bool | None,
        typer.Option(
            "--notify/--no-notify",
            help="Notify you when the run waits, ends or reaches a limit: by bell, desktop and your [notify] settings.",
            show_default="by [notify] in your settings",
        ),
    ] = None
    page: Annotated[bool, typer.Option("--page", help="Also open the live page, and serve it until the run ends.")] = (
        False
    )
    on: Annotated[
        str,
        typer.Option(
            metavar="QUEUE", help="Put the run into this queue of the hub, for a worker to drive.", show_default=False
        ),
    ] = ""
    repo: RepositoryOption = Path()


@dataclass(frozen=True)
class VariantOptions:
    """The variants that `compare` runs: workflows, agents, and the names of the agents in the table."""

    workflow: Annotated[
        list[str] | None,
        typer.Option(
            "-w",
            "--workflow",
            help="A workflow to try; repeatable.",
            show_default="the input's default workflow, and solo",
        ),
    ] = None
    cast: Annotated[
        list[str] | None,
        typer.Option(
            "--with", metavar="AGENT", help="An agent to try in each workflow, or 'ROLE=AGENT; ROLE=AGENT'; repeatable."
        ),
    ] = None
    called: Annotated[
        list[str] | None,
        typer.Option(
            "--as",
            metavar="NAME",
            help="A name for the preceding --with, shown in the comparison's table. Give one for each --with, or none.",
        ),
    ] = None
    agent: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[ROLE=]AGENT",
            help="The agent for all roles or one role, in every run; as in `trued run`.",
            show_default="the installed agents",
        ),
    ] = None


@dataclass(frozen=True)
class ComparedOptions:
    """What all runs of a comparison have in common."""

    login: Annotated[list[str] | None, typer.Option(metavar="[AGENT=]HOW", help=LOGIN_HELP, show_default="auto")] = None
    role: Annotated[list[str] | None, typer.Option(metavar="ROLE=NAME", help="Use another role file for a role.")] = (
        None
    )
    rounds: RoundsOption = None
    cap: Cap = None
    yes: YesOption = False
    accept: AcceptOption = None
    without_cases: WithoutCases = False
    limits: Annotated[
        list[str] | None,
        typer.Option("--limit", metavar="WHAT=AMOUNT", help="Limit what each run may use: usd=5, time=2h."),
    ] = None
    sandbox: Annotated[str | None, typer.Option(metavar="LEVEL", help=SANDBOX_HELP, show_default="auto")] = None
    allow_unsandboxed: Annotated[bool, typer.Option("--allow-unsandboxed", help=UNSANDBOXED_HELP)] = False
    trust: Annotated[str, typer.Option(metavar="DIGEST", help=TRUST_HELP, show_default=False)] = ""

    def settings(self) -> dict[str, Any]:
        parsed = {"login": parse_logins(self.login or ()), "roles": parse_roles(self.role or ())}
        return {**_given_settings(self, "login", "role", "trust"), **parsed}


def _given_settings(options: Any, *others: str) -> dict[str, Any]:
    """Setting → value, for each option that has a setting of the same name; None for an option that has its default.
    `others`: the options without such a setting, which are left out."""
    values = {
        option.name: (getattr(options, option.name), option.default)
        for option in fields(options)
        if option.name not in others
    }
    return {name: None if value == default else value for name, (value, default) in values.items()}


# -- parsers of option values ------------------------------------------------------------------------------------------


def parse_agents(arguments: Sequence[str]) -> dict[str, str]:
    """The values of `--agent` as role → agent; `*` stands for all other roles. Raises BadInput for a script that does
    not exist."""
    agents: dict[str, str] = {}
    for argument in arguments:
        role, _, named = argument.partition("=")
        role, named = (role, named) if re.fullmatch(r"[\w.-]+", role) and named else ("*", argument)
        agents[role] = _with_absolute_script(named)
    return agents


def parse_roles(arguments: Sequence[str]) -> dict[str, str]:
    """The values of `--role` as role of the workflow → name of the role that replaces it. Raises BadInput for a value
    that is not ROLE=NAME."""
    pairs = [argument.partition("=") for argument in arguments]
    for (role, _, name), argument in zip(pairs, arguments, strict=True):
        if not (role.strip() and name.strip()):
            raise BadInput(f"{argument!r} is not ROLE=NAME", "--role", "use the form purple-team-b=my-reviewer")
    return {role.strip(): name.strip() for role, _, name in pairs}


def parse_logins(arguments: Sequence[str]) -> dict[str, str]:
    """The values of `--login` as agent → how the agent logs in; `*` stands for all other agents."""
    pairs = [argument.rpartition("=") for argument in arguments]
    return {agent if equals else "*": how for agent, equals, how in pairs}


def _with_absolute_script(agent: str) -> str:
    """Make a scripted agent's path absolute. The user's path is relative to the current folder, but the agent runs in
    another folder."""
    kind, _, where = agent.partition(":")
    if kind != "scripted":
        return agent
    file, mark, name = where.partition("#")
    try:
        path = Path(file).expanduser().absolute()
    except RuntimeError:
        raise BadInput(
            f"cannot find the home folder that ~ stands for in {file}", "--agent", "use the absolute path"
        ) from None
    if not path.is_file():
        raise BadInput(f"there is no script {file}", "--agent", "pass a Python file with a function for each role")
    return f"scripted:{path}{mark}{name}"


def is_file(goal: str) -> bool:
    """Whether the goal names a file. False for a goal so long that the system raises an error."""
    try:
        return Path(goal).is_file()
    except (OSError, ValueError):
        return False
