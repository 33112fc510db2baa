"""Services that checks need, such as a database. They are started in the sandbox of each check that may use them."""

import json
import os
import socket
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from trued.errors import CannotJudge
from trued.model import Serve
from trued.protocols import Command, CommandResult, Workspace

ATTENDED = Path(__file__).parents[1] / "probes" / "attended.py"


async def run_with_services(workspace: Workspace, command: Command, services: Sequence[Serve]) -> CommandResult:
    """Run the command with its services. Raises CannotJudge if one of them does not start."""
    reading, telling = os.pipe()
    try:
        ran = await workspace.execute(with_services(command, services, telling))
        os.set_blocking(reading, False)
        try:
            said = os.read(reading, 5000)
        except BlockingIOError:
            said = b""
    finally:
        os.close(reading)
    if said != b"ready" and not ran.timed_out:
        raise CannotJudge(said.decode(errors="replace") or "it is unknown whether the services of the checks started")
    return ran


def with_services(command: Command, services: Sequence[Serve], telling: int) -> Command:
    """The command, wrapped in a script that starts the services first. `telling`: the end of a pipe to which the script
    writes whether they are up, or a negative number for no pipe. This process's copy of that end is closed when the
    command is executed."""
    ports = _ports(len(services))
    listed = [
        {
            "command": [word.replace("{port}", str(port)) for word in one.command],
            "port": port,
            "variables": {one.port_env: str(port)},
            "path": one.ready.path,
            "status": one.ready.status,
            "within_s": one.ready.within_s,
        }
        for one, port in zip(services, ports, strict=True)
    ]
    argv = (sys.executable, "-I", "-S", str(ATTENDED), str(telling), json.dumps(listed), "--", *command.argv)
    waiting = sum(one.ready.within_s for one in services)
    return replace(
        command,
        argv=argv,
        within_s=command.within_s + waiting,
        ports=(*command.ports, *ports),
        inherited=(*command.inherited, telling) if telling >= 0 else command.inherited,
        readable=(*command.readable, str(ATTENDED)),
    )


def _ports(number: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
