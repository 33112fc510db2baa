"""What a command costs with all that it starts: wall time and CPU, also of those that nobody waited for."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# In a process of its own, to which orphans come: a sandbox may end before what ran in it is counted.
WATCH = """
import ctypes, json, os, resource, subprocess, sys, time
ctypes.CDLL(None).prctl(36, 1)
began = time.perf_counter()
done = subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
wall = time.perf_counter() - began
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as file:
    said = done.stderr[-2000:].decode(errors="replace")
    json.dump({"code": done.returncode, "wall_s": wall, "cpu_s": used.ru_utime + used.ru_stime, "said": said}, file)
"""


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds on the clock and on the cores."""

    wall_s: float
    cpu_s: float


def spent(
    command: Sequence[str],
    folder: Path,
    variables: Mapping[str, str],
    aside: Path,
    *,
    within_s: float = 1200.0,
    code: int = 0,
) -> Spent:
    """Run it to its end, which must be this exit code. `aside` is a file that nobody else uses."""
    watch = [sys.executable, "-I", "-S", "-c", WATCH, str(aside), *command]
    subprocess.run(watch, cwd=folder, env=dict(variables), timeout=within_s, check=True)
    found = json.loads(aside.read_text())
    if found["code"] != code:
        raise RuntimeError(f"{' '.join(command[:6])} ended with {found['code']}: {found['said']}")
    return Spent(found["wall_s"], found["cpu_s"])
