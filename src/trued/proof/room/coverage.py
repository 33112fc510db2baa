"""How coverage is measured in a run: which files count, and where the figures go."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CoverageOrder:
    """What the coverage script has to measure."""

    report: str  # the file for the figures
    files: tuple[str, ...]  # the files that are measured
    supplied: Mapping[str, str] = field(default_factory=dict)  # the engine's coverage.py, if the interpreter has none

    def settings(self, room: str) -> str:
        """The order as JSON, for a room at this path."""
        order = {"report": self.report, "files": list(self.files), "supplied": dict(self.supplied), "room": room}
        return json.dumps(order)
