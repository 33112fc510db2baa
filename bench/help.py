"""How long short commands take on a state folder with one run, beside a bare command of the same libraries.

CPU, not the clock: on a busy machine both wait, but only the command's own work is counted.
"""

import os
import sys
import tempfile
from pathlib import Path

from bench.show import ROOT, Target, show
from bench.spent import spent
from tests.page.made_up import demo

TURNS = 9
BIN = ROOT / ".venv" / "bin"
# The least that a command can be which is made with these libraries: one flag, one value, one line.
BARE = """
from typing import Annotated
import typer
from pydantic import BaseModel
from rich.console import Console

class Run(BaseModel):
    id: str

def ls(every: Annotated[bool, typer.Option("--all")] = False) -> None:
    Console().print(Run(id="one").id)

typer.run(ls)
"""
HELPS = ("ls --help", "verify --help", "run --help")
# Commands that people wait for, on a run that was proven. `answer` and `approve` write nothing: nothing is asked, and a
# name is missing.
LOOKING = ("ls", "ls --json", "logs", "stats", "ledger", "why slug", "show", "show --json")
REFUSED = ("answer yes", "approve")
TO_BARE = 1.0  # no more than the libraries alone
READING = ("ledger", "why", "show", "approve")  # a contract with its evidence, or events of every kind
TO_BARE_READING = 1.2


def main() -> bool:
    trued = str(BIN / "trued")
    commands = {
        "python -c pass": (str(BIN / "python"), "-c", "pass"),
        "import pydantic": (str(BIN / "python"), "-c", "import pydantic.main"),
        "a bare command": (str(BIN / "python"), "-c", BARE),
        **{f"trued {one}": (trued, *one.split()) for one in ("--help", *HELPS, *LOOKING, *REFUSED)},
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        demo(folder / "state")
        variables = {"PATH": os.environ["PATH"], "HOME": name, "TRUED_HOME": str(folder / "state"), "LANG": "C.UTF-8"}
        for _ in range(TURNS):  # in turns, so that a busy minute of the machine falls on all of them
            for one, command in commands.items():
                code = 2 if one.removeprefix("trued ") in REFUSED else 0
                used = spent(command, folder, variables, folder / "spent.json", within_s=60, code=code)
                taken[one].append(used.cpu_s)
    figures = {name: min(found) for name, found in taken.items()}  # what others do at the same time only adds
    plain, library, bare = (figures[one] for one in ("python -c pass", "import pydantic", "a bare command"))
    rows = [
        [name, f"{one * 1000:.0f}", f"{one / plain:.1f} ×", f"{one / library:.2f} ×", f"{one / bare:.2f} ×"]
        for name, one in figures.items()
    ]
    targets = [Target("trued --help, CPU s", figures["trued --help"], round(2 * plain + 0.3, 3))]
    for one in (*LOOKING, *REFUSED):
        limit = TO_BARE_READING if one.split()[0] in READING else TO_BARE
        targets.append(Target(f"trued {one}, to a bare command", figures[f"trued {one}"] / bare, limit))
    return show("help", ["start", "CPU ms", "to python", "to pydantic", "to a bare command"], rows, targets, figures)


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
