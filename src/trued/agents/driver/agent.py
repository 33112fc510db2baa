"""An agent as data: how it is found and logged in, what it can do, how it is begun and what its events mean."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from trued.agents.driver.discovery import InstalledProgram
from trued.agents.driver.program import Program, ProgramLauncher
from trued.agents.driver.transcript import Transcript
from trued.protocols import Capabilities, Runtime
from trued.wire import Order


@dataclass(frozen=True, slots=True)
class Login:
    """How a user is known to the agent's provider. Nothing else of the user's environment reaches the agent."""

    keys: tuple[str, ...] = ()  # variables: any one of them is a key, and goes before a subscription
    weak: tuple[str, ...] = ()  # those of them that do not: the agent itself takes its own log-in first
    tokens: tuple[str, ...] = ()  # variables that carry a subscription
    files: tuple[str, ...] = ()  # below HOME: what its own log-in leaves there, for a subscription
    together: bool = False  # keys and files are of several providers, and it may need all of them
    along: tuple[str, ...] = ()  # variables that go with every login: a base URL, a region
    how: str = ""  # what a person does to log in


@dataclass(frozen=True, slots=True)
class Agent:
    """Everything that the house knows of one agent: one file, and nothing is registered anywhere else."""

    title: str
    capabilities: Capabilities
    program: str = ""  # looked for on PATH
    install: str = ""  # the shortest way to get it
    login: Login = field(default_factory=Login)
    models: Mapping[str, str] = field(default_factory=dict)  # small, medium, large and its own short names
    argument: str = "[:MODEL]"  # what may stand, or without brackets has to stand, behind its name
    build_program: Callable[[Order, InstalledProgram], Program] | None = None
    fold: Callable[[dict[str, Any], Transcript], None] | None = None
    lost: tuple[str, ...] = ()  # what it says of a session that it does not know
    taken: tuple[str, ...] = ()  # and of one that exists already
    runtime: Callable[[ProgramLauncher], Runtime] | None = None  # one that does not tell what it does, line by line
    browser: bool = False  # it can drive one by itself
    brings: bool = False  # it can load the project's own settings for it, where the user asks for that
    extra: str = ""  # of ours, that it takes: trued[…]
    modules: tuple[str, ...] = ()  # that this extra brings: looked for, and not loaded
    specify: "Callable[[str], Agent] | None" = None  # more exactly, by what stands behind its name


def model_of(order: Order, models: Mapping[str, str]) -> str:
    """The model by the name that this agent knows; empty is its own choice."""
    _, _, named = order.agent.partition(":")
    return models.get(named, named) if named else models.get(order.model, "")
