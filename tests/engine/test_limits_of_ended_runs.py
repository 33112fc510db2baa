"""A limit for a run that is not continued is refused, not ignored."""

import asyncio
from pathlib import Path

import pytest

from tests.engine.ended_run import RUN, ended_run
from trued.errors import BadInput
from trued.inputs.settings.limits import parse_limits


@pytest.mark.spec("USE-7")
@pytest.mark.parametrize("state", ["done", "not proven", "cancelled", "stopped"])
def test_a_limit_for_a_run_that_is_not_continued_is_refused(tmp_path: Path, state: str) -> None:
    with ended_run(tmp_path) as place:
        journal = place.engine.store.journal
        journal.update(place.record().model_copy(update={"state": state}))
        with pytest.raises(BadInput, match=f"run {RUN} is {state}"):
            asyncio.run(place.engine.resume(RUN, more=parse_limits(["usd=5"]), who="ann"))
        assert journal.limit_changes(RUN) == []
        assert asyncio.run(place.engine.resume(RUN, who="ann")).state == state  # without a limit, it stays as it is


@pytest.mark.spec("USE-7")
def test_a_run_that_gets_more_rounds_gets_its_limit_too(tmp_path: Path) -> None:
    with ended_run(tmp_path) as place:
        journal = place.engine.store.journal
        journal.update(place.record().model_copy(update={"state": "not proven"}))
        place.engine.record_additions(RUN, more=parse_limits(["usd=5"]), rounds=1, who="ann")
        assert [(what, number) for _, what, number in journal.limit_changes(RUN)] == [("usd", 5.0)]
