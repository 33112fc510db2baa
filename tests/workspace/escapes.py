"""Ways out of a sandbox, tried from inside; none of them does harm where it works. Run as a file: prints JSON."""

import contextlib
import ctypes
import json
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path


def opened(path: str, flags: int = os.O_RDONLY) -> bool:
    try:
        os.close(os.open(path, flags))
    except OSError:
        return False
    return True


def done(step: Callable[[], object]) -> bool:
    try:
        step()
    except OSError:
        return False
    return True


def called(name: str, *arguments: object) -> bool:
    return int(ctypes.CDLL(None, use_errno=True)[name](*arguments)) == 0


def through_link(outside: str) -> bool:
    link = Path("way-out")
    with contextlib.suppress(OSError):
        link.unlink(missing_ok=True)
        link.symlink_to(outside)
        (link / "by-link").write_text("x")
        return True
    return False


def sent(kind: int, address: object) -> bool:
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with contextlib.suppress(OSError), socket.socket(family, kind) as out:
        out.settimeout(2)
        out.connect(address)  # type: ignore[arg-type]
        out.send(b"out")
        return True
    return False


def ways(asked: dict[str, str]) -> dict[str, Callable[[], bool]]:
    """Every way out by its name. All are harmless: system files are only opened, the clock is set to its own time."""
    outside, engine, name = asked["outside"], int(asked["engine"]), asked["name"]
    own_pids = Path("/proc/self/ns/pid").readlink() != Path(asked["pidns"])
    return {
        "write outside": lambda: done(lambda: Path(outside, "written").write_text("x")),
        "read outside": lambda: opened(asked["secret"]),
        "list outside": lambda: done(lambda: os.listdir(outside)[0]),  # noqa: PTH208
        "read hidden state through a readable folder": lambda: opened(asked["hidden"]),
        "write system": lambda: opened("/etc/passwd", os.O_WRONLY),
        "write through a link": lambda: through_link(outside),
        "hard link to a file outside": lambda: done(lambda: os.link(asked["secret"], "linked")),
        "connect to a listener of the host": lambda: sent(socket.SOCK_STREAM, ("127.0.0.1", int(asked["port"]))),
        "abstract socket of the host": lambda: sent(socket.SOCK_STREAM, "\0" + name),
        "signal the engine": lambda: not own_pids and done(lambda: os.kill(engine, 0)),
        "read the engine's memory": lambda: not own_pids and opened(f"/proc/{engine}/mem"),
        "read the engine's variables": lambda: not own_pids and bool(_read(f"/proc/{engine}/environ")),
        "open the engine's files": lambda: not own_pids and opened(f"/proc/{engine}/cwd/"),
        "reach the root of the host": lambda: opened(f"/proc/{engine if not own_pids else 1}/root{asked['secret']}"),
        "see processes of the host": lambda: not own_pids,
        "mount": lambda: called("mount", b"none", os.fsencode(asked["folder"]), b"tmpfs", 0, None),
        "make a device": lambda: done(lambda: os.mknod("device", 0o20600, os.makedev(1, 3))),
        "set the clock": lambda: done(lambda: time.clock_settime(time.CLOCK_REALTIME, time.time())),
        "write kernel settings": lambda: opened("/proc/sys/kernel/core_pattern", os.O_WRONLY),
        "read passwords": lambda: opened("/etc/shadow"),
        "leave a file in shared memory": lambda: done(lambda: Path("/dev/shm", name).write_text("x")),
        "leave a file in the shared scratch folder": lambda: done(lambda: Path("/tmp", name).write_text("x")),
        "inherited variable": lambda: "TRUED_TEST_SECRET" in os.environ,
        "get capabilities": lambda: "CapEff:\t0000000000000000" not in Path("/proc/self/status").read_text(),
        "change root": lambda: called("chroot", b"."),
        "new user namespace": lambda: called("unshare", 0x10000000) and opened("/proc/self/uid_map", os.O_WRONLY),
    }


def main(asked: dict[str, str]) -> dict[str, bool]:
    wanted = asked["ways"].split(",")
    return {name: way() for name, way in ways(asked).items() if name in wanted or wanted == ["all"]}


def _read(path: str) -> bytes:
    with contextlib.suppress(OSError):
        return Path(path).read_bytes()
    return b""


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
