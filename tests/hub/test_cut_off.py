"""A machine that cannot reach the hub: its agents end by their own clock before another machine pays for their call."""

import asyncio
import os
import signal
import socket
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.crash.faults import Host, Stage
from tests.hub.machines import wait_for
from tests.postgres import PostgresServer


@pytest.fixture
def stage(postgres: PostgresServer) -> Iterator[Stage]:
    with tempfile.TemporaryDirectory(prefix="trued-cut-") as folder:  # short: a socket's path has 107 bytes
        made = Stage(Path(folder), postgres, seed=0)
        made.world.requests = 2000
        made.world.make_slow(0.1)
        with made:
            yield made


def paid(host: Host, run: str) -> list[float]:
    return [at for one in host.calls(run) for at in one.requests]


@pytest.mark.slow
@pytest.mark.spec("HUB-2", "HUB-3", "HUB-4")
@pytest.mark.parametrize("how", ["silent cut", "refused", "frozen worker", "killed worker"])
def test_agents_of_a_machine_that_renews_nothing_end_before_another_pays_for_their_call(stage: Stage, how: str) -> None:
    first, second, _ = stage.hosts
    first.keep()
    (run,) = asyncio.run(stage.ask(1))
    wait_for(lambda: len(paid(first, run)) > 3)
    worker = first.worker
    assert worker
    if how == "silent cut":
        first.line.freeze()
    elif how == "refused":
        first.line.cut()
    else:
        os.kill(worker.pid, signal.SIGSTOP if how == "frozen worker" else signal.SIGKILL)
    stage.world.requests = 3
    stage.world.make_slow(0.1)  # for whoever begins now
    second.keep()
    wait_for(lambda: bool(paid(second, run)))
    last = max(paid(first, run))
    assert last < min(paid(second, run))
    assert not first.supervisors()
    states = stage.rows("select worker, state from attempt where key like '%%team-a%%' order by number")
    assert (states[0], {who for who, _ in states[1:]}) == (("a#1", "lost"), {"b#1"})
    if how == "silent cut":
        first.line.thaw()
    elif how == "refused":
        first.line.mend()
    else:
        os.kill(worker.pid, signal.SIGCONT)
    wait_for(lambda: not stage.unfinished([run]))
    assert stage.rows("select state, grade, driver from run") == [("done", "proven", "b#1")]
    if how != "killed worker":
        assert worker.wait(300) == 130  # it was taken for dead meanwhile
    assert max(paid(first, run)) == last
    spent = stage.rows("select state, count(*) from spend group by 1 order by 1")
    assert spent == [("died", 1), ("done", 2)]  # what the first had begun is paid for, at what was reserved


@pytest.mark.slow
@pytest.mark.spec("HUB-2", "HUB-3", "HUB-4")
def test_an_attempt_that_another_machine_gave_up_is_not_started_again_and_both_are_accounted_for(stage: Stage) -> None:
    first, second, _ = stage.hosts
    first.keep()
    (run,) = asyncio.run(stage.ask(1))
    wait_for(lambda: len(paid(first, run)) > 3)
    first.die()
    before = len(paid(first, run))
    second.keep()
    wait_for(lambda: len(paid(second, run)) > 3)
    second.die()
    stage.world.requests = 3
    stage.world.make_slow(0.1)
    first.keep()
    wait_for(lambda: not stage.unfinished([run]))
    assert stage.rows("select state, grade, driver from run") == [("done", "proven", "a#2")]
    spent = stage.rows("select attempt, state from spend where step like '%%team-a%%' order by 1")
    assert spent == [(1, "died"), (2, "died"), (3, "done")]
    again = {one.name.rpartition(".")[2]: len(one.requests) for one in first.calls(run) if "team-a" in one.key}
    assert again == {"1": before, "3": 3}


class Systemd:
    """What systemd does for a service with WatchdogSec=: who is silent for so long is killed."""

    def __init__(self, host: Host, seconds: float) -> None:
        self._host, self._socket = host, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.settimeout(seconds)
        self._socket.bind(str(host.folder / "notify"))
        host.variables["NOTIFY_SOCKET"] = str(host.folder / "notify")

    def close(self) -> None:
        self._socket.close()

    def hears(self) -> bool:
        """Whether the worker says within that time that it is alive."""
        try:
            return self._socket.recv(100) == b"WATCHDOG=1"
        except TimeoutError:
            return False

    def watch(self) -> None:
        """Kill the worker as soon as it is silent."""
        while self.hears():
            pass
        assert self._host.worker
        self._host.worker.kill()


@pytest.mark.slow
@pytest.mark.spec("HUB-2", "HUB-3")
@pytest.mark.parametrize("how", ["killed", "hangs"])
def test_a_call_that_ends_while_its_driver_is_dead_is_settled_once_and_paid_once(stage: Stage, how: str) -> None:
    first, second, _ = stage.hosts
    first.lease_s = second.lease_s = 90.0  # for a busy machine: its worker is back before the lease is over
    with closing(Systemd(first, seconds=15.0)) as systemd:
        stage.world.requests = 100
        stage.world.make_slow(0.1)
        first.keep()
        (run,) = asyncio.run(stage.ask(1))
        wait_for(lambda: len(paid(first, run)) > 3)
        assert systemd.hears()
        assert systemd.hears()
        assert first.worker
        first.worker.send_signal(signal.SIGKILL if how == "killed" else signal.SIGSTOP)
        second.keep()  # others have room meanwhile
        wait_for(lambda: any(one.is_done for one in first.calls(run)))
        assert stage.rows("select state from attempt") == [("open",)]  # nobody could settle it yet
        assert stage.rows("select count(*) from step where key like '%%team-a%%#1'") == [(0,)]
        systemd.watch()
        first.worker.wait(60)
        first.keep()
    wait_for(lambda: not stage.unfinished([run]))
    assert stage.rows("select state, grade from run") == [("done", "proven")]
    assert (len(paid(first, run)), paid(second, run)) == (2 * 100, [])  # two calls, each paid once
    assert stage.rows("select key, state, number from attempt where state <> 'done' or number > 1") == []
    assert stage.rows("select state, count(*) from spend group by 1") == [("done", 2)]
    answered = stage.rows("select count(*) from step where key like '%%team%%#1' group by key")
    assert answered == [(1,), (1,)]
    assert stage.rows("select count(*) from event where kind = 'report found'") == [(1,)]


@pytest.mark.slow
@pytest.mark.spec("HUB-3", "HUB-4")
def test_agents_end_while_the_database_is_away_and_their_calls_continue_when_it_is_back(stage: Stage) -> None:
    first = stage.hosts[0]
    first.keep()
    (run,) = asyncio.run(stage.ask(1))
    wait_for(lambda: len(paid(first, run)) > 3)
    stage.server.stop("immediate")
    wait_for(lambda: not first.supervisors())
    stage.world.requests = 3
    stage.world.make_slow(0.1)  # for whoever begins now
    stage.server.start()
    wait_for(lambda: not stage.unfinished([run]))
    assert stage.rows("select state, grade from run") == [("done", "proven")]
    lapsed = stage.rows("select count(*) from event where kind = 'died' and data::jsonb ->> 'lapsed' = 'true'")
    assert lapsed == [(1,)]
    answered = stage.rows("select key, count(*) from step where key like '%%team%%#1' group by key")
    assert [number for _, number in answered] == [1, 1]


@pytest.mark.slow
@pytest.mark.spec("HUB-2", "HUB-4")
def test_a_result_that_arrives_after_its_lease_is_used_if_no_other_worker_made_the_call(stage: Stage) -> None:
    first, second, _ = stage.hosts
    stage.world.requests = 20
    stage.world.make_slow(0.1)
    first.keep()
    (run,) = asyncio.run(stage.ask(1))
    wait_for(lambda: len(paid(first, run)) > 3)
    worker = first.worker
    assert worker
    os.kill(worker.pid, signal.SIGSTOP)
    second.start("worker", "--name", "b", "--agents", "claude", "--lease", str(first.lease_s))  # it may not drive it
    wait_for(lambda: any(one.is_done for one in first.calls(run)))
    wait_for(lambda: stage.rows("select until is null from run") == [(True,)])  # it was taken from the first
    os.kill(worker.pid, signal.SIGCONT)
    assert worker.wait(300) == 130
    first.keep()
    wait_for(lambda: not stage.unfinished([run]))
    assert stage.rows("select state, grade, driver from run") == [("done", "proven", "a#2")]
    assert len(paid(first, run)) == 2 * 20  # two calls, each paid once
    assert stage.rows("select count(*) from attempt where state = 'done' group by key") == [(1,), (1,)]
    assert stage.rows("select state, count(*) from spend group by 1") == [("done", 2)]
