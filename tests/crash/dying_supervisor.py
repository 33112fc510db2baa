"""A supervisor that dies at a given write, once: `dying_supervisor.py LOG AT WHEN VICTIM FOLDER LOCK`."""

import sys
from pathlib import Path

from tests.crash.dying import Points, arm_supervisor
from trued.agents.supervisor.__main__ import main

if __name__ == "__main__":
    log, at, when, victim, *rest = sys.argv[1:]
    spent = Path(f"{log}.spent")
    if not spent.exists():  # the first supervisor of the run is the one that dies
        spent.touch()
        arm_supervisor(Points(Path(log), int(at), when, victim))
    sys.exit(main(rest))
