"""Runs that reach a limit stop before they spend more, and continue when a person raises it."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import PASSED, REQUIREMENTS, Ground, built, events, honest
from trued.engine.engine import Engine
from trued.engine.limits import change_limits
from trued.engine.run_store import RunStore
from trued.errors import BadInput
from trued.model import Grade, RunRecord
from trued.wire import Order, Usage


def costing(usd: float, tokens: int = 1000) -> Any:
    """Honest agents that report this cost for each call."""

    def script(order: Order) -> tuple[dict[str, Any], Usage]:
        usage = Usage(tokens_in=tokens, tokens_out=10, cost_usd=usd, cost="reported", estimated=False, requests=1)
        return honest(order), usage

    return script


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    with ExitStack() as stack:
        yield Ground(tmp_path, stack)


@pytest.mark.spec("RUN-6", "RUN-7", "AGT-6", "USE-3")
@pytest.mark.slow
async def test_a_run_that_reaches_its_money_ends_with_4_and_goes_on_with_more(ground: Ground) -> None:
    engine, runtime = ground.engine(costing(1.0))
    record = await ground.run(engine, limits=["usd=2.5"])
    assert (record.state, record.code) == ("limited", 4)
    assert "the run has used up its usd: $3.00 of $2.50 spent" in record.why
    assert f"trued resume {record.id} --limit usd=5" in record.why
    assert len(runtime.orders) == 3
    assert runtime.orders[2].allowance.usd == pytest.approx(0.5)  # what was left, less than a call usually takes
    assert [
        (one.task, one.role, one.state, one.spent.usd, one.spent.tokens)
        for one in engine.store.journal.spends(record.id)
    ] == [
        ("chunk 1A", "purple-team-a", "done", 1.0, 1010),
        ("chunk 1A", "purple-team-b", "done", 1.0, 1010),
        ("chunk 1B", "purple-team-a", "done", 1.0, 1010),
    ]
    told = handed_over(engine, record)

    for given in ([("", "usd", 2.0)], [("", "calls", 9.0), ("", "usd", 1.0)], [("nobody", "usd", 9.0)]):
        with pytest.raises(BadInput):
            await engine.resume(record.id, more=given, who="ann")
    assert engine.store.journal.limit_changes(record.id) == []

    engine, runtime = ground.engine(costing(1.0))
    again = await engine.resume(record.id)
    assert (again.state, again.code, runtime.orders) == ("limited", 4, [])

    engine, runtime = ground.engine(costing(1.0))
    done = await engine.resume(record.id, more=[("", "usd", 10.0)], who="ann")
    assert (done.state, done.grade, len(runtime.orders)) == ("done", Grade.PROVEN, 1)
    (raised,) = events(engine, record, "limit raised")
    assert (raised.data["who"], raised.data["what"], raised.data["to"]) == ("ann", "usd", 10.0)
    assert not told.exists()  # the run has continued


@pytest.mark.slow
@pytest.mark.spec("PAGE-4", "RUN-6", "RUN-7")
async def test_a_run_at_work_hears_of_a_higher_and_of_a_lower_limit_before_its_next_call(ground: Ground) -> None:
    def working(order: Order) -> Any:
        with RunStore(ground.home, {}) as person:  # a person at another terminal, during the call
            record = person.journal.runs()[0]
            if order.key == "chunk 1A/purple-team-b#1":
                change_limits(person, record, [("", "usd", 9.0)], "ann")
            if order.key == "chunk 1B/purple-team-a#1":
                with pytest.raises(BadInput, match="in your own terminal"):
                    change_limits(person, record, [("", "usd", 99.0)], "page", may_raise=False)
                change_limits(person, record, [("", "usd", 3.0)], "bob", may_raise=False)
        return costing(1.0)(order)

    engine, runtime = ground.engine(working)
    record = await ground.run(engine, limits=["usd=1.5"])
    assert (record.state, record.code) == ("limited", 4)
    assert "$3.00 of $3.00 spent" in record.why
    # The second call gets what was left of 1.5; the third, after the limit was raised, the usual amount.
    assert [one.allowance.usd for one in runtime.orders] == [1.5, pytest.approx(0.5), 2.0]
    (raised,), (lowered,) = events(engine, record, "limit raised"), events(engine, record, "limit lowered")
    assert [(one.data["who"], one.data["to"]) for one in (raised, lowered)] == [("ann", 9.0), ("bob", 3.0)]
    with pytest.raises(BadInput, match="is already 3"):
        change_limits(engine.store, record, [("", "usd", 3.0)], "ann")
    engine, runtime = ground.engine(costing(1.0))
    done = await engine.resume(record.id, more=[("", "usd", 10.0)], who="ann")
    assert (done.state, len(runtime.orders)) == ("done", 1)
    with pytest.raises(BadInput, match="it no longer spends anything"):
        change_limits(engine.store, done, [("", "usd", 20.0)], "ann")


def handed_over(engine: Engine, record: RunRecord) -> Path:
    file = engine.store.folder(record.id) / "files" / "HANDOVER.md"
    text = file.read_text()
    for words in (
        "## What is met\n\n- double: proven",
        "triple: no check has been run on it yet",
        "chunk 1A/purple-team-a#1 (scripted:inside: done, 1 file changed)",
        "the run: $3.00 of $2.50, 3.0k tokens, 3 calls",
        f"- `trued resume {record.id} --limit usd=5`: continues",
        record.head,
    ):
        assert words in text
    for by_chance in (record.head, record.base, record.id, record.repository):
        text = text.replace(by_chance, "")
    assert "42" not in text  # the result of a held-out case
    return file


@pytest.mark.spec("RUN-7")
@pytest.mark.slow
async def test_no_progress_ends_with_a_hand_over_too(ground: Ground) -> None:
    def lazy(order: Order) -> dict[str, Any]:
        return built(order, {}) if order.role == "purple-team-a" else PASSED

    ground.write("PLAN.md", "# Plan: numbers\n\n## Phase 1\n\n| Chunk | Scope |\n| --- | --- |\n| 1A | `double(x)` |\n")
    ground.require([{**REQUIREMENTS[0], "covers": ["1A"]}])
    ground.commit()
    engine, _ = ground.engine(lazy)
    record = await ground.run(engine, rounds=5)
    assert events(engine, record, "no progress")
    text = (engine.store.folder(record.id) / "files" / "HANDOVER.md").read_text()
    assert "chunk 1A: no progress; the last round had the same gaps as before and changed nothing" in text
    assert "double: refuted" in text
    assert f"`git switch {record.branch}`" in text
