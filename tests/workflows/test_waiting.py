"""In a pipeline, no agent waits for a sibling that it does not need: here siblings wait until the others have begun."""

import asyncio
import itertools
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from bench.pipeline import CAP, FLOW, TASKS, depth, schedule
from tests.workflows.pipeline.pipeline_agents import Line, agent_of, honest, task
from trued.agents.adapters.scripted import ScriptedRuntime, ScriptFailed
from trued.wire import Order

IN_VAIN_S = 240.0  # timeout: reached only if an agent has to wait for a sibling that it does not need
RETRIED = "researcher-patterns"
CODE = "def double(x):\n    return 2 * x\n\n\ndef triple(x):\n    return 3 * x\n"


@pytest.fixture
def line(tmp_path: Path) -> Iterator[Line]:
    with ExitStack() as stack:
        yield Line(tmp_path, stack)


class Meeting(ScriptedRuntime):
    """Agents that end only after all agents that could run at the same time have begun."""

    def __init__(self) -> None:
        super().__init__(self._met)
        self.begun: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.log: list[tuple[str, str]] = []
        self.in_vain: list[str] = []

    async def _met(self, order: Order) -> dict[str, Any]:
        name = agent_of(order)
        again = f"{name}, again" if self.begun[name].is_set() else name
        self.begun[again].set()
        self.log.append(("begins", again))
        try:
            await asyncio.wait_for(self._all(again), IN_VAIN_S)
        except TimeoutError:
            self.in_vain.append(again)
        self.log.append(("ends", again))
        if again == RETRIED:
            raise ScriptFailed("it fell over")
        return _played(order)

    async def _all(self, name: str) -> None:
        for other in awaited_by(name):
            await self.begun[other].wait()


def awaited_by(name: str) -> tuple[str, ...]:
    """The agents that must begin before this one ends."""
    if name == "researcher-impact":
        return (f"{RETRIED}, again",)  # its second try begins while the others still work
    if name in ("implementer-T2", "implementer-T3", "implementer-T4"):
        return ("implementer-T5",)  # a fifth task with four slots: it gets the slot of T1
    beside = next((names for names in FLOW if name in names), ())
    return beside if len(beside) <= CAP else ()


def _played(order: Order) -> dict[str, Any]:
    name = agent_of(order)
    if name == "planner":
        tasks = [task(one, "double", depends_on=list(needs)) for one, needs in TASKS.items()]
        return {"tasks": [*tasks[:-1], {**tasks[-1], "kind": "documentation"}]}
    if order.role in ("implementer", "documentation-writer"):
        first = name == "implementer-T1"
        (Path(order.folder) / ("tiny.py" if first else f"{name}.txt")).write_text(CODE if first else name)
        return {}
    return honest(order)


@pytest.mark.slow
@pytest.mark.spec("PIPE-8", "PIPE-16")
async def test_whoever_could_begin_has_begun_and_nobody_begins_before_what_it_needs(line: Line) -> None:
    meeting = Meeting()
    record = await line.piped(line.played(meeting), cap=CAP)
    assert meeting.in_vain == []
    assert (record.state, str(record.grade)) == ("done", "proven")
    everybody = [name for names in FLOW for name in names]
    assert sorted(name for what, name in meeting.log if what == "begins") == sorted([*everybody, f"{RETRIED}, again"])
    for above, below in itertools.pairwise(FLOW):
        ended = max(meeting.log.index(("ends", name)) for name in above)
        assert ended < min(meeting.log.index(("begins", name)) for name in below)
    assert meeting.log.index(("ends", f"{RETRIED}, again")) < meeting.log.index(("begins", "spec"))


@pytest.mark.spec("PIPE-16")
def test_the_bound_is_what_four_places_and_the_order_of_steps_allow() -> None:
    second = dict.fromkeys((name for names in FLOW for name in names), 1.0)
    alike = schedule(second)
    assert max(span.ended for span in alike) == depth(alike) == len(FLOW) + 1  # one wave has five tasks
    slow_first = schedule({**second, "implementer-T1": 3.0})
    assert max(span.ended for span in slow_first) == len(FLOW) + 2
    slow_last = schedule({**second, "implementer-T5": 3.0})
    assert max(span.ended for span in slow_last) == len(FLOW) + 3
    slow_sibling = schedule({**second, "ct-strategy": 2.5, "ct-security": 2.0})
    assert max(span.ended for span in slow_sibling) == len(FLOW) + 2.5
