"""If another machine could take over a run, its agents end by their supervisor's clock, whatever happened to the
driver."""

import asyncio
import signal
from pathlib import Path

import pytest

from tests.agents.supervisor.test_crashes import (
    BEGUN,
    begun,
    quick_program,
    starts,
    told,
    waiting_program,
    waiting_script,
)
from tests.agents.supervisor.world import GO, World, wait_for
from trued.support.lease_file import LeaseFile, boot_time

LONG_S = 3600.0


def lease_of(world: World, seconds: float) -> LeaseFile:
    lease = LeaseFile(world.spool.parent / "lease")
    lease.extend(boot_time() + seconds)
    return lease


@pytest.mark.many(3)
@pytest.mark.spec("HUB-3")
@pytest.mark.parametrize("driver", ["killed", "frozen", "cut off"])
async def test_an_agent_ends_with_the_lease_and_is_not_started_again_before_there_is_one(
    confined: World, driver: str
) -> None:
    lease, order = lease_of(confined, LONG_S), confined.order(waiting_program(confined))
    with confined.engine(order, lease=str(lease.path)) as engine:
        await begun(confined)
        if driver == "killed":
            engine.kill()
        elif driver == "frozen":
            engine.send_signal(signal.SIGSTOP)
        assert confined.left(), "the agent goes on while the lease holds"
        lease.extend(boot_time())
        await asyncio.to_thread(wait_for, lambda: not confined.left(), "the agent's end")
        engine.kill()
    assert not (confined.folder() / "report.json").exists()
    work = asyncio.create_task(confined.runtime(lease=lease).work(order, confined.tell))
    done, _ = await asyncio.wait({work}, timeout=1.5)
    assert not done  # another machine may be doing the call
    assert starts(confined) == 1
    lease.extend(boot_time() + LONG_S)
    report = await work
    assert (report.state, starts(confined)) == ("died", 1)  # this agent has no session to resume
    assert "another machine" in report.why
    assert confined.told[-1:] == [("died", {"stopped": False, "reaped": 0, "lapsed": True})]


@pytest.mark.spec("HUB-3")
async def test_an_agent_in_a_sandbox_cannot_write_its_lease_nor_outlast_it(tmp_path: Path) -> None:
    confined = World(tmp_path, level="bubblewrap")
    lease = lease_of(confined, LONG_S)
    ever = f"""
folder, lease = Path("."), Path({str(lease.path)!r})
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.system("setsid sleep 3600 &")
try:
    lease.unlink(missing_ok=True)
    lease.write_text("9999999999")
except OSError:
    pass
{BEGUN}{GO}"""
    before = lease.path.read_text()
    with confined.engine(confined.order(confined.program(ever)), lease=str(lease.path)) as engine:
        await begun(confined)
        assert lease.path.read_text() == before
        lease.extend(boot_time())
        await asyncio.to_thread(wait_for, lambda: not confined.left(), "the agent's end")
        engine.kill()
    assert not (confined.folder() / "report.json").exists()


@pytest.mark.spec("HUB-3")
async def test_a_lease_that_is_gone_or_unreadable_allows_nothing_and_a_finished_call_needs_none(world: World) -> None:
    lease, order = lease_of(world, LONG_S), world.order(quick_program(world))
    lease.path.write_text("for ever")
    work = asyncio.create_task(world.runtime(lease=lease).work(order, world.tell))
    await asyncio.wait({work}, timeout=1.0)
    lease.path.unlink()
    await asyncio.wait({work}, timeout=1.0)
    assert (work.done(), starts(world)) == (False, 0)
    lease.extend(boot_time() + LONG_S)
    assert (await work).state == "done"
    lease.extend(boot_time())
    assert (await world.runtime(lease=lease).work(order, world.tell)).state == "done"  # its report is found


@pytest.mark.spec("HUB-3", "HUB-4")
@pytest.mark.slow
async def test_starts_that_ended_with_a_lease_do_not_count_against_the_session(world: World) -> None:
    lapses = 6  # more than a session may die, and more than a supervisor may fail to start
    lease, order = lease_of(world, LONG_S), world.order(waiting_script(world, turns=lapses))
    work = asyncio.create_task(world.runtime(lease=lease).work(order, world.tell))
    for number in range(1, lapses + 1):
        await begun(world, number)
        lease.extend(boot_time())
        await asyncio.to_thread(wait_for, lambda: not world.left(), "the agent's end")
        lease.extend(boot_time() + LONG_S)
    report = await work
    assert (report.state, starts(world)) == ("done", lapses + 1)
    assert world.kinds().count("session resumed") == lapses


@pytest.mark.spec("HUB-3")
async def test_a_start_that_waits_for_a_lease_says_why(world: World) -> None:
    lease, order = lease_of(world, 0), world.order(quick_program(world))
    work = asyncio.create_task(world.runtime(lease=lease).work(order, world.tell))
    await told(world, "postponed")
    assert "before the hub answers" in str(world.told[-1][1]["why"])
    lease.path.unlink()
    lease.path.mkdir()  # nobody can write it, as on a full disk
    lease.extend(boot_time() + LONG_S)
    await asyncio.to_thread(wait_for, lambda: len(world.told) > 1, "the second reason")
    assert str(lease.path) in str(world.told[-1][1]["why"])
    lease.path.rmdir()
    lease.extend(boot_time() + LONG_S)
    assert (await work).state == "done"
    assert world.kinds() == ["postponed", "postponed", "started"]
