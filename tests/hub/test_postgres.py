"""What the journal on Postgres promises beyond the contract: events in order, formats, hostile text; its server."""

import os
import select
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import psycopg
import pytest

from tests.hub.conftest import Hub, record
from tests.postgres import PASSWORD, PostgresServer
from trued.errors import Busy, StateFailed
from trued.hub.postgres import PostgresJournal
from trued.hub.roles import prepare_hub
from trued.hub.schema import MIGRATIONS
from trued.model.events.run import RunResumed

pytestmark = pytest.mark.spec("HUB-1")


def test_no_event_is_seen_before_one_with_a_lower_id_that_is_still_being_written(hub: Hub) -> None:
    reader, writer = hub.opened(), hub.opened()
    with psycopg.connect(hub.server.url) as slow:
        slow.execute(f"set search_path = {hub.schema}")
        slow.execute("select write_event('r-one', 0, 1.0, '', 'slow', '', '{}', null, '{}', gen_random_uuid())")
        quick = threading.Thread(target=lambda: writer.of("r-one").emit(RunResumed(after="quick")))
        quick.start()
        waiting = "select 1 from pg_stat_activity where wait_event = 'advisory'"
        while quick.is_alive() and not hub.execute(waiting):
            time.sleep(0.01)
        seen = reader.events("r-one")
        slow.commit()
    quick.join()
    seen += reader.events("r-one", seen[-1].id if seen else 0)
    assert [one.kind for one in seen] == ["slow", "resumed"]


def test_two_that_add_the_same_run_are_told_apart(hub: Hub) -> None:
    with pytest.raises(Busy, match="r-one already"):
        hub.opened().add(record("r-one"), "other inputs")
    assert hub.opened().inputs("r-one") == ""


def test_tables_of_another_version_are_not_touched(hub: Hub, postgres: PostgresServer) -> None:
    with pytest.raises(StateFailed, match="no journal"):
        PostgresJournal(postgres.url, schema=postgres.new_schema(), read_only=True)
    hub.execute("insert into format values (%s)", len(MIGRATIONS) + 1)
    before = hub.content()
    for read_only in (True, False):
        with pytest.raises(StateFailed, match="newer trued"):
            hub.opened(read_only=read_only)
    assert hub.content() == before


@pytest.mark.spec("HUB-1")
def test_a_connection_that_is_lost_while_a_page_is_made_of_what_was_read_is_no_error(hub: Hub) -> None:
    """A long page takes longer than the database lets a transaction stand idle."""
    store = hub.opened()
    with store.read_snapshot():
        found = store.runs()
        hub.cut()
    assert store.runs() == found


def test_what_the_database_cannot_hold_is_one_sentence_and_the_journal_works_on(hub: Hub) -> None:
    store = hub.opened()
    with pytest.raises(StateFailed, match="NUL"):
        store.change_limit("r-one", "a \0 b", "usd", 1.0, "ann")
    store.change_limit("r-one", "'; drop table run; --", "usd", 1.0, "ann")
    assert [scope for scope, _, _ in store.limit_changes("r-one")] == ["'; drop table run; --"]


SERVER = """
import sys
from tests.postgres import PASSWORD, PostgresServer
server = PostgresServer()
server.start()
print(server.process.pid, server.folder, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("login", ["trued:wrong", "trued", "nobody-of-this-name:wrong"])
def test_a_login_that_is_refused_is_not_called_a_database_that_is_away(login: str, postgres: PostgresServer) -> None:
    with pytest.raises(StateFailed, match=r"does not let this login in .*~/\.pgpass") as refused:
        PostgresJournal(postgres.url.replace(f"trued:{PASSWORD}", login), retry_s=0.0)
    assert "resume" not in str(refused.value)


def test_a_database_that_does_not_hold_unicode_is_refused_with_the_command_that_makes_another(
    postgres: PostgresServer,
) -> None:
    name = f"plain_{uuid.uuid4().hex}"
    with psycopg.connect(postgres.url, autocommit=True) as db:
        db.execute(f"create database {name} encoding 'SQL_ASCII' template template0")
    with pytest.raises(StateFailed, match=r"not encoded as UTF8.*--encoding=UTF8"):
        prepare_hub(postgres.url.replace("/postgres?", f"/{name}?"))


@pytest.mark.slow
def test_a_server_of_a_test_session_that_is_killed_ends_with_it() -> None:
    command, folder = [sys.executable, "-c", SERVER], Path(__file__).parents[2]
    session = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert session.stdout is not None
    pid, place = session.stdout.readline().split()
    session.kill()
    session.communicate()
    ended = os.pidfd_open(int(pid)) if Path(f"/proc/{pid}").exists() else None
    if ended is not None:
        assert select.select([ended], [], [], 120)[0]
        os.close(ended)
    subprocess.run(["rm", "-r", place], check=True)
