"""`finish` proves the final commit; if the last round proved the same commit, its evidence is reused."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.engine.test_broken_off import Place, built, nothing
from tests.workflows.conftest import Ground, events
from trued.wire import Order, Report


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with ExitStack() as stack:
        yield Place(Ground(tmp_path, stack))


def wrong(order: Order) -> Report:
    report = nothing(order)
    (Path(order.folder) / "tiny.py").write_text("def double(x):\n    return 42\n")
    return report


@pytest.mark.spec("LAW-6", "LAW-9")
async def test_a_commit_that_the_last_round_proved_is_not_proven_twice(place: Place) -> None:
    engine, record, _ = await place.run(built)
    rounds = [one for one in events(engine, record, "checked") if one.key == "prove"]
    assert (record.state, record.code) == ("done", 0)
    assert {one.data["turn"] for one in rounds} == {1, 2}
    assert not [one for one in events(engine, record, "checked") if one.key == "finish"]
    (prove, finish) = events(engine, record, "proven")
    assert (finish.key, finish.data["taken_by"], finish.data["commit"]) == ("finish", "prove#1", prove.data["commit"])
    final, first = engine.store.final_verdict(record.id), engine.store.task_verdicts(record.id)[0]
    assert final is not None
    assert final.evidence == first.evidence
    assert {one.commit for one in final.evidence if one.side == "head"} == {final.commit}


@pytest.mark.spec("LAW-6", "LAW-9")
async def test_another_commit_than_the_last_rounds_is_proven_by_finish_itself(place: Place) -> None:
    engine, record, _ = await place.run(wrong, built)
    turns = [one.data["turn"] for one in events(engine, record, "checked") if one.key == "finish"]
    assert (record.state, record.code, set(turns)) == ("done", 0, {1, 2})


@pytest.mark.spec("LAW-6", "LAW-9")
async def test_what_the_last_round_refuted_stays_refuted_without_another_try(place: Place) -> None:
    engine, record, _ = await place.run(wrong, nothing)
    assert (record.state, record.code) == ("not proven", 1)
    assert not [one for one in events(engine, record, "checked") if one.key == "finish"]
