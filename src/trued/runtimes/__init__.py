"""Who works: one file an agent. Which one an order means is written before the colon of its agent."""

from ..errors import BadInput
from ..protocols import Capabilities, Runtime
from .program import Launch

KINDS = ("command", "scripted")


def runtime_of(agent: str, launch: Launch) -> Runtime:
    """The runtime that plays this agent. Imported when used: a supervisor needs one of them, and at once."""
    kind = _kind(agent)
    if kind == "command":
        from .command import CommandRuntime

        return CommandRuntime(launch)
    from .scripted import ScriptedProcess

    return ScriptedProcess(launch)


def capabilities_of(agent: str) -> Capabilities:
    """What this agent can do, without starting it."""
    if _kind(agent) == "command":
        from .command import CAPABILITIES
    else:
        from .scripted import CAPABILITIES
    return CAPABILITIES


def _kind(agent: str) -> str:
    kind, colon, rest = agent.partition(":")
    if not colon or kind not in KINDS or not rest.strip():
        raise BadInput(
            f"there is no agent {agent!r}", then=f"write one of {', '.join(f'{known}:…' for known in KINDS)}"
        )
    return kind
