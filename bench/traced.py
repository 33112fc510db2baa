"""Counts what a process and its children sync or start, with strace and without touching them."""

import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

# Not sync_file_range: it hands data to the disk and waits for nothing, so it is no promise.
CALLS = "fsync,fdatasync,msync,sync,syncfs"


# One sync in a grandchild with a session of its own, as a supervisor's is: whoever does not see it sees nothing.
KNOWN = """
import os, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.fsync(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT))
    else:
        os.wait()
    os._exit(0)
os.wait()
"""


def syncs(command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> int:
    """How often `command` and all its descendants asked the disk to keep something."""
    _sees_a_sync()
    return len(re.findall(r"^\d+\s+\w+\(", _log(CALLS, command, folder, environment), re.M))


def started(command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> Counter[str]:
    """Programs that `command` and all its descendants started, by name, itself included."""
    log = _log("execve", command, folder, environment)
    found = re.findall(r'^\d+\s+execve\("([^"]+)", .*\) = 0$', log, re.M)
    if not found:
        raise SystemExit(f"nothing was measured: strace saw no process of {' '.join(command)}")
    return Counter(Path(one).name for one in found)


@cache
def _sees_a_sync() -> None:
    """A count that is always 0 would be called held: what is known to sync is counted first."""
    with tempfile.TemporaryDirectory() as aside:
        known = [sys.executable, "-c", KNOWN, str(Path(aside) / "kept")]
        if "fsync(" not in _log(CALLS, known, Path(aside), None):
            raise SystemExit("nothing was measured: strace does not see the sync of a grandchild on this machine")


def _log(calls: str, command: Sequence[str], folder: Path, environment: Mapping[str, str] | None) -> str:
    if not shutil.which("strace"):
        raise SystemExit("syncs and processes are counted with strace, which is not installed")
    with tempfile.TemporaryDirectory() as aside:
        log = Path(aside) / "strace.log"
        traced = [
            "strace",
            "-f",
            "-qq",
            "--seccomp-bpf",
            "-e",
            f"trace={calls}",
            "-e",
            "signal=none",
            "-o",
            str(log),
            *command,
        ]
        done = subprocess.run(
            traced, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed: {done.stderr[-2000:]}")
        return log.read_text(errors="replace") if log.exists() else ""
