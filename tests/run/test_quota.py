"""What Claude Code reports about a subscription's quota, with events that users have seen."""

from dataclasses import replace
from typing import Any

import pytest

from trued.agents.adapters.claude import fold
from trued.agents.driver.transcript import Transcript
from trued.model import Event
from trued.reporting.views.progress import Progress
from trued.wire import Order, Price

SOON = 1784283600


@pytest.fixture
def transcript() -> Transcript:
    order = Order("r", "a#1", "a", 1, "solo", "claude", "brief", {}, "s", False, "/f", "/h")
    return Transcript(order, lambda kind, **data: None)


def told(**info: Any) -> dict[str, Any]:
    return {"type": "rate_limit_event", "session_id": "s", "rate_limit_info": info}


@pytest.mark.spec("RUN-6")
def test_the_fullest_window_counts_and_one_that_tells_no_figure_does_not(transcript: Transcript) -> None:
    fold(told(status="allowed", resetsAt=SOON, rateLimitType="five_hour", isUsingOverage=False), transcript)
    assert transcript.quota == {}
    fold(told(status="allowed_warning", resetsAt=SOON, rateLimitType="five_hour", utilization=0.83), transcript)
    assert transcript.quota == {"window": "five_hour", "used": 83.0, "until": SOON}
    windows = {
        "five_hour": {"utilization": 0.84, "resetsAt": SOON},
        "seven_day": {"utilization": 0.91, "resetsAt": SOON + 9},
    }
    fold(told(status="allowed", resetsAt=SOON, rateLimitType="five_hour", unifiedWindows=windows), transcript)
    assert transcript.quota == {"window": "seven_day", "used": 91.0, "until": SOON + 9}


@pytest.mark.spec("RUN-6", "AGT-6")
def test_a_cost_of_nothing_for_many_tokens_is_a_price_that_it_does_not_know(transcript: Transcript) -> None:
    transcript.order = replace(transcript.order, price=Price(3.0, 15.0, 0.3, "ceiling"))
    fold({"type": "result", "usage": {"input_tokens": 1_000_000}, "total_cost_usd": 0, "result": "x"}, transcript)
    assert (transcript.usage_with_cost().cost_usd, transcript.usage_with_cost().cost) == (3.0, "ceiling")


@pytest.mark.spec("RUN-7")
def test_a_closed_window_says_when_a_refusal_without_a_time_is_over(transcript: Transcript) -> None:
    fold(told(status="rejected", resetsAt=SOON, rateLimitType="five_hour"), transcript)
    transcript.refuse("rate_limit_error: This request would exceed your account's rate limit.", status=429)
    assert transcript.refusal is not None
    assert (transcript.refusal.kind, transcript.refusal.until) == ("rate", SOON)


@pytest.mark.spec("RUN-6", "RUN-10")
def test_views_know_the_window_of_each_kind_of_agent() -> None:
    data = {"agent": "claude:opus", "window": "five_hour", "used": 83.0, "until": SOON}
    seen = Progress([Event(id=1, at=1.0, key="a#1", kind="quota", data=data)])
    ((kind, quota),) = seen.quotas.items()
    assert (kind, quota.window, quota.used, quota.until) == ("claude", "five_hour", 83.0, SOON)
