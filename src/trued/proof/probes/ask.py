"""Runs inside the sandbox: starts a process that calls one function of the project, and passes on its answer.

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


def watch(child: int, pipe: int, began: float, within_s: float) -> tuple[bytes, int, bool, float]:
    """What the child wrote, its exit code, whether it exceeded its time limit, and how many seconds it took. Kills the
    child's whole process group at the end."""
    output, status = bytearray(), None
    while status is None and time.monotonic() - began <= within_s and len(output) <= MOST_SAID:
        ready, _, _ = select.select([pipe], [], [], 0.02)
        piece = os.read(pipe, 65536) if ready else b""
        output += piece
        if not piece:
            ended, code = os.waitpid(child, os.WNOHANG)
            status = code if ended else None
            if ready and status is None:
                time.sleep(0.002)  # the pipe is closed, but the process has not ended
    seconds = time.monotonic() - began  # real time, so that a call gains nothing by stopping this process
    while status is not None and len(output) <= MOST_SAID and select.select([pipe], [], [], 0)[0]:
        piece = os.read(pipe, 65536)
        if not piece:
            break
        output += piece
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    if status is None:
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    return bytes(output), os.waitstatus_to_exitcode(status), seconds > within_s, seconds


def begin(program: list[str]) -> tuple[int, list[int], int]:
    """Fork the process for the call, which executes the program at once. Returns the process id, three pipes to write
    its inputs to, and the pipe to read its answer from."""
    inputs = [os.pipe() for _ in range(3)]
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            shed()
            become(program, [inner for inner, _ in inputs], writing)
        finally:
            os._exit(70)
    for descriptor in (writing, *(inner for inner, _ in inputs)):
        os.close(descriptor)
    return child, [outer for _, outer in inputs], reading


def become(program: list[str], inputs: list[int], pipe: int) -> None:
    """In the child: execute the program. It reads its script from standard input, the case from file descriptor 3 and a
    library from 5, and answers on 4. Its output is discarded."""
    os.setsid()
    script, case, library = inputs
    silence = os.open(os.devnull, os.O_RDWR)
    high = [
        os.dup2(descriptor, 100 + place)
        for place, descriptor in enumerate((script, silence, silence, case, pipe, library))
    ]
    for place, descriptor in enumerate(high):
        os.dup2(descriptor, place)
    os.closerange(6, 128)
    os.execv(program[0], program)  # noqa: S606


def write(pipe: int, content: bytes) -> None:
    unwritten = memoryview(content)
    while unwritten:
        unwritten = unwritten[os.write(pipe, unwritten) :]


def main() -> None:
    channel = int(os.environ.pop("TRUED_CHANNEL"))
    os.set_inheritable(channel, False)
    order = json.loads(sys.stdin.buffer.read())
    record: dict[str, Any] = {"unable": "the interpreter has no working ctypes, so a call could forge its answer"}
    if hide():
        case = order["case"]
        if path := os.environ.pop("PYTHONPATH", ""):  # the child starts without it, and sets it before the call
            case["variables"] = {"PYTHONPATH": path}
        child, (script, asking, library), reading = begin(order["program"])
        for pipe, text in ((script, order["script"]), (library, order["library"]), (asking, json.dumps(case))):
            if pipe == asking and order["library"] and select.select([reading], [], [], START_S)[0]:
                os.read(reading, 1)  # wait until the library is loaded, or the process has ended
            with contextlib.suppress(BrokenPipeError):  # the process has already ended
                write(pipe, text.encode())
            began = time.monotonic()  # taken before the call begins, because the call could stop this process
            os.close(pipe)
        output, code, late, seconds = watch(child, reading, began, case["within_s"])
        large = len(output) > MOST_SAID
        text_of_output = "" if large else output.decode("utf-8", "replace")
        record = {"said": text_of_output, "exit": code, "late": late, "large": large, "seconds": seconds}
    write(channel, (order["nonce"] + " " + json.dumps(record) + "\n").encode())


if __name__ == "__main__":
    main()
