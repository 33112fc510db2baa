"""Sorts a run's notes: why a requirement has no check, what no check covers, and facts about how checks ran."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

UNCOVERED = "no check covers: "
NO_CASE = "it has no case"


@dataclass(frozen=True, slots=True)
class Notes:
    """Every note once, except those that only repeat a requirement's row."""

    about: Mapping[str, tuple[str, ...]]  # requirement without a check → why it has none
    unchecked: tuple[str, ...]
    facts: tuple[str, ...]

    @property
    def count(self) -> int:
        """How many notes there are, except those about single requirements."""
        return len(self.unchecked) + len(self.facts)


def sort_notes(ledger: Mapping[str, Any]) -> Notes:
    """The notes of a verdict, sorted by what they are about. `ledger`: the result of `views.ledger`."""
    rows, notes, reported = ledger["requirements"], ledger["undecided"], {*ledger["reported"]}
    bare = {str(row["id"]): str(row["text"]) for row in rows if not row["evidence"]}
    about: dict[str, list[str]] = {}
    unchecked, facts = [], []
    for note in dict.fromkeys(notes):
        name, colon, rest = note.partition(": ")
        if colon and name in bare:
            about.setdefault(name, []).extend([rest] if rest != NO_CASE else [])
        elif note.startswith(UNCOVERED) and note.removeprefix(UNCOVERED) in bare.values():
            continue  # left out, because the requirement's row says so already
        elif note in reported:
            facts.append(note)
        else:
            unchecked.append(note)
    return Notes({name: tuple(every) for name, every in about.items()}, tuple(unchecked), tuple(facts))
