"""How long `trued --help` takes, beside a Python that does nothing."""

import statistics
import subprocess
import time

from bench.show import ROOT, Target, show

TURNS = 15
BIN = ROOT / ".venv" / "bin"


def seconds(*command: str) -> float:
    began = time.perf_counter()
    subprocess.run(command, capture_output=True, timeout=60, check=True)
    return time.perf_counter() - began


def main() -> bool:
    commands = {
        "python -c pass": (str(BIN / "python"), "-c", "pass"),
        "trued --help": (str(BIN / "trued"), "--help"),
        "trued ls --help": (str(BIN / "trued"), "ls", "--help"),
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(TURNS):
        for name, command in commands.items():
            taken[name].append(seconds(*command))
    figures = {name: statistics.median(found) for name, found in taken.items()}
    plain = figures["python -c pass"]
    rows = [[name, f"{one * 1000:.0f}", f"{one / plain:.1f} ×"] for name, one in figures.items()]
    target = Target("trued --help, in s", figures["trued --help"], round(2 * plain + 0.3, 3))
    return show("help", ["start", "ms", "to python"], rows, [target], figures)
