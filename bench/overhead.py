"""What the engine adds to agents' own time: wall to the critical path, supervisors' start, syncs of a whole call."""

import json
import math
import statistics
import subprocess
import sys
from typing import Any

from bench.show import ROOT, Target, show
from bench.traced import syncs

CALLS, SECONDS, CAP, TURNS = 25, 1.0, 4, 3
TO_CRITICAL_PATH, START_S, SYNCS_A_CALL = 1.15, 0.3, 5.0
FEW, MORE = 2, 12


def module(name: str, *arguments: object) -> list[str]:
    return [sys.executable, "-m", f"bench.contenders.{name}", *map(str, arguments)]


def said(command: list[str]) -> Any:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def main() -> bool:
    path = math.ceil(CALLS / CAP) * SECONDS
    walls = [said(module("calls", CALLS, SECONDS, CAP))["wall_s"] for _ in range(TURNS)]
    starts = said(module("starts", 15))
    few, more = (syncs(module("calls", number, 0.1, CAP), ROOT) for number in (FEW, MORE))
    figures = {
        "wall_s": statistics.median(walls),
        "critical_path_s": path,
        "ratio": statistics.median(walls) / path,
        "start_s": statistics.median(starts),
        "start_worst_s": max(starts),
        "syncs_a_call": (more - few) / (MORE - FEW),
    }
    rows = [
        [
            f"{CALLS} calls of {SECONDS:g} s, cap {CAP}",
            f"{figures['wall_s']:.2f} s",
            f"{figures['ratio']:.3f} × {path:g} s",
        ],
        ["a supervisor's start, median", f"{figures['start_s']:.3f} s", f"worst {figures['start_worst_s']:.3f} s"],
        ["a whole agent call", f"{figures['syncs_a_call']:.1f} syncs", f"{few} with {FEW}, {more} with {MORE}"],
    ]
    targets = [
        Target("wall to critical path", figures["ratio"], TO_CRITICAL_PATH),
        Target("supervisor's start, in s", figures["start_s"], START_S),
        Target("syncs a whole agent call", figures["syncs_a_call"], SYNCS_A_CALL),
    ]
    return show("overhead", ["overhead", "figure", "to"], rows, targets, {**figures, "walls_s": walls})
