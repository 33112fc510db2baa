"""Runs inside the sandbox: starts a process that calls one function of the project, or a program, and reports how it
ended.

It uses only the standard library and does not import this package, because the interpreter is the project's. Only this
process can answer: it alone has the channel to the engine, and the nonce with which an answer must begin. The call's
process is a plain interpreter that reads a script from its standard input. It can neither read this process nor answer
in its place. Its command line and the files that it can see do not name the engine.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time

TYPE_CHECKING = False  # `typing` is not imported: that would take half as long as the start of the interpreter
if TYPE_CHECKING:
    from typing import Any

MOST_SAID = 132 << 20  # the most bytes that one call may write: the answer and the names of the loaded files
START_S = 30.0  # seconds in which the interpreter must start on a busy machine; a call's own limit does not include it
PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, CAPABILITIES_3 = 4, 38, 0x20080522
SPYING = 1 << 19 | 1 << 21  # CAP_SYS_PTRACE, CAP_SYS_ADMIN


def hide() -> bool:
    """Prevent other processes of this user from reading or tracing this one, or opening its files. Returns whether that
    worked."""
    try:
        import ctypes
    except ImportError:
        return False
    return bool(ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)


def shed() -> None:
    """In the child: undo `hide`, which is for the parent only, and drop the capabilities with which the child could
    read its hidden parent."""
    import ctypes

    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)  # otherwise a program that root starts would get the capabilities back
    header, sets = (ctypes.c_uint32 * 2)(CAPABILITIES_3, 0), (ctypes.c_uint32 * 6)()
    if libc.capget(header, sets) == 0:
        for place in range(3):
            sets[place] &= ~SPYING
        libc.capset(header, sets)


class Watch:
    """Reads what a child writes until it has ended, or its time is up. A child has ended when its process has, and when
    no process that it started keeps its standard output open: a pipe of a shell waits for both."""

    def __init__(self, child: int, printed: int, answers: int | None, began: float, within_s: float) -> None:
        self.child, self.printed, self.answers = child, printed, answers
        self.began, self.deadline, self.within_s = began, began + within_s, within_s
        self.output = bytearray()  # what came over the pipe of answers
        self.status: int | None = None  # how the process itself ended
        self.open_pipes = {printed} if answers is None else {printed, answers}
        self.seconds = 0.0

    def run(self, grace_s: float | None) -> None:
        """Wait for the end; kill the child's whole process group then. `grace_s`: wait at most this long after an
        answer; None: until the time is up."""
        while not self.has_ended() and time.monotonic() <= self.deadline and len(self.output) <= MOST_SAID:
            self.read(0.02 if self.open_pipes else 0.002)
            if grace_s is not None and self.output.endswith(b"\n"):
                self.deadline, grace_s = min(self.deadline, time.monotonic() + grace_s), None
            if self.status is None:
                ended, code = os.waitpid(self.child, os.WNOHANG)
                self.status = code if ended else None
        self.seconds = time.monotonic() - self.began  # real time, so that a call gains nothing by stopping this process
        while self.answers in self.open_pipes and self.status is not None and self.read(0):
            pass  # the last of the answer, which another process could keep from its end
        with contextlib.suppress(OSError):
            os.killpg(self.child, signal.SIGKILL)
        if self.status is None:
            with contextlib.suppress(OSError):
                os.kill(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)

    def has_ended(self) -> bool:
        return self.status is not None and self.printed not in self.open_pipes

    def read(self, within_s: float) -> bool:
        """Read once from each pipe that is ready. Returns whether anything came."""
        came = False
        for pipe in select.select([*self.open_pipes], [], [], within_s)[0]:
            piece = os.read(pipe, 65536)
            if not piece:
                self.open_pipes.discard(pipe)
            elif pipe == self.answers:
                self.output += piece
            elif self.answers is None:
                write(1, piece)
            came = came or bool(piece)
        return came and len(self.output) <= MOST_SAID

    def record(self) -> dict[str, Any]:
        code = None
        if self.status is not None:  # negative: the number of the signal that ended it
            code = -os.WTERMSIG(self.status) if os.WIFSIGNALED(self.status) else os.WEXITSTATUS(self.status)
        return {"exit": code, "late": not self.has_ended() or self.seconds > self.within_s, "seconds": self.seconds}


def begin(program: list[str]) -> tuple[int, list[int], int, int]:
    """Fork the process for the call, which executes the program at once. Returns the process id, three pipes to write
    its inputs to, the pipe to read its answer from, and the pipe with what it prints."""
    inputs = [os.pipe() for _ in range(3)]
    reading, writing = os.pipe()
    printed, printing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            shed()
            become(program, [inner for inner, _ in inputs], writing, printing)
        finally:
            os._exit(70)
    for descriptor in (writing, printing, *(inner for inner, _ in inputs)):
        os.close(descriptor)
    return child, [outer for _, outer in inputs], reading, printed


def become(program: list[str], inputs: list[int], pipe: int, printing: int) -> None:
    """In the child: execute the program. It reads its script from standard input, the case from file descriptor 3 and a
    library from 5, and answers on 4. What it prints is discarded."""
    os.setsid()
    script, case, library = inputs
    silence = os.open(os.devnull, os.O_RDWR)
    high = [
        os.dup2(descriptor, 100 + place)
        for place, descriptor in enumerate((script, printing, silence, case, pipe, library))
    ]
    for place, descriptor in enumerate(high):
        os.dup2(descriptor, place)
    os.closerange(6, 128)
    os.execv(program[0], program)  # noqa: S606


def begin_program(argv: list[str]) -> tuple[int, int]:
    """Fork a process that executes a program with this process's standard input and error. Returns its id, and the pipe
    with its standard output."""
    printed, printing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            shed()
            os.dup2(printing, 1)
            os.closerange(3, 128)
            for number in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)  # ignored by Python
            argv = ["sh", "-c", 'exec "$@"', "sh", *argv]  # a shell also starts scripts without a #!
            os.execv("/bin/sh", argv)  # noqa: S606
        finally:
            os._exit(70)
    os.close(printing)
    return child, printed


def write(pipe: int, content: bytes) -> None:
    unwritten = memoryview(content)
    while unwritten:
        unwritten = unwritten[os.write(pipe, unwritten) :]


def call(order: dict[str, Any]) -> dict[str, Any]:
    """Let a process call one function. Returns what it answered and how it ended."""
    case = order["case"]
    if path := os.environ.pop("PYTHONPATH", ""):  # the child starts without it, and sets it before the call
        case["variables"] = {"PYTHONPATH": path}
    child, (script, asking, library), reading, printed = begin(order["program"])
    for pipe, text in ((script, order["script"]), (library, order["library"]), (asking, json.dumps(case))):
        if pipe == asking and order["library"] and select.select([reading], [], [], START_S)[0]:
            os.read(reading, 1)  # wait until the library is loaded, or the process has ended
        with contextlib.suppress(BrokenPipeError):  # the process has already ended
            write(pipe, text.encode())
        began = time.monotonic()  # taken before the call begins, because the call could stop this process
        os.close(pipe)
    watch = Watch(child, printed, reading, began, case["within_s"])
    watch.run(order["grace_s"])
    large = len(watch.output) > MOST_SAID
    return {"said": "" if large else watch.output.decode("utf-8", "replace"), "large": large, **watch.record()}


def run(argv: list[str], order: dict[str, Any]) -> dict[str, Any]:
    """Run a program whose output goes where this process's goes. Returns how it ended."""
    began = time.monotonic()
    child, printed = begin_program(argv)
    watch = Watch(child, printed, None, began, order["within_s"])
    watch.run(None)
    return watch.record()


def main() -> None:
    """The words of the command line are the program to run; without any, the order names a function to call."""
    channel = int(os.environ.pop("TRUED_CHANNEL"))
    os.set_inheritable(channel, False)
    argv = sys.argv[1:]
    order = json.loads(read_line() if argv else read_all())
    record: dict[str, Any] = {"unable": "the interpreter has no working ctypes, so a call could forge its answer"}
    if hide():
        record = run(argv, order) if argv else call(order)
    write(channel, (order["nonce"] + " " + json.dumps(record) + "\n").encode())


def read_line() -> bytes:
    """One line of standard input, and nothing behind it, which belongs to the program."""
    return b"".join(iter(lambda: os.read(0, 1), b"\n"))


def read_all() -> bytes:
    return b"".join(iter(lambda: os.read(0, 1 << 20), b""))


if __name__ == "__main__":
    main()
