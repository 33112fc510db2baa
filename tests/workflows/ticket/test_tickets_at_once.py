"""Several tickets at once: one process, one cap, each with its own branch and its own outcome."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import Ground, example
from tests.workflows.ticket.test_ticket import TICKET, WHOLE
from trued.agents.adapters.scripted import ScriptedRuntime
from trued.agents.spool.slots import Slots
from trued.engine.concurrent_runs import start_runs, worst_exit_code
from trued.engine.engine import Engine
from trued.engine.inputs import Request
from trued.engine.run_store import RunStore
from trued.engine.shared_slots import SharedSlots
from trued.errors import AgentFailed, BadInput
from trued.model import RunRecord
from trued.wire import Order

REQUIRED = {
    "id": "double",
    "text": "double(x) returns twice its argument",
    "covers": ["goal"],
    "checks": [{"kind": "examples", "cases": [example("double", 21, 42), example("double", 4, 8)]}],
}


def tickets(ground: Ground, *keys: str) -> list[Request]:
    ground.require([REQUIRED])
    for key in keys:
        (ground.folder / f"{key}.md").write_text(TICKET.replace("NUM-7", key))
    flags = {"yes": True, "agents": {"*": "scripted:inside"}}
    return [
        Request(
            goal=str(ground.folder / f"{key}.md"),
            repository=ground.repository,
            requirements=ground.requirements,
            flags=flags,
        )
        for key in keys
    ]


def parts(order: Order) -> dict[str, Any]:
    if order.role == "impl-agent":
        (Path(order.folder) / "tiny.py").write_text(WHOLE)
        return {"success": True, "branch_name": "", "files_changed": ["tiny.py"], "summary": "done"}
    if order.role == "pr-agent":
        return {"title": "it doubles", "body": "It doubles."}
    if order.role == "fix-agent":
        return {"success": False, "files_modified": [], "changes_summary": "nothing"}
    return {"passed": True, "issues": []}


@pytest.mark.slow
@pytest.mark.spec("TIC-12")
async def test_tickets_are_worked_on_side_by_side_and_each_has_its_own_outcome(ground: Ground) -> None:
    together = asyncio.Barrier(2)

    async def script(order: Order) -> dict[str, Any]:
        if order.role == "impl-agent":
            await asyncio.wait_for(together.wait(), 600)  # each ends only after the other has begun
        if order.role == "impl-agent" and "NUM-2" in order.brief:
            return {"success": True, "branch_name": "", "files_changed": [], "summary": "nothing"}
        return parts(order)

    engine = ground.stack.enter_context(closing(Engine(RunStore(ground.home, {}), runtime=ScriptedRuntime(script))))
    ended = await start_runs(engine, tickets(ground, "NUM-1", "NUM-2"))
    records = [one for one in ended if isinstance(one, RunRecord)]
    assert [(one.state, one.branch) for one in records] == [
        ("done", "fix/NUM-1-numbers-are-not-doubled"),
        ("not proven", "fix/NUM-2-numbers-are-not-doubled"),
    ]
    assert worst_exit_code(ended) == 1
    assert ground.git("rev-parse", records[0].branch) == records[0].head
    offered = [(ground.home / "runs" / one.id / "files" / "pull-request.md").exists() for one in records]
    assert offered == [True, False]
    assert ground.git("rev-parse", "main") == records[0].base


@pytest.mark.spec("TIC-12", "USE-7")
async def test_either_all_begin_or_none(ground: Ground) -> None:
    engine, runtime = ground.engine(parts)
    good, other = tickets(ground, "NUM-1", "NUM-2")
    same = good.model_copy()
    plan = good.model_copy(update={"goal": str(ground.repository / "PLAN.md"), "requirements": None})
    missing = good.model_copy(update={"goal": str(ground.folder / "none.md")})
    for requests, words in (
        ([good, missing], "there is no file"),
        ([good, same], "two of the tickets would work on the branch"),
        ([good, other, plan], "is not a ticket, and only tickets can run at the same time"),
    ):
        with pytest.raises(BadInput, match=words):
            await start_runs(engine, requests)
    assert engine.store.journal.runs() == []
    assert runtime.orders == []


@pytest.mark.spec("TIC-12", "USE-3")
@pytest.mark.parametrize(
    ("codes", "worst"),
    [((0, 0), 0), ((0, 3), 3), ((3, 1), 1), ((1, 6), 6), ((6, 5), 5), ((5, 4), 4), ((4, 130), 130), ((), 0)],
)
def test_all_together_end_with_the_worst_code(codes: tuple[int, ...], worst: int) -> None:
    record = RunRecord(id="r", workflow="ticket", title="", repository="", base="", branch="")
    ended: list[Any] = [record.model_copy(update={"code": code}) for code in codes]
    assert worst_exit_code(ended) == worst
    assert worst_exit_code([*ended, AgentFailed("x")]) == next(one for one in (130, 4, 5) if one in (*codes, 5))


@pytest.mark.spec("TIC-12", "RUN-9")
async def test_runs_of_one_process_share_its_places_for_agents(ground: Ground) -> None:
    engine, _ = ground.engine(parts)
    assert isinstance(engine, Engine)
    shared = SharedSlots.of(2)
    engine.shared = shared
    at_work, most = 0, 0

    async def agent(slots: Slots) -> None:
        nonlocal at_work, most
        async with slots.free():
            at_work += 1
            most = max(most, at_work)
            await asyncio.sleep(0)
            at_work -= 1

    await asyncio.gather(*(agent(shared.slots) for _ in range(9)))
    assert most == 2
