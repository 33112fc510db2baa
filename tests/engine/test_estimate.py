"""The estimated range before anything is spent."""

import pytest

from trued.engine.estimate import PlannedRole, estimate
from trued.model import RunLimits
from trued.wire import Amount, Price, Spend

TABLE = Price(3.0, 15.0, 0.3, "a table")
CEILING = Price(15.0, 75.0, 15.0, "ceiling")


def past(*usd: float) -> list[Spend]:
    return [
        Spend(f"c{number}", 1, f"k{number}", "", "solo", "claude", "done", spent=Amount(one, 10_000, 0, 100 * one))
        for number, one in enumerate(usd)
    ]


@pytest.mark.spec("USE-10")
def test_what_such_calls_took_before_counts_more_than_what_is_stated() -> None:
    cast = [PlannedRole("solo", "claude", 1, 2, TABLE)]
    stated = estimate(cast, lambda role, agent: past(1.0, 2.0), RunLimits())
    learnt = estimate(cast, lambda role, agent: past(1.0, 2.0, 4.0), RunLimits())
    assert (learnt.over("usd"), learnt.over("seconds")) == ((1.0, 8.0), (100.0, 800.0))
    assert learnt.sentence == "1–2 calls, about $1.00–$8.00 and 2 min–13 min of work"
    assert (learnt.remarks, learnt.parts[0].basis) == ((), "as 3 earlier calls")
    assert stated.parts[0].basis == "stated"
    assert stated.remarks == ("a role has fewer than 3 earlier calls of claude: estimated from typical calls",)


@pytest.mark.spec("USE-10", "RUN-6")
def test_an_unknown_price_and_a_limit_that_will_not_do_are_said() -> None:
    cast = [PlannedRole("solo", "codex", 1, 2, CEILING, brief=4000)]
    low, high = estimate(cast, lambda role, agent: [], RunLimits()).over("usd")
    assert 0 < low < high
    found = estimate(cast, lambda role, agent: [], RunLimits(usd=low / 2, calls=2, tokens=10**9, time=100.0))
    assert (
        "the price of codex is unknown: estimated at the ceiling, $15 in and $75 out for a million tokens"
        in found.remarks
    )
    assert [one for one in found.remarks if one.startswith("the limit")] == [
        f"the limit of ${low / 2:.2f} will be reached before the end",
        "the limit of 2 min may be reached before the end",
    ]


@pytest.mark.spec("USE-10")
def test_the_same_is_there_for_programs() -> None:
    data = estimate([PlannedRole("solo", "claude", 1, 2, TABLE)], lambda role, agent: past(1, 2, 3), RunLimits()).data
    assert (data["calls"], data["usd"]) == ([1, 2], [1, 6])
    assert data["parts"][0]["price"] == "a table"
