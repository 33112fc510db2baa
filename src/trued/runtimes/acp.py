"""`acp:PROGRAM ARGS`: any agent that speaks the Agent Client Protocol on its stdin and stdout."""

import shlex
from dataclasses import replace
from pathlib import Path

from ..errors import BadInput
from ..wire import Order
from .command import seen
from .driving import acp
from .driving.agent import Agent
from .driving.installed import Found
from .driving.program import Program


def named(line: str) -> Agent:
    """The agent of this command line."""
    try:
        program, *arguments = shlex.split(line)
    except ValueError as error:
        raise BadInput(
            f"{line!r} is no command line: {error}", then="write acp:PROGRAM ARGS, and mind its quotes"
        ) from error

    def begin(order: Order, found: Found) -> Program:
        path, shown = seen(found.path, arguments, Path(order.folder))
        return acp.spoken(order, acp.Choice((path, *arguments), readable=shown))

    install = f"install {program}, or write an absolute path"
    return replace(AGENT, program=program, install=install, begin=begin)


AGENT = Agent(
    title="any agent that speaks ACP",
    capabilities=acp.CAPABILITIES,
    argument=":PROGRAM ARGS",
    fold=acp.fold,
    lost=acp.LOST,
    extra="acp",
    modules=("acp",),
    named=named,
)
