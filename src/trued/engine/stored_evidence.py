"""Reads evidence from the journal piece by piece, for callers that read a run again and again, like the live page."""

import json
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, overload

from trued.model import Evidence

READ = 250  # at most this many pieces of evidence are cached in parsed form, of 5 kB each


class StoredEvidence(Sequence[Evidence]):
    """A sequence of evidence, used in place of a tuple. Each piece is parsed only when used, because a parsed piece
    takes ten times as much memory."""

    def __init__(self, facts: Iterable[tuple[str, bytes]]) -> None:
        """`facts`: for each piece of evidence, its requirement and its compressed JSON (see `packed`)."""
        self._facts = tuple(facts)

    @classmethod
    def taken_out_of(cls, text: str, *place: str) -> "tuple[str, StoredEvidence]":
        """Take a list of evidence out of the JSON `text`. Returns the JSON without the list, and the list. `place`: the
        keys that lead to the list."""
        value = within = json.loads(text)
        for name in place[:-1]:
            within = within.get(name) or {}
        facts = within.pop(place[-1], ())
        return json.dumps(value), cls((fact["requirement"], packed(fact)) for fact in facts)

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
        """The evidence about the requirements with these names, in the order in which it is stored."""
        return (_parse_evidence(fact) for name, fact in self._facts if name in names)

    def as_stored(self) -> Iterator[dict[str, Any]]:
        """Each piece of evidence as a JSON object, for callers that need few of its fields."""
        return (json.loads(zlib.decompress(fact)) for _, fact in self._facts)


def packed(fact: Mapping[str, Any]) -> bytes:
    """A piece of evidence as compressed JSON: a long run has thousands, and few are read."""
    return zlib.compress(json.dumps(fact).encode(), level=1)


def evidence_about(facts: Sequence[Evidence], names: Collection[str]) -> Iterator[Evidence]:
    """The facts about the requirements with these names, in the order of `facts`."""
    if isinstance(facts, StoredEvidence):
        return facts.about(names)
    return (fact for fact in facts if fact.requirement in names)


@lru_cache(READ)
def _parse_evidence(fact: bytes) -> Evidence:
    return Evidence.model_validate_json(zlib.decompress(fact))
