"""A server in a sandbox. It is started like any command, reached through sockets that are sent into the sandbox, and
ended with all its descendants."""

import asyncio
import contextlib
import os
import socket
import sys
import time
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

from trued.protocols import Command, CommandResult

FORWARD = Path(__file__).with_name("forwarder.py")
START = "import sys; exec(sys.stdin.buffer.read())"  # over stdin, so that the sandbox contains no file of the engine
DAEMON_S = 2.0  # seconds in which a process in the background can start listening after its command ended
PARTING_S = 3.0  # seconds in which the forwarder must exit, so that the server's last output is kept


class SandboxServer:
    """Implements `Server` in a sandbox. The server has no address for the engine: a connection is one end of a socket
    pair, whose other end is sent to the forwarder."""

    def __init__(self, isolation: str) -> None:
        self.port, self._isolation = _free_port(), isolation
        self._orders, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._orders.setblocking(False)
        self.control = inside.detach()  # a file descriptor; the code that starts the command closes it
        self._task: asyncio.Task[CommandResult] | None = None
        self._code: int | None = None
        self._ended_at = 0.0
        self._ran: CommandResult | None = None

    def begin(self, work: Coroutine[Any, Any, CommandResult]) -> None:
        """Run the command in a task of its own."""
        self._task = asyncio.create_task(work)

    def connect(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs, contextlib.suppress(OSError):  # if the forwarder has ended, the caller reads an empty stream
            socket.send_fds(self._orders, [b"+"], [theirs.fileno()], socket.MSG_DONTWAIT)
        return ours

    def dialer(self) -> int:
        return os.dup(self._orders.fileno())

    def has_ended(self) -> bool:
        with contextlib.suppress(OSError, ValueError):
            # MSG_DONTWAIT, because a process with a copy of the socket can make it blocking
            received = self._orders.recv(16, socket.MSG_DONTWAIT)
            self._code = int(received) if received else self._code
        if self._code is not None:
            self._ended_at = self._ended_at or time.monotonic()
        over = self._task is not None and self._task.done()
        # A command that exited with 0 can leave a server in the background that is about to answer.
        return over or self._code not in (None, 0) or 0 < self._ended_at < time.monotonic() - DAEMON_S

    async def end(self) -> CommandResult:
        if self._ran is None:
            self.has_ended()
            self._orders.close()
            self._ran = await self._wait_for_end()
        return self._ran

    async def _wait_for_end(self) -> CommandResult:
        assert self._task is not None  # noqa: S101  (`begin` was called before)
        done, _ = await asyncio.wait([self._task], timeout=PARTING_S)
        if not done:  # the server blocks the forwarder, so both are ended from outside, and the last output is lost
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            return CommandResult(None, b"", b"", b"", 0.0, timed_out=True, flooded=False, isolation=self._isolation)
        return replace(self._task.result(), exit_code=self._code)


def _free_port() -> int:
    """A port that is free now. In a sandbox with its own network, no process outside can take the port meanwhile."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def behind_forwarder(command: Command, port_env: str, served: SandboxServer) -> Command:
    """Wrap a server's command so that the forwarder starts it. The port on which the server must listen is in the
    variable `port_env`, and replaces {port} in the command line."""
    port = str(served.port)
    argv = [word.replace("{port}", port) for word in command.argv]
    return replace(
        command,
        argv=(sys.executable, "-I", "-S", "-c", START, str(served.control), port, "--", *argv),
        stdin=FORWARD.read_bytes(),
        variables={**(command.variables or {}), port_env: port},
        network="loopback",
        ports=(served.port,),
        lists_ports=False,
        inherited=(served.control,),
    )
