"""How a benchmark shows itself: a table with ratios, targets that hold or not, the command, and JSON beside it."""

import json
import math
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "bench" / "results"


@dataclass(frozen=True, slots=True)
class Target:
    """What a figure has to be; `holds` decides the exit code. A figure that rests on nothing never holds.

    Nothing takes no time, no process and no token: 0 is no figure, unless `of` says how many were looked at.
    """

    what: str
    value: float
    limit: float
    at_least: bool = False
    of: int = 0  # things that were looked at, where the aim is to find none among them

    @property
    def measured(self) -> bool:
        return math.isfinite(self.value) and (self.value > 0 or (self.value == 0 and self.of > 0))

    @property
    def holds(self) -> bool:
        return self.measured and (self.value >= self.limit if self.at_least else self.value <= self.limit)

    def __str__(self) -> str:
        sign, among = "≥" if self.at_least else "≤", f" of {self.of}" if self.of else ""
        if not self.measured:
            return f"MISSED {self.what}: nothing was measured ({sign} {self.limit:g})"
        return f"{'holds ' if self.holds else 'MISSED'} {self.what}: {self.value:.3g}{among} ({sign} {self.limit:g})"


def held(targets: Sequence[Target]) -> bool:
    """Every target, and there is one."""
    return bool(targets) and all(target.holds for target in targets)


def show(
    name: str, header: Sequence[str], rows: Sequence[Sequence[str]], targets: Sequence[Target], data: object
) -> bool:
    """Prints and keeps one benchmark's result. True when every target holds."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    lines = [f"\n{name}  (again: .venv/bin/python -m bench {name})"]
    for row in (header, *rows):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        lines.append("  " + "  ".join(cells))
    lines += [f"  {target}" for target in targets] or ["  MISSED: nothing was measured"]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
    RESULTS.mkdir(parents=True, exist_ok=True)
    machine = {"python": platform.python_version(), "system": platform.platform()}
    kept = {
        "bench": name,
        **machine,
        "figures": data,
        "targets": [{**asdict(one), "holds": one.holds} for one in targets],
    }
    (RESULTS / f"{name}.json").write_text(json.dumps(kept, indent=2) + "\n")
    return held(targets)
