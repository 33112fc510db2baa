"""The keeper ends all processes of one sandbox as soon as the program ends, a signal asks for the end, or the process
that started the keeper dies.

Every sandbox starts with this file, so it imports little: `python -I -S keeper.py SCRIPT ARGUMENT…`. SCRIPT
(`scope.py` or `landlock.py`) is run in a child process and becomes the program. TRUED_PARENT is the process id of the
keeper's parent: when the parent dies, everything ends. TRUED_GROUP is the control group of all processes. Bubblewrap
alone is not enough: if its parent dies while a sandbox starts, the sandbox waits for ever or continues to run.
"""

import _signal as signal  # type: ignore[import-not-found]  # importing `signal` takes as long as all else here
import ctypes
import os
import sys
import time

SET_PDEATHSIG, SET_CHILD_SUBREAPER = 1, 36
KEYCTL = {"x86_64": 250, "aarch64": 219, "riscv64": 219, "ppc64le": 271, "s390x": 280}  # the system call, by machine
JOIN_SESSION_KEYRING = 1
FAILED = 126  # exit code when the program was not started
ENDINGS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)  # reset in the child; otherwise the program would also ignore them
DYING_S = 0.02
ENDING_S = 10.0  # seconds for killing all descendants; some fork faster than they are killed


class EndRequested(Exception):
    """A signal asked the keeper to end its program."""


def main(script: str, arguments: list[str]) -> int:
    """Run the script as a child. When the child exits, or on a termination signal, kill all descendants. Returns the
    child's exit code; 143 after a termination signal."""
    for ending in ENDINGS:
        signal.signal(ending, _on_end_signal)
    code: int = 128 + signal.SIGTERM
    try:
        ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        _die_with(int(os.environ.pop("TRUED_PARENT", "0")), signal.SIGTERM)
        keeper = os.getpid()
        _enter(os.environ.pop("TRUED_GROUP", ""))
        child = os.fork()
        if child == 0:
            _become(script, arguments, keeper)
        code = _wait_for(child)
        _ignore_end_signals()
        _wait_for_dying()
    except EndRequested:
        pass
    end_descendants()
    return code


def _die_with(parent: int, number: int) -> None:
    """Make the kernel send this process a signal when its parent dies. If the parent is already dead, exit at once."""
    ctypes.CDLL(None).prctl(SET_PDEATHSIG, int(number), 0, 0, 0)
    if parent and os.getppid() != parent:
        os._exit(FAILED)


def _enter(group: str) -> None:
    """Join the control group, so that all processes started by this one are also in it. Exit if that fails."""
    if not group:
        return
    try:
        with open(f"{group}/cgroup.procs", "w") as file:  # noqa: PTH123
            file.write(str(os.getpid()))
    except OSError as error:
        os.write(2, f"trued: cannot enter {group}: {error.strerror}\n".encode())
        os._exit(FAILED)


def _on_end_signal(_number: int, _frame: object) -> None:
    _ignore_end_signals()  # a second signal must not interrupt the cleanup
    raise EndRequested


def _ignore_end_signals() -> None:
    for ending in ENDINGS:
        signal.signal(ending, signal.SIG_IGN)


def _become(script: str, arguments: list[str], keeper: int) -> None:
    """Run the script in this child process. This function never returns."""
    try:
        for ignored in (*ENDINGS, *IGNORED_BY_PYTHON):
            signal.signal(ignored, signal.SIG_DFL)
        os.setsid()
        _join_new_keyring()
        _die_with(keeper, signal.SIGKILL)
        sys.argv = [script, *arguments]
        with open(script, "rb") as file:  # noqa: PTH123
            code = compile(file.read(), script, "exec")
        exec(code, {"__name__": "__main__", "__file__": script})  # noqa: S102  (a script of our own, beside this one)
    finally:
        os._exit(FAILED)


def _join_new_keyring() -> None:
    """Give this process a new session keyring. In the keyring of the user's login, code under test could find the
    user's keys. It could also leave data there for the next agent, because that keyring outlives the sandbox."""
    if number := KEYCTL.get(os.uname().machine):
        ctypes.CDLL(None).syscall(number, JOIN_SESSION_KEYRING, None)  # fails only if the kernel has no keyrings


def _wait_for(child: int) -> int:
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _wait_for_dying() -> None:
    """Wait a moment for processes that the kernel ends together with the program. That is faster than to search for
    them and kill them."""
    until = time.monotonic() + DYING_S
    while _has_children() and time.monotonic() < until:
        time.sleep(0.001)


def end_descendants() -> None:
    """Kill all processes below this one. Orphans are among them, because they become children of this process."""
    until = time.monotonic() + ENDING_S
    while _has_children() and time.monotonic() < until:
        below = descendants(os.getpid())
        for number in (signal.SIGSTOP, signal.SIGKILL):  # stopped first, so that they cannot fork
            for process in below:
                try:  # noqa: SIM105  (importing contextlib takes as long as all other imports)
                    os.kill(process, number)
                except OSError:
                    pass
        time.sleep(0.002)


def _has_children() -> bool:
    """Whether any child is left, after reaping those that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def descendants(root: int) -> list[int]:
    """All descendants of `root`, according to /proc."""
    parents = {process: _parent(process) for process in os.listdir("/proc") if process.isdigit()}  # noqa: PTH208
    below: list[int] = []
    for process, above in parents.items():
        seen = 0
        while above not in (str(root), "", "0", "1") and above in parents and seen < 4096:
            above, seen = parents[above], seen + 1
        if above == str(root):
            below.append(int(process))
    return below


def _parent(process: str) -> str:
    """The parent of a process; "" if the process has ended."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:  # noqa: PTH123
            return file.read().rpartition(b")")[2].split()[1].decode()
    except (OSError, IndexError):
        return ""


if __name__ == "__main__":
    os._exit(main(sys.argv[1], sys.argv[2:]))  # skips the shutdown of the interpreter, which nothing needs
