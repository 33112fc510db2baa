"""How long short commands take, beside a Python that does nothing and a bare command of the same libraries.

CPU, not the clock: on a busy machine both wait, but only the command's own work is counted.
"""

import os
import statistics
import sys
import tempfile
from pathlib import Path

from bench.show import ROOT, Target, show
from bench.spent import spent

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
SHORT = ("ls", "ls --help", "show --help", "logs --help", "ledger --help", "why --help", "verify --help", "run --help")
TO_BARE = 1.5


def main() -> bool:
    commands = {
        "python -c pass": (str(BIN / "python"), "-c", "pass"),
        "a bare command": (str(BIN / "python"), "-c", BARE),
        "trued --help": (str(BIN / "trued"), "--help"),
        **{f"trued {one}": (str(BIN / "trued"), *one.split()) for one in SHORT},
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        variables = {"PATH": os.environ["PATH"], "HOME": name, "TRUED_HOME": str(folder / "state"), "LANG": "C.UTF-8"}
        for _ in range(TURNS):  # in turns, so that a busy minute of the machine falls on all of them
            for one, command in commands.items():
                taken[one].append(spent(command, folder, variables, folder / "spent.json", within_s=60).cpu_s)
    figures = {name: statistics.median(found) for name, found in taken.items()}
    plain, bare = figures["python -c pass"], figures["a bare command"]
    rows = [[name, f"{one * 1000:.0f}", f"{one / plain:.1f} ×", f"{one / bare:.2f} ×"] for name, one in figures.items()]
    targets = [Target("trued --help, CPU s", figures["trued --help"], round(2 * plain + 0.3, 3))]
    looking = [f"trued {one}" for one in SHORT if not one.startswith(("verify", "run"))]
    targets += [Target(f"{one}, to a bare command", figures[one] / bare, TO_BARE) for one in looking]
    return show("help", ["start", "CPU ms", "to python", "to a bare command"], rows, targets, figures)


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
