"""What every real agent keeps to when it works for trued, with the scripted model behind it."""

import pytest

from tests.agents.conformance.stage import DONE, WORK, Stage
from tests.agents.model import CUT, DROP, HANG, HUGE, STALL, Answer, Call, Fault, Run, Say, Write
from tests.supervise.world import running
from trued.wire import Amount, Limits, Price

pytestmark = pytest.mark.agents

BAD = Answer({"summary": 7})
STARTERS = ("Task", "Agent", "task", "agent", "spawn_agent", "invoke_agent", "delegate_task")


@pytest.mark.spec("AGT-1", "AGT-6", "RUN-5")
async def test_it_works_answers_and_tells_what_it_used(stage: Stage) -> None:
    stage.plays(*WORK)
    report = await stage.works()
    assert (report.state, report.reply) == ("done", {"summary": "done"}), report.why
    assert (stage.world.clone / "copied.txt").read_text() == "made by an agent\n"
    total = stage.model.total()
    assert (report.usage.tokens_in, report.usage.tokens_out) == (total.sent, total.said)
    assert report.usage.peak == stage.model.peak()
    assert not report.usage.estimated
    stage.nothing_is_told()


@pytest.mark.spec("AGT-4")
async def test_nothing_of_the_users_or_the_projects_settings_reaches_it(stage: Stage) -> None:
    stage.plays(*WORK)
    await stage.works()
    assert "INSTRUCTIONS-OF-THE-USER" not in stage.model.text
    left = [path.name for path in stage.world.clone.rglob("*-of-the-*")]
    assert left == []


@pytest.mark.spec("AGT-2", "PUR-4")
async def test_it_has_the_tools_of_its_role_and_none_that_starts_agents(stage: Stage) -> None:
    stage.plays(Call("Task", {"description": "x", "prompt": "x", "subagent_type": "general-purpose"}), DONE)
    few = await stage.works(tools=("read",))
    least = stage.model.asked[0].tools
    stage.plays(*WORK)
    await stage.works("two")
    more = stage.model.asked[-1].tools
    assert few.state == "done"
    assert not set(STARTERS) & (set(least) | set(more))
    if stage.can.withholds_tools:
        assert len(least) < len(more)


@pytest.mark.spec("AGT-3")
async def test_a_broken_contract_is_mended_when_it_is_asked_again(stage: Stage) -> None:
    stage.plays(WORK[0], BAD, again=(DONE,))
    report = await stage.works()
    assert (report.state, report.reply, report.asks) == ("done", {"summary": "done"}, 2), report.why
    total = stage.model.total()
    assert (report.usage.tokens_in, report.usage.tokens_out) == (total.sent, total.said)


@pytest.mark.spec("AGT-3")
async def test_a_contract_that_is_broken_twice_is_refused(stage: Stage) -> None:
    stage.plays(BAD, again=(Say("I would rather talk."),))
    report = await stage.works()
    assert (report.state, report.kind, report.asks) == ("failed", "contract", 2)


@pytest.mark.spec("RUN-2", "AGT-6")
async def test_it_goes_on_with_its_conversation(stage: Stage) -> None:
    stage.plays(*WORK)
    first = await stage.works()
    sent = stage.model.total()
    second = await stage.works(
        "two", session="one", resume=True, brief="Now another thing.", native=first.native, before=first.usage
    )
    assert (second.state, second.resumed) == ("done", True)
    assert any("Build it." in text for text in stage.model.asked[-1].users)
    total = stage.model.total()
    assert (second.usage.tokens_in, second.usage.tokens_out) == (total.sent - sent.sent, total.said - sent.said)


# -- what providers do -------------------------------------------------------------------------------------------------


@pytest.mark.spec("RUN-7")
async def test_a_key_that_is_refused_ends_it_at_once(stage: Stage) -> None:
    stage.plays(*WORK, faults=(Fault(401, times=99),))
    report = await stage.works()
    assert (report.state, report.kind) == ("failed", "auth"), report.why
    assert len(stage.model.seen) <= 3
    stage.nothing_is_told()


@pytest.mark.spec("RUN-7")
async def test_a_rate_limit_is_told_as_one_and_not_waited_for(stage: Stage) -> None:
    stage.plays(
        *WORK, faults=(Fault(429, times=99, retry_after=1, message="Rate limit reached, try again in 3 minutes."),)
    )
    report = await stage.works()
    assert (report.state, report.kind) == ("failed", "rate"), report.why


@pytest.mark.spec("RUN-7")
@pytest.mark.parametrize("status", [500, 529])
async def test_a_provider_that_is_down_for_a_moment_is_asked_again(stage: Stage, status: int) -> None:
    stage.plays(*WORK, faults=(Fault(status),))
    report = await stage.works()
    assert (report.state, report.reply) == ("done", {"summary": "done"}), report.why


@pytest.mark.spec("RUN-7")
async def test_a_provider_that_stays_down_is_no_fault_of_the_agent(stage: Stage) -> None:
    stage.plays(*WORK, faults=(Fault(529 if stage.row.kind == "claude" else 503, times=99, message="Overloaded"),))
    report = await stage.works()
    assert (report.state, report.kind) == ("failed", "overloaded"), report.why


@pytest.mark.spec("RUN-5")
@pytest.mark.parametrize("how", [HANG, STALL])
async def test_silence_of_the_model_ends_it(stage: Stage, how: str) -> None:
    stage.plays(*WORK, faults=(Fault(how=how, times=99, after=1),))
    report = await stage.works(limits=Limits(idle_s=4 * stage.row.slow, wall_s=120))
    assert (report.state, report.kind) == ("failed", "idle"), report.why
    assert (stage.world.clone / "made.txt").exists()


async def test_a_stream_that_is_dropped_is_taken_up_again(stage: Stage) -> None:
    stage.plays(*WORK, faults=(Fault(how=DROP, after=1),))
    report = await stage.works()
    assert (report.state, report.reply) == ("done", {"summary": "done"}), report.why


@pytest.mark.parametrize("how", [CUT, HUGE])
async def test_nonsense_of_the_model_ends_in_a_report(stage: Stage, how: str) -> None:
    stage.plays(*WORK, faults=(Fault(how=how, after=1, size=20_000_000),))
    report = await stage.works(limits=Limits(idle_s=20 * stage.row.slow, wall_s=120))
    assert report.state in ("done", "failed")
    assert report.kind in ("", "output", "contract", "crashed", "overloaded", "idle"), report.why


# -- limits, questions, processes --------------------------------------------------------------------------------------


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
async def test_what_it_leaves_running_is_ended(stage: Stage) -> None:
    token = f"3{abs(hash(stage.world.top)) % 10**8:08d}"
    stage.plays(Run(f"(setsid nohup sleep {token} >/dev/null 2>&1 &) ; sleep 0.3; echo started"), DONE)
    report = await stage.works()
    assert report.state == "done", report.why
    assert running(token) == []


@pytest.mark.spec("RUN-5")
async def test_a_tool_that_runs_long_is_no_hang(stage: Stage) -> None:
    stage.plays(Run("sleep 7; echo slept > slept.txt"), DONE)
    report = await stage.works(limits=Limits(idle_s=4 * stage.row.slow, wall_s=120))
    assert report.state == "done", report.why
    assert (stage.world.clone / "slept.txt").exists()


@pytest.mark.spec("USE-6")
async def test_a_secret_of_the_users_is_not_there(stage: Stage) -> None:
    stage.plays(Run("env > env.txt; cat /proc/1/environ > /dev/null; set | head -50"), Write("x.txt", "x"), DONE)
    report = await stage.works()
    assert report.state == "done", report.why
    assert "PLANTED" not in (stage.world.clone / "env.txt").read_text()
    assert "PLANTED" not in stage.model.text
