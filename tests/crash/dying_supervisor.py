"""A supervisor that dies at a given write, once: `dying_supervisor.py LOG AT WHEN PARENT_TOO FOLDER LOCK`."""

import sys
from pathlib import Path

from tests.crash.dying import Points, arm_supervisor
from trued.supervise.__main__ import main

if __name__ == "__main__":
    log, at, when, parent_too, *rest = sys.argv[1:]
    spent = Path(f"{log}.spent")
    if not spent.exists():  # the first supervisor of the run is the one that dies
        spent.touch()
        arm_supervisor(Points(Path(log), int(at), when, parent_too=parent_too == "yes"))
    sys.exit(main(rest))
