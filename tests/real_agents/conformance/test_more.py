"""What every real agent keeps to as well: providers in trouble, limits, long work, tools."""

import pytest

from tests.real_agents.conformance.stage import DONE, WORK, Stage
from tests.real_agents.model import CUT, DROP, HUGE, STALL, Call, Fault, Run
from trued.wire import Amount, Price, ProcessLimits

pytestmark = pytest.mark.agents

STARTERS = ("Task", "Agent", "task", "agent", "spawn_agent", "invoke_agent", "delegate_task")


@pytest.mark.spec("AGT-4")
async def test_nothing_of_the_users_or_the_projects_settings_reaches_it(stage: Stage) -> None:
    stage.plays(Run("env > env.txt; set | head -50"), *WORK)
    await stage.works()
    assert "INSTRUCTIONS-OF-THE-USER" not in stage.model.text
    assert [path.name for path in stage.world.clone.rglob("*-of-the-*")] == []
    assert "PLANTED" not in (stage.world.clone / "env.txt").read_text() + stage.model.text


@pytest.mark.spec("AGT-2", "PUR-4")
async def test_it_has_the_tools_of_its_role_and_none_that_starts_agents(stage: Stage) -> None:
    stage.plays(Call("Task", {"description": "x", "prompt": "x", "subagent_type": "general-purpose"}), DONE)
    few = await stage.works(tools=("read",))
    least = stage.model.asked[0].tools
    stage.plays(*WORK)
    await stage.works("two")
    more = stage.model.asked[-1].tools
    assert few.state == "done", few.why
    assert not set(STARTERS) & (set(least) | set(more))
    if stage.can.withholds_tools:
        assert len(least) < len(more)


@pytest.mark.spec("RUN-2", "AGT-6")
async def test_it_goes_on_with_its_conversation(stage: Stage) -> None:
    stage.plays(*WORK)
    first = await stage.works()
    sent = stage.model.total()
    second = await stage.works(
        "two", session="one", resume=True, brief="Now another thing.", native=first.native, before=first.usage
    )
    assert (second.state, second.resumed) == ("done", True), second.why
    assert any("Build it." in text for text in stage.model.asked[-1].users)
    total = stage.model.total()
    assert (second.usage.tokens_in, second.usage.tokens_out) == (total.sent - sent.sent, total.said - sent.said)


@pytest.mark.spec("RUN-7")
@pytest.mark.parametrize("status", [500, 529])
async def test_a_provider_that_is_down_for_a_moment_is_no_failure_of_the_agent(stage: Stage, status: int) -> None:
    stage.plays(*WORK, faults=(Fault(status),))
    report = await stage.works()
    assert report.state == "done" or report.kind == "overloaded", report.why


@pytest.mark.spec("RUN-7")
async def test_a_provider_that_stays_down_is_told_as_that(stage: Stage) -> None:
    stage.plays(*WORK, faults=(Fault(503, times=99, message="The model is overloaded. Please try again later."),))
    report = await stage.works(limits=ProcessLimits(idle_s=stage.row.tries_s, wall_s=300))
    assert (report.state, report.kind) == ("failed", "overloaded"), report.why


@pytest.mark.spec("RUN-5")
async def test_a_stream_that_stands_still_ends_it_or_is_taken_up_again(stage: Stage) -> None:
    stage.plays(*WORK, faults=(Fault(how=STALL, times=99, after=1),))
    report = await stage.works(limits=ProcessLimits(idle_s=stage.row.quiet_s, wall_s=120))
    assert (report.state, report.kind) == ("failed", "idle"), report.why
    assert (stage.world.clone / "made.txt").exists()


@pytest.mark.spec("RUN-7")
async def test_a_stream_that_is_dropped_is_no_failure_of_the_agent(stage: Stage) -> None:
    stage.plays(*WORK, faults=(Fault(how=DROP, after=1),))
    report = await stage.works()
    assert report.state == "done" or report.kind == "overloaded", report.why


@pytest.mark.parametrize("how", [CUT, HUGE])
async def test_nonsense_of_the_model_ends_in_a_report(stage: Stage, how: str) -> None:
    stage.plays(*WORK, faults=(Fault(how=how, after=1, size=20_000_000),))
    report = await stage.works(limits=ProcessLimits(idle_s=2 * stage.row.quiet_s, wall_s=120))
    assert report.state in ("done", "failed")
    assert report.kind in ("", "output", "contract", "crashed", "overloaded", "idle"), report.why


@pytest.mark.spec("RUN-6")
async def test_more_than_was_reserved_for_it_ends_it(stage: Stage) -> None:
    stage.plays(*(Run(f"echo {number}") for number in range(40)), DONE)
    report = await stage.works(
        allowance=Amount(tokens=60_000, usd=0.2), price=Price(usd_in=3, usd_out=15, source="ceiling")
    )
    if stage.can.running_usage or stage.can.native_budget:
        assert (report.state, report.kind) == ("failed", "budget"), report.why
        assert len(stage.model.asked) < 30
    assert report.usage.cost_usd > 0


@pytest.mark.spec("RUN-5")
async def test_a_tool_that_runs_long_is_no_hang(stage: Stage) -> None:
    seconds = stage.row.quiet_s + 4
    # Some agents let no command begin with a long sleep.
    stage.plays(Run(f"python3 -c 'import time; time.sleep({seconds})'; echo slept > slept.txt"), DONE)
    report = await stage.works(limits=ProcessLimits(idle_s=stage.row.quiet_s, wall_s=120))
    assert report.state == "done", report.why
    assert (stage.world.clone / "slept.txt").exists()
