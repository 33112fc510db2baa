"""How one case or test id stands on base and on head, counted over every time that it was run. Pure."""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from trued.types import Evidence, Outcomes, Tried

from .bench import WHOLE

RED_TURNS = 3  # once can be chance, twice can be two chances
GREEN_TURNS = 2
_FAILING = (Outcomes.FAILED, Outcomes.MISSING)
_NOT_OUR_FAILURE = ("time", "memory")  # on base they show the machine, not the project


class Base(StrEnum):
    """What a case showed on the base commit."""

    RED = "red"
    GUARD = "guard"  # passes already: it can refute, never prove
    UNSTABLE = "unstable"  # seen passing and failing, or failing in different ways
    UNREACHED = "unreached"  # skipped, or expected to fail
    BROKEN = "broken"
    UNJUDGED = "unjudged"


class Head(StrEnum):
    """What a case showed on the head commit; the worst of all times stands."""

    PASSED = "passed"
    FAILED = "failed"
    UNJUDGED = "unjudged"


def on_base(facts: Sequence[Evidence], own: frozenset[str] = frozenset()) -> dict[str, Base]:
    """Every id that base showed. `own`: modules that the head brings itself, so that their lack on base is red."""
    seen: dict[str, list[tuple[Outcomes, str]]] = {}
    for fact in facts:
        for one in fact.tried:
            seen.setdefault(one.id, []).append(_read(one, own))
    return {name: _base(times) for name, times in seen.items()}


def _read(one: Tried, own: frozenset[str]) -> tuple[Outcomes, str]:
    if one.id == WHOLE and one.outcome in _FAILING:
        return Outcomes.UNJUDGED, one.kind  # a runner that broke down shows nothing: it is never red
    lacking = one.outcome is Outcomes.UNJUDGED and one.kind.startswith("module ")
    if lacking and one.kind.removeprefix("module ").split(".")[0] in own:
        return Outcomes.MISSING, "missing"
    return one.outcome, one.kind


def _base(times: list[tuple[Outcomes, str]]) -> Base:
    outcomes = {outcome for outcome, _ in times}
    kinds = {kind for _, kind in times}
    if Outcomes.BROKEN in outcomes:
        return Base.BROKEN
    if Outcomes.UNJUDGED in outcomes or kinds & set(_NOT_OUR_FAILURE):
        return Base.UNJUDGED
    if outcomes == {Outcomes.PASSED}:
        return Base.GUARD
    if outcomes <= {Outcomes.SKIPPED}:
        return Base.UNREACHED
    alike = outcomes <= set(_FAILING) and len(kinds) == 1 and len(times) >= RED_TURNS
    return Base.RED if alike else Base.UNSTABLE


def on_head(name: str, facts: Iterable[Evidence]) -> tuple[Head, list[Tried]]:
    """The worst that was seen of one id, and the times that it did not pass.

    An id that stands for a whole file (base could not collect it) passes if every test that the file turns out to hold
    passes, and there is one.
    """
    worst, bad, turns = Head.PASSED, list[Tried](), 0
    for fact in facts:
        turns += 1
        for one in _of(name, fact):
            if one.outcome is Outcomes.PASSED:
                continue
            bad.append(one)
            worst = Head.UNJUDGED if _unjudged(one) and worst is not Head.FAILED else Head.FAILED
    return (worst, bad) if turns >= GREEN_TURNS else (Head.FAILED, [_missing(name, "not run twice")])


def _of(name: str, fact: Evidence) -> list[Tried]:
    exact = [one for one in fact.tried if one.id == name]
    if name == WHOLE:
        return exact
    if not exact and "::" not in name:
        inside = [one for one in fact.tried if one.id.startswith(f"{name}::")]
        exact = [one for one in inside if one.outcome is not Outcomes.SKIPPED]
    if fact.why_void:
        exact = [one for one in exact if one.outcome is not Outcomes.PASSED]
    general = [one for one in fact.tried if one.id == WHOLE]
    return exact or general or [_missing(name, fact.why_void or "not reported")]


def _unjudged(one: Tried) -> bool:
    return one.outcome is Outcomes.UNJUDGED


def _missing(name: str, why: str) -> Tried:
    return Tried(id=name, outcome=Outcomes.MISSING, kind="vanished", detail=why)
