"""Runs inside the sandbox: runs another of the engine's scripts under coverage.py, and counts the product's lines that
were reached.

`python -I -B covered.py SETTINGS SCRIPT`: SETTINGS is JSON with the files to measure, where to write the figures, and
the path of the engine's coverage.py if the interpreter has none.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import runpy
import sys
from typing import Any


class SuppliedCoverage:
    """Finds the engine's own coverage.py for an interpreter that has none."""

    def __init__(self, places: dict[str, str]) -> None:
        self.places = places

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        place = self.places.get(name)
        if place is None:
            return None
        start = os.path.join(place, "__init__.py")
        return importlib.util.spec_from_file_location(name, start, submodule_search_locations=[place])


def counted(measuring: Any, files: list[str]) -> tuple[int, int]:
    """The number of executable lines in these files, and how many were executed. Files that coverage.py cannot analyse
    are left out."""
    lines = reached = 0
    for file in files:
        try:
            _, statements, _, missing, _ = measuring.analysis2(file)
        except Exception:  # noqa: S112
            continue  # the file is not Python, or is written for another version of it
        lines += len(statements)
        reached += len(statements) - len(missing)
    return lines, reached


def main(settings: dict[str, Any], script: str) -> None:
    sys.meta_path.insert(0, SuppliedCoverage(settings["supplied"]))
    coverage: Any = importlib.import_module("coverage")
    measuring = coverage.Coverage(data_file=None, config_file=False, source=[settings["room"]], messages=False)
    measured_process, leave = os.getpid(), os._exit

    def ended(code: int) -> Any:
        if os.getpid() == measured_process:
            measuring.stop()
            lines, reached = counted(measuring, settings["files"])
            with open(settings["report"], "w") as file:
                json.dump({"lines": lines, "reached": reached, "version": coverage.__version__}, file)
        leave(code)

    os._exit = ended  # type: ignore[assignment]
    sys.argv = [script]
    measuring.start()
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2])
