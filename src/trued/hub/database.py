"""Database: connections to one Postgres that outlive its restarts, with errors as sentences for people."""

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo
from psycopg.rows import DictRow, dict_row

from trued.errors import BadInput, Busy, StateFailed
from trued.hub.schema import MIGRATIONS
from trued.support.lazy_regex import lazy_regex

T = TypeVar("T")
Connection: TypeAlias = psycopg.Connection[DictRow]

# how long to retry while the database is unavailable, if no run is driven: short, because a person is waiting
RETRY_S = 5.0
LOCK_S = 20  # seconds that a statement waits for a lock: a process that holds a lock for longer has hung
IDLE_S = 5  # a client that freezes for this long in the middle of a write loses its transaction with all locks
AGAIN_S = 0.1  # pause between two attempts to connect
# A connection that was cut silently is noticed within seconds; settings in the URL have precedence.
QUICK = {
    "connect_timeout": "3",
    "tcp_user_timeout": "4000",
    "keepalives_idle": "2",
    "keepalives_interval": "1",
    "keepalives_count": "3",
    "application_name": "trued",
}


# libpq gives no code for a login that the server refuses, but its sentence is always one of these
_NO_LOGIN = lazy_regex(
    r"(?P<password>no password supplied|password authentication failed)"
    r"|authentication failed|no pg_hba\.conf entry|role .* does not exist"
)


class _Away(Exception):
    """There is no connection, or it was lost. If it was lost, nobody knows whether the last write was committed."""

    def __init__(self, error: psycopg.Error) -> None:
        super().__init__(str(error))
        self.error = error


class Database:
    """One schema of a Postgres database.

    Statements may be sent twice: when a connection is lost, it is unknown whether the last write was committed. So
    every write must be idempotent. `retry_for` returns for how many seconds to retry while the database is unavailable;
    it is called before each retry. Raises Busy if a row stays locked for too long, StateFailed for other failures of
    the database, and BadInput for an invalid address.
    """

    def __init__(self, url: str, schema: str, retry_for: Callable[[], float], *, read_only: bool = False) -> None:
        try:
            given = conninfo_to_dict(url)
        except psycopg.ProgrammingError:  # its message may quote the password
            raise BadInput(
                "the hub's address is not a Postgres URL", then="write postgresql://USER@HOST/DATABASE"
            ) from None
        self.info = make_conninfo(url, **{name: value for name, value in QUICK.items() if name not in given})
        where = given.get("host") or given.get("service") or "this machine"
        self.name = f"{given.get('dbname', 'postgres')} on {where}"  # without user and password
        self.schema, self.retry_for, self.read_only = schema, retry_for, read_only
        self.password = ""  # known only after a connection: libpq looks for it in several places
        self.login_files = tuple(_login_files(given))
        self.is_away = False  # whether the database was unavailable when it was last used
        self._turn = threading.RLock()
        self._open: dict[bool, Connection] = {}

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[dict[str, Any]]:
        """Send one statement, as its own transaction, and return its rows."""
        return self._send_with_retries(lambda db: _rows(db, statement, values))

    def rows_unsynced(self, statement: str, values: Sequence[object] = ()) -> list[dict[str, Any]]:
        """Like `rows`, but what the statement writes becomes durable only with the next synced write."""
        return self._send_with_retries(lambda db: _rows(db, statement, values), synced=False)

    def transaction(self, work: Callable[[Connection], T]) -> T:
        """Let `work` send several statements in one transaction, and return its result. If the connection is lost,
        `work` is called again."""

        def whole(db: Connection) -> T:
            with db.transaction():
                return work(db)

        return self._send_with_retries(whole)

    @contextmanager
    def read_snapshot(self) -> Iterator[None]:
        """A block in which all reads see one snapshot. If the connection is lost, later reads see a newer state."""
        with self._turn:
            self.rows("begin isolation level repeatable read read only")
            db = self._open[True]
            try:
                yield
            finally:
                with suppress(psycopg.Error):  # the connection was lost, and with it the transaction
                    db.execute("rollback")

    def try_once(self, statement: str, values: Sequence[object] = ()) -> list[dict[str, Any]] | None:
        """Send one statement without retrying, and return its rows; None if that fails."""
        try:
            return self._send(lambda db: _rows(db, statement, values), synced=True)
        except (_Away, psycopg.Error):
            return None

    def try_unsynced(self, statement: str, values: Sequence[object] = ()) -> list[dict[str, Any]] | None:
        """Like `rows_unsynced`, but without waiting: returns None if the database is unavailable. If the database is
        already known to be unavailable (`is_away`), nothing is sent."""
        for _ in range(0 if self.is_away else 2):  # twice: if the connection was cut, the second try makes a new one
            try:
                return self._send(lambda db: _rows(db, statement, values), synced=False)
            except _Away:
                continue
            except psycopg.Error as error:
                raise _as_trued_error(error, self.name, away=False) from error
        return None

    def close(self) -> None:
        with self._turn:
            for db in self._open.values():
                db.close()
            self._open.clear()

    def refuse_if_open(self) -> None:
        """Raise BadInput if no password is needed: agents could read held-out cases, and answer in a person's name."""
        if self.lets_anybody_in():
            what = f"{self.name} lets anybody in without a password: agents could read and write the journal"
            raise BadInput(what, then="require a password: scram-sha-256 in pg_hba.conf")

    def lets_anybody_in(self) -> bool:
        """Whether the database accepts this login without a secret, so that agents could log in, too. Tested by
        connecting with a wrong password, without the login's certificate and without a Kerberos ticket."""
        wrong = make_conninfo(self.info, password=secrets.token_hex(16))
        with suppress(psycopg.ProgrammingError):  # libpq before 16 does not know these options
            wrong = make_conninfo(wrong, sslcertmode="disable", require_auth="none", gssencmode="disable")
        try:
            psycopg.connect(wrong).close()
        except psycopg.Error:
            return False
        return True

    def migrate(self, then: Callable[[Connection], None] | None = None) -> None:
        """Create the tables, or migrate tables of an older format. If older tables are migrated, `then` is called in
        the same transaction. If `read_only`, only check that the tables have the format of this version. Raises
        StateFailed if the tables do not fit this version and cannot be migrated."""
        if self.read_only:
            self._check(self._version_found())
            return

        if not self.rows("select current_setting('server_encoding') = 'UTF8' as fits")[0]["fits"]:
            create = "createdb --encoding=UTF8 --template=template0"
            raise StateFailed(f"the database of {self.name} is not encoded as UTF8: create another one by `{create}`")

        def convert(db: Connection) -> None:
            db.execute("select pg_advisory_xact_lock(hashtext('trued schema'))")  # other processes wait
            db.execute(sql.SQL("create schema if not exists {}").format(sql.Identifier(self.schema)))
            db.execute("create table if not exists format (version integer not null)")
            found = db.execute("select coalesce(max(version), 0) as version from format").fetchone()
            version = int(found["version"]) if found else 0
            if version > len(MIGRATIONS):
                raise StateFailed(f"{self.name} was written by a newer trued (format {version}): upgrade trued")
            for number, statements in enumerate(MIGRATIONS[version:], version + 1):
                db.execute(statements)
                db.execute("insert into format values (%s)", (number,))
            if version and then:
                then(db)

        if self._version_found() != len(MIGRATIONS):
            self.transaction(convert)

    def refuse_other_version(self) -> None:
        """Raise StateFailed unless the tables are exactly those of this version of trued."""
        version = self._version_found()
        if version > len(MIGRATIONS):
            raise StateFailed(f"{self.name} was prepared by a newer trued (format {version}): upgrade trued here")
        if version < len(MIGRATIONS):
            then = "run `trued hub init` as its owner"
            raise StateFailed(f"{self.name} is not prepared for this version of trued (format {version}): {then}")

    def _version_found(self) -> int:
        if not self.rows("select to_regclass('format') is not null as there")[0]["there"]:
            return 0
        return int(self.rows("select coalesce(max(version), 0) as version from format")[0]["version"])

    def _check(self, version: int) -> None:
        if version == 0:
            raise StateFailed(f"there is no journal in {self.name} yet: the first run creates it")
        if version != len(MIGRATIONS):
            age, then = (
                ("a newer", "upgrade trued") if version > len(MIGRATIONS) else ("an older", "the next run converts it")
            )
            raise StateFailed(f"{self.name} was written by {age} trued (format {version}): {then}")

    def _send_with_retries(self, send: Callable[[Connection], T], *, synced: bool = True) -> T:
        since = 0.0
        while True:
            try:
                return self._send(send, synced=synced)
            except _Away as away:
                # Count from the first failure, not from the call: this process may have been frozen in between.
                since = since or time.monotonic()
                if time.monotonic() > since + self.retry_for():
                    raise _as_trued_error(away.error, self.name, away=True) from away.error
            except psycopg.Error as error:
                raise _as_trued_error(error, self.name, away=False) from error
            time.sleep(AGAIN_S)

    def _send(self, send: Callable[[Connection], T], *, synced: bool) -> T:
        """Call `send` once, without retrying. The lock is held only for this one try, so other threads can send before
        this thread tries again."""
        with self._turn:
            db = None
            try:
                db = self._connect(synced=synced)
                done = send(db)
            except psycopg.Error as error:
                self.is_away = db is None or db.closed
                if self.is_away:
                    raise _Away(error) from error
                raise
            self.is_away = False
            return done

    def _connect(self, *, synced: bool) -> Connection:
        db = self._open.get(synced)
        if db is None or db.closed:
            db = psycopg.connect(self.info, autocommit=True, row_factory=dict_row)
            try:
                db.execute(self._settings(synced=synced))
            except psycopg.Error:
                db.close()
                raise
            self._open[synced] = db
            self.password = db.info.password or self.password
        return db

    def _settings(self, *, synced: bool) -> sql.Composed:
        settings: dict[str, str | int] = {
            "search_path": self.schema,
            "synchronous_commit": "on" if synced else "off",
            "default_transaction_read_only": "on" if self.read_only else "off",
            "lock_timeout": LOCK_S * 1000,
            "idle_in_transaction_session_timeout": IDLE_S * 1000,
        }
        statements = [
            sql.SQL("set {} = {}").format(sql.Identifier(setting), sql.Literal(to)) for setting, to in settings.items()
        ]
        return sql.SQL("; ").join(statements)


@contextmanager
def opened_database(url: str) -> Iterator[Database]:
    """The database of a hub, for one command of a person. Raises StateFailed if the hub was not prepared by this
    version of trued."""
    database = Database(url, "trued", lambda: RETRY_S)
    try:
        database.refuse_other_version()
        yield database
    finally:
        database.close()


def _login_files(given: Mapping[str, Any]) -> Iterator[Path]:
    """Files in which libpq looks for a password or key for this address, whether they exist or not."""
    defaults = {default.keyword.decode(): (default.val or b"").decode() for default in Conninfo.get_defaults()}
    yield from (Path(path) for name in ("passfile", "sslkey") if (path := given.get(name) or defaults.get(name)))
    with suppress(RuntimeError):  # this user has no home folder
        yield from (Path.home() / name for name in (".pgpass", ".pg_service.conf", ".postgresql/postgresql.key"))


def _rows(db: Connection, statement: str, values: Sequence[object]) -> list[dict[str, Any]]:
    cursor = db.execute(statement, values)
    return cursor.fetchall() if cursor.description else []


def _as_trued_error(error: psycopg.Error, name: str, *, away: bool) -> Busy | StateFailed:
    words = next(iter(str(error).strip().splitlines()), type(error).__name__)
    if away and (refused := _NO_LOGIN.search(str(error))):
        with_file = "put its password into ~/.pgpass, and let only yourself read that file (chmod 600)"
        then = with_file if refused["password"] else "ask whoever runs the hub"
        return StateFailed(f"{name} does not let this login in ({words}): {then}")
    if away:
        return StateFailed(f"{name} does not answer ({words}); nothing is lost: `trued resume` when it is back")
    if isinstance(error, errors.LockNotAvailable):
        return Busy(f"{name} is busy: another process has held a row for {LOCK_S} s; try again")
    what = {
        errors.DiskFull: "its disk is full; free space, then `trued resume`",
        errors.ReadOnlySqlTransaction: "it cannot be written: this connection is read-only",
        errors.InsufficientPrivilege: f"this login may not do that ({words}); ask whoever runs the hub",
    }
    return StateFailed(
        f"journal {name}: {next((then for kind, then in what.items() if isinstance(error, kind)), words)}"
    )
