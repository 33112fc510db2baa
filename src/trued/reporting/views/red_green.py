"""How each run of a requirement's cases ended, on the base and on the head: red before, green after."""

from collections.abc import Iterable
from dataclasses import dataclass

from trued.model import Evidence, Outcomes, Tried
from trued.reporting.views.cases import case_numbers


@dataclass(frozen=True, slots=True)
class CaseOutcomes:
    """One case or test: how each run of it ended, on the base and on the head."""

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
    """All cases of this evidence; cases that fail on the head come first. `over`: whether the run has ended.

    Before the run has ended, held-out cases are shown with a number (see `case_numbers`) instead of their names. The
    name of another case is also replaced by a number if all results of this case may quote held-out cases.
    """
    facts = tuple(facts)
    numbers = case_numbers(facts)
    outcomes: dict[tuple[str, str], dict[str, list[Tried]]] = {}
    named: set[tuple[str, str]] = set()
    for fact in facts:
        shown = fact.shown(over=over)
        for tried, result in zip(fact.tried, shown.tried, strict=True):
            key = (fact.check, tried.id)
            outcomes.setdefault(key, {"base": [], "head": []}).setdefault(fact.side, []).append(result)
            if shown is fact:
                named.add(key)
    checks = list(dict.fromkeys(check for check, case in outcomes if (check, case) not in named))

    def hidden_name(key: tuple[str, str]) -> str:
        which = f"check {checks.index(key[0]) + 1}, " if len(checks) > 1 else ""
        return f"{which}case {numbers[key]}"

    rows = [
        CaseOutcomes(
            name=key[1] if key in named else hidden_name(key),
            base=tuple(str(result.outcome) for result in sides["base"]),
            head=tuple(str(result.outcome) for result in sides["head"]),
            says=_says(sides["head"]),
        )
        for key, sides in outcomes.items()
    ]
    return sorted(rows, key=lambda row: (row.is_green, not row.head))


def _says(tried: Iterable[Tried]) -> str:
    failed = next((result for result in tried if result.outcome is not Outcomes.PASSED), None)
    return str(failed.detail or failed.kind or failed.outcome)[:300] if failed else ""
