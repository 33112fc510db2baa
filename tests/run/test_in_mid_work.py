"""A real agent process that uses more than was reserved is ended during its work, and continued later."""

import pytest

from tests.engine.test_exchange import BUILT, DOUBLE, Yard, yard
from tests.workflows.conftest import events

__all__ = ["yard"]

DEAR = {"sent": 500_000, "sleeps": 60, "reply": BUILT}  # costs $1.50 at its model's price, and would continue
CHEAP = {"reply": BUILT, "writes": DOUBLE, "cost": 0.1}


@pytest.mark.slow
@pytest.mark.spec("RUN-6", "RUN-5")
async def test_a_call_that_uses_too_much_is_ended_and_goes_on_in_its_session_while_there_is_room(yard: Yard) -> None:
    engine = yard.engine()
    record = await yard.run(engine, flags={"limits": ["usd=1.2"]}, turn_1=DEAR, turn_2=CHEAP)
    assert (record.state, record.code) == ("limited", 4)
    assert "the run has used up its usd: $1.50 of $1.20 spent" in record.why
    again = await yard.engine().resume(record.id)
    assert (again.state, len(yard.told())) == ("limited", 1)  # no agent was called
    engine = yard.engine()
    done = await engine.resume(record.id, more=[("", "usd", 5.0)], who="ann")
    assert (done.state, done.code) == ("done", 0)
    (answered,) = events(engine, record, "answered")
    assert answered.data["cost_usd"] == pytest.approx(1.6, abs=0.01)
    assert [round(row.spent.usd, 2) for row in engine.store.journal.spends(record.id)] == [1.5, 0.1]
    assert len({row.step for row in engine.store.journal.spends(record.id)}) == 1  # both count as one call
