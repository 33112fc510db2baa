"""Runs whose journal is on a hub, on one machine and beside another: driven, cancelled, fenced, cut off, refused."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import psycopg
import pytest

from tests.crash.world import World
from tests.postgres import PASSWORD, PostgresServer
from trued.engine.engine import Engine
from trued.engine.inputs import Request
from trued.engine.run_store import RunStore
from trued.errors import BadInput, Busy
from trued.hub.postgres import PostgresJournal
from trued.inputs.settings.hub import hub_address
from trued.inputs.settings.loader import load_settings
from trued.model import Grade, RunRecord


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.new_database()


@pytest.fixture
def world(tmp_path: Path, url: str) -> World:
    made = World(tmp_path / "machine")
    made.variables["TRUED_HUB"] = url
    return made.make()


@pytest.fixture
def engine(world: World) -> Iterator[Engine]:
    with closing(Engine(RunStore(world.home, environment(world)))) as opened:
        yield opened


def environment(world: World, home: str = "home") -> dict[str, str]:
    places = {"HOME": str(world.folder), "TRUED_HOME": str(world.folder / home)}
    return {"PATH": os.environ["PATH"], **places, **world.variables}


async def start(world: World, engine: Engine, **flags: object) -> RunRecord:
    given = {"yes": True, "agents": {"*": f"scripted:{world.script}"}, **flags}
    request = Request(goal=str(world.plan), repository=world.repository, requirements=world.requirements, flags=given)
    return await engine.start(request)


def command(world: World, *words: str, home: str = "home") -> subprocess.CompletedProcess[str]:
    """The real command line; `home`: the state folder, which another machine would have."""
    line = [sys.executable, "-m", "trued", *words]
    surroundings = environment(world, home)
    return subprocess.run(line, cwd=world.repository, env=surroundings, capture_output=True, text=True, check=False)


def at_work(world: World) -> subprocess.Popen[str]:
    """A real `trued run` whose agent works until it is ended."""
    world.make_slow(600)
    given = ("--yes", "--requirements", str(world.requirements), "--agent", f"scripted:{world.script}")
    line, pipe = [sys.executable, "-m", "trued", "run", "PLAN.md", *given], subprocess.PIPE
    process = subprocess.Popen(
        line, cwd=world.repository, env=environment(world), stdout=subprocess.DEVNULL, stderr=pipe, text=True
    )
    wait_for(lambda: is_paid(world))
    return process


def is_paid(world: World) -> bool:
    return any(world.home.glob("runs/*")) and sum(world.bill().values()) > 0


def wait_for(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 300
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def rows_with(url: str, word: str) -> list[str]:
    """The tables that hold this word."""
    with psycopg.connect(url) as db:
        names = [name for (name,) in db.execute("select tablename from pg_tables where schemaname = 'trued'")]
        return [
            one
            for one in names
            if db.execute(f"select 1 from trued.{one} as row where strpos(row::text, %s) > 0", (word,)).fetchone()
        ]


@pytest.mark.slow
@pytest.mark.spec("HUB-4")
async def test_a_database_that_is_away_while_an_agent_ends_costs_nothing_and_stops_nothing_else(
    world: World, engine: Engine, postgres: PostgresServer, url: str
) -> None:
    world.make_slow(-1)
    driven = asyncio.create_task(start(world, engine))
    while not is_paid(world):  # noqa: ASYNC110  (another process)
        await asyncio.sleep(0.05)
    await asyncio.to_thread(postgres.stop, "immediate")
    world.go_on()
    while not list(world.run_folder().glob("spool/*/report.json")):  # noqa: ASYNC110  (another process)
        await asyncio.sleep(0.05)
    for _ in range(20):  # the loop goes on: nobody else starts the database
        await asyncio.sleep(0.05)
    assert not driven.done()
    postgres.start()  # in this thread: it ends with the thread that started it
    record = await driven
    assert (record.state, record.grade) == ("done", Grade.PROVEN)
    assert set(world.bill().values()) == {1}
    events = engine.store.journal.events(record.id)
    assert [one.id for one in events] == sorted(one.id for one in events)
    assert rows_with(url, PASSWORD) == []
    assert not (world.home / "journal.db").exists()


@pytest.mark.spec("HUB-8", "RUN-5")
@pytest.mark.slow
def test_a_run_is_cancelled_from_another_machine_by_a_word_in_the_journal(world: World) -> None:
    driver = at_work(world)
    run = world.run_folder().name
    assert command(world, "show", run, home="other").returncode == 0
    refused = command(world, "resume", run, home="other")
    assert (refused.returncode, "its work is there" in refused.stderr) == (2, True), refused.stderr
    cancelled = command(world, "cancel", run, home="other")
    assert cancelled.returncode == 0, cancelled.stderr
    driver.communicate(timeout=300)
    assert driver.returncode == 1
    wait_for(lambda: world.left_over() == [])
    shown = json.loads(command(world, "show", run, "--json", home="other").stdout)
    assert shown["state"] == "cancelled"


@pytest.mark.spec("HUB-8")
async def test_a_run_that_nobody_drives_is_cancelled_from_another_machine(world: World, engine: Engine) -> None:
    planned = await start(world, engine, plan_only=True)
    assert planned.state == "planned"
    with closing(Engine(RunStore(world.folder / "other", environment(world, "other")))) as other:
        with pytest.raises(BadInput, match="its work is there"):
            await other.resume(planned.id)
        assert (await other.cancel(planned.id)).state == "cancelled"
    assert (await engine.resume(planned.id)).state == "cancelled"


@pytest.mark.spec("HUB-3", "RUN-3")
@pytest.mark.slow
def test_a_driver_that_another_machine_took_for_dead_ends_with_one_sentence(world: World, url: str) -> None:
    driver = at_work(world)
    run = world.run_folder().name
    with ExitStack() as stack:
        other = stack.enter_context(closing(PostgresJournal(url, name="w2")))

        def is_taken() -> bool:
            """The lease is over, as after so long a freeze, unless the driver has just renewed it."""
            with psycopg.connect(url) as db:
                db.execute("update trued.run set until = clock_timestamp() - interval '1 second'")
            with suppress(Busy):
                stack.enter_context(other.claim(run))
                return True
            return False

        wait_for(is_taken)
        before = other.run(run)
        said = driver.communicate(timeout=300)[1]
        assert driver.returncode == 130
        assert said.strip().splitlines()[-1].endswith(f"another driver has it; see `trued show {run}`")
        assert other.run(run) == before
        assert set(world.bill().values()) == {1}
    wait_for(lambda: not [one for one in world.left_over() if one.startswith("process")])


@pytest.mark.spec("HUB-7", "LAW-7")
async def test_a_hub_that_needs_no_password_is_refused_before_anything_is_written(
    world: World, engine: Engine, postgres: PostgresServer
) -> None:
    rules = postgres.folder / "data" / "pg_hba.conf"
    strict = rules.read_text()

    def reload(text: str, is_open: bool) -> None:
        rules.write_text(text)
        with psycopg.connect(postgres.url, autocommit=True) as db:
            db.execute("select pg_reload_conf()")
        journal = engine.store.journal
        assert isinstance(journal, PostgresJournal)
        wait_for(lambda: journal._database.lets_anybody_in() is is_open)

    try:
        reload("local all all trust\n", True)
        with pytest.raises(BadInput, match="lets anybody in without a password"):
            await start(world, engine)
    finally:
        reload(strict, False)
    assert engine.store.journal.runs() == []
    with pytest.raises(BadInput, match="agents would see TRUED_HUB, which gives access to the journal of all runs"):
        await start(world, engine, variables=["TRUED_HUB"])
    assert engine.store.journal.runs() == []


@pytest.mark.spec("HUB-7", "LAW-7")
async def test_where_agents_can_read_the_password_nothing_is_held_out(world: World, url: str) -> None:
    shown = world.folder / "shown"
    shown.mkdir()
    (shown / "pgpass").write_text(f"*:*:*:*:{PASSWORD}\n")
    (shown / "pgpass").chmod(0o600)
    world.variables["TRUED_HUB"] = url.replace(f":{PASSWORD}@", "@") + f"&passfile={shown / 'pgpass'}"
    with closing(Engine(RunStore(world.home, environment(world)))) as engine:
        record = await start(world, engine, readable=[str(shown)])
        (sealed,) = engine.store.journal.events_of_kind(record.id, "contract sealed")
        assert engine.store.secret_values(engine.store.inputs(record.id))["TRUED_HUB"] == PASSWORD
    assert (sealed.data["held_out"], "can read pgpass" in sealed.data["why"]) == (False, True)
    assert record.grade is not Grade.PROVEN


@pytest.mark.spec("HUB-7")
def test_the_address_is_the_users_and_no_projects(tmp_path: Path) -> None:
    user, project = tmp_path / ".config" / "trued", tmp_path / "project"
    for folder in (user, project):
        folder.mkdir(parents=True)
        (folder / "trued.toml").write_text('[hub]\nurl = "postgresql://ann@db/runs"\n')
    home = {"HOME": str(tmp_path)}
    assert hub_address(home) == "postgresql://ann@db/runs"
    assert hub_address({**home, "TRUED_HUB": "postgresql://bob@db/x"}) == "postgresql://bob@db/x"
    assert hub_address({**home, "TRUED_HUB": ""}) == ""
    assert "hub" not in load_settings({}, home, None, user).model_dump()
    with pytest.raises(BadInput, match="cannot set hub"):
        load_settings({}, home, project, None)
    (user / "trued.toml").write_text('[hub]\nadress = "postgresql://ann@db/runs"\n')
    with pytest.raises(BadInput, match="adress"):
        hub_address(home)
    (user / "trued.toml").write_text("rounds = 2 # no hub here\n")
    assert hub_address(home) == hub_address({"HOME": str(project)}) == ""


@pytest.mark.spec("HUB-1")
def test_without_its_library_a_hub_is_one_sentence(tmp_path: Path) -> None:
    code = "import sys; sys.modules['psycopg'] = None; sys.argv[1:] = ['ls']; from trued.cli import main; main()"
    variables = {"HOME": str(tmp_path), "TRUED_HUB": "postgresql://ann@db/runs", "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=False)
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (2, 1), done.stderr
    assert "trued[hub]" in done.stderr
