"""Patterns A, B and C without a workflow: which agents are asked, how often, and what happens if one fails."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.pipeline.pipeline_agents import Crew, Line, agent_of, crashes
from trued.errors import Waiting
from trued.model import Reply, Task
from trued.run.clusters import Clusters, Errand, Returned
from trued.run.run import Run
from trued.wire import Order

TASK = Task(id="1", title="look")
NOTE: dict[str, Any] = {"summary": "looked"}


@dataclass
class Stage:
    """Makes a run that has done nothing yet, with the agents that it may ask."""

    line: Line

    async def run(self, crew: Crew, *, asks_people: bool = False) -> Run:
        """A run of this crew. It begins as a pipeline in which all researchers fail, so nothing else has happened."""
        engine = self.line.played(Crew(researcher=crashes))
        record = await self.line.piped(engine, required=False)
        assert (record.state, record.code) == ("failed", 5)
        assert record.why == (
            "too few agents answered: researcher-architecture: missing; researcher-impact: missing; "
            "researcher-dependencies: missing; researcher-patterns: missing"
        )
        engine.runtime = crew
        inputs = engine.store.inputs(record.id)
        run = engine.open_run(record, inputs)
        if asks_people:  # as agents of other workflows may
            run = Run(replace(run.context, asks_people=True))
        return run.scope("here")


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with ExitStack() as stack:
        yield Stage(Line(tmp_path, stack))


def errand(name: str, **more: Any) -> Errand[Reply]:
    return Errand(name, "ct-security", Reply, TASK, **more)


@pytest.mark.spec("PIPE-5", "PIPE-8", "PIPE-15")
async def test_all_go_at_once_and_who_fails_is_followed_by_a_fresh_one_and_then_missing(stage: Stage) -> None:
    three = asyncio.Barrier(3)

    async def works(order: Order) -> dict[str, Any]:
        await asyncio.wait_for(three.wait(), 600)  # ends only if all three run at once
        return {**NOTE, "summary": agent_of(order)}

    failing = {"status": "ERROR", "summary": "could not"}
    crew = Crew(b=[failing, {**NOTE, "summary": "second"}], c=failing, d=crashes)
    crew.acts["ct-security"] = works
    run = await stage.run(crew)
    returned = await run.clusters.send_all(errand(name) for name in "fabcde")
    assert list(returned) == [*"fabcde"]
    assert {name: one.tries for name, one in returned.items()} == {"f": 1, "a": 1, "b": 2, "c": 2, "d": 2, "e": 1}
    assert [name for name, one in returned.items() if not one.good] == ["c", "d"]
    assert [name for name, one in returned.items() if one.reply is None] == ["d"]
    assert returned["b"].reply is not None
    assert returned["b"].reply.summary == "second"
    assert len({one.session for one in crew.orders}) == 9  # a retry has a new session


@pytest.mark.spec("PIPE-2", "PIPE-10")
async def test_what_an_agent_leaves_in_its_own_file_is_there_though_it_says_nothing_and_the_rest_is_undone(
    stage: Stage,
) -> None:
    def leaves(order: Order) -> dict[str, Any]:
        (Path(order.folder) / "mine.md").write_text("found")
        (Path(order.folder) / "yours.md").write_text("forged")
        return crashes(order)

    crew = Crew(a=[leaves, NOTE])
    run = await stage.run(crew)
    before = run.branch.head
    (one,) = (await run.clusters.send_all([errand("a", only=("mine.md",))])).values()
    assert run.branch.head == before
    assert await run.branch.read("mine.md", commit=one.written_at("mine.md")) == "found"
    assert one.undone == {"yours.md": "forged"}
    assert "yours.md" not in crew.orders[0].brief
    assert "yours.md" in crew.orders[1].brief  # the second agent is told what was undone


@pytest.mark.spec("PIPE-6", "PIPE-8")
async def test_behind_a_gate_that_stays_closed_nobody_is_asked(stage: Stage) -> None:
    crew = Crew(gate=[{"status": "ERROR"}, {"status": "ERROR"}, NOTE], a=NOTE, b=NOTE)
    run = await stage.run(crew)

    def opens(first: Returned[Any]) -> bool:
        return first.good

    closed = await run.clusters.send_behind_gate(errand("gate"), [errand("a"), errand("b")], opens=opens)
    assert (list(closed), crew.asked) == (["gate"], ["gate", "gate"])
    opened = await run.clusters.send_behind_gate(errand("gate"), [errand("a"), errand("b")], opens=opens)
    assert list(opened) == ["gate", "a", "b"]
    assert crew.asked[2] == "gate"


@dataclass(frozen=True)
class Found:
    settled: bool


@pytest.mark.spec("PIPE-8")
@pytest.mark.parametrize(
    ("settled_in", "mends", "story"),
    [
        (1, True, "c1"),
        (2, True, "c1 m c2"),
        (9, True, "c1 m c2 m c3"),  # three checks, and no repair after the last
        (9, False, "c1 m"),
    ],
)
async def test_rounds_end_when_nothing_is_left_when_nothing_can_be_done_or_after_three(
    settled_in: int, mends: bool, story: str
) -> None:
    told: list[str] = []

    async def check(number: int) -> Found:
        told.append(f"c{number}")
        return Found(settled=number >= settled_in)

    async def mend(_: Found) -> bool:
        told.append("m")
        return mends

    found = await Clusters.repeat(check, mend)
    assert " ".join(told) == story
    assert found.settled == (settled_in <= 3)


@pytest.mark.spec("RUN-8")
async def test_who_asks_a_person_keeps_the_others_waiting_for_nothing(stage: Stage) -> None:
    crew = Crew(a={"question": "which one?"}, b=NOTE)
    run = await stage.run(crew, asks_people=True)
    with pytest.raises(Waiting):
        await run.clusters.send_all([errand("a"), errand("b")])
    assert sorted(crew.asked) == ["a", "b"]
