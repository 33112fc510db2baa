"""The outcomes of each case of a requirement on the base and on the head, in every run: red before, green after."""

from collections.abc import Iterable
from dataclasses import dataclass

from trued.model import Evidence, Outcomes, Tried


@dataclass(frozen=True, slots=True)
class CaseOutcomes:
    """One case or test: its outcomes on both sides, in the order in which it was run."""

    name: str
    base: tuple[str, ...]
    head: tuple[str, ...]
    says: str  # the actual result of its first failure on the head

    @property
    def is_green(self) -> bool:
        """Whether the case passed on the head every time."""
        return bool(self.head) and set(self.head) == {Outcomes.PASSED}

    @property
    def was_red(self) -> bool:
        """Whether the case was run on the base, and never passed there."""
        return bool(self.base) and Outcomes.PASSED not in self.base

    @property
    def turned(self) -> bool:
        return self.was_red and self.is_green


def case_outcomes(facts: Iterable[Evidence], *, over: bool) -> list[CaseOutcomes]:
    """All cases of this evidence, those that fail on the head first. Until the run has ended, held-out cases have only
    a number.
    """
    found: dict[tuple[str, str], dict[str, list[Tried]]] = {}
    hidden: set[tuple[str, str]] = set()
    for fact in facts:
        for one in fact.tried:
            place = (fact.check, one.id)
            found.setdefault(place, {"base": [], "head": []}).setdefault(fact.side, []).append(one)
            if fact.held_out and not over:
                hidden.add(place)
    rows = [
        CaseOutcomes(
            name=f"case {number}" if place in hidden else place[1],
            base=tuple(str(one.outcome) for one in sides["base"]),
            head=tuple(str(one.outcome) for one in sides["head"]),
            says=_says(sides["head"], hidden=place in hidden),
        )
        for number, (place, sides) in enumerate(found.items(), 1)
    ]
    return sorted(rows, key=lambda row: (row.is_green, not row.head))


def _says(tried: Iterable[Tried], *, hidden: bool) -> str:
    failed = next((one for one in tried if one.outcome is not Outcomes.PASSED), None)
    if failed is None:
        return ""
    return str(failed.kind or failed.outcome) if hidden else str(failed.detail or failed.kind or failed.outcome)[:300]
