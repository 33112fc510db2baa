"""Workers as real processes beside one Postgres: runs are driven, taken over, fenced, drained, refused."""

import json
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

from tests.crash.world import World
from tests.hub.conftest import record
from tests.hub.machines import Beginning, Machine, SharedHub
from tests.hub.test_runs import command, environment, wait_for
from tests.hub.test_travel import Checked
from tests.postgres import PASSWORD, PostgresServer
from trued.hub.database import Connection, Database
from trued.hub.postgres import PostgresJournal
from trued.hub.queue import SCHEMA, _client
from trued.hub.worker import AGAIN_S
from trued.hub.workers import Workers

LEASE_S = 15.0  # for a busy machine


@dataclass
class Machines:
    """Workers that share one state folder, and a person who asks for runs. Each has the login that it needs."""

    world: World
    url: str  # of the owner
    worker: str
    asker: str
    processes: dict[str, subprocess.Popen[str]] = field(default_factory=dict)
    asked: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, name: str, *more: str) -> subprocess.Popen[str]:
        given = ("--agents", "scripted", "--allow-programs", "--lease", str(LEASE_S))
        here = ("--repository", str(self.world.repository)) if "--repository" not in more else ()
        line = [sys.executable, "-m", "trued", "worker", "--name", name, *given, *here, *more]
        with (self.world.folder / f"{name}.log").open("a") as log:
            surroundings = {**environment(self.world), "TRUED_HUB": self.worker}
            made = subprocess.Popen(line, cwd=self.world.folder, env=surroundings, stderr=log, text=True)
        self.processes[name] = made
        wait_for(lambda: any(one["name"] == name and one["state"] == "working" for one in self.workers()))
        return made

    def workers(self) -> list[dict[str, object]]:
        done = command(self.world, "worker", "ls", "--json")
        assert done.returncode == 0, done.stderr
        found: list[dict[str, object]] = json.loads(done.stdout)
        return found

    def ask(self, *more: str) -> subprocess.Popen[str]:
        given = ("--requirements", str(self.world.requirements), "--agent", f"scripted:{self.world.script}")
        return self.as_asker("run", "PLAN.md", *given, "--on", "runs", "--json", *(more or ("--yes",)))

    def as_asker(self, *words: str) -> subprocess.Popen[str]:
        line, pipe = [sys.executable, "-m", "trued", *words], subprocess.PIPE
        surroundings = {**environment(self.world), "TRUED_HUB": self.asker}
        made = subprocess.Popen(line, cwd=self.world.repository, env=surroundings, stdout=pipe, stderr=pipe, text=True)
        self.asked.append(made)
        return made

    def said(self, name: str) -> str:
        return (self.world.folder / f"{name}.log").read_text()

    def rows(self, statement: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.url, autocommit=True) as db:
            db.execute("set search_path = trued")
            return db.execute(statement).fetchall()

    def driver(self) -> str:
        """The worker that drives the only run."""
        return "".join(str(one) for (one,) in self.rows("select driver from run where until > clock_timestamp()"))

    def wait_for_call(self) -> str:
        """Wait until the first agent is at work; return the worker that drives its run."""
        wait_for(lambda: any(self.world.home.glob("runs/*")) and sum(self.world.bill().values()) > 0)
        return self.driver().partition("#")[0]

    def close(self) -> None:
        for one in (*self.processes.values(), *self.asked):
            if one.poll() is None:
                one.kill()
            one.communicate()


@pytest.fixture
def machines(tmp_path: Path, postgres: PostgresServer, prepared: str) -> Iterator[Machines]:
    world = World(tmp_path / "machine")
    url = world.variables["TRUED_HUB"] = postgres.new_database(prepared)
    logins = {f"{role}_{uuid.uuid4().hex}": f"trued_{role}" for role in ("worker", "asker")}
    with psycopg.connect(url, autocommit=True) as db:
        for name, role in logins.items():
            db.execute(f"create role {name} login password '{PASSWORD}' in role {role}")
    worker, asker = (url.replace("//trued:", f"//{name}:") for name in logins)
    with closing(Machines(world.make(), url, worker, asker)) as made:
        yield made
    with psycopg.connect(url, autocommit=True) as db:
        for name in logins:
            db.execute(f"drop role {name}")


def outcome(asked: subprocess.Popen[str]) -> dict[str, object]:
    out, err = asked.communicate(timeout=300)
    assert out, err
    found: dict[str, object] = json.loads(out)
    return found


@pytest.mark.slow
@pytest.mark.spec("HUB-1", "HUB-8")
def test_a_worker_drives_a_run_to_the_same_files_and_ledger_as_one_machine_alone(
    machines: Machines, tmp_path: Path
) -> None:
    world, alone = machines.world, World(tmp_path / "alone").make()
    machines.start("w1")
    ended = outcome(machines.ask())
    assert (ended["state"], ended["grade"]) == ("done", "proven"), machines.said("w1")
    assert machines.rows("select driver, asked = served from run") == [("w1#1", True)]
    given = ("--yes", "--requirements", str(alone.requirements), "--agent", f"scripted:{alone.script}")
    assert command(alone, "run", "PLAN.md", *given).returncode == 0
    assert world.tree() == alone.tree()
    assert ledger(world) == ledger(alone)
    assert world.bill() == alone.bill()
    listed = json.loads(command(world, "hub", "status", "--json").stdout)
    assert [(one["name"], one["drives"]) for one in listed["workers"]] == [("w1", [])]
    assert listed["queues"] == {}


def ledger(world: World) -> list[tuple[str, str, str]]:
    found = json.loads(command(world, "ledger", "--json").stdout)
    return [(one["id"], one["grade"], one["why"]) for one in found["requirements"]]


@pytest.mark.slow
@pytest.mark.spec("HUB-4", "HUB-6")
def test_a_run_of_a_machine_that_died_is_driven_on_by_another_that_has_nothing_of_it(
    tmp_path: Path, postgres: PostgresServer, prepared: str
) -> None:
    hub, store = postgres.new_database(prepared), tmp_path / "store.git"
    subprocess.run(["git", "init", "-q", "--bare", str(store)], check=True)
    asking = Beginning(Checked(tmp_path / "one").make(-1), hub, str(store))
    may = ("--agents", "scripted", "--allow-programs", "--lease", str(LEASE_S))
    workers = {name: Machine(tmp_path / name, hub, str(store)) for name in ("a", "b")}
    try:
        for name, machine in workers.items():
            machine.start("worker", "--name", name, *may)
        wait_for(lambda: [one["state"] for one in asking.data("worker", "ls")] == ["working"] * 2)
        asked = asking.begin("--on", "runs")
        wait_for(lambda: any(at_check(one) for one in workers.values()))
        (first,) = [name for name, one in workers.items() if at_check(one)]
        (second,) = set(workers) - {first}
        workers[first].kill()
        asking.world.make_slow(0)
        assert asked.wait(300) == 0, "".join((one.folder / "said").read_text() for one in (asking, *workers.values()))
        (run,) = asking.data("ls")
        shown = asking.data("show", run["id"])
        assert (shown["state"], shown["grade"]) == ("done", "proven")
        assert [call["attempts"] for call in shown["calls"]] == [1, 2]  # what was finished is not paid again
        with psycopg.connect(hub) as db:
            assert db.execute("select driver from trued.run").fetchall() == [(f"{second}#1",)]
            written = "select count(*) from trued.step where key like '%team%' group by run, key"
            assert db.execute(written).fetchall() == [(1,), (1,)]
        landed = asking.command("land", run["id"], here=asking.world.repository)
        assert landed.returncode == 0, landed.stderr
        assert asking.world.git("rev-parse", "main") == shown["head"]
    finally:
        for machine in (asking, *workers.values()):
            Machine.kill(machine)


def at_check(machine: Machine) -> bool:
    """Whether the second pair is at work there."""
    found = machine.home.glob("runs/*/spool/*/events.jsonl")
    return any("team-b" in one.parent.name and '"paid"' in one.read_text() for one in found)


@pytest.mark.slow
@pytest.mark.spec("HUB-2", "HUB-4")
def test_a_run_of_a_killed_worker_is_driven_on_by_another_and_no_call_is_paid_twice(machines: Machines) -> None:
    world = machines.world
    world.make_slow(-1)
    machines.start("w1")
    machines.start("w2")
    asked = machines.ask()
    first = machines.wait_for_call()
    assert first in ("w1", "w2")
    machines.processes[first].kill()
    world.go_on()
    ended = outcome(asked)
    assert (ended["state"], ended["grade"]) == ("done", "proven"), machines.said("w1") + machines.said("w2")
    assert set(world.bill().values()) == {1}
    assert world.finished_twice() == []
    drivers = {who for (who,) in machines.rows("select driver from run")}
    assert not any(str(one).startswith(first) for one in drivers)
    states = machines.rows("select key, state from attempt order by key, number")
    assert {state for _, state in states} <= {"done", "lost"}
    assert {key for key, _ in states} == set(world.bill())
    assert [key for key, state in states if state == "done"] == sorted(world.bill())


@pytest.mark.slow
@pytest.mark.spec("HUB-3")
def test_a_worker_that_was_frozen_for_longer_than_its_lease_writes_nothing_afterwards(machines: Machines) -> None:
    world = machines.world
    world.make_slow(-1)
    machines.start("w1")
    asked = machines.ask()
    machines.wait_for_call()
    frozen = machines.processes["w1"]
    frozen.send_signal(signal.SIGSTOP)
    machines.start("w2")
    wait_for(lambda: bool(machines.rows("select 1 from worker where name = 'w1' and dead")))
    with closing(PostgresJournal(machines.url)) as journal:
        (run,) = journal.runs()
        before = journal.last_event_id()
        frozen.send_signal(signal.SIGCONT)
        assert frozen.wait(300) == 130
        resumed = [one.kind for one in journal.events(run.id, before)]
        assert "ended" not in resumed[:1]
    world.go_on()
    ended = outcome(asked)
    assert (ended["state"], ended["grade"]) == ("done", "proven"), machines.said("w1") + machines.said("w2")
    assert machines.rows("select count(*) from step s join run r on s.run = r.id where s.epoch > r.epoch") == [(0,)]
    assert "declared dead" in machines.said("w1")


@pytest.mark.slow
@pytest.mark.spec("HUB-7", "HUB-8")
def test_workers_are_drained_replaced_forgotten_and_refuse_what_they_may_not_run(machines: Machines) -> None:
    world = machines.world
    refused = command(world, "worker", "--name", "w1", "--agents", "scripted")
    assert (refused.returncode, "--allow-programs" in refused.stderr) == (2, True), refused.stderr
    nobody = command(world, "run", "PLAN.md", "--agent", f"scripted:{world.script}", "--on", "runs")
    assert (nobody.returncode, "the queue runs has no worker" in nobody.stderr) == (2, True), nobody.stderr
    former = machines.start("w1", "--sandbox", "none")
    asked = machines.ask()
    wait_for(lambda: "may not use the sandbox level" in machines.said("w1"))
    machines.start("w2", "--repository", str(world.home))
    wait_for(lambda: "may not use the repository" in machines.said("w2"))
    assert command(world, "worker", "drain", "w2").returncode == 0
    assert machines.processes["w2"].wait(300) == 0
    assert machines.driver() == ""
    machines.start("w1")  # the same name again
    assert former.wait(300) == 130
    assert outcome(asked)["state"] == "done", machines.said("w1")
    assert [(one["name"], one["life"], one["state"]) for one in machines.workers()] == [
        ("w1", 2, "working"),
        ("w2", 1, "dead"),
    ]
    assert command(world, "worker", "drain", "w1").returncode == 0
    assert machines.processes["w1"].wait(300) == 0
    assert command(world, "worker", "drain", "w1").returncode == 2
    assert command(world, "worker", "forget", "w9").returncode == 2
    machines.rows("insert into format values (99) returning version")  # a newer trued prepared the hub
    newer = command(world, "worker", "--name", "w2", "--agents", "claude")
    assert (newer.returncode, len(newer.stderr.strip().splitlines())) == (6, 1), newer.stderr
    assert "upgrade trued" in newer.stderr


@pytest.mark.slow
@pytest.mark.spec("HUB-4")
def test_a_worker_that_is_told_to_end_gives_its_run_back_and_whoever_watches_it_does_not_notice(
    machines: Machines,
) -> None:
    machines.world.make_slow(-1)
    machines.start("w1")
    asked = machines.ask()
    machines.wait_for_call()
    machines.processes["w1"].terminate()
    assert machines.processes["w1"].wait(300) == 0, machines.said("w1")
    machines.world.make_slow(0)
    assert asked.poll() is None
    machines.start("w2")
    ended = outcome(asked)
    assert (ended["state"], ended["grade"]) == ("done", "proven"), machines.said("w1") + machines.said("w2")
    assert machines.rows("select driver from run") == [("w2#1",)]


@pytest.mark.slow
@pytest.mark.spec("HUB-8")
def test_an_answer_puts_a_run_back_into_its_queue_and_a_cancelled_one_is_ended_by_its_worker(
    machines: Machines,
) -> None:
    machines.start("w1")
    waits = outcome(machines.ask("--rounds", "3"))
    assert waits["state"] == "waiting", machines.said("w1")
    assert machines.rows("select until is null, asked = served from run") == [(True, True)]
    run = str(waits["id"])
    assert machines.as_asker("answer", run, "yes").wait(300) == 0
    ended = outcome(machines.as_asker("watch", run, "--json"))
    assert (ended["state"], ended["grade"]) == ("done", "proven"), machines.said("w1")
    machines.world.make_slow(-1)
    asked = machines.ask()
    wait_for(lambda: machines.rows("select count(*) from attempt where state = 'open'") == [(1,)])
    (other,) = {str(one) for (one,) in machines.rows("select id from run")} - {run}
    assert machines.as_asker("cancel", other).wait(300) == 0
    assert outcome(asked)["state"] == "cancelled", machines.said("w1")


@pytest.mark.slow
@pytest.mark.spec("HUB-4", "HUB-8")
def test_a_worker_that_cannot_write_leaves_its_run_to_others_and_says_why(tmp_path: Path, shared: SharedHub) -> None:
    asking = Beginning(World(tmp_path / "asking").make(0), shared.login(), shared.store)
    shared.askers.append(asking)
    (tmp_path / "a" / "state").mkdir(parents=True)
    (tmp_path / "a" / "state" / "runs").touch()  # no folder can be made there, as on a full disk
    shared.start(tmp_path / "a")
    wait_for(lambda: [one["state"] for one in asking.data("worker", "ls")] == ["working"])
    asked = asking.begin("--on", "runs")
    wait_for(lambda: any(str(tmp_path / "a" / "state" / "runs") in one["queued"] for one in asking.data("ls")))
    assert asked.poll() is None
    shared.start(tmp_path / "b")
    assert asked.wait(300) == 0, shared.said()
    assert shared.rows("select driver from run") == [("b#1",)]


@pytest.mark.slow
@pytest.mark.spec("HUB-4", "HUB-8")
def test_a_run_that_no_worker_can_drive_is_not_handed_around_all_the_time(tmp_path: Path, shared: SharedHub) -> None:
    asking = Beginning(World(tmp_path / "asking").make(0), shared.login(), shared.store)
    shared.askers.append(asking)
    for name in ("a", "b"):
        (tmp_path / name / "state").mkdir(parents=True)
        (tmp_path / name / "state" / "runs").touch()
        shared.start(tmp_path / name)
    wait_for(lambda: [one["state"] for one in asking.data("worker", "ls")] == ["working", "working"])
    asking.begin("--on", "runs")
    wait_for(lambda: shared.rows("select drives from run") == [(3,)])  # both have tried it
    time.sleep(2.5 * AGAIN_S)  # time for two more, if the workers did not leave it alone
    assert shared.rows("select drives from run") == [(3,)]


@pytest.mark.spec("HUB-7")
def test_a_pickled_row_is_refused_by_the_database(postgres: PostgresServer, prepared: str) -> None:
    columns = "(workflow_uuid, status, queue_name, name, serialization)"
    with psycopg.connect(postgres.new_database(prepared), autocommit=True) as db:
        for serialization in ("'py_pickle'", "null"):
            row = f"('x', 'ENQUEUED', 'runs', 'drive', {serialization})"
            with pytest.raises(psycopg.errors.CheckViolation):
                db.execute(f"insert into trued_queue.workflow_status {columns} values {row}")


@pytest.mark.slow
@pytest.mark.spec("HUB-4", "HUB-8")
def test_what_drives_leave_on_their_machines_is_removed_once_their_run_has_ended(
    tmp_path: Path, shared: SharedHub
) -> None:
    asking = Beginning(Checked(tmp_path / "asking").make(-1), shared.login(), shared.store)
    shared.askers.append(asking)
    may = ("--agents", "scripted", "--allow-programs", "--lease", str(LEASE_S))
    shared.start(tmp_path / "a", options=may)
    wait_for(lambda: [one["state"] for one in asking.data("worker", "ls")] == ["working"])
    asked = asking.begin("--on", "runs")
    first = shared.workers["a"]
    wait_for(lambda: at_check(first))
    shared.start(tmp_path / "b", options=may)
    shared.processes["a"].kill()  # its agent goes on until its lease is over
    asking.world.make_slow(0)
    assert asked.wait(300) == 0, shared.said()
    second = shared.workers["b"]
    assert shared.rows("select driver from run") == [("b#1",)]
    assert left_of_drives(second) == []
    assert second._processes() == [shared.processes["b"].pid]
    assert left_of_drives(first)  # it lost its run, and was dead when that ended
    first.start("worker", "--name", "a", *may)
    wait_for(lambda: not left_of_drives(first))


def left_of_drives(machine: Machine) -> list[Path]:
    return [one for name in ("clones", "rooms", "gone") for one in machine.home.glob(f"runs/*/{name}/*")]


@pytest.mark.spec("HUB-4")
def test_ended_drives_are_removed_after_an_hour_and_their_numbers_are_never_given_again(
    postgres: PostgresServer, prepared: str
) -> None:
    url = postgres.new_database(prepared)
    with closing(PostgresJournal(url)) as journal, closing(Database(url, SCHEMA, lambda: 5.0)) as database:
        for name in ("r-old", "r-new", "r-live"):
            journal.add(record(name), queue="runs")
            journal.put(name)
        database.rows("update workflow_status set status = 'SUCCESS' where workflow_uuid <> 'drive/r-live/1'")
        two_hours_ago = "update workflow_status set updated_at = updated_at - 7200000"
        database.rows(f"{two_hours_ago} where workflow_uuid <> 'drive/r-new/1'")
        client = _client(database)
        Workers(database, LEASE_S).clear(client.delete_workflows)
        client.destroy()
        stored = "select workflow_uuid as drive from workflow_status order by 1"
        assert [row["drive"] for row in database.rows(stored)] == ["drive/r-live/1", "drive/r-new/1"]
        journal.put("r-old")
        assert [row["drive"] for row in database.rows(stored)][-1] == "drive/r-old/2"


@pytest.mark.spec("HUB-4", "HUB-8")
def test_a_run_whose_worker_died_counts_as_waiting_in_the_status_as_it_does_in_the_list(
    postgres: PostgresServer, prepared: str
) -> None:
    url = postgres.new_database(prepared)
    with closing(PostgresJournal(url)) as journal, closing(Database(url, "trued", lambda: 5.0)) as database:
        for name in ("r-asked", "r-left", "r-driven", "r-done"):
            journal.add(record(name), queue="runs")
            journal.put(name)
        begun = "update run set served = asked, until = clock_timestamp() + interval '1 hour' where id <> 'r-asked'"
        database.rows(f"{begun} returning 1")
        database.rows("update run set until = clock_timestamp() - interval '1 s' where id = 'r-left' returning 1")
        database.rows("update run set until = null, state = 'done' where id = 'r-done' returning 1")
        assert [*journal.queued()] == ["r-asked", "r-left"]
        assert Workers(database, LEASE_S).waiting() == {"runs": 2}


@pytest.mark.spec("HUB-4")
def test_only_one_worker_at_a_time_gives_back_the_drives_of_dead_ones(postgres: PostgresServer, prepared: str) -> None:
    url = postgres.new_database(prepared)
    moved: list[tuple[str, ...]] = []
    with (
        closing(PostgresJournal(url)) as journal,
        closing(Database(url, "trued", lambda: 5.0)) as database,
        closing(Database(url, "trued", lambda: 5.0)) as other,
    ):
        journal.add(record("r-one"), queue="runs")
        journal.put("r-one")
        database.rows(f"update {SCHEMA}.workflow_status set queue_name = '@gone' returning 1")

        def reap() -> None:
            Workers(database, LEASE_S).reap(lambda drives, queue: moved.append((queue, *drives)))

        def while_another_reaps(db: Connection) -> None:
            db.execute("select pg_advisory_xact_lock(hashtext('trued reaper'))")
            reap()

        other.transaction(while_another_reaps)
        assert moved == []
        reap()
        assert moved == [("runs", "drive/r-one/1")]


@pytest.mark.slow
@pytest.mark.spec("HUB-4", "HUB-7")
def test_a_run_that_a_forged_worker_holds_is_driven_when_that_one_is_forgotten(machines: Machines) -> None:
    """Whoever has a worker's login can make such a row; it can keep a run from others, and change nothing of it."""
    machines.start("w1", "--queue", "others")
    forged = """insert into worker (name, life, until, queue, agents, levels, runs, host, version, token)
        select 'ghost', 7, clock_timestamp() + interval '1 day', 'runs', agents, levels, 9, host, version, token
        from worker returning 1"""
    machines.rows(forged)
    asked = machines.ask()
    wait_for(lambda: machines.rows("select drives from run") == [(1,)])
    machines.rows("update trued_queue.workflow_status set queue_name = '@ghost', executor_id = 'ghost#7' returning 1")
    machines.start("w2")
    listed = {one["name"]: one["state"] for one in machines.workers()}
    assert listed == {"w1": "working", "w2": "working", "ghost": "working"}
    assert machines.rows("select driver like '%#%', until is null from run") == [(False, True)]
    assert command(machines.world, "worker", "forget", "ghost").returncode == 0
    ended = outcome(asked)
    assert (ended["state"], ended["grade"]) == ("done", "proven"), machines.said("w2")
    assert machines.rows("select driver from run") == [("w2#1",)]
