"""What every real agent keeps to when it works for trued: the eight promises that are tried at every change."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from tests.agents.supervisor.world import running
from tests.real_agents.conformance.stage import BAD, DONE, LONG, MADE, WORK, Stage, committed
from tests.real_agents.model import HANG, Fault, Run, Say
from trued.wire import ProcessLimits

pytestmark = pytest.mark.agents


@pytest.mark.spec("AGT-1", "AGT-3", "AGT-4", "AGT-6", "RUN-5")
async def test_it_works_answers_by_contract_and_its_file_is_committed(stage: Stage, tmp_path: Path) -> None:
    stage.plays(*WORK)
    report, taken = await committed(stage, tmp_path)
    assert (report.state, report.reply) == ("done", {"summary": "done"}), report.why
    assert set(taken.changed) == {"made.txt", "copied.txt"}
    total = stage.model.total()
    assert (report.usage.tokens_in, report.usage.tokens_out) == (total.sent, total.said)
    assert not report.usage.estimated
    assert 0 <= stage.model.peak() - report.usage.peak <= 100, "the last words may be missing in what it tells"
    assert "INSTRUCTIONS-OF-THE-USER" not in stage.model.text
    stage.nothing_is_told()


@pytest.mark.spec("AGT-3")
async def test_a_broken_contract_is_mended_when_it_is_asked_again(stage: Stage) -> None:
    stage.plays(WORK[0], BAD, again=(DONE,))
    report = await stage.works()
    assert (report.state, report.reply, report.asks) == ("done", {"summary": "done"}, 2), report.why
    assert report.usage.tokens_in == stage.model.total().sent


@pytest.mark.spec("AGT-3")
async def test_a_contract_that_is_broken_twice_is_refused(stage: Stage) -> None:
    stage.plays(BAD, again=(Say("I would rather talk."),))
    report = await stage.works()
    assert (report.state, report.kind, report.asks) == ("failed", "contract", 2), report.why


@pytest.mark.spec("RUN-7")
async def test_a_key_that_is_refused_ends_it_at_once(stage: Stage) -> None:
    stage.plays(*WORK, faults=(Fault(401, times=99),))
    report = await stage.works()
    assert (report.state, report.kind) == ("failed", "auth"), report.why
    assert len(stage.model.seen) <= 3
    stage.nothing_is_told()


@pytest.mark.spec("RUN-7")
async def test_a_rate_limit_is_told_with_its_time_and_not_waited_for(stage: Stage) -> None:
    words = "Rate limit reached for requests. Please try again in 3 minutes."
    stage.plays(*WORK, faults=(Fault(429, times=99, retry_after=180, message=words),))
    report = await stage.works(limits=ProcessLimits(idle_s=3 * stage.row.tries_s, wall_s=600))
    assert (report.state, report.kind) == ("failed", "rate"), report.why
    assert report.ended - report.began < max(stage.row.tries_s, 170)  # waiting takes 180
    assert report.until == 0 or 60 < report.until - time.time() < 200


@pytest.mark.spec("RUN-5")
async def test_a_model_that_never_answers_ends_it(stage: Stage) -> None:
    for call, idle_s in (("one", stage.row.quiet_s), ("busy", 10 * stage.row.quiet_s)):
        stage.plays(*WORK, faults=(Fault(how=HANG, times=99, after=1),))
        report = await stage.works(call, limits=ProcessLimits(idle_s=idle_s, wall_s=3 * idle_s))
        if (stage.world.clone / "made.txt").exists():  # else the machine is so busy that it had not yet begun
            break
    assert (report.state, report.kind) == ("failed", "idle"), report.why
    assert (stage.world.clone / "made.txt").exists()


@pytest.mark.spec("RUN-5")
async def test_what_it_leaves_running_is_ended(stage: Stage) -> None:
    token = f"3{os.getpid():07d}.{time.monotonic_ns() % 10**6:06d}"
    stage.plays(Run(f"(setsid nohup sleep {token} >/dev/null 2>&1 &) ; sleep 0.3; echo started"), DONE)
    report = await stage.works()
    assert report.state == "done", report.why
    assert running(token) == []


@pytest.mark.spec("RUN-2", "RUN-5")
async def test_its_session_goes_on_after_its_supervisor_was_killed(stage: Stage) -> None:
    stage.plays(MADE, LONG, DONE, interrupted=(MADE, DONE))
    work = asyncio.create_task(stage.works())
    await asyncio.to_thread(stage.wrote, "begun.txt")
    os.kill(stage.world.supervisor(), signal.SIGKILL)
    stage.is_done(await work)
    assert {"died", "session resumed"} <= set(stage.world.kinds())
