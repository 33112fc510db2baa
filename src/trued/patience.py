"""How long to wait for a provider that lets nobody go on, and when to stop waiting."""

from collections.abc import Sequence
from dataclasses import dataclass

from .wire import Report

PATIENCE_S = 6 * 3600.0 + 600  # a subscription's window is five hours; what is further off is left to a person
BACK_OFF_S = (15.0, 30.0, 60.0, 120.0, 240.0, 480.0, 900.0)
BLIND_S = 3600.0  # of waiting without a told time, in all
AFTER_S = 3.0  # clocks differ


@dataclass(frozen=True, slots=True)
class Waited:
    seconds: float
    told: bool  # the provider had named the time


@dataclass(frozen=True, slots=True)
class Wait:
    until: float
    why: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    why: str


def patience(report: Report, number: int, waits: Sequence[Waited], *, wait: bool, now: float) -> Wait | GiveUp:
    """After the `number`th refusal of one call; `waits` are those that this process really waited."""
    until = report.until + AFTER_S if report.until else report.ended + BACK_OFF_S[min(number, len(BACK_OFF_S)) - 1]
    left = until - now
    if left <= 0:
        return Wait(until, report.why)
    if not wait:
        return GiveUp(f"{report.why}; waiting is switched off")
    if left > PATIENCE_S:
        return GiveUp(f"{report.why}; that is further off than anybody wants to wait")
    blind = sum(one.seconds for one in waits if not one.told)
    if not report.until and blind + left > BLIND_S:
        return GiveUp(f"{report.why}; it was waited for {blind / 60:.0f} minutes")
    return Wait(until, report.why)
