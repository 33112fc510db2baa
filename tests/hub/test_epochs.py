"""A run is driven under the newest epoch: whoever was killed, frozen or cut off writes nothing afterwards."""

import itertools
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.hub.conftest import Hub, record
from tests.hub.driver import drive
from trued.errors import BadInput, Busy, Fenced
from trued.hub.postgres import MACHINE, PostgresJournal
from trued.model.events.run import RunResumed
from trued.wire import Spend

pytestmark = pytest.mark.spec("HUB-3")

SPEND = Spend("call", 1, "step", "", "dev", "claude")
Result = Callable[[str], Callable[[], Any]]


def test_each_claim_is_the_next_epoch_and_names_its_driver(hub: Hub) -> None:
    one, two = hub.opened("w1"), hub.opened("w2")
    with one.claim("r-one"):
        assert one.driver("r-one") == 1
        with pytest.raises(Busy, match=r"w1 \(epoch 1\)"), two.claim("r-one"):
            pass
    with two.claim("r-one"):
        assert one.driver("r-one") == 2
    with pytest.raises(BadInput, match="r-none"), one.claim("r-none"):
        pass


def test_a_copy_of_a_state_folder_on_another_machine_waits_for_the_lease(hub: Hub, tmp_path: Path) -> None:
    """It cannot see that the lock is held there: whoever drives would count as dead, and its calls be paid twice."""
    one = hub.opened("w1", home=tmp_path / "a")
    one.add(record("r-two"))
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    (tmp_path / "b" / MACHINE).write_text("another one")
    copy = hub.opened("w2", home=tmp_path / "b")
    with one.claim("r-two"):
        with pytest.raises(Busy, match=r"w1 \(epoch 1\)"), copy.claim("r-two"):
            pass
        assert copy.driver("r-two") == 1
        hub.end_lease("r-two")
        with copy.claim("r-two"):
            assert copy.driver("r-two") == 2
    shutil.copytree(tmp_path / "a", tmp_path / "same")  # as after a crash of its driver, on its own machine
    with hub.opened("w1", home=tmp_path / "same").claim("r-two"):
        pass


async def test_whoever_lost_its_claim_writes_nothing_more(hub: Hub, results: Result) -> None:
    one, two = hub.opened("w1"), hub.opened("w2")
    run, before = one.of("r-one"), dict[str, list[Any]]()

    async def loses_it() -> str:
        """Its driver is taken for dead while it works."""
        hub.end_lease()
        taken.enter_context(two.claim("r-one"))
        await two.of("r-one").once("b#1", "h", results("by w2"))
        before.update(hub.content())
        return "by w1"

    async def drive_until_fenced() -> None:
        with one.claim("r-one"):
            await run.once("a#1", "h", results("by w1"))
            await run.once("b#1", "h", loses_it)

    with ExitStack() as taken:
        with pytest.raises(Fenced, match="r-one"):
            await drive_until_fenced()
        writes: tuple[Callable[[], object], ...] = (
            lambda: run.emit(RunResumed(after="running")),
            lambda: run.question("q#1", "Go on?", ()),
            lambda: run.spend(lambda known: SPEND),
            lambda: one.update(one.run("r-one").model_copy(update={"state": "failed"})),
        )
        for cut, write in itertools.product((False, True), writes):
            if cut:
                hub.cut()
            with pytest.raises(Fenced):
                write()
        with pytest.raises(Fenced):
            await run.once("c#1", "h", results("by w1"))
        assert _steady(hub.content()) == _steady(before)
        assert await run.once("b#1", "h", results("never")) == "by w2"  # it may still read
    assert hub.execute("select key, value, epoch from step order by n") == [("a#1", "by w1", 1), ("b#1", "by w2", 2)]


def _steady(content: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Without the end of the lease, which its holder moves on."""
    return {**content, "run": [[one for one in row if not isinstance(one, datetime)] for row in content["run"]]}


async def test_who_never_claimed_a_run_writes_no_step_of_it(hub: Hub, results: Result) -> None:
    run = hub.opened().of("r-one")
    for write in (lambda: run.question("q#1", "Go on?", ()), lambda: run.spend(lambda known: SPEND)):
        with pytest.raises(Fenced):
            write()
    with pytest.raises(Fenced):
        await run.once("a#1", "h", results("x"))
    assert [hub.content()[name] for name in ("step", "question", "spend")] == [[], [], []]


async def test_the_result_of_a_step_that_was_recorded_first_counts(hub: Hub) -> None:
    store = hub.opened()

    async def recorded_meanwhile() -> str:
        hub.execute("insert into step (run, key, inputs, value, epoch) values ('r-one', 'dev#1', 'h', 'first', 1)")
        return "second"

    with store.claim("r-one"):
        assert await store.of("r-one").once("dev#1", "h", recorded_meanwhile) == "first"
    assert hub.execute("select value from step") == [("first",)]


def test_a_lease_that_is_over_takes_nothing_from_a_driver_that_nobody_replaced(hub: Hub) -> None:
    one = hub.opened()
    with one.claim("r-one"):
        hub.end_lease()
        one.of("r-one").spend(lambda known: SPEND)
    assert len(one.spends("r-one")) == 1


def test_a_driver_at_work_renews_its_lease(hub: Hub) -> None:
    with hub.opened(lease_s=3.0).claim("r-one"):
        first = hub.execute("select until from run")
        _until(lambda: hub.execute("select until from run") > first)


@contextmanager
def driver(hub: Hub, ledger: Path, *keys: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.hub.driver", hub.server.url, hub.schema, "1", str(ledger), *keys]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as child:
        try:
            yield child
        finally:
            child.kill()


@contextmanager
def taken_over(hub: Hub) -> Iterator[PostgresJournal]:
    """The run, driven here as soon as the lease of its driver is over."""
    store = hub.opened("w2")
    _until(lambda: not store.driver("r-one"))
    with store.claim("r-one"):
        yield store


def _until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("where", ["freeze", pytest.param("freeze inside", marks=pytest.mark.slow)])
async def test_a_frozen_driver_that_wakes_up_finds_that_it_is_none(
    hub: Hub, results: Result, tmp_path: Path, where: str
) -> None:
    with driver(hub, tmp_path / "ledger", "a#1", where, "z#1") as child:
        assert child.stdout is not None
        assert [child.stdout.readline() for _ in "ab"] == ["a#1\n", "freezing\n"]
        with taken_over(hub) as store:
            run = store.of("r-one")
            os.kill(child.pid, signal.SIGCONT)
            assert (child.communicate()[0], child.returncode) == ("fenced\n", 0)
            assert await run.once(where, "h", results("by w2")) == "by w2"
            assert await run.once("z#1", "h", results("by w2")) == "by w2"
            assert hub.execute("select key, epoch from step order by n") == [("a#1", 1), (where, 2), ("z#1", 2)]
            assert [one.data["after"] for one in store.events("r-one")] == ["a#1"]
            assert store.spends("r-one") == []


async def test_a_driver_killed_between_writes_is_replaced_and_no_step_happens_twice(hub: Hub, tmp_path: Path) -> None:
    ledger, keys = tmp_path / "ledger", [f"step#{number}" for number in range(40)]
    with driver(hub, ledger, *keys) as child:
        assert child.stdout is not None
        for _ in range(3):
            child.stdout.readline()
        child.kill()
        child.wait()
        happened = ledger.read_text().splitlines()
        recorded = [key for key, _, _ in hub.opened().steps("r-one")]
        assert happened[: len(recorded)] == recorded
        assert len(happened) - len(recorded) <= 1  # the one that it was in
        with taken_over(hub) as store:
            await drive(store.of("r-one"), ledger, keys)
            assert [key for key, _, _ in store.steps("r-one")] == keys
            assert ledger.read_text().splitlines() == happened + keys[len(recorded) :]
            assert {epoch for (epoch,) in hub.execute("select epoch from step")} == {1, 2}
