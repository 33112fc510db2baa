"""A real agent, its supervisor or the engine is killed, at several moments: the work goes on, and nothing is left."""

import asyncio
import os
import signal

import pytest

from tests.real_agents.conformance.stage import DONE, LONG, MADE, Stage
from tests.real_agents.model import HANG, STALL, Fault, Run, Step
from trued.support import processes

pytestmark = pytest.mark.agents

# How far the agent has come: the model was asked and is silent; it has worked, and the model stopped in the middle of
# its next sentence; a tool of its own is at work.
MOMENTS = ("at its first request", "in mid-stream", "while a tool runs")
moments = pytest.mark.parametrize("moment", MOMENTS)


async def at(stage: Stage, moment: str) -> None:
    """Set the scene before the agent begins."""
    scenes: dict[str, tuple[tuple[Step, ...], tuple[Fault, ...]]] = {
        MOMENTS[0]: ((MADE, DONE), (Fault(how=HANG),)),
        MOMENTS[1]: ((MADE, DONE), (Fault(how=STALL, after=1),)),
        MOMENTS[2]: ((MADE, LONG, DONE), ()),
    }
    steps, faults = scenes[moment]
    stage.plays(*steps, faults=faults, interrupted=(MADE, DONE))


async def reached(stage: Stage, moment: str) -> None:
    if moment == MOMENTS[2]:
        await asyncio.to_thread(stage.wrote, "begun.txt")
    else:
        await asyncio.to_thread(stage.asked, 1 if moment == MOMENTS[0] else 2)


def agents_of(stage: Stage) -> list[int]:
    """The agent's own processes, without its tools and our supervisor."""
    mark = processes.marker(stage.world.folder())
    words = {pid: processes.command_line(pid)[:3] for pid in processes.carriers(mark)}
    name = stage.row.program or "coder_agent"
    return [pid for pid, line in words.items() if any(name in word for word in line) and "bwrap" not in line[0]]


@pytest.mark.spec("RUN-2", "RUN-5")
@pytest.mark.parametrize("moment", MOMENTS[:2])
async def test_its_session_goes_on_whenever_its_supervisor_was_killed(stage: Stage, moment: str) -> None:
    await at(stage, moment)
    work = asyncio.create_task(stage.works())
    await reached(stage, moment)
    os.kill(stage.world.supervisor(), signal.SIGKILL)
    stage.is_done(await work)
    assert "died" in stage.world.kinds()


@pytest.mark.spec("RUN-2", "RUN-5")
@moments
async def test_a_killed_agent_goes_on_with_its_session(stage: Stage, moment: str) -> None:
    await at(stage, moment)
    work = asyncio.create_task(stage.works())
    await reached(stage, moment)
    for pid in agents_of(stage):
        os.kill(pid, signal.SIGKILL)
    stage.is_done(await work)
    assert "agent died" in [event["kind"] for event in stage.world.events()]


@pytest.mark.spec("RUN-2")
async def test_it_works_on_without_its_engine_and_is_paid_for_once(stage: Stage) -> None:
    stage.plays(MADE, Run("echo begun > begun.txt; sleep 4"), DONE)
    order = stage.order()
    with stage.engine(order) as engine:
        await asyncio.to_thread(stage.wrote, "begun.txt")
        engine.kill()
    report = await stage.works_on(order)
    stage.is_done(report)
    assert stage.world.kinds() == ["adopted"]
    assert len(stage.model.asked) == 3
    assert report.usage.tokens_in == stage.model.total().sent


@pytest.mark.spec("RUN-2", "RUN-5")
async def test_engine_and_supervisor_killed_together_are_taken_up_by_the_next_engine(stage: Stage) -> None:
    await at(stage, MOMENTS[2])
    order = stage.order()
    with stage.engine(order) as engine:
        await reached(stage, MOMENTS[2])
        engine.kill()
        os.kill(stage.world.supervisor(), signal.SIGKILL)
    stage.is_done(await stage.works_on(order))
