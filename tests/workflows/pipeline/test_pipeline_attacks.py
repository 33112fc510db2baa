"""Crews that pass over a problem: a task that nobody finished, or a side of a merge that nobody included."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import events, example
from tests.workflows.pipeline.pipeline_agents import GOAL, Crew, Line, builds, crashes, decided, leaves, task
from trued.wire import Order

BESIDE = [task("T01", "double"), task("T02", "triple")]


@pytest.fixture
def line(tmp_path: Path) -> Iterator[Line]:
    """A project whose user has cases only for the work of T01."""
    with ExitStack() as stack:
        found = Line(tmp_path, stack)
        checks = [{"kind": "examples", "cases": [example("double", one, 2 * one) for one in (7, 5)]}]
        found.require([{"id": "both", "text": GOAL, "covers": ["goal"], "checks": checks}])
        yield found


def draws(number: int) -> Any:
    """An implementer that writes a binary file, as another one does. Git cannot put both sides into it; asked to merge,
    the implementer crashes."""

    def act(order: Order) -> dict[str, Any]:
        picture = Path(order.folder) / "logo.bin"
        if picture.exists():
            return crashes(order)
        picture.write_bytes(bytes([number]) * 100 + b"\0")
        return builds(order) if number == 1 else {}

    return act


@pytest.mark.slow
@pytest.mark.spec("PIPE-8", "PIPE-11")
@pytest.mark.parametrize("conflict", [False, True])
async def test_what_nobody_finished_or_merged_is_no_success_though_all_checks_hold(line: Line, conflict: bool) -> None:
    gives_up = {"implementer_T02": {"status": "ERROR"}}
    crew = Crew(
        planner={"tasks": BESIDE},
        **({"implementer_T01": draws(1), "implementer_T02": draws(2)} if conflict else gives_up),
    )
    engine = line.played(crew)
    record = await line.piped(engine)
    assert (record.state, record.code) == ("not proven", 1)
    assert "disputed by the engine: T02 is open" in record.why
    assert decided(engine, record)[2:] == [*[("verification", "NEEDS_REVISION")] * 3, ("review", "DONE")]
    assert len(events(engine, record, "conflict")) == conflict
    assert [one.data["part"] for one in events(engine, record, "merged")] == ["wave 1 T01"]


@pytest.mark.slow
@pytest.mark.spec("PIPE-7")
async def test_a_reviewer_that_called_it_major_and_is_gone_has_not_changed_its_mind(line: Line) -> None:
    def grumbles(order: Order) -> dict[str, Any]:
        leaves(order)
        return {"status": "NEEDS_REVISION", "severity": "Major", "key_findings": ["it is slow"]}

    engine = line.played(Crew(r_quality=[grumbles, crashes, crashes]))
    record = await line.piped(engine)
    assert (record.state, record.code) == ("not proven", 1)
    assert "disputed by r-quality: it is slow" in record.why
