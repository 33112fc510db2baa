"""Measures a loop of durable steps from inside its process; knows nothing of who is measured."""

import json
import resource
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

PAYLOAD = json.dumps({"status": "DONE", "summary": "x" * 160, "files": ["a.py", "b.py"]})  # about a reply's size


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def arguments() -> tuple[int, Path]:
    """How many steps, and an empty folder for the database."""
    return int(sys.argv[1]), Path(sys.argv[2])


def measure(loop: Callable[[], object], server: int = 0) -> None:
    """Print what the loop costs. `server`: see Meter."""
    meter = Meter(server)
    loop()
    meter.show()


class Meter:
    """Measures from its making on. `server`: the process of a database server, whose CPU is measured, too."""

    def __init__(self, server: int = 0) -> None:
        self._server, self._served = server, _running(server)
        self._began, self._used = time.perf_counter(), cpu()

    def show(self) -> None:
        figures = {"wall_s": time.perf_counter() - self._began, "cpu_s": cpu() - self._used}
        figures["server_s"] = sum(now - self._served.get(pid, 0.0) for pid, now in _running(self._server).items())
        sys.stdout.write(json.dumps(figures) + "\n")
        sys.stdout.flush()


def _running(server: int) -> dict[int, float]:
    """Process → CPU seconds so far, of a server and its children; what has ended does not count."""
    found = dict[int, float]()
    for entry in Path("/proc").glob("[0-9]*") if server else ():
        with suppress(OSError):
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if server in (parent, int(entry.name)):
                found[int(entry.name)] = int((entry / "schedstat").read_text().split()[0]) / 1e9
    return found
