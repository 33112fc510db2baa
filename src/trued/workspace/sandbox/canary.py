"""Tries to get out of a sandbox and says what it could do; run inside, as a file, with the standard library alone.

`python -I -S canary.py '{"inside": …, "outside": …, "secret": …, "port": …, "pidns": …}'` prints one JSON object; with
`{"sockets": {NAME: ADDRESS, …}}` which of these unix sockets it could connect to (@NAME is an abstract one).
"""

import contextlib
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any


def written(folder: str) -> bool:
    try:
        Path(folder, "canary").write_text("was here")
    except OSError:
        return False
    return True


def read(path: str) -> bool:
    try:
        return bool(Path(path).read_bytes())
    except OSError:
        return False


def connected(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=2):
        return True
    return False


def reached(address: str) -> bool:
    name = "\0" + address[1:] if address.startswith("@") else address
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as out:
        out.settimeout(2)
        out.connect(name)
        return True
    return False


def sees_host_processes(pidns: str) -> bool:
    try:
        return str(Path("/proc/self/ns/pid").readlink()) == pidns
    except OSError:
        return False


def main(asked: dict[str, Any]) -> dict[str, bool]:
    if "sockets" in asked:
        return {name: reached(address) for name, address in asked["sockets"].items()}
    return {
        "inside": written(asked["inside"]),
        "outside": written(asked["outside"]),
        "secret": read(asked["secret"]),
        "listener": connected(int(asked["port"])),
        "processes": sees_host_processes(asked["pidns"]),
        "variables": "TRUED_CANARY" in os.environ,
    }


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
