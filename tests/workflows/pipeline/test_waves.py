"""A single wave: tasks are merged in order, the later task gets both sides of a conflict, and open tasks are known."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.run.test_clusters import Stage
from tests.workflows.pipeline.pipeline_agents import Crew, Line, crashes
from trued.model import Goal
from trued.wire import Order
from trued.workflows.pipeline.orchestrator import Orchestrator
from trued.workflows.pipeline.task_plan import Work
from trued.workflows.pipeline.waves import implement


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with ExitStack() as stack:
        yield Stage(Line(tmp_path, stack))


@pytest.mark.spec("PIPE-8", "PIPE-11", "PIPE-17")
async def test_a_wave_is_merged_in_task_order_the_later_one_gets_both_sides_and_who_fails_stays_open(
    stage: Stage,
) -> None:
    later = asyncio.Event()

    async def red(order: Order) -> dict[str, Any]:
        await asyncio.wait_for(later.wait(), 600)  # the first task ends last
        (Path(order.folder) / "words.txt").write_text("red\n")
        return {"files": ["./words.txt", "ghost.py"]}

    def blue(order: Order) -> dict[str, Any]:
        (Path(order.folder) / "words.txt").write_text("blue\n")
        later.set()
        return {}

    def both(order: Order) -> dict[str, Any]:
        (Path(order.folder) / "words.txt").write_text("red\nblue\n")
        return {}

    crew = Crew(implementer_T01=red, implementer_T02=[blue, both], implementer_T03=crashes)
    run = await stage.run(crew)
    lead = await Orchestrator.start(run, Goal(text="Name two colours."))
    lead.tasks = tuple(Work(id=name, title=name) for name in ("T01", "T02", "T03"))
    await implement(lead, lead.tasks)
    assert await run.branch.read("words.txt") == "red\nblue\n"
    engine, _ = stage.line.engine()
    refuted = "says that it changed ghost.py: unchanged since the base, or not there"
    claims = [one.data["what"] for one in engine.store.journal.events(run.id) if one.kind == "claim refuted"]
    assert claims == [f"implementer-T01 {refuted}"]
    assert f"it {refuted}" in (await run.branch.read(lead.folder.path("memory/implementer-T01.mem.md")) or "")
    told = [one for one in engine.store.journal.events(run.id) if one.kind in ("merged", "conflict")]
    assert [(one.kind, str(one.data["part"])[-3:]) for one in told] == [
        ("merged", "T01"),
        ("conflict", "T02"),
        ("merged", "T02"),
    ]
    _, again = crew.briefs("implementer-T02")
    assert "red" in again
    assert "blue" in again
    assert (lead.unfinished, crew.asked.count("implementer-T03")) == ({"T03"}, 2)  # one retry; the wave still continues
    for name in ("T01", "T02", "T03"):
        brief = crew.briefs(f"implementer-{name}")[0]
        assert 0 < brief.index(lead.folder.path("memory.md")) < brief.index(f"tasks/{name}.md")
