"""Starts services that checks need, such as a database, in the sandbox of each check that may use the services."""

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
    """Run the command, and these services beside it. Raises CannotJudge if a service does not start."""
    reader, writer = os.pipe()
    try:
        result = await workspace.execute(with_services(command, services, writer))
        os.set_blocking(reader, False)
        try:
            status = os.read(reader, 5000)
        except BlockingIOError:
            status = b""
    finally:
        os.close(reader)
    if status != b"ready" and not result.timed_out:
        raise CannotJudge(status.decode(errors="replace") or "it is unknown whether the services of the checks started")
    return result


def with_services(command: Command, services: Sequence[Serve], telling: int) -> Command:
    """The command, wrapped in a script that starts the services first.

    `telling`: the write end of a pipe, to which the script reports whether the services are up. A negative number means
    that there is no pipe. When the command is executed, this process's copy of the write end is closed.
    """
    ports = _ports(len(services))
    service_orders = [
        {
            "command": [word.replace("{port}", str(port)) for word in service.command],
            "port": port,
            "variables": {service.port_env: str(port)},
            "path": service.ready.path,
            "status": service.ready.status,
            "within_s": service.ready.within_s,
        }
        for service, port in zip(services, ports, strict=True)
    ]
    argv = (sys.executable, "-I", "-S", str(ATTENDED), str(telling), json.dumps(service_orders), "--", *command.argv)
    startup_s = sum(service.ready.within_s for service in services)
    return replace(
        command,
        argv=argv,
        within_s=command.within_s + startup_s,
        ports=(*command.ports, *ports),
        inherited=(*command.inherited, telling) if telling >= 0 else command.inherited,
        readable=(*command.readable, str(ATTENDED)),
    )


def _ports(number: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for server in sockets:
            server.bind(("127.0.0.1", 0))
        return [server.getsockname()[1] for server in sockets]
