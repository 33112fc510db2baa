"""Starts one program confined, watches its limits, and ends it with everything that it started."""

import asyncio
import contextlib
import errno
import os
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from trued.agents.driver.program import Listener, LogLine, Program, ProgramExit, Stop
from trued.agents.supervisor.home_files import write_home_files
from trued.agents.supervisor.record import TAIL_BYTES, CallRecord
from trued.support import processes
from trued.support.lazy_regex import lazy_regex
from trued.support.path_sets import lies_inside, outermost_paths
from trued.support.redaction import Stream
from trued.wire import Order
from trued.workspace.sandbox.agent_tool_folders import toolchain_folders, visible_path
from trued.workspace.sandbox.confined_command import confine

LOOK_S = 0.5  # between two checks of limits and descendants
GRACE_S = 1.0  # between the request to end and the kill
SETTLE, SETTLE_S = 8, 0.005  # number and seconds of pauses, so that a sandbox's last processes can end by themselves
LAST_LINES = 12
BUSY = (errno.EAGAIN, errno.ENOMEM)
PIPE_READS = 64  # reads to empty a pipe: together more than it can hold
KNOWN_AGENTS = frozenset({"claude", "codex", "gemini", "opencode", "qwen"})  # agents may not start these
PACKAGES = {
    "@anthropic-ai/claude-code": "claude",
    "@openai/codex": "codex",
    "@google/gemini-cli": "gemini",
    "opencode-ai": "opencode",
    "@qwen-code/qwen-code": "qwen",
}
PACKAGE = lazy_regex(f"node_modules/({'|'.join(PACKAGES)})/(?!.*/node_modules/)")
WORDS = 8  # words at the start of a command line that are searched for the program that it runs
RUNNERS = lazy_regex(r"node(?:js)?|bun|deno|env|(?:ba|da|k|z)?sh|python[\d.]*|npx")


class Launcher:
    """The `ProgramLauncher` of the supervisor: every process that it starts is gone when the call returns or raises."""

    def __init__(self, folder: Path, marker: str, record: CallRecord, variables: Mapping[str, str]) -> None:
        self._folder, self._marker, self._record, self._variables = folder, marker, record, variables
        self._started = time.monotonic()  # the wall limit is for the whole call, retries included

    async def __call__(self, order: Order, program: Program, log: LogLine) -> ProgramExit:
        if program.adapt:
            known = program.adapt(self._variables)
            variables, readable = {**program.variables, **known.variables}, (*program.readable, *known.readable)
            program = replace(known, listener=program.listener, variables=variables, readable=readable)
        write_home_files(Path(order.home), program.files)
        argv, environment = self._confine(order, program)
        try:
            agent = await _start_agent(argv, environment, order.folder, program)
        except OSError as error:
            kind = "crashed" if error.errno in BUSY else "missing"
            return ProgramExit(None, kind=kind, why=f"{program.argv[0]} cannot be started: {error.strerror}")
        stream = Stream(self._record.redactor, log)
        agent.read(
            order.limits.output_bytes, lambda piece: None if self._record.full else stream.feed(piece), program.listener
        )
        try:
            kind, why = await self._watch(order, agent, program.listener)
        finally:
            reaped = self._end(agent)
            agent.drain()
        if agent.stop and not kind:
            kind, why = agent.stop.kind, agent.stop.why
        stream.close()
        self._record.tail("stdout", bytes(agent.out[-2 * TAIL_BYTES :]))
        stderr = self._record.tail("stderr", bytes(agent.err))
        return ProgramExit(
            None if kind else agent.code,
            bytes(agent.out),
            "\n".join(stderr.strip().splitlines()[-LAST_LINES:]),
            kind,
            why,
            reaped,
        )

    def _confine(self, order: Order, program: Program) -> tuple[list[str], dict[str, str]]:
        base, path = order.confinement, os.environ.get("PATH", os.defpath)
        tools = [
            folder
            for folder in toolchain_folders(path, os.environ.get("HOME", "/"))
            if not lies_inside(order.home, folder)
        ]
        readable = (*base.readable, *program.readable, *tools)
        # Only the outermost paths: a mounted folder shows all that is in it, and a link in it could not be mounted too.
        outermost = outermost_paths(readable)
        confinement = replace(base, writable=(*base.writable, order.folder, order.home), readable=outermost)
        path = visible_path(path, (*readable, order.folder)) if base.level != "none" else path
        path = ":".join([str(Path(program.argv[0]).parent), *filter(None, [path])])
        always = {"HOME": order.home, processes.MARKER: self._marker}
        if base.level != "bubblewrap":  # other levels share the /tmp of this machine
            always["TMPDIR"] = _scratch_folder(order.home)
        variables = {"PATH": path, **self._variables, **program.variables, **always}
        return confine(program.argv, confinement, folder=order.folder, variables=variables, limits=order.limits)

    async def _watch(self, order: Order, agent: "_AgentProcess", listener: Listener | None) -> tuple[str, str]:
        """Wait until the program ends or has to be ended. Return the kind and the reason; both are "" if it ended by
        itself."""
        limits, quiet_since, beats = order.limits, time.monotonic(), -1
        ended = asyncio.ensure_future(agent.wait())
        try:
            while True:
                await asyncio.wait({ended}, timeout=min(LOOK_S, limits.idle_s / 4, limits.wall_s / 4))
                if agent.flooded:
                    return "output", f"it printed more than {limits.output_bytes} bytes on stdout and was ended"
                if stop := agent.stop or (listener and listener.stop):
                    return stop.kind, stop.why
                if ended.done():
                    return "", ""
                now = time.monotonic()
                if agent.beats + self._record.beats != beats or (listener and listener.busy):
                    quiet_since, beats = now, agent.beats + self._record.beats
                if now - quiet_since > limits.idle_s:
                    return "idle", f"it gave no sign of life for {limits.idle_s:g} s and was ended"
                if now - self._started > limits.wall_s:
                    return "wall", f"it was not done after {limits.wall_s:g} s and was ended"
                self._check_descendants(order, agent)
        finally:
            ended.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await ended

    def _check_descendants(self, order: Order, agent: "_AgentProcess") -> None:
        """Kill other agents that the agent has started. Record the agent's processes whose environment lacks the marker
        of this call: if we died, nobody could find these processes without the record."""
        processes.reap_zombies(spare=agent.pid)
        strays = []
        for pid in processes.likely_descendants(os.getpid()):
            if name := _started_agent(pid, order.agent):
                self._record.add_event("tried to start an agent", program=name)
                known = processes.identity(pid)
                processes.send(pid, signal.SIGKILL, still=lambda pid=pid, known=known: processes.identity(pid) == known)  # type: ignore[misc]
            elif pid != agent.pid and not processes.carries(pid, self._marker):
                strays.append(processes.identity(pid))
        if strays:
            with contextlib.suppress(OSError):
                (self._folder / "strays").write_text("\n".join(strays))

    def _end(self, agent: "_AgentProcess") -> int:
        """End the process tree. Returns how many processes outlived the program and were ended here; processes that
        ended with the sandbox do not count."""
        if agent.code is None:
            agent.end(GRACE_S)
        for _ in range(SETTLE):
            if not processes.descendants(os.getpid()):
                break
            time.sleep(SETTLE_S)  # blocking, so that nothing interrupts it, not even a second request to stop
        return processes.reap(self._marker, below=os.getpid())


async def _start_agent(argv: list[str], environment: dict[str, str], folder: str, program: Program) -> "_AgentProcess":
    """Start the process; if the machine is out of processes or memory, try again a few times."""
    for pause in (0.1, 0.4, 1.0, 2.0):
        try:
            return _AgentProcess(argv, environment, folder, program)
        except OSError as error:
            if error.errno not in BUSY:
                raise
        await asyncio.sleep(pause)
    return _AgentProcess(argv, environment, folder, program)


class _AgentProcess:
    """The program's process and its two streams, read without blocking and within bounds."""

    def __init__(self, argv: list[str], environment: dict[str, str], folder: str, program: Program) -> None:
        self.out, self.err = bytearray(), bytearray()
        self.beats, self.flooded = 0, False
        self.stop: Stop | None = None
        self._streams: dict[int, Callable[[bytes], None]] = {}
        handle = os.memfd_create("order")
        # Events come over a socket and not a pipe: the agent's tools could open a pipe through /proc and forge events.
        ours, theirs = _pair() if program.listener else (None, None)
        try:
            with os.fdopen(os.dup(handle), "wb") as file:
                file.write(program.stdin)
            os.lseek(handle, 0, os.SEEK_SET)
            # Not in another thread: some sandboxes end with the thread that started them.
            self._process = subprocess.Popen(
                argv,
                stdin=handle,
                stdout=theirs.fileno() if theirs else subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                cwd=folder,
                start_new_session=True,
            )
        finally:
            os.close(handle)
            if theirs is not None:
                theirs.close()
        self._pipes = (ours or self._process.stdout, self._process.stderr)
        self.pid = self._process.pid

    @property
    def code(self) -> int | None:
        """The program's exit code; None while it runs."""
        return self._process.poll()

    def read(self, output_bytes: int, err: Callable[[bytes], None], listener: Listener | None = None) -> None:
        """Start reading both streams; lines of stdout go to the listener."""
        loop = asyncio.get_running_loop()

        def take_out(piece: bytes) -> None:
            if len(self.out) + len(piece) > output_bytes:
                self.flooded = True
                self._kill()  # at once: until the next check of the limits, more output could fill the memory
            else:
                self.out.extend(piece)
            if listener is not None and b"\n" in piece:
                self._pass_lines(listener)

        def take_err(piece: bytes) -> None:
            self.err.extend(piece)
            del self.err[: -2 * TAIL_BYTES]
            err(piece)

        for stream, take in zip(self._pipes, (take_out, take_err), strict=True):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                self._streams[stream.fileno()] = take
                loop.add_reader(stream.fileno(), self._ready, stream.fileno())

    def _pass_lines(self, listener: Listener) -> None:
        """Pass complete lines to the listener, then drop them, so that the output limit applies to each line and not to
        their sum. If the listener wants the program to stop, ask it to end."""
        *lines, rest = self.out.split(b"\n")
        self.out[:] = rest
        for line in lines:
            self.stop = self.stop or listener.handle_line(line.decode("utf-8", "replace").rstrip("\r"))
        if self.stop:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()

    def _ready(self, handle: int) -> bool:
        """Read available output; return False if there is none now, or at the end of the stream."""
        try:
            piece = os.read(handle, 1 << 18)
        except BlockingIOError:
            return False
        self.beats += 1
        if piece:
            self._streams[handle](piece)
        else:
            asyncio.get_running_loop().remove_reader(handle)
        return bool(piece)

    async def wait(self) -> None:
        await processes.wait_for_exit(self.pid)
        self._process.wait()

    def drain(self) -> None:
        """Read the rest of the pipes and close them. All processes have ended, so nothing more is written."""
        for stream in self._pipes:
            if stream is not None:
                for _ in range(PIPE_READS):
                    if not self._ready(stream.fileno()):
                        break
                asyncio.get_running_loop().remove_reader(stream.fileno())
                stream.close()

    def end(self, grace_s: float) -> None:
        """Ask the process to end; if it still runs after the grace period, kill its process group."""
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        try:
            self._process.wait(grace_s)
        except subprocess.TimeoutExpired:
            self._kill()
            self._process.wait()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)


def _pair() -> Iterator[socket.SocketIO]:
    for side in socket.socketpair():
        with side:
            yield side.makefile("rwb", 0)


def _started_agent(pid: int, agent: str) -> str:
    """The name of the agent that this process runs, if that agent may not run in this call; otherwise "". Only the
    ordered agent may run. Its own program may start it again directly, but not through a shell or a tool."""
    name = _agent_name(pid)
    if not name or name not in _ordered_programs(agent):
        return name
    parent = processes.parent(pid)
    if _agent_name(parent):  # the agent restarted itself, or its wrapper started it, without a shell or tool in between
        return ""
    while parent > 1 and parent != os.getpid():
        if _agent_name(parent):
            return name
        parent = processes.parent(parent)
    return ""


def _agent_name(pid: int) -> str:
    program, *arguments = [*processes.command_line(pid)[:WORDS], ""]
    if RUNNERS.fullmatch(Path(program).name):
        program = next((word for word in arguments if not word.startswith("-") or word == "-c"), "")
        if package := PACKAGE.search(program):
            return PACKAGES[package[1]]
    name = Path(program).name.removesuffix(".js").removesuffix(".exe")
    return name if name in KNOWN_AGENTS else ""


def _ordered_programs(agent: str) -> set[str]:
    """The words of an agent's name that can be its program: `acp` and `goose` for `acp:goose acp`."""
    kind, _, rest = agent.partition(":")
    with contextlib.suppress(ValueError):
        return {kind, *(Path(word).name for part in shlex.split(rest) for word in part.split())}
    return {kind}


def _scratch_folder(home: str) -> str:
    temporary = Path(home) / ".tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    return str(temporary)
