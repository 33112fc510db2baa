"""Starts one program confined by Landlock: a sandbox without namespaces.

The keeper runs this file, with the standard library only: `landlock.py POLICY -- PROGRAM ARGUMENT…`. POLICY is a JSON
object: `readable`, `writable` and `devices` are paths; `folder` is where the program starts; `limits` is name → value;
`network` and `ports` are what the program may reach; `scoped` bars the program from abstract sockets and from processes
outside. If `restrict` is false (level none), only `folder` and `limits` are applied.
"""

import ctypes
import json
import os
import resource
import stat
import struct
import sys
from typing import Any

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
CAPBSET_DROP, SET_SECUREBITS, SET_NO_NEW_PRIVS = 24, 28, 38
CAPABILITY_VERSION = 0x20080522
CAPABILITIES = 64  # more than any kernel has
NO_ROOT = 0b1111  # security bits: uid 0 gets no capability by exec, and no process can change that
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
FIRST_RIGHTS = (1 << 13) - 1  # all rights of Landlock's first version
MAKE_DEVICES = 1 << 6 | 1 << 11  # never allowed, because a device node in a clone could reach the whole disk
FAILED = 126  # exit code when the program was not started because it could not be confined
READ = EXECUTE | READ_FILE | READ_DIR
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV  # the kernel refuses other rights for a file
TCP = 3  # the rights to bind and to connect
NET_PORT = 2  # the type of a rule about a port; 1 is the type of a rule about a path
SCOPES = 3  # restricts abstract unix sockets and signals


def libc() -> ctypes.CDLL:
    """The C library, with access to errno."""
    return ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """The kernel's Landlock version; 0 if it has none."""
    version = libc().syscall(CREATE_RULESET, None, 0, 1)
    return max(int(version), 0)


def rights(version: int) -> int:
    """All file rights that this Landlock version can restrict."""
    known = FIRST_RIGHTS
    for since, right in ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEV)):
        known |= right if version >= since else 0
    return known


def restrict(policy: dict[str, Any]) -> None:
    """Restrict this process and its children to what the policy lists. Raises OSError if that fails."""
    version = abi()
    if version < 1:
        raise OSError("the kernel has no Landlock, or it is not enabled")
    call, handled = libc().syscall, rights(version)
    # TCP is refused, except for the policy's ports: rules can name ports, but no addresses.
    net = TCP if policy["network"] != "host" and version >= 4 else 0
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
    """Drop all capabilities, because Landlock does not stop root from setting the clock, loading modules or making
    devices."""
    if os.geteuid() != 0:
        return
    library = libc()
    for capability in range(CAPABILITIES):
        library.prctl(CAPBSET_DROP, capability, 0, 0, 0)  # fails for numbers that this kernel does not know
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


# -- the program ------------------------------------------------------------------------------------------------------


def start_confined(policy: dict[str, Any], argv: list[str]) -> None:
    """Become the program. If it cannot be confined, report that and do not start it."""
    status = int(os.environ.pop("TRUED_STATUS", "-1"))
    try:
        if status >= 0:
            os.set_inheritable(status, False)  # so that the program cannot report in the sandbox's place
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


if __name__ == "__main__":
    start_confined(json.loads(sys.argv[1]), sys.argv[3:])
