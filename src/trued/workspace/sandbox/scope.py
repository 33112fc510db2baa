"""Starts bubblewrap so that processes inside reach no abstract socket and no process outside, and cannot read
bubblewrap's options.

The keeper runs this file on the host, before each bubblewrap, so it imports little: `scope.py SCOPES LIMITS BWRAP
OPTION… -- PROGRAM ARGUMENT…`. SCOPES is "scoped" or "open"; LIMITS is like "CORE=0,FSIZE=1024". Bubblewrap gets its
options in an anonymous file, because processes inside could read its command line in /proc/1/cmdline.
"""

import ctypes
import os
import resource
import struct
import sys

CREATE_RULESET, RESTRICT_SELF = 444, 446  # the same numbers on every architecture
SET_NO_NEW_PRIVS = 38
SCOPED_SINCE = 6  # the version of Landlock that introduced scopes
SCOPES = 3  # restricts abstract unix sockets and signals
FAILED = 126  # exit code when the program was not started because it could not be confined


def abi() -> int:
    """The kernel's Landlock version; 0 if it has none."""
    return max(int(ctypes.CDLL(None, use_errno=True).syscall(CREATE_RULESET, None, 0, 1)), 0)


def can_scope() -> bool:
    """Whether this kernel can bar a process from abstract sockets and processes outside its sandbox."""
    return abi() >= SCOPED_SINCE


def restrict() -> None:
    """Restrict this process and its children to their own abstract sockets and processes.

    Paths are not restricted, because bubblewrap could not mount anything under a rule about paths.
    """
    library = ctypes.CDLL(None, use_errno=True)
    attributes = struct.pack("=3Q", 0, 0, SCOPES)
    ruleset = library.syscall(CREATE_RULESET, attributes, len(attributes), 0)
    if ruleset < 0 or library.prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0) or library.syscall(RESTRICT_SELF, ruleset, 0):
        raise OSError(f"Landlock could not restrict its scope: {os.strerror(ctypes.get_errno())}")
    os.close(ruleset)


def set_limits(limits: str) -> None:
    """Set resource limits, at most as high as the hard limit."""
    for limit in filter(None, limits.split(",")):
        name, _, value = limit.partition("=")
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        bound = int(value) if hard == resource.RLIM_INFINITY else min(int(value), hard)
        resource.setrlimit(kind, (bound, bound))


def start_bubblewrap(scopes: str, limits: str, argv: list[str]) -> None:
    """Become bubblewrap. On a kernel without scopes nothing is scoped; `levels` detects and reports that."""
    status, channel = os.environ.pop("TRUED_STATUS", ""), os.environ.pop("TRUED_CHANNEL", "")
    end = argv.index("--")
    options = [*(["--json-status-fd", status] if status else []), *argv[1:end]]
    options += ["--setenv", "TRUED_CHANNEL", channel] if channel else []  # only for the program, not for bubblewrap
    try:
        if scopes == "scoped" and can_scope():
            restrict()
        handle = os.memfd_create("options", 0)
        os.write(handle, b"".join(os.fsencode(option) + b"\0" for option in options))
        os.lseek(handle, 0, os.SEEK_SET)
        set_limits(limits)
        os.execve(argv[0], ["bwrap", "--args", str(handle), *argv[end:]], os.environ)  # noqa: S606
    except OSError as error:
        os.write(2, f"trued: cannot confine {argv[end + 1]}: {error}\n".encode())
        os._exit(FAILED)


if __name__ == "__main__":
    start_bubblewrap(sys.argv[1], sys.argv[2], sys.argv[3:])
