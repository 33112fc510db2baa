"""Refusals of providers are understood: real messages, tables of forms, and random texts."""

import tomllib
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from trued.agents.driver.provider_errors import LONGEST, Refusal, parse_refusal
from trued.agents.driver.reset_time import FARTHEST_S, PASSED_S, duration_seconds

HERE = Path(__file__).parent
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC).timestamp()


@cache
def corpus() -> tuple[dict[str, Any], ...]:
    data = tomllib.loads((HERE / "messages.toml").read_text(encoding="utf-8"))
    return tuple({"now": data["now"], **one} for one in data["message"])


@cache
def none() -> tuple[dict[str, Any], ...]:
    return tuple(tomllib.loads((HERE / "none.toml").read_text(encoding="utf-8"))["text"])


def at(text: str, **more: Any) -> float:
    """Seconds from now to the time that a text names; 0 if it names none."""
    found = parse_refusal(text, now=NOW, **more)
    assert found is not None
    return round(found.until - NOW, 3) if found.until else 0.0


# -- the corpus -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("RUN-7", "AGT-1")
@pytest.mark.parametrize("number", range(len(corpus())))
def test_a_real_message_is_understood_with_its_time(number: int) -> None:
    one = corpus()[number]
    now = one["now"].timestamp()
    zone = ZoneInfo(one["zone"]) if "zone" in one else None
    wanted = one["until"].timestamp() if "until" in one else now + one["in"] if "in" in one else 0.0
    found = parse_refusal(one["text"], now=now, status=one.get("status", 0), zone=zone)
    assert found is not None
    assert found.kind == one["kind"]
    assert found.until == pytest.approx(wanted, abs=0.001)
    assert 4 <= len(found.why) <= LONGEST


def test_the_corpus_is_large_enough_and_of_many_vendors() -> None:
    waits = [one for one in corpus() if one["kind"] in ("rate", "overloaded")]
    ends = [one for one in corpus() if one["kind"] in ("auth", "credit", "context")]
    assert len(waits) >= 50
    assert len(ends) >= 15
    assert len({one["vendor"] for one in waits}) >= 8
    assert len(none()) >= 30
    assert all(one["seen"] and one["program"] for one in corpus())


@pytest.mark.spec("RUN-7")
@pytest.mark.parametrize("one", none(), ids=lambda one: one["what"])
def test_what_an_agent_writes_about_limits_is_no_refusal(one: dict[str, Any]) -> None:
    assert parse_refusal(one["text"], now=NOW, prose=True) is None
    if one.get("error"):
        assert parse_refusal(one["text"], now=NOW) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("You've hit your session limit · resets 8:30pm (Asia/Tokyo)", "rate"),
        ("Claude AI usage limit reached|1794787200", "rate"),
        ("Opus weekly limit reached ∙ resets Nov 20, 9am", "rate"),
        ("Credit balance is too low", "credit"),
        ("Credit balance too low · Add funds: https://console.anthropic.com/settings/billing", "credit"),
        ("Invalid API key · Please run /login", "auth"),
        ("OAuth token revoked · Please run /login", "auth"),
        ("Prompt is too long", "context"),
        ('API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', "overloaded"),
        ("API Error: Unable to connect to API (ECONNRESET)", "overloaded"),
        ("You've hit your usage limit. Try again in 4 days 20 hours 9 minutes.", "rate"),
    ],
)
def test_a_notice_that_stands_alone_is_one_even_as_an_agents_last_words(text: str, kind: str) -> None:
    found = parse_refusal(text, now=NOW, prose=True)
    assert found is not None
    assert found.kind == kind
    assert parse_refusal(f"I changed the banner. It now reads: {text}", now=NOW, prose=True) is None


# -- status and headers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (401, "no", "auth"),
        (402, "no", "credit"),
        (403, "no", "auth"),
        (403, "You have exceeded a secondary rate limit", "rate"),
        (408, "", "overloaded"),
        (413, "", "context"),
        (429, "", "rate"),
        (429, "insufficient_quota", "credit"),
        (500, "", "overloaded"),
        (502, "<html>Bad Gateway</html>", "overloaded"),
        (529, "", "overloaded"),
        (404, "no such model", "other"),
        (400, "tools.0.name: invalid", "other"),
        (400, "prompt is too long: 3 tokens > 2 maximum", "context"),
    ],
)
def test_a_status_speaks_for_itself_unless_the_words_know_better(status: int, text: str, kind: str) -> None:
    found = parse_refusal(text, now=NOW, status=status)
    assert found is not None
    assert found.kind == kind


def test_a_status_that_is_no_error_refuses_nothing() -> None:
    assert parse_refusal("all is well", now=NOW, status=200) is None


@pytest.mark.spec("RUN-7")
@pytest.mark.parametrize(
    ("headers", "wanted"),
    [
        ({"retry-after": "41"}, 41),
        ({"Retry-After": "1.5"}, 1.5),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "Sun, 15 Nov 2026 12:05:00 GMT"}, 300),
        ({"retry-after": "Sun, 15 Nov 2026 11:05:00 GMT"}, 0),  # in the past
        ({"retry-after": "99999999"}, 0),  # in three years
        ({"retry-after": "soon"}, 0),
        ({"retry-after": "-5"}, 0),
        ({"anthropic-ratelimit-unified-reset": str(int(NOW) + 9000)}, 9000),
        ({"anthropic-ratelimit-input-tokens-reset": "2026-11-15T12:01:00Z"}, 60),
        (
            {
                "anthropic-ratelimit-requests-remaining": "49",
                "anthropic-ratelimit-requests-reset": "2026-11-15T12:09:00Z",
                "anthropic-ratelimit-input-tokens-remaining": "0",
                "anthropic-ratelimit-input-tokens-reset": "2026-11-15T12:01:00Z",
            },
            60,
        ),
        ({"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s"}, 360),
        (
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "2m59.56s",
                "x-ratelimit-reset-tokens": "7.66s",
            },
            179.56,
        ),
        ({"X-RateLimit-Reset": str((int(NOW) + 120) * 1000)}, 120),
        ({"X-RateLimit-Reset": str(int(NOW) + 120)}, 120),
        ({"retry-after": "20", "x-ratelimit-reset-tokens": "6m0s"}, 20),
        ({"content-type": "application/json"}, 0),
    ],
)
def test_headers_tell_the_time(headers: dict[str, str], wanted: float) -> None:
    assert at("Too many requests", status=429, headers=headers) == pytest.approx(wanted, abs=0.01)


def test_a_login_is_not_waited_for_whatever_its_headers_say() -> None:
    found = parse_refusal("expired", now=NOW, status=401, headers={"retry-after": "5"})
    assert found == Refusal("auth", 0.0, "expired")


# -- times in words ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("try again in 20s", 20),
        ("try again in 6m0s", 360),
        ("Try again in 1h12m3s.", 4323),
        ("Please wait 1 minute and 30 seconds", 90),
        ("retry in about an hour", 3600),
        ("resets in 2d 3h", 183600),
        ("try again in 3 days, 4 hours, 9 minutes", 274140),
        ('"retryDelay": "37s"', 37),
        ('"retryDelay": "0.5s"', 0.5),
        ("retry_after: 12", 12),
        ('"retry_after_ms": 2500', 2.5),
        ("Retry-After: 30", 30),
        ("retryAfter=7.5", 7.5),
        ('"resets_at": "2026-11-15T14:00:00Z"', 7200),
        ('"resetsAt":1794750000', 6000),
        ("try again at 3:20 PM", 12000),
        ("try again at 15:20 UTC", 12000),
        ("resets at 3pm (America/New_York)", 28800),
        ("resets 6am tomorrow", 64800),
        ("resets tomorrow at 6am", 64800),
        ("resets Monday at 9am", 75600),
        ("resets Nov 20, 9am", 421200),
        ("resets Jan 2 at 5pm", 0),  # too far away to be plausible
        ("try again at Nov 20th, 2026 9:14 AM", 422040),
        ("try again at Nov 20th, 2025 9:14 AM", 0),
        ("resets 11:55am", 0),  # five minutes ago: an old notice, not tomorrow's
        ("resets 11:30am", 84600),
        ("resets 3pm (Atlantis/Capital)", 0),
        ("resets 13pm", 0),
        ("resets 25:00", 0),
        ("resets Feb 30 at 3pm", 0),
        ("try again in 0s", 0),
        ("try again in 99999 days", 0),
        ("try again in a moment", 0),
        ("reset after 5 attempts", 0),
        ("please wait and try again", 0),
        ("Retrying in 4 seconds… (attempt 4/10)", 0),  # the program's own back-off
        ("retrying in 20h28m - attempt #1", 73680),
        ("Please try again in 40s. Please try again in 9s.", 9),  # the last one is the newest
    ],
)
def test_a_time_in_words(words: str, wanted: float) -> None:
    assert at(f"Rate limit reached. {words}", zone=UTC) == pytest.approx(wanted, abs=0.001)


SPELLINGS = {
    86400: ("d", " d", " day", " days"),
    3600: ("h", " h", " hr", " hours", " hour"),
    60: ("m", " min", " mins", " minutes", "min"),
    1: ("s", " s", " sec", " seconds", "secs"),
}


@given(
    parts=st.lists(st.integers(1, 59), min_size=4, max_size=4),
    given_units=st.sets(st.sampled_from(sorted(SPELLINGS)), min_size=1),
    chosen=st.lists(st.integers(0, 3), min_size=4, max_size=4),
    between=st.sampled_from([" ", ", ", " and ", ""]),
)
def test_a_duration_is_read_in_all_spellings(
    parts: list[int], given_units: set[int], chosen: list[int], between: str
) -> None:
    units = sorted(given_units, reverse=True)
    words = between.join(f"{n}{SPELLINGS[u][c]}" for n, u, c in zip(parts, units, chosen, strict=False))
    total = sum(number * unit for number, unit in zip(parts, units, strict=False))
    assert duration_seconds(words) == total
    told = parse_refusal(f"Rate limit reached, please try again in {words}.", now=NOW)
    assert told is not None
    assert told.until == (NOW + total if total <= FARTHEST_S else 0.0)


PLACES = ("Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "America/Santiago", "UTC")


@given(
    now=st.integers(1_700_000_000, 1_900_000_000),
    hour=st.integers(0, 23),
    minute=st.integers(0, 59),
    place=st.sampled_from(PLACES),
    named=st.booleans(),
    half=st.booleans(),
)
def test_a_time_of_day_is_the_next_one_in_its_place(
    now: int, hour: int, minute: int, place: str, named: bool, half: bool
) -> None:
    zone = ZoneInfo(place)
    clock = f"{hour:02d}:{minute:02d}"
    if half:
        clock = f"{(hour - 1) % 12 + 1}:{minute:02d}{'am' if hour < 12 else 'pm'}"
    suffix = f" ({place})" if named else ""
    told = parse_refusal(f"Usage limit reached, resets {clock}{suffix}", now=now, zone=None if named else zone)
    assert told is not None
    if told.until == 0.0:  # the time has just passed
        ago = datetime.fromtimestamp(now, zone)
        times = [ago - timedelta(seconds=one) for one in range(int(PASSED_S) + 60)]
        assert any((one.hour, one.minute) == (hour, minute) for one in times) or _is_a_gap(now, hour, minute, zone)
        return
    shown = datetime.fromtimestamp(told.until, zone)
    assume(not _is_a_gap(now, hour, minute, zone))  # a time that the clock jumps over is read as another one
    assert (shown.hour, shown.minute) == (hour, minute)
    assert 0 < told.until - now <= 25.1 * 3600


def _is_a_gap(now: int, hour: int, minute: int, zone: ZoneInfo) -> bool:
    """Whether this time of day does not exist on one of the days around now."""
    today = datetime.fromtimestamp(now, zone).replace(hour=hour, minute=minute, second=0, microsecond=0, tzinfo=None)
    for day in (-1, 0, 1, 2):
        moment = (today + timedelta(days=day)).replace(tzinfo=zone)
        if datetime.fromtimestamp(moment.timestamp(), zone).replace(tzinfo=None) != moment.replace(tzinfo=None):
            return True
    return False


@pytest.mark.parametrize(
    ("now", "words", "wanted"),
    [  # Berlin: summer ends on 25 October 2026 at 3:00, begins on 28 March 2027 at 2:00
        ("2026-10-24T20:00:00+02:00", "resets 9am (Europe/Berlin)", "2026-10-25T09:00:00+01:00"),
        ("2026-10-25T01:00:00+02:00", "resets 2:30am (Europe/Berlin)", "2026-10-25T02:30:00+02:00"),
        ("2026-10-25T02:50:00+02:00", "resets 2:30am (Europe/Berlin)", "2026-10-25T02:30:00+01:00"),
        ("2027-03-27T20:00:00+01:00", "resets 9am (Europe/Berlin)", "2027-03-28T09:00:00+02:00"),
        ("2027-03-28T01:00:00+01:00", "resets 2:30am (Europe/Berlin)", "2027-03-28T03:30:00+02:00"),
    ],
)
def test_summer_time_is_kept(now: str, words: str, wanted: str) -> None:
    found = parse_refusal(f"Usage limit reached, {words}", now=datetime.fromisoformat(now).timestamp())
    assert found is not None
    assert found.until == datetime.fromisoformat(wanted).timestamp()


# -- hostile texts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "piece",
    [
        "a", " ", "1", "1 ", "1h", "try again in ", "try again in 1", "resets ", "resets Jan ", "limit reached|1",
        '"message":"', "'message': '", "{", "\\", "error 4", "status: ", "retry after 1 day and ", "\x1b[", "│",
        "again at 1:",
    ],
)  # fmt: skip
@pytest.mark.timeout(60)  # it takes milliseconds; a regular expression that backtracks would never end
def test_a_megabyte_of_anything_is_read_in_a_blink(piece: str) -> None:
    text = f"429 rate limit {piece * (1_000_000 // len(piece))}"
    assert parse_refusal(text, now=NOW) is not None
    parse_refusal(text[-1_000_000:], now=NOW, prose=True)


@given(text=st.text(max_size=400), status=st.sampled_from([0, 200, 400, 401, 429, 500]), prose=st.booleans())
def test_no_text_breaks_it(text: str, status: int, prose: bool) -> None:
    found = parse_refusal(text, now=NOW, status=status, prose=prose, headers={"retry-after": text[:70]})
    if found:
        assert found.until == 0.0 or NOW < found.until <= NOW + FARTHEST_S
        assert len(found.why) <= LONGEST
