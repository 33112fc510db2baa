"""PreviewServer: serves the work as its users would see it, from a clean room, while a person or an agent looks at
it."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from trued.errors import CannotJudge
from trued.model import Contract, Value
from trued.proof.checks import http as exchanges
from trued.proof.room.bench import Bench, keepable_text
from trued.proof.room.clean_room import clean_room
from trued.proof.room.environment import interpreter_of
from trued.proof.room.files_of_checks import write_files_of_commit
from trued.proof.scanner import Scanner, discard_event
from trued.protocols import CommandResult, Emit, Server, Workspace

HOST = "127.0.0.1"
PIECE_BYTES = 1 << 16
MOST_AT_ONCE = 128
LAST_WORDS = 300  # characters from the end of a server's output, shown if it never answered


class PreviewAddress(Value):
    """The address of a preview, or why there is none."""

    url: str = ""
    port: int = 0  # on this machine; 0 if the preview is not served here
    why: str = ""

    @property
    def description(self) -> str:
        """The preview in words, for an agent's brief."""
        if not self.url:
            return f"there is no preview: {self.why}"
        return f"{self.url} ({self.why})" if self.why else self.url


def free_port() -> int:
    """A port on which nothing listens now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    """What to serve: a commit, by the contract's command, on a port that stays the same after a restart."""

    workspace: Workspace
    contract: Contract
    commit: str
    port: int
    within_s: float  # how long the server may run
    emit: Emit = discard_event


class PreviewServer:
    """A preview that starts when it is first needed. Leaving the context ends the server and all its processes."""

    def __init__(self, request: PreviewRequest) -> None:
        self.request = request
        self._open = AsyncExitStack()
        self._why: str | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._open.aclose()

    async def start(self) -> str:
        """Start the server, and return "" once it answers, else why it does not. Only the first call starts it; later
        calls return the same result."""
        if self._why is None:
            request = self.request
            scan = Scanner(request.workspace, request.contract, request.commit, request.emit)
            self._why = await scan(await self._serve_commit(), "why the preview does not come up")
        return self._why

    async def _serve_commit(self) -> str:
        request = self.request
        if request.contract.serve is None:
            return "no command that serves the project is known"
        try:
            interpreter = await interpreter_of(request.workspace, request.contract)
            room = clean_room(request.workspace, request.contract, request.commit, interpreter)
            bench, _ = await self._open.enter_async_context(room)
            if bench.broken:
                return f"its preparation fails: {bench.broken}"
            self._open.enter_context(write_files_of_commit(bench))  # the checks also see these files
            return await self._serve(bench)
        except CannotJudge as error:
            return str(error)

    async def _serve(self, bench: Bench) -> str:
        assert bench.serve is not None  # noqa: S101  (checked by the caller)
        serving = await self._open.enter_async_context(exchanges.start_server(bench, self.request.within_s))
        if why := await exchanges.wait_until_up(serving, bench.serve.ready):
            return _never_up(why, bench.serve.ready.within_s, await serving.end())
        try:
            await self._open.enter_async_context(_bridge(serving, self.request.port))
        except OSError as error:
            return f"port {self.request.port} of this machine is taken: {error.strerror}"
        return ""


def _never_up(why: str, within_s: float, ran: CommandResult) -> str:
    output = keepable_text((ran.stderr or ran.stdout)[-3000:].decode("utf-8", "replace")).strip()[-LAST_WORDS:]
    how = {"gone": "the server ended", "time": f"the server did not answer within {within_s:g} s"}.get(
        why, f"the server {why}"
    )
    return f"{how}{f'; its output ends with: {output}' if output else ''}"


@asynccontextmanager
async def _bridge(serving: Server, port: int) -> AsyncIterator[None]:
    """Forward connections from a port of this machine to the server, which has no address outside its sandbox."""
    slots, visits = asyncio.Semaphore(MOST_AT_ONCE), set[asyncio.Task[None]]()

    async def visit(caller: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101
        visits.add(task)
        try:
            async with slots:
                with contextlib.suppress(OSError):
                    await _forward(caller, answer, serving)
        finally:
            visits.discard(task)
            answer.close()

    listener = await asyncio.start_server(visit, HOST, port, reuse_address=True)
    try:
        yield
    finally:
        listener.close()
        for visit_task in visits:
            visit_task.cancel()
        await asyncio.gather(*visits, return_exceptions=True)


async def _forward(caller: asyncio.StreamReader, answer: asyncio.StreamWriter, serving: Server) -> None:
    """Copy both ways until the server closes its side."""
    link = serving.connect()
    try:
        response, ask = await asyncio.open_connection(sock=link)
    except BaseException:  # cancelled in between: nothing else would close the connection
        link.close()
        raise
    asking = asyncio.create_task(_copy_stream(caller, ask))
    try:
        await _copy_stream(response, answer)
    finally:
        # Abort before awaiting anything: a second cancellation would end this block at its first `await`.
        # The server has sent everything; input that it did not read is dropped.
        ask.transport.abort()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)


async def _copy_stream(out: asyncio.StreamReader, into: asyncio.StreamWriter) -> None:
    while piece := await out.read(PIECE_BYTES):
        into.write(piece)
        await into.drain()
    if into.can_write_eof():
        with contextlib.suppress(OSError):
            into.write_eof()
