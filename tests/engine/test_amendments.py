"""Amendments are separate steps that record who and why; only a person can make one."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import REQUIREMENTS, Ground, events, example, ground, honest
from trued.engine.amendments import ContractChange, amend
from trued.engine.approvals import Decision, answer_question, decide
from trued.errors import BadInput
from trued.model import Grade

__all__ = ["ground"]

STRICTER: list[dict[str, Any]] = [
    {**REQUIREMENTS[0], "checks": [{"kind": "examples", "cases": [example("double", 4, 9)]}]},
    *REQUIREMENTS[1:],
]


def file(ground: Ground, requirements: list[dict[str, Any]], name: str = "amended.json") -> Path:
    path = ground.folder / name
    path.write_text(json.dumps({"requirements": requirements}))
    return path


def by_ann(**more: Any) -> ContractChange:
    return ContractChange(who="ann", why="I changed my mind", **more)


@pytest.mark.spec("LAW-3", "LAW-9")
@pytest.mark.slow
async def test_an_ended_run_is_judged_anew_by_the_amended_contract_and_no_agent_is_called(ground: Ground) -> None:
    engine, runtime = ground.engine()
    record = await ground.run(engine)
    assert record.grade is Grade.PROVEN
    asked = len(runtime.orders)
    first = engine.store.contract(record.id)
    record = await amend(engine.store, record.id, by_ann(requirements=file(ground, STRICTER)))
    assert (record.state, record.code, record.grade) == ("not proven", 1, Grade.REFUTED)
    assert len(runtime.orders) == asked
    assert first != engine.store.contract(record.id)
    (one,) = engine.store.amendments(record.id)
    assert (one.who, one.why, one.what) == ("ann", "I changed my mind", ("requirements from amended.json",))
    assert [event.data["who"] for event in events(engine, record, "amended")] == ["ann"]
    record = await amend(engine.store, record.id, by_ann(remove=("double",)))
    assert (record.state, record.grade) == ("done", Grade.PROVEN)
    assert len(engine.store.amendments(record.id)) == 2


@pytest.mark.slow
@pytest.mark.spec("LAW-3", "RUN-3", "USE-10")
async def test_a_planned_or_waiting_run_goes_on_by_the_amended_contract_and_replays_what_was_before(
    ground: Ground,
) -> None:
    engine, _ = ground.engine()
    record = await ground.run(engine, yes=False)
    assert record.state == "waiting"  # after its first chunk, judged by the first contract
    more = {"id": "quadruple", "text": "four times", "checks": [{"kind": "manual", "steps": ["look"]}]}
    await amend(engine.store, record.id, by_ann(add=file(ground, [more])))
    again, runtime = ground.engine(honest)
    answer_question(again.store, record.id, "yes", comment="", who="ann")
    record = await again.resume(record.id, yes=True)
    assert (record.state, record.code) == ("waiting", 3)
    assert len(runtime.orders) == 2
    verdict = again.store.verdict(record.id)
    assert verdict
    assert {one.id: one.grade for one in verdict.requirements}["quadruple"] is Grade.UNPROVEN
    assert decide(again.store, record.id, ["quadruple"], Decision(who="ann", why="looked")).state == "done"


@pytest.mark.slow
@pytest.mark.spec("LAW-3")
async def test_who_approved_a_contract_has_not_approved_its_amendment(ground: Ground) -> None:
    engine, _ = ground.engine()
    record = await ground.run(engine, plan_only=True)
    decide(engine.store, record.id, [None], Decision(who="ann", why="fine"))
    assert len(engine.store.approvals(record.id)) == 1
    await amend(engine.store, record.id, by_ann(remove=("strings",)))
    assert engine.store.approvals(record.id) == []


@pytest.mark.spec("LAW-3", "USE-7")
async def test_amendments_that_make_no_sense_are_one_sentence_and_change_nothing(ground: Ground) -> None:
    engine, _ = ground.engine()
    record = await ground.run(engine, plan_only=True)
    with pytest.raises(BadInput, match="changes nothing"):
        await amend(engine.store, record.id, by_ann())
    with pytest.raises(BadInput, match="no requirement 'x'"):
        await amend(engine.store, record.id, by_ann(keep=("x",)))
    with pytest.raises(BadInput, match="there already"):
        await amend(engine.store, record.id, by_ann(add=file(ground, REQUIREMENTS)))
    with pytest.raises(BadInput, match="without requirements"):
        await amend(engine.store, record.id, by_ann(remove=("double", "triple", "strings")))
    assert engine.store.amendments(record.id) == []
