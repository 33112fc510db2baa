"""A hub with one run, and everything that is in its tables."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.hub.machines import SharedHub
from tests.postgres import PostgresServer
from trued.hub.postgres import PostgresJournal
from trued.hub.roles import prepare_hub
from trued.model import RunRecord


@dataclass
class Hub:
    """One schema of the server. `opened` is another machine each time."""

    server: PostgresServer
    schema: str
    _stores: list[PostgresJournal] = field(default_factory=list)

    def opened(self, name: str = "one", **more: Any) -> PostgresJournal:
        store = PostgresJournal(self.server.url, name=name, schema=self.schema, **more)
        self._stores.append(store)
        return store

    def execute(self, statement: str, *values: object) -> list[Any]:
        with psycopg.connect(self.server.url, autocommit=True) as db:
            db.execute(sql.SQL("set search_path = {}").format(sql.Identifier(self.schema)))
            cursor = db.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def end_lease(self, run: str = "r-one") -> None:
        """The lease is over, as after so much time without a renewal."""
        self.execute("update run set until = clock_timestamp() - interval '1 second' where id = %s", run)

    def cut(self) -> None:
        """Every connection is lost."""
        self.execute("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'trued'")

    def content(self) -> dict[str, list[Any]]:
        """Every row of every table."""
        names = self.execute("select tablename from pg_tables where schemaname = %s order by 1", self.schema)
        return {name: self.execute(f"select * from {name} as row order by row::text") for (name,) in names}

    def close(self) -> None:
        for store in self._stores:
            store.close()


def record(name: str) -> RunRecord:
    return RunRecord(id=name, workflow="purple", title="a plan", repository="/repo", base="b" * 40, branch=name)


@pytest.fixture
def hub(postgres: PostgresServer) -> Iterator[Hub]:
    made = Hub(postgres, postgres.new_schema())
    made.opened().add(record("r-one"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def prepared(postgres_server: PostgresServer) -> str:
    """A database that `trued hub init` prepared, to be copied: DBOS has more than a hundred migrations."""
    postgres_server.start()
    made = postgres_server.new_database()
    prepare_hub(made)
    return made


@pytest.fixture
def shared(tmp_path: Path, postgres: PostgresServer, prepared: str) -> Iterator[SharedHub]:
    """A prepared hub with a store; workers are started by whoever needs them."""
    store = tmp_path / "store.git"
    subprocess.run(["git", "init", "-q", "--bare", str(store)], check=True)
    with closing(SharedHub(postgres.new_database(prepared), str(store))) as made:
        yield made


@pytest.fixture
def results() -> Callable[[str], Callable[[], Any]]:
    """A step with this result."""

    def of(value: str) -> Callable[[], Any]:
        async def step() -> str:
            return value

        return step

    return of
