"""How long a refused call waits, in tables of inputs and results."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trued.run.backoff import (
    AFTER_S,
    BACK_OFF_S,
    BLIND_S,
    LONGEST_WAIT_S,
    WORKED_S,
    GiveUp,
    PastWait,
    WaitUntil,
    decide_wait,
    made_progress,
)
from trued.wire import Report, Usage

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC).timestamp()
HOUR = 3600.0


def refused(in_s: float = 0.0, *, ago: float = 0.0, worked: float = 1.0, why: str = "claude: not now") -> Report:
    """The report of a refusal. `in_s`: in how many seconds the provider accepts requests again; 0: it does not say."""
    ended = NOW - ago
    return Report(
        "c", 1, "failed", kind="rate", why=why, until=NOW + in_s if in_s else 0.0, began=ended - worked, ended=ended
    )


def decided(
    report: Report, number: int = 1, waits: tuple[PastWait, ...] = (), *, wait: bool = True
) -> WaitUntil | GiveUp:
    return decide_wait(report, number, waits, wait=wait, now=NOW, zone=UTC)


@pytest.mark.spec("RUN-7")
@pytest.mark.parametrize(
    ("told_in", "number", "waits", "waits_for"),
    [
        (20.0, 1, (), 23.0),  # a few seconds more: clocks differ
        (5 * HOUR, 1, (), 5 * HOUR + 3),  # a subscription's window
        (LONGEST_WAIT_S - 10, 1, (), LONGEST_WAIT_S - 7),
        (0.5, 1, (), 3.5),
        (2.0, 2, (PastWait(5, has_provider_time=True),), 5.0),
        (2.0, 3, (PastWait(5, has_provider_time=True),) * 2, 15.0),  # wrong twice: wait longer
        (2.0, 6, (PastWait(5, has_provider_time=True),) * 5, 120.0),
        (300.0, 4, (PastWait(303, has_provider_time=True),) * 3, 303.0),  # longer than the back-off: it counts
    ],
)
def test_a_told_time_is_waited_for(told_in: float, number: int, waits: tuple[PastWait, ...], waits_for: float) -> None:
    found = decided(refused(told_in), number, waits)
    assert isinstance(found, WaitUntil)
    assert found.until - NOW == pytest.approx(waits_for)


@pytest.mark.spec("RUN-7")
def test_without_a_told_time_it_backs_off_for_an_hour_in_all_and_then_gives_up() -> None:
    waits: list[PastWait] = []
    while isinstance(found := decided(refused(), len(waits) + 1, tuple(waits)), WaitUntil):
        waits.append(PastWait(found.until - NOW, has_provider_time=False))
    lengths = [round(one.seconds) for one in waits]
    assert lengths[:7] == [round(one) for one in BACK_OFF_S] == [15, 30, 60, 120, 240, 480, 900]
    assert set(lengths[7:]) == {900}
    assert BLIND_S - 900 < sum(lengths) <= BLIND_S
    assert "the provider did not say until when, and waiting 45m45s did not help" in found.why


@pytest.mark.spec("RUN-7")
@pytest.mark.parametrize(
    ("report", "waits", "wait", "says"),
    [
        (
            refused(40 * HOUR),
            (),
            True,
            "trued does not wait that long: the provider accepts requests again at Tue 17 Nov 04:00, in 1d16h",
        ),
        (refused(5 * 24 * HOUR), (), True, "in 5d00h"),
        (
            refused(4 * HOUR),
            (PastWait(5 * HOUR, has_provider_time=True),),
            True,
            "the provider accepts requests again at 16:00, in 4h00m",
        ),
        (refused(720.0), (), False, "waiting is switched off: the provider accepts requests again at 12:12, in 12m03s"),
        (refused(), (), False, "waiting is switched off: the provider did not say until when"),
    ],
)
def test_who_gives_up_says_when_to_go_on(report: Report, waits: tuple[PastWait, ...], wait: bool, says: str) -> None:
    found = decided(report, len(waits) + 1, waits, wait=wait)
    assert isinstance(found, GiveUp)
    assert found.why.startswith("claude: not now; ")
    assert says in found.why


@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("report", [refused(-60.0), refused(ago=20.0)])
def test_what_has_passed_while_nobody_was_there_is_not_waited_for_again(report: Report, wait: bool) -> None:
    found = decided(report, wait=wait)
    assert isinstance(found, WaitUntil)
    assert found.until <= NOW


def test_waits_that_were_told_do_not_use_up_the_hour_of_guessing() -> None:
    assert isinstance(decided(refused(), 2, (PastWait(5 * HOUR, has_provider_time=True),)), WaitUntil)
    assert isinstance(decided(refused(), 2, (PastWait(BLIND_S, has_provider_time=False),)), GiveUp)


def test_an_agent_that_worked_before_it_was_refused_has_got_further() -> None:
    said = Usage(100, 10, estimated=False)
    assert made_progress(replace(refused(worked=WORKED_S), usage=said))
    assert not made_progress(replace(refused(worked=WORKED_S - 1), usage=said))


@pytest.mark.spec("RUN-7")
@pytest.mark.parametrize("usage", [Usage(), Usage(100, 10), Usage(100, 0, estimated=False)])
def test_an_agent_that_only_tried_again_in_silence_has_not(usage: Usage) -> None:
    assert not made_progress(replace(refused(worked=2 * WORKED_S), usage=usage))


@given(
    told_in=st.one_of(st.just(0.0), st.floats(0.1, 40 * 86400)),
    number=st.integers(1, 500),
    told=st.lists(st.tuples(st.floats(0, 90000), st.booleans()), max_size=20),
)
def test_nobody_waits_longer_than_patience_allows(told_in: float, number: int, told: list[tuple[float, bool]]) -> None:
    waits = tuple(PastWait(seconds, has_provider_time=was) for seconds, was in told)
    found = decided(refused(told_in), number, waits)
    if isinstance(found, WaitUntil):
        left = found.until - NOW
        assert left <= (LONGEST_WAIT_S if told_in else BLIND_S) + 1e-3
        assert not told_in or left >= min(told_in, LONGEST_WAIT_S - AFTER_S)
