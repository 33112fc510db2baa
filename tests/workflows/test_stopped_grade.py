"""A run that a person stops has one grade everywhere: no better than what nobody came to."""

import pytest

from tests.workflows.conftest import Ground, events, saying
from trued.model import Grade


@pytest.mark.spec("LAW-2", "DAY-12")
async def test_a_run_that_is_stopped_after_its_first_proven_chunk_is_not_proven(ground: Ground) -> None:
    engine, _ = ground.engine(person=saying(("stop", "")))
    record = await ground.run(engine, yes=False)
    assert record.state in ("waiting", "stopped")  # a pause, or an end
    assert record.grade is Grade.UNPROVEN
    assert [one.data["grade"] for one in events(engine, record, "ended")] == ["unproven"]
