"""Checks that no call was paid twice: counts how often agents were started, and compares that with the journal."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trued.model import Event
from trued.model.events.call import CallAnswered


@dataclass(frozen=True)
class Bill:
    """How often an agent was started for each call (by the call's key), and which calls the journal has answers for."""

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
        """Whether the calls for which agents were started are exactly those that the journal has answers for. If not,
        `repeated` cannot be trusted."""
        return bool(self.answered) and set(self.begun) == self.answered


def bill(run_folder: Path, events: Sequence[Event]) -> Bill:
    """Count in the agents' spool files how often each call was started, and list the calls that the journal has answers
    for."""
    entries = {entry for path in run_folder.glob("spool/*/events.jsonl") for entry in bill_entries(path)}
    answered = frozenset(event.key for event in events if event.kind == CallAnswered.KIND)
    return Bill(Counter(key for _, key in entries), answered)


def bill_entries(path: Path) -> list[tuple[str, str]]:
    """A pair for each start of an agent that the spool file records: a random id, and the call's key. [] if there is no
    file."""
    entries = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else ():
        try:
            text = str(json.loads(line).get("text", ""))
        except (ValueError, AttributeError):
            continue  # the agent is still writing this line
        if text.startswith("bill "):
            _, number, key = text.split(" ", 2)
            entries.append((number, key))
    return entries
