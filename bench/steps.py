"""What a durable step costs, beside LangGraph, DBOS and a bare WAL commit."""

import json
import statistics
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.show import ROOT, Target, show
from bench.traced import syncs

STEPS, FEW, TURNS = 500, 100, 3
SYNCS_A_STEP = 1.1  # one, and the checkpoints of the write-ahead log
LESS_CPU = 5.0


@dataclass(frozen=True, slots=True)
class Contender:
    name: str
    module: str
    environment: str
    extra: tuple[str, ...] = ()

    def command(self, steps: int, folder: Path) -> list[str]:
        python = ROOT / self.environment / "bin" / "python"
        return [str(python), "-m", f"bench.contenders.{self.module}", str(steps), str(folder), *self.extra]


LIMIT = Contender("bare WAL commit", "wal", ".venv")
OURS = Contender("trued", "ours", ".venv")
PEERS = (
    Contender("LangGraph, SQLite saver, sync", "langgraph_sqlite", ".venv-bench"),
    Contender("DBOS, SQLite as it comes", "dbos_sqlite", ".venv-bench"),
    Contender("DBOS, SQLite in WAL mode", "dbos_sqlite", ".venv-bench", ("wal",)),
)


def syncs_a_step(contender: Contender) -> float:
    """The slope between few and many steps: set-up does not count."""
    counted = []
    for steps in (FEW, STEPS):
        with tempfile.TemporaryDirectory() as folder:
            counted.append(syncs(contender.command(steps, Path(folder)), ROOT))
    return (counted[1] - counted[0]) / (STEPS - FEW)


def timed(contender: Contender) -> tuple[float, float]:
    """CPU and wall, in µs a step."""
    with tempfile.TemporaryDirectory() as folder:
        command = contender.command(STEPS, Path(folder))
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=True)
    found = json.loads(done.stdout)
    return found["cpu_s"] / STEPS * 1e6, found["wall_s"] / STEPS * 1e6


def main() -> bool:
    contenders = (LIMIT, OURS, *PEERS)
    taken: dict[str, list[tuple[float, float]]] = {one.name: [] for one in contenders}
    for _ in range(TURNS):  # in turns, so that a busy minute of the machine falls on all of them
        for one in contenders:
            taken[one.name].append(timed(one))
    figures = {
        one.name: {
            "syncs": syncs_a_step(one),
            "cpu_us": statistics.median(cpu for cpu, _ in taken[one.name]),
            "wall_us": statistics.median(wall for _, wall in taken[one.name]),
        }
        for one in contenders
    }
    limit, ours = figures[LIMIT.name], figures[OURS.name]
    rows = [
        [
            name,
            f"{one['syncs']:.2f}",
            f"{one['cpu_us']:.0f}",
            f"{one['cpu_us'] / ours['cpu_us']:.1f} ×",
            f"{one['wall_us']:.0f}",
            f"{one['wall_us'] / limit['wall_us']:.1f} ×",
        ]
        for name, one in figures.items()
    ]
    nearest = min(figures[peer.name]["cpu_us"] for peer in PEERS)
    targets = [
        Target("syncs a plain step", ours["syncs"], SYNCS_A_STEP),
        Target("CPU of the nearest peer, in ours", nearest / ours["cpu_us"], LESS_CPU, at_least=True),
    ]
    header = ["a durable step", "syncs", "CPU µs", "to trued", "wall µs", "to bare"]
    return show("steps", header, rows, targets, figures)
