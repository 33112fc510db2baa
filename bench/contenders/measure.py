"""Measures a loop of durable steps from inside its process; knows nothing of who is measured."""

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

PAYLOAD = json.dumps({"status": "DONE", "summary": "x" * 160, "files": ["a.py", "b.py"]})  # about a reply's size


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def arguments() -> tuple[int, Path]:
    """How many steps, and an empty folder for the database."""
    return int(sys.argv[1]), Path(sys.argv[2])


def measure(loop: Callable[[], object]) -> None:
    began, used = time.perf_counter(), cpu()
    loop()
    sys.stdout.write(json.dumps({"wall_s": time.perf_counter() - began, "cpu_s": cpu() - used}) + "\n")
    sys.stdout.flush()
