"""The queues in which drives wait for workers. DBOS keeps them.

A drive, one turn of a worker at a run, is a DBOS workflow named `drive/<run>/<n>`. The database function `put_drive`
puts the drive into the queue of its run, so that callers need no DBOS. No process listens to that queue. A worker that
can take more runs moves drives to a queue of its own, and listens there. No other part of DBOS is used: no steps, no
child workflows. Epochs decide who may write.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from trued.errors import StateFailed
from trued.hub.database import Connection, Database

if TYPE_CHECKING:
    from dbos import DBOSClient

SCHEMA = "trued_queue"  # the schema of DBOS's tables; the database function `put_drive` contains the same name
APPLICATION, DRIVE = "trued", "drive"  # `put_drive` contains the same names
POLL_S = 1.0  # the longest time that a drive waits in its worker's queue
POOL = 3  # at most this many database connections of DBOS in one worker

# DBOS unpickles a row that is marked as pickled, whatever serializer a worker uses. That could run code outside any
# sandbox, so the database refuses such rows.
NO_PICKLE = """
    alter table {schema}.workflow_status drop constraint if exists no_pickle;
    alter table {schema}.workflow_status add constraint no_pickle
        check (serialization is not distinct from 'portable_json');
"""


def prepare_queue(database: Database, worker_role: str) -> None:
    """Create or migrate DBOS's tables, for the owner and this role. The tables refuse pickled rows, because a pickled
    row could run any code in the worker that reads the row.

    Safe to repeat. Raises StateFailed if DBOS cannot create or migrate its tables.
    """
    from dbos import DBOS  # slow to load

    _silence()
    try:
        DBOS.migrate(_url(database), schema=SCHEMA, application_role=worker_role)
    except Exception as error:
        raise StateFailed(f"{database.name}: the queues could not be prepared ({_words(error)})") from error
    database.transaction(_refuse_pickles)


def load_queue() -> None:
    """Load DBOS, which takes seconds."""
    import dbos  # noqa: F401


def _refuse_pickles(db: Connection) -> None:
    db.execute(sql.SQL(NO_PICKLE).format(schema=sql.Identifier(SCHEMA)))


class DriveQueue:
    """The queue of one worker. `executor`: a name that no other process ever had. `version`: the hub's format, so
    that workers with another format take no drives."""

    def __init__(self, database: Database, name: str, executor: str, version: str) -> None:
        self._database, self.name, self._executor, self._version = database, name, executor, version
        self._client: DBOSClient | None = None

    def listen(self, drive: Callable[[str, int], None]) -> None:
        """Take drives from this queue. For each drive, call `drive` with its run and number, in a thread of its own.

        Raises StateFailed if DBOS cannot start, for example because its tables are of another version.
        """
        from dbos import DBOS, DBOSPortableJSONSerializer

        _silence()
        DBOS(
            config={
                "name": APPLICATION,
                "system_database_url": _url(self._database),
                "dbos_system_schema": SCHEMA,
                "executor_id": self._executor,
                "application_version": self._version,
                "serializer": DBOSPortableJSONSerializer(),
                "sys_db_pool_size": POOL,
                "log_level": "ERROR",
                "run_migrations": False,
                "scheduler_polling_interval_sec": 3600.0,
            }
        )

        def driven(order: dict[str, Any]) -> None:
            drive(str(order["run"]), int(order["number"]))

        DBOS.workflow(name=DRIVE, max_recovery_attempts=None)(driven)
        try:
            self._client = _client(self._database)
            self._client.register_queue(self.name, polling_interval_sec=POLL_S, on_conflict="never_update")
            DBOS.listen_queues([self.name])
            DBOS.launch()
        except Exception as error:
            what = f"the queues of {self._database.name} do not fit this version of trued ({_words(error)})"
            raise StateFailed(f"{what}: run `trued hub init` as its owner, or upgrade trued") from error

    def move(self, drives: Sequence[str], queue: str) -> None:
        """Move these drives to the queue `queue`. There each drive starts over, even if another worker had begun it."""
        if self._client is not None and drives:
            self._client.resume_workflows(list(drives), queue_name=queue)

    def remove(self, drives: Sequence[str]) -> None:
        """Remove these drives, which have ended."""
        if self._client is not None and drives:
            self._client.delete_workflows(list(drives))

    def close(self) -> None:
        """End DBOS's threads. Running drives stay assigned to this executor until `Workers.reap` moves them."""
        from dbos import DBOS

        DBOS.destroy()
        if self._client is not None:
            with suppress(Exception):
                self._client.destroy()


def _client(database: Database) -> "DBOSClient":
    from dbos import DBOSClient, DBOSPortableJSONSerializer

    return DBOSClient(
        system_database_url=_url(database),
        dbos_system_schema=SCHEMA,
        serializer=DBOSPortableJSONSerializer(),
        application_name=APPLICATION,
        system_database_pool_size=1,
        lazy=True,
    )


def _url(database: Database) -> str:
    """The database's address as a SQLAlchemy URL. Parameters for which such a URL has no field go into its query
    string."""
    from sqlalchemy import URL

    given: Mapping[str, Any] = conninfo_to_dict(database.info)
    host = str(given.get("host", ""))
    named = {"user": "username", "password": "password", "port": "port", "dbname": "database"}
    parts: dict[str, Any] = {part: given[name] for name, part in named.items() if name in given}
    parts["port"] = int(parts["port"]) if "port" in parts else None
    parts.setdefault("database", given.get("user", "postgres"))
    rest = {name: str(value) for name, value in given.items() if name not in (*named, "host")}
    if host.startswith("/") or "," in host:
        rest["host"] = host
    else:
        parts["host"] = host or None
    return URL.create("postgresql", query=rest, **parts).render_as_string(hide_password=False)


def _silence() -> None:
    """Mute DBOS's warnings: there are 200 per second while the database is unavailable."""
    logging.getLogger("dbos").setLevel(logging.ERROR)


def _words(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:200]
