"""Finds when a provider accepts requests again, from headers, JSON fields and English sentences of a refusal."""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from email.utils import parsedate_to_datetime
from functools import partial
from zoneinfo import ZoneInfo

from trued.support.lazy_regex import lazy_regex

FARTHEST_S = 32 * 86400.0  # the longest wait, for a monthly quota; a time further away must be a mistake
PASSED_S = 900.0  # a time of day that passed this recently is not tomorrow's: "resets 3pm", read at 3:10 pm, is old

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
UNIT = (
    r"(?:milliseconds?|msecs?|ms|weeks?|wks?|w|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)"
    r"(?:(?=\d)|(?![a-z]))"
)
PART = rf"(?:\d{{1,9}}(?:\.\d{{1,12}})?\s?|(?:an?|one)\s){UNIT}"
DURATION = rf"{PART}(?:,?\s?(?:and\s)?{PART}){{0,5}}"
PARTS = lazy_regex(rf"(\d{{1,9}}(?:\.\d{{1,12}})?|an?(?=\s)|one(?=\s))\s?({UNIT})", re.IGNORECASE)

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
ZONES = {  # common abbreviations, in summer and winter; ambiguous ones are left out
    **dict.fromkeys(("utc", "gmt", "z"), "UTC"),
    **dict.fromkeys(("pt", "pst", "pdt", "pacific"), "America/Los_Angeles"),
    **dict.fromkeys(("et", "est", "edt", "eastern"), "America/New_York"),
    **dict.fromkeys(("cet", "cest"), "Europe/Berlin"),
}

# -- patterns: words that announce a time, then the time. All repeats are bounded, so that matching is always quick.

STAMP = lazy_regex(
    r"(?:limit reached\s?\||(?:(?<![a-z-])resets?[_-]?at|ratelimit-reset|quotaresettimestamp)[\"']?\s?[:=]\s?[\"']?)"
    r"(\d{10,13})(?!\d)",
    re.IGNORECASE,
)
WRITTEN = lazy_regex(
    r"(?:resets?[_-]?at|quotaresettimestamp)[\"']?\s?[:=]\s?[\"']?(20\d\d-\d\d-\d\dt[\d:.]{5,15}(?:z|[+-]\d\d:?\d\d)?)",
    re.IGNORECASE,
)
NUMBER = lazy_regex(
    r"(?:retry[_-]?after|(?<![a-z-])resets?[_-]in)([_-]?(?:seconds|secs|ms))?[\"']?\s?[:=]\s?[\"']?(\d{1,9}(?:\.\d{1,9})?)(?![\d.a-z:/-])",
    re.IGNORECASE,
)
DELAY = lazy_regex(rf"(?:retry[_-]?delay|retry[_-]?after)[\"']?\s?[:=]\s?[\"']?({DURATION})", re.IGNORECASE)
AFTER = lazy_regex(
    rf"(?:again|retry|resets?|wait|available|access|renews?)(?: again)?(?: in| after| for)?"
    rf"(?: about| approximately| another| up to)?\s~?({DURATION})",
    re.IGNORECASE,
)
# the program's own plan to retry (it ended before that): read only if the text contains no other time
PLANNED = lazy_regex(rf"retrying in\s({DURATION})", re.IGNORECASE)
CLOCK = lazy_regex(
    r"(?:again|resets?|access|available|until|renews?|retry)\s?(?:at|on|after|by)?\s"
    r"(?:(?P<iso>\d{4}-\d\d-\d\d)[t ]?"
    r"|(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?\s(?P<day>\d{1,2})(?:st|nd|rd|th)?(?:,?\s(?P<year>20\d\d))?"
    r"|(?P<week>mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}|(?P<next>tomorrow|today))?"
    r"(?:,?\s?(?:at\s)?(?P<hour>\d{1,2})(?::(?P<minute>\d\d)(?::\d\d(?:\.\d{1,9})?)?)?\s?(?P<half>[ap]\.?m\b)?(?![\d:%]))?"
    r"(?P<late>\s?tomorrow)?"
    r"\s?\(?(?P<zone>[a-z_]{2,20}/[a-z0-9_+/-]{2,40}|[+-]\d\d:?\d\d\b|utc\b|gmt\b|z\b|p[sd]?t\b|pacific\b|e[sd]?t\b|eastern\b|ces?t\b)?",
    re.IGNORECASE,
)


def reset_time_in_text(text: str, now: float, zone: tzinfo | None) -> float:
    """When the provider accepts requests again, in epoch seconds; 0 if the text contains no plausible time. `zone`: the
    time zone of times that name none."""
    readers: tuple[Callable[[str, float], Iterator[float]], ...] = (
        *(_stamps, _numbers, _durations),
        *(partial(_clocks, zone=zone), _planned_retries),
    )
    for reader in readers:
        times = [time for time in reader(text, now) if is_plausible(time, now)]
        if times:
            return times[-1]  # the last: a text about several attempts ends with the newest
    return 0.0


def is_plausible(time: float, now: float) -> bool:
    """Whether the time is in the future and not too far away."""
    return math.isfinite(time) and now < time <= now + FARTHEST_S


def duration_seconds(duration: str) -> float:
    """The seconds in a duration such as `6m0s`, `3 days 4 hours 9 minutes`, `174ms` or `an hour`; nan if the text
    contains no duration, or a duration of 0."""
    parts = [(1.0 if part[0].isalpha() else float(part), unit.lower()) for part, unit in PARTS.findall(duration)]
    return (
        sum(number * UNITS["ms" if unit.startswith(("ms", "mil")) else unit[0]] for number, unit in parts) or math.nan
    )


def next_midnight(now: float, zone: str) -> float:
    """The next midnight in that time zone; 0 if the zone is unknown."""
    tz = _zone(zone)
    if tz is None:
        return 0.0
    today = datetime.fromtimestamp(now, tz).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    return _epoch(today + timedelta(days=1), tz)


# -- the text ---------------------------------------------------------------------------------------------------------


def _stamps(text: str, now: float) -> Iterator[float]:
    for digits in STAMP.findall(text):
        yield int(digits) / (1000 if len(digits) > 11 else 1)
    for written in WRITTEN.findall(text):
        yield _moment(written.upper(), now)


def _numbers(text: str, now: float) -> Iterator[float]:
    for unit, number in NUMBER.findall(text):
        yield now + float(number) / (1000 if unit.lower().endswith("ms") else 1)
    for duration in DELAY.findall(text):
        yield now + duration_seconds(duration)


def _durations(text: str, now: float) -> Iterator[float]:
    for duration in AFTER.findall(text):
        yield now + duration_seconds(duration)


def _planned_retries(text: str, now: float) -> Iterator[float]:
    for duration in PLANNED.findall(text):
        if duration_seconds(duration) >= UNITS["m"]:  # less than a minute is only the program's own back-off
            yield now + duration_seconds(duration)


def _clocks(text: str, now: float, zone: tzinfo | None) -> Iterator[float]:
    for match in CLOCK.finditer(text):
        with suppress(ValueError, OverflowError, OSError):  # February 30th, or a time after 2038 on a 32-bit clock
            if time := _clock(match, now, zone):
                yield time


def _clock(match: "re.Match[str]", now: float, zone: tzinfo | None) -> float:
    if not any(match[name] for name in ("iso", "month", "week", "next")) and not _reads_as_clock(match):
        return 0.0
    tz = _zone(match["zone"]) if match["zone"] else zone
    if match["zone"] and tz is None:
        return 0.0  # an unknown time zone: any time would be a guess
    today = datetime.fromtimestamp(now, tz).replace(tzinfo=None)
    moments = [moment for day in _days(match, today) for moment in _moments(day + _time_of_day(match), tz)]
    exact = match["iso"] or match["year"]
    if any(now - PASSED_S <= moment <= now for moment in moments) and not exact:
        return 0.0
    return min((moment for moment in moments if moment > now), default=0.0)


def _reads_as_clock(match: "re.Match[str]") -> bool:
    """Whether the match is a time of day. A bare number is no time of day, such as the 5 in `reset after 5 retries`."""
    return bool(match["hour"] and (match["half"] or match["minute"]))


def _time_of_day(match: "re.Match[str]") -> timedelta:
    hour, minute = int(match["hour"] or 0), int(match["minute"] or 0)
    half = (match["half"] or "").lower()
    if half:
        if not 1 <= hour <= 12:
            raise ValueError(f"{hour} {half}")
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    if hour > 24 or minute > 59:
        raise ValueError(f"{hour}:{minute}")
    return timedelta(hours=hour, minutes=minute)


def _days(match: "re.Match[str]", today: datetime) -> list[datetime]:
    """The days that the text can mean. If it names no day, these are yesterday, today and the next two days."""
    start = today.replace(hour=0, minute=0, second=0, microsecond=0)
    if match["iso"]:
        return [datetime.strptime(match["iso"], "%Y-%m-%d")]  # noqa: DTZ007  wall-clock time: the zone is applied later
    if match["month"]:
        month, day = MONTHS.index(match["month"].lower()) + 1, int(match["day"])
        years = [int(match["year"])] if match["year"] else [today.year, today.year + 1]
        return [datetime(year, month, day) for year in years if (month, day) != (2, 29) or year % 4 == 0]  # noqa: DTZ001
    if match["week"]:
        ahead = (DAYS.index(match["week"].lower()) - today.weekday()) % 7
        return [start + timedelta(days=ahead), start + timedelta(days=ahead + 7)]
    if match["late"] or (match["next"] or "").lower() == "tomorrow":
        return [start + timedelta(days=1)]
    return [start + timedelta(days=ahead) for ahead in (-1, 0, 1, 2)]


def _moments(wall: datetime, tz: tzinfo | None) -> tuple[float, float]:
    """The first and the last moment at which clocks show this time, in epoch seconds. They differ only if clocks are
    set back and show the time twice. If clocks are set forward and skip the time, both are the moment after the
    jump."""
    first, second = _epoch(wall, tz), _epoch(wall.replace(fold=1), tz)
    return first, max(first, second)


def _epoch(moment: datetime, tz: tzinfo | None) -> float:
    """Epoch seconds of a wall-clock time in the zone `tz`; None is this machine's zone."""
    return moment.replace(tzinfo=tz).timestamp()


def _zone(name: str) -> tzinfo | None:
    if name[0] in "+-":
        sign, digits = (-1 if name[0] == "-" else 1), name[1:].replace(":", "")
        minutes = sign * (int(digits[:2]) * 60 + int(digits[2:]))
        return timezone(timedelta(minutes=minutes)) if abs(minutes) < 24 * 60 else None
    try:
        return ZoneInfo(ZONES.get(name.lower(), name))
    except (ValueError, LookupError, OSError):  # the zone is unknown, not a valid name, or a folder
        return None


# -- headers ----------------------------------------------------------------------------------------------------------


def reset_time_in_headers(headers: Mapping[str, str], now: float) -> float:
    """When the provider accepts requests again; 0 if unknown. `retry-after` comes first, then Anthropic's unified
    reset, then the latest reset of a used-up limit, then the latest reset of any limit."""
    values = {name.lower(): value.strip() for name, value in headers.items()}
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0), ("x-retry-after", 1.0)):
        if is_plausible(time := _moment(values.get(name, ""), now, scale), now):
            return time
    resets = {name: value for name, value in values.items() if "ratelimit" in name and "reset" in name}
    if is_plausible(time := _moment(resets.pop("anthropic-ratelimit-unified-reset", ""), now), now):
        return time
    used_up = {name: value for name, value in resets.items() if values.get(name.replace("reset", "remaining")) == "0"}
    times = [_moment(value, now) for value in (used_up or resets).values()]
    return max((time for time in times if is_plausible(time, now)), default=0.0)


def _moment(value: str, now: float, scale: float = 1.0) -> float:
    """The time that a header names, in epoch seconds; 0 if it names none. The value may be a number of seconds from now
    (of `scale` seconds, if `scale` is not 1), epoch seconds or milliseconds, a duration, or a date of HTTP or RFC
    3339."""
    if not value or len(value) > 64:
        return 0.0
    if re.fullmatch(r"\d{1,13}(?:\.\d{1,9})?", value):
        number = float(value)
        return number / 1000 if number > 1e11 else number if number > 1e9 else now + number * scale
    if re.fullmatch(DURATION, value, re.IGNORECASE):
        return now + duration_seconds(value)
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        with suppress(ValueError, TypeError, OverflowError, OSError):
            moment = read(value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return 0.0
