"""Runs one confined command with limits on its time, its output and its descendants."""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from trued.errors import CannotJudge
from trued.workspace.sandbox.cgroup import limited_group
from trued.workspace.sandbox.process_start import kill_process, start_process

PIECE_BYTES = 1 << 16
GRACE_S = 12.0  # how long to wait after asking the keeper to end everything; the keeper needs less


@dataclass(frozen=True, slots=True)
class ConfinedCommand:
    """A command line that is already confined, with its limits."""

    argv: list[str]
    environment: dict[str, str]
    folder: str
    stdin: bytes
    within_s: float
    output_bytes: int
    # True: the sandbox reports the program's exit code, as bubblewrap does; without a report the program never started.
    # False: the sandbox reports only that it could not start the program.
    reports_exit: bool
    processes: int = 0  # how many processes may run at a time, if the kernel can limit them; 0: no limit
    memory_bytes: int = 0


@dataclass(slots=True)
class CommandOutput:
    """The first `limit` bytes of each stream that the command wrote. If a stream has more, `stop` is called once."""

    limit: int
    stop: Callable[[], None]
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    answers: bytearray = field(default_factory=bytearray)
    flooded: bool = False

    async def drain(self, stream: asyncio.StreamReader, into: bytearray) -> None:
        """Read a stream to its end, and keep its first `limit` bytes in `into`."""
        while piece := await stream.read(PIECE_BYTES):
            if len(into) + len(piece) > self.limit:
                if not self.flooded:
                    self.stop()
                self.flooded = True
            into += piece[: self.limit - len(into)]


@dataclass(frozen=True, slots=True)
class CommandExit:
    """How a confined command ended."""

    code: int | None  # None: the command was stopped, because its time ran out or it wrote too much
    output: CommandOutput
    seconds: float
    timed_out: bool
    started: bool  # whether the sandbox started the command; reported over a pipe that the command cannot reach


async def run_confined(launch: ConfinedCommand, *, channel: bool, inherited: tuple[int, ...] = ()) -> CommandExit:
    """Start the command, write its input, read its output and end it. None of its processes outlives this call,
    whatever happens to the caller.

    The command gets copies of the `inherited` file descriptors under the same numbers; this function closes the
    originals. Raises CannotJudge if the command cannot be started.
    """
    began = time.monotonic()
    async with contextlib.AsyncExitStack() as stack:
        answers, handles, variables = await _channel(stack) if channel else (None, (), {})
        reading, writing = os.pipe()
        stack.callback(os.close, reading)
        os.set_blocking(reading, False)
        # TRUED_STATUS is the pipe over which the sandbox reports; the command does not inherit it. The sandbox ends
        # when the process TRUED_PARENT ends.
        variables = {**variables, "TRUED_STATUS": str(writing), "TRUED_PARENT": str(os.getpid())}
        group = stack.enter_context(limited_group(launch.processes, launch.memory_bytes))
        variables["TRUED_GROUP"] = group
        handles = (*handles, writing, *inherited)
        try:
            process = await start_process(
                *launch.argv,
                end=_end,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={**launch.environment, **variables},
                cwd=launch.folder,
                pass_fds=handles,
                start_new_session=True,
            )
        except OSError as error:
            raise CannotJudge(f"cannot start {launch.argv[0]}: {error.strerror}") from error
        finally:
            for handle in handles:
                os.close(handle)  # the stream of answers ends only when no process has its writing end open
        output = CommandOutput(launch.output_bytes, lambda: _ask_to_end(process))
        try:
            timed_out = await _wait_for_end(process, launch, output, answers)
        finally:
            await _end(process)
        came_up = _has_started(launch, reading)
    code = None if timed_out or output.flooded else process.returncode
    return CommandExit(code, output, time.monotonic() - began, timed_out, came_up)


def _has_started(launch: ConfinedCommand, reading: int) -> bool:
    """Whether the sandbox reported that the command started. Call this after the command has ended: no more reports
    come then."""
    report = b""
    with contextlib.suppress(BlockingIOError):
        report = os.read(reading, PIECE_BYTES)
    return b'"exit-code"' in report if launch.reports_exit else b"failed" not in report


async def _wait_for_end(
    process: asyncio.subprocess.Process,
    launch: ConfinedCommand,
    output: CommandOutput,
    answers: asyncio.StreamReader | None,
) -> bool:
    """Wait until the command ends; return whether its time ran out."""
    assert process.stdout  # noqa: S101  (it is a pipe)
    assert process.stderr  # noqa: S101
    readers = [output.drain(process.stdout, output.stdout), output.drain(process.stderr, output.stderr)]
    if answers:
        readers.append(output.drain(answers, output.answers))
    work = asyncio.gather(_feed(process, launch.stdin), *readers, process.wait())
    try:
        done, _ = await asyncio.wait([work], timeout=launch.within_s)
        if not done:
            _ask_to_end(process)
            await asyncio.wait([work], timeout=GRACE_S)  # read to the end: the last output is still in the pipes
    finally:
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work
    return not done and not output.flooded


async def _feed(process: asyncio.subprocess.Process, stdin: bytes) -> None:
    assert process.stdin  # noqa: S101  (it is a pipe)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(stdin)
        await process.stdin.drain()
    process.stdin.close()


async def _channel(stack: contextlib.AsyncExitStack) -> tuple[asyncio.StreamReader, tuple[int, ...], dict[str, str]]:
    """A separate pipe for answers, so that printed output cannot be mistaken for an answer."""
    read, write = os.pipe()
    reader = asyncio.StreamReader(limit=PIECE_BYTES)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read, "rb"))
    stack.callback(transport.close)
    return reader, (write,), {"TRUED_CHANNEL": str(write)}


def _ask_to_end(process: asyncio.subprocess.Process) -> None:
    """Signal the keeper, which then ends all its descendants and itself."""
    with contextlib.suppress(ProcessLookupError):
        process.terminate()


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    _ask_to_end(process)
    try:
        async with asyncio.timeout(GRACE_S):
            await process.wait()
    except TimeoutError:
        await kill_process(process)
