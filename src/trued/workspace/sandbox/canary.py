"""Tries to get out of a sandbox and prints what succeeded. Runs in that sandbox, with the standard library only.

`python -I -S canary.py '{"inside": …, "outside": …, "secret": …, "port": …, "pidns": …}'` prints one JSON object; with
`{"sockets": {NAME: ADDRESS, …}}` it prints to which of these unix sockets it could connect (@NAME is an abstract one).
"""

import contextlib
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any


def can_write(folder: str) -> bool:
    """Whether a file can be written into the folder."""
    try:
        Path(folder, "canary").write_text("was here")
    except OSError:
        return False
    return True


def can_read(path: str) -> bool:
    """Whether the file can be read."""
    try:
        return bool(Path(path).read_bytes())
    except OSError:
        return False


def can_connect(port: int) -> bool:
    """Whether a TCP port of the host can be reached."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=2):
        return True
    return False


def can_reach_socket(address: str) -> bool:
    """Whether a unix socket can be reached; @NAME is an abstract one."""
    name = "\0" + address[1:] if address.startswith("@") else address
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as out:
        out.settimeout(2)
        out.connect(name)
        return True
    return False


def sees_host_processes(pidns: str) -> bool:
    """Whether this process is in the PID namespace of the host."""
    try:
        return str(Path("/proc/self/ns/pid").readlink()) == pidns
    except OSError:
        return False


def main(request: dict[str, Any]) -> dict[str, bool]:
    """Try everything in the request; return what succeeded."""
    if "sockets" in request:
        return {name: can_reach_socket(address) for name, address in request["sockets"].items()}
    return {
        "inside": can_write(request["inside"]),
        "outside": can_write(request["outside"]),
        "secret": can_read(request["secret"]),
        "listener": can_connect(int(request["port"])),
        "processes": sees_host_processes(request["pidns"]),
        "variables": "TRUED_CANARY" in os.environ,
    }


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
