"""How long to wait for a provider that lets nobody go on, and when to stop waiting."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from trued.wire import Report

PATIENCE_S = 6 * 3600.0 + 600  # a subscription's window is five hours; what is further off is left to a person
BACK_OFF_S = (15.0, 30.0, 60.0, 120.0, 240.0, 480.0, 900.0)
BLIND_S = 3600.0  # of waiting without a told time, in a row
AFTER_S = 3.0  # clocks differ
WORKED_S = 300.0  # an agent that worked for so long before it was refused has got further: patience begins anew
DOUBTED = 2  # after so many refusals in a row a told time is no longer believed to be enough


@dataclass(frozen=True, slots=True)
class PastWait:
    seconds: float
    told: bool  # the provider had named the time


@dataclass(frozen=True, slots=True)
class WaitUntil:
    until: float
    why: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    why: str


def made_progress(report: Report) -> bool:
    """The agent had worked before it was refused: this is no refusal in a row."""
    counted = (
        report.usage.tokens_out > 0 and not report.usage.estimated
    )  # else it may only have tried again, in silence
    return counted and report.ended - report.began >= WORKED_S


def decide_wait(
    report: Report, number: int, waits: Sequence[PastWait], *, wait: bool, now: float, zone: tzinfo | None = None
) -> WaitUntil | GiveUp:
    """After the `number`th refusal in a row; `waits` are those of the row that this process really waited."""
    until = _resume_time(report, number)
    left = until - now
    if left <= 0:  # it was waited for before we came back
        return WaitUntil(until, report.why)
    if not wait:
        return GiveUp(f"{report.why}; waiting is switched off: {_resume_hint(report, until, now, zone)}")
    waited = sum(one.seconds for one in waits)
    if left + (waited if report.until else 0) > PATIENCE_S:
        return GiveUp(f"{report.why}; that is longer than is waited for: {_resume_hint(report, until, now, zone)}")
    blind = sum(one.seconds for one in waits if not one.told)
    if not report.until and blind + left > BLIND_S:
        return GiveUp(f"{report.why}; it did not say until when, and {_duration(blind)} of waiting did not help")
    return WaitUntil(until, report.why)


def _resume_time(report: Report, number: int) -> float:
    """The time that was told, a little later; one that proved wrong twice is drawn out, as a guess is."""
    if not report.until:
        return report.ended + _step(number)
    doubted = report.ended + _step(number - DOUBTED) if number > DOUBTED else 0.0
    return max(report.until + AFTER_S, doubted)


def _step(number: int) -> float:
    return BACK_OFF_S[min(max(number, 1), len(BACK_OFF_S)) - 1]


# -- words ------------------------------------------------------------------------------------------------------------


def _resume_hint(report: Report, until: float, now: float, zone: tzinfo | None) -> str:
    """When a person may resume."""
    if not report.until:
        return "it did not say until when"
    day = "%H:%M" if until - now < 12 * 3600 else "%a %d %b %H:%M"
    return f"it goes on at {datetime.fromtimestamp(until, zone).strftime(day)}, in {_duration(until - now)}"


def _duration(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    if minutes < 60:
        return f"{minutes} min"
    hours = round(seconds / 3600)
    return (
        f"{minutes // 60} h {minutes % 60:02d} min"
        if hours < 6
        else f"{hours} h"
        if hours < 48
        else f"{hours // 24} days"
    )
