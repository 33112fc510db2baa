"""`acp:PROGRAM ARGS`: any agent that speaks the Agent Client Protocol on its stdin and stdout."""

import shlex
from dataclasses import replace
from pathlib import Path

from trued.agents.driver import acp
from trued.agents.driver.agent import Agent
from trued.agents.driver.discovery import InstalledProgram
from trued.agents.driver.program import Program
from trued.agents.driver.program_files import visible_files
from trued.errors import BadInput
from trued.wire import Order


def agent_for_command_line(line: str) -> Agent:
    """The agent that this command line starts. Raises BadInput if the line cannot be parsed."""
    try:
        program, *arguments = shlex.split(line)
    except ValueError as error:
        raise BadInput(
            f"{line!r} is not a command line: {error}", then="use acp:PROGRAM ARGS and check its quotes"
        ) from error

    def build_program(order: Order, installed: InstalledProgram) -> Program:
        path, shown = visible_files(installed.path, arguments, Path(order.folder))
        return acp.client_program(order, acp.AcpAgent((path, *arguments), readable=shown))

    install = f"install {program}, or use an absolute path"
    return replace(AGENT, program=program, install=install, build_program=build_program)


AGENT = Agent(
    title="any agent that speaks ACP",
    capabilities=acp.CAPABILITIES,
    argument=":PROGRAM ARGS",
    fold=acp.fold,
    lost=acp.LOST,
    extra="acp",
    modules=("acp",),
    specify=agent_for_command_line,
)
