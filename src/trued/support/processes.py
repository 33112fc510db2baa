"""Find and end the processes of one agent call.

Every process of a call carries a marker in its environment. A process that dropped its environment is still below the
call's supervisor, which adopts orphans while it lives.
"""

import contextlib
import os
import signal
import time
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

MARKER = "TRUED_CALL"
AGENT_VARIABLES = (
    MARKER,
    "CLAUDECODE",
    "AI_AGENT",
    "CODEX_SANDBOX",
    "GEMINI_CLI",
    "OPENCODE",
    "QWEN_CODE",
    "CURSOR_AGENT",
)
KILL_TIMEOUT_S = 10.0  # a process that survives SIGKILL this long hangs in the kernel
_PROC = Path("/proc")
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


def inside_agent() -> str:
    """The agent call that started this process, directly or not; "" if none did."""
    return os.environ.get(MARKER, "")


def agent_around() -> str:
    """The name of an environment variable which shows that an agent started this process; "" if there is none. The
    variable is set in this process or in a process above it."""
    pid, carried = os.getpid(), set(os.environ)
    while pid > 1:
        if variables := [name for name in AGENT_VARIABLES if name in carried]:
            return variables[0]
        stat = _stat(pid)
        pid = stat[1] if stat else 0
        carried = {entry.partition(b"=")[0].decode("ascii", "replace") for entry in _environment(pid)}
    return ""


def marker(folder: Path) -> str:
    """The marker of the call in `runs/RUN/spool/CALL`. A call of the same name in another state folder has a different
    marker."""
    folder = folder.resolve()
    return f"{folder.parent.parent.name}/{folder.name}@{zlib.crc32(os.fsencode(folder)):08x}"


def carriers(mark: str) -> set[int]:
    """The ids of living processes that have exactly this marker in their environment."""
    wanted = f"{MARKER}={mark}".encode()
    return {pid for pid in _all() if wanted in _environment(pid)}


def descendants(root: int) -> set[int]:
    """Living processes below `root`, without `root`."""
    children: dict[int, list[int]] = {}
    for pid in _all():
        if stat := _stat(pid):
            children.setdefault(stat[1], []).append(pid)
    below_root: set[int] = set()
    front = [root]
    while front:
        below = [pid for pid in children.get(front.pop(), []) if pid not in below_root]
        below_root.update(below)
        front += below
    return {pid for pid in below_root if is_alive(pid)}


def likely_descendants(root: int) -> set[int]:
    """Descendants of `root`, found quickly; a process that is just starting or ending can be missing."""
    below_root: set[int] = set()
    front = [root]
    while front:
        below = _children(front.pop()) - below_root
        below_root |= below
        front += below
    return below_root


def identity(pid: int) -> str:
    """The pid with the process's start time, so that a reused pid differs; "" if the process has ended."""
    stat = _stat(pid)
    return f"{pid}:{stat[2]}" if stat and stat[0] != "Z" else ""


def parent(pid: int) -> int:
    """The parent of a process; 0 if the process no longer exists."""
    stat = _stat(pid)
    return stat[1] if stat else 0


def pid_of(identity: str) -> int:
    return int(identity.partition(":")[0])


def reap(mark: str, *, below: int = 0, known: Iterable[str] = ()) -> int:
    """Kill every process of a call, except this process, and return how many were killed. Processes of the call are
    those with its marker, the descendants of `below`, and those whose identity is in `known`."""
    identities, ended, deadline = tuple(known), set[str](), time.monotonic() + KILL_TIMEOUT_S

    def matching_pids() -> set[int]:
        pids = carriers(mark) | (descendants(below) if below else set())
        pids |= {pid_of(process) for process in identities if identity(pid_of(process)) == process}
        return pids - {os.getpid()}

    while (remaining := matching_pids()) and time.monotonic() < deadline:
        for pid in remaining:
            if name := identity(pid):
                ended.add(name)
                send(pid, signal.SIGKILL, still=lambda pid=pid, name=name: identity(pid) == name)  # type: ignore[misc]
        if below == os.getpid():
            reap_zombies()
        time.sleep(0.003)
    return len(ended)


def send(pid: int, signal_number: int, *, still: Callable[[], bool]) -> bool:
    """Send a signal to a process. Returns whether it was sent.

    `still`: whether the pid still belongs to the intended process. This function is called only when the pidfd is open,
    so that the signal never hits a process that reuses the pid.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            return False
        except OSError:  # no pidfd on this kernel, or none left: plain kill is better than nothing
            if still():
                os.kill(pid, signal_number)
                return True
            return False
        try:
            if still():
                signal.pidfd_send_signal(handle, signal_number)
                return True
        finally:
            os.close(handle)
    return False


async def wait_for_exit(pid: int) -> None:
    """Wait until the process has ended; it need not be a child."""
    import asyncio  # imported here: most commands never wait

    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    except OSError:  # no pidfd on this kernel, or none left
        known = identity(pid)
        while known and identity(pid) == known:  # noqa: ASYNC110 (there is no event to wait for)
            await asyncio.sleep(0.05)
        return
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(handle, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)


def adopt_orphans() -> bool:
    """Become the parent of orphaned descendants (PR_SET_CHILD_SUBREAPER). Returns whether it worked."""
    import ctypes  # imported here: most commands adopt no process

    return bool(ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0) == 0)


def reap_zombies(*, spare: int = 0) -> None:
    """Reap exited children, except the pid `spare`, which other code is waiting for."""
    for pid in _children(os.getpid()):
        stat = _stat(pid)
        if pid != spare and stat and stat[0] == "Z":
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def command_line(pid: int) -> list[str]:
    try:
        return (_PROC / str(pid) / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        return []


def carries(pid: int, mark: str) -> bool:
    return f"{MARKER}={mark}".encode() in _environment(pid)


def _all() -> list[int]:
    return [int(name) for name in os.listdir(_PROC) if name.isdigit()]  # noqa: PTH208 (three times as quick)


def _children(pid: int) -> set[int]:
    children: set[int] = set()
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:  # noqa: PTH123
                children |= {int(child) for child in file.read().split()}
    return children


def _environment(pid: int) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123 (hundreds of them at each call's end)
            return file.read().split(b"\0")
    except OSError:
        return []


def _stat(pid: int) -> tuple[str, int, str] | None:
    """State, parent and start time of a process; None if the process no longer exists."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return (fields[0].decode(), int(fields[1]), fields[19].decode()) if len(fields) > 19 else None


def is_alive(pid: int) -> bool:
    """Whether the process exists and has not ended. A zombie has ended."""
    stat = _stat(pid)
    return stat is not None and stat[0] not in "ZX"
