"""How long to wait for a provider that refuses requests for a while, and when to give up."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from trued.support.durations import duration
from trued.wire import Report

LONGEST_WAIT_S = 6 * 3600.0 + 600  # enough for a subscription's window of five hours; for more, a person must resume
BACK_OFF_S = (15.0, 30.0, 60.0, 120.0, 240.0, 480.0, 900.0)
BLIND_S = 3600.0  # longest total wait over refusals in a row for which the provider names no time
AFTER_S = 3.0  # added to the provider's time, because clocks differ
WORKED_S = 300.0  # an agent that worked at least this long before a refusal has made progress
DOUBTED = 2  # after this many refusals in a row, the back-off is the least wait, even if the provider names less
NO_TIME = "the provider did not say until when"


@dataclass(frozen=True, slots=True)
class PastWait:
    """A finished wait for a provider."""

    seconds: float
    has_provider_time: bool  # the provider had said until when to wait


@dataclass(frozen=True, slots=True)
class WaitUntil:
    """Wait until this time, then try again."""

    until: float
    why: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Do not wait: the run pauses and a person may resume it."""

    why: str


def made_progress(report: Report) -> bool:
    """Whether the agent worked before it was refused. If so, refusals in a row are counted from 1 again."""
    # an agent that reports no output may have done nothing but retry silently, however long it ran
    wrote = report.usage.tokens_out > 0 and not report.usage.estimated
    return wrote and report.ended - report.began >= WORKED_S


def decide_wait(
    report: Report, number: int, waits: Sequence[PastWait], *, wait: bool, now: float, zone: tzinfo | None = None
) -> WaitUntil | GiveUp:
    """Whether to wait after the `number`th refusal in a row, and until when. `waits`: the waits between these refusals
    in this process. `wait`: whether the settings allow waiting. `zone`: the time zone of the times in the message."""
    until = _resume_time(report, number)
    remaining = until - now
    if remaining <= 0:  # the time has passed already
        return WaitUntil(until, report.why)
    if not wait:
        return GiveUp(f"{report.why}; waiting is switched off: {_resume_hint(report, until, now, zone)}")
    waited = sum(past_wait.seconds for past_wait in waits)
    if remaining + (waited if report.until else 0) > LONGEST_WAIT_S:
        return GiveUp(f"{report.why}; trued does not wait that long: {_resume_hint(report, until, now, zone)}")
    blind = sum(past_wait.seconds for past_wait in waits if not past_wait.has_provider_time)
    if not report.until and blind + remaining > BLIND_S:
        return GiveUp(f"{report.why}; {NO_TIME}, and waiting {duration(blind)} did not help")
    return WaitUntil(until, report.why)


def _resume_time(report: Report, number: int) -> float:
    """When to try again: a margin after the time that the provider names, or after a growing back-off if the provider
    names no time. From the third refusal in a row on, the wait is never shorter than a back-off, because the provider's
    times may be wrong."""
    if not report.until:
        return report.ended + _step(number)
    doubted = report.ended + _step(number - DOUBTED) if number > DOUBTED else 0.0
    return max(report.until + AFTER_S, doubted)


def _step(number: int) -> float:
    return BACK_OFF_S[min(max(number, 1), len(BACK_OFF_S)) - 1]


# -- words ------------------------------------------------------------------------------------------------------------


def _resume_hint(report: Report, until: float, now: float, zone: tzinfo | None) -> str:
    """A clause that says when a person may resume. If the provider names no time, the clause is NO_TIME."""
    if not report.until:
        return NO_TIME
    day = "%H:%M" if until - now < 12 * 3600 else "%a %d %b %H:%M"
    at = datetime.fromtimestamp(until, zone).strftime(day)
    return f"the provider accepts requests again at {at}, in {duration(until - now)}"
