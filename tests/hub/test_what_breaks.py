"""The table "What breaks when" of the guide: every row is tried by the tests that are named here, or are here."""

import ast
import asyncio
import re
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.crash.world import World
from tests.hub.machines import Beginning, Machine, wait_for
from tests.hub.test_runs import command, environment, is_paid, start
from tests.hub.test_travel import hub, in_store, killed_at, one, store, two
from tests.postgres import PostgresServer
from trued.engine.engine import Engine
from trued.engine.run_store import RunStore
from trued.errors import StateFailed
from trued.hub.postgres import PostgresJournal
from trued.model import Grade

ROOT = Path(__file__).parents[2]
__all__ = ["hub", "one", "store", "two"]  # fixtures

# What happens, as the guide's table begins its row → the tests that try it.
TRIED = {
    "the driver is killed": (
        "test_epochs.py::test_a_driver_killed_between_writes_is_replaced_and_no_step_happens_twice",
        "test_travel.py::test_a_run_is_continued_on_a_machine_that_has_nothing_of_it",
    ),
    "the store is unavailable for less than 5 minutes": (
        "test_what_breaks.py::test_a_run_waits_for_a_store_that_is_away_and_nothing_is_paid_again",
    ),
    "the store is unavailable for longer, or refuses": (
        "test_what_breaks.py::test_a_run_whose_store_refuses_ends_with_a_sentence_and_is_resumed_later",
    ),
    "somebody moved or deleted refs in the store": (
        "test_what_breaks.py::test_work_that_the_store_lost_is_named_and_sent_again_by_the_machine_that_has_it",
    ),
    "the database is unavailable for less than 5 minutes": (
        "test_runs.py::test_a_database_that_is_away_while_an_agent_ends_costs_nothing_and_stops_nothing_else",
        "test_cut_off.py::test_agents_end_while_the_database_is_away_and_their_calls_continue_when_it_is_back",
    ),
    "the database is unavailable for longer": (
        "test_what_breaks.py::test_a_run_whose_database_stays_away_ends_with_a_sentence_and_is_resumed_later",
    ),
    "a command while the database is unavailable": (
        "test_what_breaks.py::test_a_command_while_the_database_is_away_is_one_sentence",
    ),
    "a driver was frozen, and another one took its run": (
        "test_runs.py::test_a_driver_that_another_machine_took_for_dead_ends_with_one_sentence",
        "test_epochs.py::test_a_frozen_driver_that_wakes_up_finds_that_it_is_none",
    ),
    "another version of trued made the tables": (
        "test_postgres.py::test_tables_of_another_version_are_not_touched",
        "test_roles.py::test_workers_use_tables_that_an_ordinary_command_of_the_owner_converted",
    ),
    "a worker is killed": (
        "test_workers.py::test_a_run_of_a_killed_worker_is_driven_on_by_another_and_no_call_is_paid_twice",
        "test_workers.py::test_a_run_of_a_machine_that_died_is_driven_on_by_another_that_has_nothing_of_it",
    ),
    "a worker is frozen, or cannot reach the hub, for longer than its lease": (
        "test_cut_off.py::test_agents_of_a_machine_that_renews_nothing_end_before_another_pays_for_their_call",
        "test_workers.py::test_a_worker_that_was_frozen_for_longer_than_its_lease_writes_nothing_afterwards",
    ),
    "a worker's disk is full": (
        "test_workers.py::test_a_worker_that_cannot_write_leaves_its_run_to_others_and_says_why",
    ),
    "a worker gets SIGTERM": (
        "test_workers.py::test_a_worker_that_is_told_to_end_gives_its_run_back_and_whoever_watches_it_does_not_notice",
    ),
    "two workers have one name": (
        "test_workers.py::test_workers_are_drained_replaced_forgotten_and_refuse_what_they_may_not_run",
    ),
    "a run needs what a worker may not run": (
        "test_queued_tickets.py::test_who_waits_is_told_what_each_worker_lacks_until_one_may",
    ),
    "the hub was prepared by another version": (
        "test_workers.py::test_workers_are_drained_replaced_forgotten_and_refuse_what_they_may_not_run",
        "test_hostile.py::test_a_worker_of_an_older_trued_finishes_the_run_that_it_drives_and_takes_no_other",
        "test_hostile.py::test_a_worker_of_an_older_trued_stops_with_a_sentence_when_the_hub_is_converted",
    ),
}


def test_every_row_of_the_guides_table_is_tried_by_tests_that_exist() -> None:
    guide = (ROOT / "docs" / "guide" / "hub.md").read_text().partition("## What breaks when")[2]
    rows = re.findall(r"^\| ([^|]+?) \|", guide, re.MULTILINE)
    assert [row for row in rows if row not in ("what happens", "---")] == list(TRIED)
    for place in (place for places in TRIED.values() for place in places):
        file, _, name = place.partition("::")
        tree = ast.parse((Path(__file__).parent / file).read_text())
        assert name in {one.name for one in tree.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}, place


def at_work(machine: Beginning) -> subprocess.Popen[bytes]:
    """A run whose second pair is at work, until it is told to go on."""
    process = machine.begin()
    wait_for(lambda: any(machine.home.glob("runs/*")))
    wait_for(lambda: any("team-b" in key and count for key, count in machine.world.bill().items()))
    return process


@pytest.mark.slow
@pytest.mark.spec("HUB-6")
def test_a_run_waits_for_a_store_that_is_away_and_nothing_is_paid_again(one: Beginning, store: Path) -> None:
    process = at_work(one)
    store.rename(away := store.with_name("away.git"))
    one.world.go_on()
    wait_for(lambda: len(list(one.world.run_folder().glob("spool/*/report.json"))) == 2)
    time.sleep(3)  # it tries again and again
    assert process.poll() is None
    away.rename(store)
    assert process.wait(300) == 0, (one.folder / "said").read_text()
    assert set(one.world.bill().values()) == {1}


@pytest.mark.slow
@pytest.mark.spec("HUB-6")
def test_a_run_whose_store_refuses_ends_with_a_sentence_and_is_resumed_later(one: Beginning, store: Path) -> None:
    process = at_work(one)
    refs = store / "refs" / "trued"
    refs.rename(store / "kept")
    refs.write_text("no folder, so that git can make no ref")
    one.world.go_on()
    assert process.wait(300) == 6, (one.folder / "said").read_text()
    said = (one.folder / "said").read_text()
    assert said.splitlines()[-1].startswith(f"trued: cannot push to the store {store}: ")
    refs.unlink()
    (store / "kept").rename(refs)
    one.world.make_slow(0)
    resumed = one.command("resume", one.world.run_folder().name, here=one.world.repository)
    assert resumed.returncode == 0, resumed.stderr
    assert set(one.world.bill().values()) == {1}  # what was finished was not paid again


@pytest.mark.slow
@pytest.mark.spec("HUB-4", "HUB-6")
def test_work_that_the_store_lost_is_named_and_sent_again_by_the_machine_that_has_it(
    one: Beginning, two: Machine, store: Path
) -> None:
    def git(*words: str) -> str:
        done = subprocess.run(["git", f"--git-dir={store}", *words], check=True, capture_output=True, text=True)
        return done.stdout

    run = killed_at(one, "purple-team-b")
    one.world.make_slow(0)
    commits = {line.rpartition("/")[2] for line in git("for-each-ref", "--format=%(refname)").splitlines()}
    for ref in git("for-each-ref", "--format=%(refname)").splitlines():
        git("update-ref", "-d", ref)
    assert all(in_store(store, commit) for commit in commits)
    git("prune", "--expire=now")
    git("repack", "-a", "-d", "-q")
    assert not any(in_store(store, commit) for commit in commits)
    refused = two.command("resume", run)
    assert (refused.returncode, len(refused.stderr.strip().splitlines()) > 0) == (6, True), refused.stderr
    assert any(commit[:12] in refused.stderr for commit in commits), refused.stderr
    assert "Traceback" not in refused.stderr
    one.wake()
    resumed = one.command("resume", run, here=one.world.repository)
    assert resumed.returncode == 0, resumed.stderr
    assert all(in_store(store, commit) for commit in commits)


@pytest.fixture
def world(tmp_path: Path, hub: str) -> World:
    made = World(tmp_path / "machine")
    made.variables["TRUED_HUB"] = hub
    return made.make(-1)


@pytest.mark.slow
@pytest.mark.spec("HUB-4")
async def test_a_run_whose_database_stays_away_ends_with_a_sentence_and_is_resumed_later(
    world: World, hub: str, postgres: PostgresServer
) -> None:
    journal = PostgresJournal(hub, home=world.home, lease_s=4.0)
    with closing(Engine(RunStore(world.home, environment(world), journal=journal))) as engine:
        driven = asyncio.create_task(start(world, engine))
        while not is_paid(world):  # noqa: ASYNC110  (another process)
            await asyncio.sleep(0.05)
        await asyncio.to_thread(postgres.stop, "immediate")
        world.go_on()
        with pytest.raises(StateFailed, match="does not answer") as raised:
            await driven
        assert (raised.value.code, "trued resume" in str(raised.value)) == (6, True)
    postgres.start()  # in this thread: it ends with the thread that started it
    world.make_slow(0)
    with closing(Engine(RunStore(world.home, environment(world)))) as engine:
        (run,) = engine.store.journal.runs()
        record = await engine.resume(run.id)
    assert (record.state, record.grade) == ("done", Grade.PROVEN)
    assert set(world.bill().values()) == {1}


@pytest.mark.slow
@pytest.mark.spec("HUB-8")
def test_a_command_while_the_database_is_away_is_one_sentence(world: World, postgres: PostgresServer) -> None:
    postgres.stop()
    try:
        began = time.monotonic()
        for words in (("ls",), ("show",), ("run", "PLAN.md", "--agent", f"scripted:{world.script}")):
            done = command(world, *words)
            assert (done.returncode, len(done.stderr.strip().splitlines())) == (6, 1), done.stderr
            assert "does not answer" in done.stderr
        assert time.monotonic() - began < 120
    finally:
        postgres.start()
