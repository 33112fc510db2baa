"""The database itself separates owner, worker and asker: nobody can do more by sending other statements."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.cli.conftest import clean_environment
from tests.engine.journals.test_contract import story
from tests.hub.conftest import record
from tests.postgres import PASSWORD, PostgresServer
from tests.warm import Warm
from trued.errors import Busy, Fenced, StateFailed
from trued.hub.postgres import PostgresJournal
from trued.hub.roles import prepare_hub
from trued.hub.schema import MIGRATIONS
from trued.model import Approval, Comment, Grade
from trued.model.events.people import CommentGiven
from trued.model.events.run import LimitRaised

pytestmark = pytest.mark.spec("HUB-7")


@pytest.fixture
def url(postgres: PostgresServer, prepared: str) -> Iterator[str]:
    """A hub that its owner prepared, with one login of each role."""
    made = postgres.new_database(prepared)
    prepare_hub(made)  # again, as after an upgrade
    with psycopg.connect(made, autocommit=True) as db:
        for name, role in LOGINS.items():
            db.execute(f"create role {name} login password '{PASSWORD}' in role {role}")
    yield made
    with psycopg.connect(postgres.url, autocommit=True) as db:
        for name in LOGINS:
            db.execute(f"drop role {name}")


WORKER_ROW = """insert into worker (name, life, queue, agents, levels, runs, host, version, token)
    values ('w1', 9, 'runs', '{}', '{}', 9, 'h', '1', gen_random_uuid())"""
WRITE = "select write_event('r-one', 0, 1, '', 'KIND', '', '{}', '{}', '{}', gen_random_uuid())"
LOGINS = {"ann": "trued_worker", "bob": "trued_asker"}


def as_login(url: str, name: str) -> str:
    return url.replace("//trued:", f"//{name}:")


async def test_a_worker_does_all_that_a_journal_can_and_changes_nothing_that_is_recorded(url: str) -> None:
    with closing(PostgresJournal(as_login(url, "ann"))) as store:
        await story(store)
        assert len(store.steps("r-one")) == 4
    refused(
        as_login(url, "ann"),
        "update step set value = 'PASS'",
        "delete from step",
        "update event set data = '{}'",
        "delete from event",
        "update approval set who = 'eve'",
        "delete from comment",
        "update spend set spent_usd = 0",
        "truncate spend",
        "drop table step",
        "create table mine (x int)",
        "update format set version = 99",
        "update question set answer = 'yes' where answer <> ''",
        "update run set cancelled = false where cancelled",
        "insert into cap values ('claude', 99, 99)",
        "delete from worker",
        "alter table trued_queue.workflow_status drop constraint no_pickle",
        "create role eve",
    )


async def test_an_asker_says_what_people_say_and_nothing_else(url: str) -> None:
    with closing(PostgresJournal(url)) as owner:
        await story(owner)
    login = as_login(url, "bob")
    with closing(PostgresJournal(login)) as asker:
        assert [one.key for one in asker.questions("r-one", only_open=True)] == ["q#2"]
        assert asker.of("r-one").answer("q#2", "yes", "", "bob")
        said = Comment(to="", text="hello", who="bob")
        given = CommentGiven(number=1, to="", text="hello", who="bob", way="", stops="")
        assert asker.add_comment("r-one", said, lambda _: given, "")
        asker.change_limit("r-one", "", "usd", 3.0, "bob")
        asker.of("r-one").emit(LimitRaised(scope="", what="usd", to=3.0, who="bob"))
        asker.cancel("r-one")
        assert asker.is_cancelled("r-one")
        assert [one.kind for one in asker.events("r-one")[-2:]] == ["comment", "limit raised"]
        with pytest.raises(StateFailed, match="may not do that"), asker.claim("r-one"):
            pass
        with pytest.raises(StateFailed, match="may not do that"):
            asker.approve("r-one", Approval(requirement="R1", who="bob", why="x", commit="c"))
        with pytest.raises(Fenced):
            asker.of("r-one").question("q#3", "Go on?", ())
        asker.add(record("r-asked"), queue="runs")
        asker.put("r-asked")
        asker.put("r-asked")  # it waits there already
        assert (asker.queue_of("r-asked"), asker.run("r-asked").state) == ("runs", "running")
        liar = record("r-proven").model_copy(update={"state": "done", "grade": Grade.PROVEN})
        asker.add(liar, queue="runs")
        assert (asker.run("r-proven").state, asker.run("r-proven").grade) == ("running", Grade.UNPROVEN)
        with pytest.raises(Busy, match="there is a run r-one already"):
            asker.add(record("r-one"), "{}", queue="runs")
        assert asker.queue_of("r-one") == ""
        with pytest.raises(StateFailed, match="check constraint"):  # a worker's own queue, round what it may run
            asker.add(record("r-two"), queue="@w1")
    with psycopg.connect(url) as db:
        drives = db.execute("select workflow_uuid, serialization from trued_queue.workflow_status").fetchall()
        assert drives == [("drive/r-asked/1", "portable_json")]
    refused(
        login,
        "insert into step (run, key, inputs, value, epoch) values ('r-one', 'finish#1', 'h', '{}', 1)",
        "insert into approval (run, requirement, who, token) values ('r-one', 'R1', 'ann', gen_random_uuid())",
        "insert into event (id, run, kind, token) overriding system value values (99, 'r', 'x', gen_random_uuid())",
        "insert into run (id) values ('r-mine')",
        "update run set state = 'done'",
        "update run set grade = 'proven'",
        "update run set epoch = epoch + 1",
        "update run set until = null",
        "update run set inputs = '{}'",
        "update run set cancelled = false where cancelled",
        "update question set text = 'Sure?'",
        "update question set answer = 'stop' where answer <> ''",
        "insert into event (run, kind, token) values ('r-one', 'verdict', gen_random_uuid())",
        "insert into event (run, token) values ('r-one', gen_random_uuid())",
        WRITE.replace("KIND", "ended"),
        WRITE.replace("KIND", "machine changed"),
        "drop trigger refuse_event on event",
        "update event set data = '{}'",
        "delete from event",
        "delete from comment",
        "insert into question (run, key) values ('r-one', 'q')",
        "insert into spend (run, call, attempt) values ('r-one', 'c', 1)",
        "select reserve_attempt('r-one', 'k', gen_random_uuid(), 'w', 9)",
        "select reserve_call('r-one', 'k', 'c', 'claude', gen_random_uuid(), 'w', null, 9)",
        "insert into cap values ('claude', 99, 99)",
        "select settle_attempt('r-one', 'k', 1, 'done', 0, 0, 0, 'h', 'v', 1)",
        WORKER_ROW,
        "update worker set dead = true",
        "update run set queue = 'mine'",
        "update run set asked = asked + 1",
        "select put_drive('r-one', 0, 0)",
        "select trued_queue.enqueue_workflow('drive', 'runs')",
        "select * from trued_queue.workflow_status",
        "insert into trued_queue.workflow_status (workflow_uuid, status) values ('x', 'ENQUEUED')",
        "create function trued.write_event() returns int language sql as 'select 1'",
        "set role trued_worker",
        "set role trued",
    )


async def test_workers_use_tables_that_an_ordinary_command_of_the_owner_converted(
    url: str, postgres: PostgresServer
) -> None:
    older = postgres.new_database()
    with psycopg.connect(older, autocommit=True) as db:
        db.execute("create schema trued")
        db.execute("set search_path = trued")
        db.execute("create table format (version integer not null)")
        for number, statements in enumerate(MIGRATIONS[:-1], 1):
            db.execute(statements)
            db.execute("insert into format values (%s)", (number,))
        db.execute("grant usage on schema trued to trued_worker, trued_asker")  # as its `hub init` did
    PostgresJournal(older).close()
    with closing(PostgresJournal(as_login(older, "ann"))) as store:
        await story(store)
    refused(as_login(older, "bob"), WRITE.replace("KIND", "ended"))
    strange = postgres.new_database()  # beside it, and never prepared for anybody
    PostgresJournal(strange).close()
    refused(as_login(strange, "ann"), "select * from trued.run")


def refused(login: str, *statements: str) -> None:
    """Each of them fails for want of a privilege."""
    for statement in statements:
        with psycopg.connect(login, autocommit=True) as db:
            db.execute("set search_path = trued")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                db.execute(statement)


@pytest.mark.slow
def test_a_login_without_a_role_and_a_hub_that_is_not_prepared_are_one_sentence(
    url: str, prepared: str, postgres: PostgresServer, waiting: Warm, tmp_path: Path
) -> None:
    def trued(*words: str, hub: str = "") -> subprocess.CompletedProcess[str]:
        variables = {**clean_environment(), "HOME": str(tmp_path), "TRUED_HOME": str(tmp_path / "state")}
        return waiting.run(words, folder=tmp_path, variables={**variables, "TRUED_HUB": hub})

    with psycopg.connect(postgres.url, autocommit=True) as db:
        db.execute(f"create role eve login password '{PASSWORD}'")
    try:
        for address in (as_login(url, "eve"), as_login(postgres.new_database(), "ann")):
            done = trued("ls", hub=address)
            assert (done.returncode, len(done.stderr.strip().splitlines())) == (6, 1), done.stderr
            assert PASSWORD not in done.stderr
    finally:
        with psycopg.connect(postgres.url, autocommit=True) as db:
            db.execute("drop role eve")
    fresh = postgres.new_database(prepared)
    made = trued("hub", "init", fresh, "--json")
    assert json.loads(made.stdout)["roles"] == ["trued_worker", "trued_asker"], made.stderr
    assert "is ready" in trued("hub", "init", hub=fresh).stdout
    assert trued("ls", "--json", hub=fresh).stdout.strip() == "[]"
    capped = trued("hub", "limit", "claude", "--at-once", "6", "--per-minute", "30", hub=fresh)
    assert (capped.returncode, capped.stdout.strip()) == (0, "claude: capped"), capped.stderr
    (cap,) = json.loads(trued("hub", "status", "--json", hub=fresh).stdout)["caps"]
    assert cap == {"agent": "claude", "at_once": 6, "per_minute": 30, "at_work": 0}
    assert trued("hub", "status", hub=fresh).stdout.strip() == "claude: at most 6 at once and 30 a minute; 0 at work"
    assert trued("hub", "limit", "claude", hub=as_login(url, "ann")).returncode == 6  # only the owner
    assert trued("hub", "init").returncode == 2
    assert trued("hub", "init", "nonsense://x").returncode == 2
    for login in (as_login(fresh, "ann"), as_login(url, "ann")):
        assert trued("hub", "init", login).returncode == 6
    assert "belong to trued" in trued("hub", "init", as_login(url, "ann")).stderr
