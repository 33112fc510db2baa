"""A run that a person stops has the same grade everywhere: `unproven` at most if requirements were not judged."""

import pytest

from tests.workflows.conftest import Ground, events, saying
from trued.model import Grade


@pytest.mark.spec("LAW-2", "DAY-12")
@pytest.mark.slow
async def test_a_run_that_is_stopped_after_its_first_proven_chunk_is_not_proven(ground: Ground) -> None:
    engine, _ = ground.engine(person=saying(("stop", "")))
    record = await ground.run(engine, yes=False)
    assert record.state in ("waiting", "stopped")  # a pause, or an end
    assert record.grade is Grade.UNPROVEN
    assert [one.data["grade"] for one in events(engine, record, "ended")] == ["unproven"]
