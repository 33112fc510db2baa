"""What was paid for: each agent process puts itself on a bill as it begins; the journal says which calls there were."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trued.model import Event


@dataclass(frozen=True)
class Bill:
    """Calls by name: how often an agent began to work on each, and which the journal has an answer for."""

    begun: Counter[str]
    answered: frozenset[str]

    @property
    def paid(self) -> int:
        return self.begun.total()

    @property
    def repeated(self) -> int:
        return sum(number - 1 for number in self.begun.values())

    @property
    def complete(self) -> bool:
        """No call is missing on either side: then the figure above means something."""
        return bool(self.answered) and set(self.begun) == self.answered


def bill(run_folder: Path, events: Sequence[Event]) -> Bill:
    """The agents' own lines in all spool folders of a run, beside the journal's answers."""
    entries = {entry for path in run_folder.glob("spool/*/events.jsonl") for entry in begun(path)}
    answered = frozenset(event.key for event in events if event.kind == "answered")
    return Bill(Counter(key for _, key in entries), answered)


def begun(path: Path) -> list[tuple[str, str]]:
    """Number and call of every agent process that has begun by this file."""
    found = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else ():
        try:
            said = str(json.loads(line).get("text", ""))
        except (ValueError, AttributeError):
            continue  # the line that is being written now
        if said.startswith("bill "):
            _, number, key = said.split(" ", 2)
            found.append((number, key))
    return found
