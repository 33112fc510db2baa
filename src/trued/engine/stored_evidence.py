"""Reads evidence from the journal piece by piece, for callers that read a run again and again, like the live page."""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, overload

from trued.model import Evidence

READ = 1_000  # pieces of evidence that are cached


class StoredEvidence(Sequence[Evidence]):
    """A sequence of evidence, used in place of a tuple. Each piece is parsed only when used, because a parsed piece
    takes five times as much memory."""

    def __init__(self, facts: Iterable[tuple[str, str]]) -> None:
        """`facts`: for each piece of evidence, its requirement and its JSON."""
        self._facts = tuple(facts)

    @classmethod
    def taken_out_of(cls, text: str, *place: str) -> "tuple[str, StoredEvidence]":
        """The JSON without the list of evidence at this place, and that list."""
        value = within = json.loads(text)
        for name in place[:-1]:
            within = within.get(name) or {}
        facts = within.pop(place[-1], ())
        return json.dumps(value), cls((one["requirement"], json.dumps(one)) for one in facts)

    def __len__(self) -> int:
        return len(self._facts)

    @overload
    def __getitem__(self, place: int) -> Evidence: ...
    @overload
    def __getitem__(self, place: slice) -> "StoredEvidence": ...
    def __getitem__(self, place: int | slice) -> "Evidence | StoredEvidence":
        if isinstance(place, slice):
            return StoredEvidence(self._facts[place])
        return _parse_evidence(self._facts[place][1])

    def about(self, names: Collection[str]) -> Iterator[Evidence]:
        """The evidence about these requirements."""
        return (_parse_evidence(text) for name, text in self._facts if name in names)

    def as_stored(self) -> Iterator[dict[str, Any]]:
        """The JSON objects, for callers that need few of their fields."""
        return (json.loads(text) for _, text in self._facts)


def evidence_about(facts: Sequence[Evidence], names: Collection[str]) -> Iterator[Evidence]:
    """The evidence about any of these requirements, in order."""
    if isinstance(facts, StoredEvidence):
        return facts.about(names)
    return (one for one in facts if one.requirement in names)


@lru_cache(READ)
def _parse_evidence(text: str) -> Evidence:
    return Evidence.model_validate_json(text)
