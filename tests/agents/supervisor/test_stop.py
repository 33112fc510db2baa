"""One call is stopped for good, by the process that now drives the run: its agent ends, and its usage is recorded."""

import asyncio

import pytest

from tests.agents.supervisor.test_crashes import begun, quick_program, starts, waiting_program
from tests.agents.supervisor.world import World


@pytest.mark.spec("PAGE-7", "RUN-2")
async def test_a_call_of_a_dead_engine_is_stopped_by_the_next_with_its_agent_and_once(confined: World) -> None:
    order = confined.order(waiting_program(confined))
    with confined.engine(order) as engine:
        await begun(confined)
        engine.kill()
    assert confined.left(), "the agent goes on without the engine"
    first = await confined.runtime().stop(order, confined.tell)
    assert not confined.left()
    assert (first.state, first.call, first.attempt) == ("stopped", order.call, order.attempt)
    assert 0 < first.began <= first.ended
    again = [await one(order, confined.tell) for one in (confined.runtime().stop, confined.runtime().work)]
    assert again == [first, first]  # later calls return the same report, and start nothing
    assert starts(confined) == 1


@pytest.mark.spec("PAGE-7")
async def test_a_call_that_has_ended_before_it_could_be_stopped_keeps_its_own_report(world: World) -> None:
    order = world.order(quick_program(world))
    done = await world.runtime().work(order, world.tell)
    assert await world.runtime().stop(order, world.tell) == done
    assert done.state == "done"


@pytest.mark.spec("PAGE-7")
async def test_a_call_that_never_began_is_stopped_without_a_start_or_a_session(world: World) -> None:
    order = world.order(waiting_program(world))
    report = await world.runtime().stop(order, world.tell)
    assert (report.state, report.native, report.usage.tokens_in, starts(world)) == ("stopped", "", 0, 0)


@pytest.mark.spec("PAGE-7")
async def test_a_script_that_is_stopped_can_go_on_in_its_session(world: World) -> None:
    order = world.order(world.script("time.sleep(600)\nreturn {'summary': 'never'}"))
    working = asyncio.create_task(world.runtime().work(order, world.tell))
    while not (world.folder() / "session").exists() or not (world.folder() / "starts").exists():  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    working.cancel()
    await asyncio.wait({working})
    report = await world.runtime().stop(order, world.tell)
    assert (report.state, report.native) == ("stopped", order.session)
    assert not (world.folder() / "stopped").exists()  # the person stopped this call, not the run
