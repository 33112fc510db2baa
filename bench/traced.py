"""Counts what a process and its children sync, with strace and without touching them."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

# Not sync_file_range: it hands data to the disk and waits for nothing, so it is no promise.
CALLS = "fsync,fdatasync,msync,sync,syncfs"


def syncs(command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> int:
    """How often `command` and all its descendants asked the disk to keep something."""
    if not shutil.which("strace"):
        raise SystemExit("syncs are counted with strace, which is not installed")
    with tempfile.TemporaryDirectory() as aside:
        log = Path(aside) / "strace.log"
        traced = [
            "strace",
            "-f",
            "-qq",
            "--seccomp-bpf",
            "-e",
            f"trace={CALLS}",
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
        return len(re.findall(r"^\d+\s+\w+\(", log.read_text(), re.M))
