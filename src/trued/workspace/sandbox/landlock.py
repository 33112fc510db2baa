"""Starts one program confined by Landlock and ends its descendants with it: a sandbox without namespaces.

It runs as a file, with the standard library only: `python -I -S landlock.py POLICY -- PROGRAM ARGUMENT…`. The policy is
JSON with readable, writable, devices (paths), network, ports, scoped, folder, limits (name → value) and restrict.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import stat
import struct
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
SET_PDEATHSIG, CAPBSET_DROP, SET_SECUREBITS, SET_CHILD_SUBREAPER, SET_NO_NEW_PRIVS = 1, 24, 28, 36, 38
CAPABILITY_VERSION = 0x20080522
CAPABILITIES = 64  # more than any kernel has
NO_ROOT = 0b1111  # uid 0 gets no capability by exec, and that is locked
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
FIRST_RIGHTS = (1 << 13) - 1  # all that the first version knows
MAKE_DEVICES = 1 << 6 | 1 << 11  # a device node in a clone could reach the whole disk
FAILED = 126  # exit code when the program was not started because it could not be confined
READ = EXECUTE | READ_FILE | READ_DIR
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV  # the kernel refuses others for a file
TCP = 3  # bind and connect
NET_PORT = 2  # a rule about a port; about paths it is 1
SCOPES = 3  # abstract unix sockets and signals
ENDINGS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
ENDING_S = 10.0  # for descendants that fork faster than they are killed


def libc() -> ctypes.CDLL:
    """The C library, with errno."""
    return ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """The kernel's Landlock version; 0 where there is none."""
    found = libc().syscall(CREATE_RULESET, None, 0, 1)
    return max(int(found), 0)


def rights(version: int) -> int:
    """All file rights that this version can withhold."""
    known = FIRST_RIGHTS
    for since, right in ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEV)):
        known |= right if version >= since else 0
    return known


def restrict(policy: dict[str, Any]) -> None:
    """From here on this process and its children see only what the policy names. Raises OSError if that fails."""
    version = abi()
    if version < 1:
        raise OSError("the kernel has no Landlock, or it is not enabled")
    call, handled = libc().syscall, rights(version)
    net = TCP if policy["network"] == "none" and version >= 4 else 0
    fields = [handled, net, SCOPES if policy["scoped"] else 0][: 1 if version < 4 else 2 if version < 6 else 3]
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    ruleset = _checked(call(CREATE_RULESET, attributes, len(attributes), 0), "create a ruleset")
    for paths, access in (
        ("readable", READ),
        ("writable", handled & ~MAKE_DEVICES),
        ("devices", READ_FILE | WRITE_FILE | IOCTL_DEV),
    ):
        for path in policy[paths]:
            _allow(ruleset, path, access & handled)
    for port in policy["ports"] if net else ():
        rule = struct.pack("=QQ", TCP, port)
        _checked(call(ADD_RULE, ruleset, NET_PORT, rule, 0), f"allow port {port}")
    give_up_capabilities()
    _checked(libc().prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0), "give up new privileges")
    _checked(call(RESTRICT_SELF, ruleset, 0), "restrict itself")
    os.close(ruleset)


def give_up_capabilities() -> None:
    """Landlock confines paths only; without this, root could still set the clock, load modules or make devices."""
    if os.geteuid() != 0:
        return
    library = libc()
    for one in range(CAPABILITIES):
        library.prctl(CAPBSET_DROP, one, 0, 0, 0)  # fails for those that this kernel does not know
    _checked(library.prctl(SET_SECUREBITS, NO_ROOT, 0, 0, 0), "give up root's rights")
    header, none = struct.pack("=Ii", CAPABILITY_VERSION, 0), bytes(24)
    _checked(library.capset(header, none), "give up its capabilities")


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # a missing path needs no rule
    try:
        if not stat.S_ISDIR(os.fstat(handle).st_mode):
            access &= FILE_RIGHTS
        rule = struct.pack("=Qi", access, handle)
        _checked(libc().syscall(ADD_RULE, ruleset, 1, rule, 0), f"allow {path}")
    finally:
        os.close(handle)


def _checked(result: int, what: str) -> int:
    if result < 0:
        raise OSError(f"Landlock could not {what}: {os.strerror(ctypes.get_errno())}")
    return result


def set_limits(limits: dict[str, int]) -> None:
    """Set resource limits, at most as high as the hard limit."""
    for name, value in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


# -- the keeper: without a PID namespace a parent process has to own the descendants ----------------------------------


class EndRequested(Exception):
    """A signal asked the keeper to end its program."""


def run_with_keeper(policy: dict[str, Any], argv: list[str]) -> int:
    """Run the program as a child; when it exits, or on a termination signal, kill its descendants. Returns its code."""
    libc().prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc().prctl(SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    for one in ENDINGS:
        signal.signal(one, _on_end_signal)
    code = 128 + signal.SIGTERM
    with contextlib.suppress(EndRequested):
        child = os.fork()
        if child == 0:
            _exec_confined(policy, argv)
        code = _wait_for(child)
        _ignore_end_signals()
    end_descendants()
    return code


def _on_end_signal(_number: int, _frame: object) -> None:
    _ignore_end_signals()  # a second signal must not interrupt the ending
    raise EndRequested


def _ignore_end_signals() -> None:
    for one in ENDINGS:
        signal.signal(one, signal.SIG_IGN)


def _exec_confined(policy: dict[str, Any], argv: list[str]) -> None:
    status = int(os.environ.pop("TRUED_STATUS", "-1"))
    try:
        if status >= 0:
            os.set_inheritable(status, False)  # the program must not report in the name of its sandbox
        for one in ENDINGS:
            signal.signal(one, signal.SIG_DFL)
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and the program would inherit that
            signal.signal(ignored, signal.SIG_DFL)
        os.setsid()
        libc().prctl(SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        os.chdir(policy["folder"])
        set_limits(policy["limits"])
        if policy["restrict"]:
            restrict(policy)
    except OSError as error:
        os.write(2, f"trued: cannot confine {argv[0]}: {error}\n".encode())
        if status >= 0:
            os.write(status, b"failed\n")
        os._exit(FAILED)
    try:
        os.execvpe(argv[0], argv, os.environ)  # noqa: S606
    except OSError as error:
        os.write(2, f"trued: cannot start {argv[0]}: {error}\n".encode())
    finally:
        os._exit(127)


def _wait_for(child: int) -> int:
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def end_descendants() -> int:
    """Kill all processes below this one; orphans become our children. Return how many ended."""
    ended, until = 0, time.monotonic() + ENDING_S
    while time.monotonic() < until:
        below = descendants(os.getpid())
        for number in (signal.SIGSTOP, signal.SIGKILL):  # stopped first, so that they cannot fork
            for one in below:
                with contextlib.suppress(OSError):
                    os.kill(one, number)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                ended += 1
        except ChildProcessError:
            return ended
        time.sleep(0.002)
    return ended


def descendants(root: int) -> list[int]:
    """Every process below `root`, by the parents that /proc names."""
    parents = dict(_parents())
    below: list[int] = []
    for one in parents:
        above, seen = parents[one], 0
        while above not in (root, 0, 1) and above in parents and seen < 4096:
            above, seen = parents[above], seen + 1
        if above == root:
            below.append(one)
    return below


def _parents() -> Iterable[tuple[int, int]]:
    for entry in os.listdir("/proc"):  # noqa: PTH208
        if entry.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                text = Path("/proc", entry, "stat").read_bytes()
                yield int(entry), int(text.rpartition(b")")[2].split()[1])


if __name__ == "__main__":
    sys.exit(run_with_keeper(json.loads(sys.argv[1]), sys.argv[3:]))
