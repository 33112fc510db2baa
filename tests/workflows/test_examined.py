"""Contracts that examiners write, driven through the engine with scripted agents."""

from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import Ground, Script, events
from trued.engine import Engine
from trued.types import Grade, RunRecord
from trued.wire import Order

GOAL = "`double(x)` returns twice its argument. `triple(x)` returns three times its argument."
CODE = "def double(x):\n    return x + x\n\n\ndef triple(x):\n    return 3 * x\n"
TWICE, THRICE = "`double(x)` returns twice its argument.", "`triple(x)` returns three times its argument."


def case(function: str, argument: object, result: object, quotes: str, requirement: str) -> dict[str, Any]:
    one = {"call": f"tiny:{function}", "args": [argument], "returns": result, "quotes": quotes}
    return {"requirement": requirement, "cases": [one]}


EXAMINED: dict[str, Any] = {
    "interface": ["tiny:double(x)", "tiny:triple(x)"],
    "cases": [
        case("double", 21, 42, TWICE, "text-1"),
        case("double", 5, 10, TWICE, "text-1"),
        case("triple", 2, 6, THRICE, "text-2"),
        case("triple", 5, 15, THRICE, "text-2"),
    ],
}


def playing(examiner: Any = EXAMINED, second: Any = None, code: str = CODE) -> Script:
    """One agent for all roles: `solo` writes the code."""

    def script(order: Order) -> dict[str, Any]:
        if order.role == "examiner":
            answer = examiner(order) if callable(examiner) else examiner
            return dict(answer)
        if order.role == "second-examiner":
            return dict(second(order) if callable(second) else second)
        (Path(order.folder) / "tiny.py").write_text(code)
        return {"implemented": ["all"], "files": []}

    return script


async def solo(ground: Ground, script: Script, goal: str = GOAL, **flags: Any) -> tuple[Engine, RunRecord, list[Order]]:
    engine, runtime = ground.engine(script)
    record = await ground.run(engine, goal, required=False, workflow="solo", **flags)
    return engine, record, runtime.orders


def grades(engine: Engine, record: RunRecord) -> dict[str, Grade]:
    verdict = engine.verdict(record.id)
    assert verdict
    return {one.id: one.grade for one in verdict.requirements}


@pytest.mark.spec("LAW-7", "LAW-8", "LAW-12")
async def test_cases_of_an_examiner_that_hold_are_examined_and_a_persons_word_makes_them_proven(ground: Ground) -> None:
    engine, record, orders = await solo(ground, playing())
    assert (record.state, record.code, record.grade) == ("waiting", 3, Grade.EXAMINED)
    assert [order.role for order in orders] == ["examiner", "solo"]
    assert orders[0].key == "seal/examiner#1"
    assert grades(engine, record) == {"text-1": Grade.EXAMINED, "text-2": Grade.EXAMINED, "goal": Grade.EXAMINED}
    after = engine.approve(record.id, None, who="ann", why="I read the cases")
    assert (after.state, after.code, after.grade) == ("done", 0, Grade.PROVEN)
    assert len(orders) == 2
