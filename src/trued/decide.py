"""Notes of agents that worked side by side, and decisions by table: first match wins, None matches anything."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from .types import Finding, Note, Severity, Status

Row: TypeAlias = tuple[Sequence[Status | None], Status]


def decide(table: Sequence[Row], statuses: Sequence[Status]) -> Status:
    for pattern, result in table:
        if all(want in (None, is_) for want, is_ in zip(pattern, statuses, strict=True)):
            return result
    raise LookupError(f"no row for {statuses}")  # tables are tested to be total


class Cluster(Mapping[str, Note]):
    """The notes of agents that worked side by side. A silent agent reads as ERROR."""

    def __init__(self, notes: Mapping[str, Note | None]) -> None:
        silent = Note(status=Status.ERROR, summary="no report")
        self._notes = {name: note or silent for name, note in notes.items()}

    def __getitem__(self, name: str) -> Note:
        return self._notes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._notes)

    def __len__(self) -> int:
        return len(self._notes)

    @property
    def worst(self) -> Severity:
        return max((note.worst for note in self.values()), default=Severity.NONE)

    @property
    def objections(self) -> tuple[Finding, ...]:
        """What stands in the way, by the agents that asked for a revision."""
        return tuple(f for note in self.values() if note.status is Status.NEEDS_REVISION for f in note.findings)

    @property
    def failed(self) -> int:
        return sum(note.status is Status.ERROR for note in self.values())

    @property
    def reported(self) -> int:
        return len(self) - self.failed
