"""Each module here is for one agent program and has its name. If an agent is named `NAME:TEXT`, the module NAME also
interprets the TEXT."""

import difflib
import time
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from trued.agents.driver.agent import Agent
from trued.agents.driver.login import LoginMethod, choose_login
from trued.agents.driver.program import ProgramLauncher
from trued.errors import BadInput
from trued.wire import Capabilities

if TYPE_CHECKING:
    from trued.protocols import Runtime


@cache
def agent_names() -> tuple[str, ...]:
    """Names of all agents that have a module here."""
    files = Path(__file__).parent.glob("*.py")
    return tuple(sorted(file.stem for file in files if not file.stem.startswith("_")))


def load_agent(kind: str) -> Agent:
    """Import the module of this agent and return its `AGENT`. No module is imported before it is needed, because a
    supervisor needs only one and must start quickly."""
    agent: Agent = import_module(f"{__name__}.{kind}").AGENT
    return agent


def agent_of(agent: str) -> Agent:
    """The agent that `NAME` or `NAME:TEXT` names. Raises BadInput if NAME is unknown, or if TEXT is missing and the
    agent needs one."""
    kind, colon, rest = agent.partition(":")
    if kind not in agent_names():
        close = difflib.get_close_matches(kind, agent_names(), 1, 0.6)
        then = f"did you mean {close[0]}?" if close else f"there are {', '.join(agent_names())}"
        raise BadInput(f"there is no agent {agent!r}", then=f"{then}; see `trued agents`")
    agent_module = load_agent(kind)
    if not rest.strip() and (colon or not agent_module.argument.startswith("[")):
        raise BadInput(f"the name of the agent {agent!r} is incomplete", then=f"use {kind}{agent_module.argument}")
    return agent_module.specify(rest) if agent_module.specify else agent_module


def runtime_of(agent: str, launch: ProgramLauncher) -> "Runtime":
    """The runtime for calls of this agent. If the agent has no runtime of its own, a StreamingRuntime starts its
    program and reads the program's events. Raises BadInput for an unknown or incomplete name."""
    agent_entry = agent_of(agent)
    if agent_entry.runtime:
        return agent_entry.runtime(launch)
    from trued.agents.driver.streaming_runtime import StreamingRuntime  # loaded only if needed

    return StreamingRuntime(agent_entry, launch)


def capabilities_of(agent: str) -> Capabilities:
    """What this agent can do. The agent is not started for this."""
    return agent_of(agent).capabilities


def login_of(agent: str, policy: str, variables: Mapping[str, str], home: Path) -> LoginMethod:
    """How this agent would log in, given the user's policy, variables and HOME."""
    return choose_login(agent_of(agent).login, policy, variables, home, time.time())
