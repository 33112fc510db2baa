"""A supervisor that dies at a given write of a given call, once: `doomed.py PLAN FOLDER LOCK`; all others live."""

import json
import sys
from pathlib import Path

from trued.agents.supervisor.__main__ import main


def doom(plan: Path, call: Path) -> None:
    """`plan` has a line for each call that loses its supervisor: beginning of its name, write, moment, victim."""
    for begins, at, when, victim in json.loads(plan.read_text()):
        spent = plan.with_name(f"{plan.name}.{begins}.spent")
        if call.name.startswith(begins) and not spent.exists():
            from tests.crash.dying import Points, arm_supervisor  # slow to load, and few need it

            spent.touch()
            arm_supervisor(Points(plan.with_name("supervisors.log"), at, when, victim))


if __name__ == "__main__":
    plan, *rest = sys.argv[1:]
    doom(Path(plan), Path(rest[0]))
    sys.exit(main(rest))
