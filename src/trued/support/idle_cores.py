"""How many cores of this machine are idle right now."""

import os
import time
from pathlib import Path

LOOKS = 4  # number of samples: a short-lived process can disturb any one of them
BETWEEN_S = 0.005
_LOAD = Path("/proc/loadavg")


def idle_cores() -> int:
    """The number of idle cores, the maximum of several samples; the caller's own core counts as idle. 0 if unknown."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    most = 0
    for look in range(LOOKS):
        if look:
            time.sleep(BETWEEN_S)
        most = max(most, cores - (_running() - 1))
        if most >= cores:
            break  # all cores are idle: no sample can show more
    return most


def _running() -> int:
    """The number of processes and threads that run or wait for a core, including the caller."""
    try:
        return int(_LOAD.read_text().split()[3].partition("/")[0])
    except (OSError, ValueError, IndexError):
        return 1 << 20  # unknown counts as every core being busy
