"""How many cores of this machine have nothing to do right now."""

import os
import time
from pathlib import Path

LOOKS = 4  # something short may be running at any one of them
BETWEEN_S = 0.005
_LOAD = Path("/proc/loadavg")


def idle_cores() -> int:
    """Cores on which nothing runs but the caller; the most that was seen at several looks. 0 if unknown."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    most = 0
    for look in range(LOOKS):
        if look:
            time.sleep(BETWEEN_S)
        most = max(most, cores - (_running() - 1))
        if most >= cores:
            break  # more cannot be seen
    return most


def _running() -> int:
    """Processes and threads that run or wait for a core, with the caller."""
    try:
        return int(_LOAD.read_text().split()[3].partition("/")[0])
    except (OSError, ValueError, IndexError):
        return 1 << 20  # as if every core were busy
