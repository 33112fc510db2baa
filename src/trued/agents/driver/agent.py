"""Agent: how to start one agent program, log it in and read its events, as data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trued.agents.driver.program import Program, ProgramLauncher
from trued.wire import Capabilities, Order

if TYPE_CHECKING:
    from trued.agents.driver.discovery import InstalledProgram
    from trued.agents.driver.transcript import Transcript
    from trued.protocols import Runtime


@dataclass(frozen=True, slots=True)
class Login:
    """How the agent logs in to its provider. The agent gets only the user's variables and files that are named in these
    fields."""

    keys: tuple[str, ...] = ()  # variables with an API key; any one is enough, and is preferred to a subscription
    weak: tuple[str, ...] = ()  # the `keys` that the agent uses only if it has no other login
    tokens: tuple[str, ...] = ()  # variables with the token of a subscription
    files: tuple[str, ...] = ()  # paths below HOME, with the credentials of a subscription
    together: bool = False  # the keys and files belong to different providers, so the agent might need all of them
    along: tuple[str, ...] = ()  # variables to pass with every login: a base URL, a region
    how: str = ""  # what a person does to log in


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent, defined as `AGENT` in its module. Some other modules have a table of all agents. `test_agent_tables`
    fails until a new agent is in each table."""

    title: str
    capabilities: Capabilities
    program: str = ""  # the program's name on PATH
    install: str = ""  # the shortest way to install the program
    login: Login = field(default_factory=Login)
    models: Mapping[str, str] = field(default_factory=dict)  # small, medium, large or a short name → model
    argument: str = "[:MODEL]"  # in brackets: what may follow the agent's name; without brackets: what must follow
    build_program: "Callable[[Order, InstalledProgram], Program] | None" = None  # how to start the program
    fold: "Callable[[dict[str, Any], Transcript], None] | None" = None  # adds an agent's event to the transcript
    lost: tuple[str, ...] = ()  # parts of error messages of an agent that does not know the session to resume
    taken: tuple[str, ...] = ()  # parts of error messages of an agent that already has the session to begin
    runtime: "Callable[[ProgramLauncher], Runtime] | None" = None  # for an agent that does not stream events
    brings: bool = False  # it can load the project's settings for this agent, if the user asks for that
    extra: str = ""  # the optional dependency that it needs: trued[…]
    modules: tuple[str, ...] = ()  # modules of `extra`: if all can be found, the extra is installed
    specify: "Callable[[str], Agent] | None" = None  # makes the `Agent` for the text that follows the agent's name


def model_of(order: Order, models: Mapping[str, str]) -> str:
    """The name of the model to use, as this agent calls it; "" lets the agent choose."""
    _, _, named = order.agent.partition(":")
    return models.get(named, named) if named else models.get(order.model, "")


def mcp_server(order: Order) -> dict[str, Any]:
    """The browser's MCP server in the form of most agents' settings: `command` and `args`."""
    return {"command": order.browser[0], "args": list(order.browser[1:])}
