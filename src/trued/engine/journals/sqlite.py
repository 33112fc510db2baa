"""The journal in one SQLite file. A step is durable as soon as it is recorded, an event only when the next step is
recorded."""

import json
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trued.engine.journals.queries import Dialect, JournalQueries, RunQueries
from trued.engine.journals.rows import approval_columns, recorded_result, spend_columns
from trued.engine.journals.run_lock import RunLock
from trued.errors import BadInput, Busy, StateFailed
from trued.model import Approval, Comment, Event, PersonAnswer, RunRecord
from trued.support import processes

if TYPE_CHECKING:
    from trued.model.events import JournalEvent
    from trued.model.history import StoredAnswer, StoredVerdict
    from trued.protocols import Decide, Step
    from trued.wire import Spend

# The largest cache of a reader; SQLite's default is 2 MiB. Events are read in order, each once, so more would not help.
READ_CACHE_KIB = 512
BUSY_S = 20.0  # how long to wait for another process to finish a write; no write of trued takes that long

# LEAN: an event's data without its brief; of its reply, only the fields that claim a result and the beginning of
# `summary`. The omitted texts are nine tenths of a journal.
LEAN = """
    case kind
    when 'asked' then json_remove(data, '$.brief')
    when 'answered' then case json_type(data, '$.reply') when 'object' then json_set(data, '$.reply', json_object(
        'result', substr(json_extract(data, '$.reply.result'), 1, 300),
        'decision', substr(json_extract(data, '$.reply.decision'), 1, 300),
        'passes', case json_type(data, '$.reply.passes')
            when 'true' then json('true') when 'false' then json('false') end,
        'passed', case json_type(data, '$.reply.passed')
            when 'true' then json('true') when 'false' then json('false') end,
        'asks', coalesce(json_extract(data, '$.reply.asks'), 0) not in (0, '', '[]', '{}'),
        'status', substr(json_extract(data, '$.reply.status'), 1, 300),
        'summary', substr(json_extract(data, '$.reply.summary'), 1, 300))) else json_remove(data, '$.reply') end
    else data end"""
# FOLDED: lean data for views that fold events. For an asked call it keeps only `role`, `agent` and `resume`. Parsing
# long briefs would be slow, so the stored text is cut instead: role and agent come before `, "brief": `, and
# `"resume": true}` ends the text. A brief cannot imitate either, because quotes inside a string are escaped.
_BRIEF = """instr(substr(data, 1, 500), ', "brief": ')"""
_NAMED = """json_patch(json_object('role', json_extract(data, '$.role'), 'agent', json_extract(data, '$.agent')),
    case json_type(data, '$.resume') when 'true' then '{"resume": true}' else '{}' end)"""
_RESUMES = """case substr(data, -15) when '"resume": true}' then ', "resume": true}' else '}' end"""
_ASKED = f"case {_BRIEF} when 0 then {_NAMED} else substr(data, 1, {_BRIEF} - 1) || {_RESUMES} end"
FOLDED = LEAN.replace("json_remove(data, '$.brief')", _ASKED)
# Facts in an event about a call that contain no text of the agent or its provider.
_FACTS = ("role", "agent", "state", "attempts", "chars", "resume", "pid", "until", "cost_usd", "began", "ended")
_PAIRS = ", ".join(f"'{fact}', json_extract(data, '$.{fact}')" for fact in _FACTS)
BARE = f"json_patch('{{}}', json_object({_PAIRS}))"  # json_patch leaves out the facts that are null

MIGRATIONS = (
    """
    create table run (
        id text primary key, workflow text, title text, repository text, base text, branch text,
        state text, grade text, code integer, why text, head text, created_at real, updated_at real, inputs text);
    create table step (run text, key text, inputs text, value text, began real, ended real, primary key (run, key));
    create table event (id integer primary key, run text, at real, key text, kind text, data text);
    create index event_of_run on event (run, id);
    create table question (
        id integer primary key, run text, key text, text text, options text, answer text default '',
        comment text default '', who text default '', asked_at real, answered_at real default 0, unique (run, key));
    create table approval (run text, requirement text, who text, why text, at real, contract text);
    """,
    """
    create table spend (
        run text, call text, attempt integer, step text, task text, role text, agent text, state text,
        reserved_usd real, reserved_tokens integer, reserved_seconds real,
        spent_usd real, spent_tokens integer, spent_seconds real,
        cost text, at real, primary key (run, call, attempt));
    create index spend_of_role on spend (role, agent, at);
    create table raised (run text, scope text, what text, amount real, who text, at real);
    """,
    """
    alter table approval add column seen text default '';
    alter table approval add column asked text default '';
    alter table approval add column rejected integer default 0;
    """,
    """
    alter table approval add column way text default '';
    """,
    """
    create table comment (
        id integer primary key, run text, sent_to text, text text, who text, way text, stops text, at real);
    create index comment_of_run on comment (run, id);
    """,
)


class SqliteJournal(JournalQueries):
    """The journal of all runs of one TRUED_HOME. `of(run)` returns what that one run may write."""

    _dialect = Dialect(number="rowid", position="instr", role="json_extract(data, '$.role')", lean=LEAN, bare=BARE)

    def __init__(self, path: Path, clock: Callable[[], float] = time.time, *, read_only: bool = False) -> None:
        """`read_only`: create and migrate nothing; each write raises StateFailed. Raises StateFailed if the file cannot
        be used."""
        self.path, self.clock = path, clock
        if read_only:
            self._synced = self._unsynced = self._connect_to_read()
            return
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StateFailed(
                f"cannot make {path.parent}: {error.strerror}; set TRUED_HOME to a writable folder"
            ) from error
        self._synced = self._connect("full")
        # for events: in WAL mode they are never torn, and durable with the next synced write
        self._unsynced = self._connect("normal")
        self._migrate()

    def _connect(self, synchronous: str) -> sqlite3.Connection:
        try:
            db = sqlite3.connect(self.path, isolation_level=None, timeout=BUSY_S)
            db.execute("pragma journal_mode=wal")
            db.execute(f"pragma synchronous={synchronous}")
            return db
        except sqlite3.Error as error:
            raise _translated(error, self.path) from error

    def _connect_to_read(self) -> sqlite3.Connection:
        if not self.path.is_file():
            raise StateFailed(f"there is no journal {self.path} yet: `trued run` starts the first run")
        try:
            # Any thread may read: SQLite itself serializes the threads.
            uri = f"{self.path.absolute().as_uri()}?mode=ro"
            db = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_S, check_same_thread=False)
            db.execute(f"pragma cache_size=-{READ_CACHE_KIB}")  # negative: in KiB, not in pages
            (version,) = db.execute("pragma user_version").fetchone()
        except sqlite3.Error as error:
            raise _translated(error, self.path) from error
        if version != len(MIGRATIONS):
            db.close()
            age, then = (
                ("a newer", "upgrade trued") if version > len(MIGRATIONS) else ("an older", "`trued ls` converts it")
            )
            raise StateFailed(f"{self.path} was written by {age} trued (format {version}): {then}")
        return db

    def _migrate(self) -> None:
        (version,) = self._synced.execute("pragma user_version").fetchone()
        if version > len(MIGRATIONS):
            raise StateFailed(f"{self.path} was written by a newer trued (format {version}): upgrade trued")
        if version == len(MIGRATIONS):
            return
        with self.writing(self._synced) as db:
            # read again: another process may have migrated it
            (version,) = db.execute("pragma user_version").fetchone()
            for number, statements in enumerate(MIGRATIONS[version:], version + 1):
                for statement in filter(str.strip, statements.split(";")):
                    db.execute(statement)
                db.execute(f"pragma user_version={number}")

    @contextmanager
    def writing(self, db: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
        """A transaction: committed at the end of the block, rolled back after an error. Raises Busy or StateFailed,
        with a sentence for people, if SQLite fails."""
        try:
            db.execute("begin immediate")
            yield db
            self.commit(db)
        except sqlite3.Error as error:
            if db.in_transaction:
                db.execute("rollback")
            raise _translated(error, self.path) from error
        except BaseException:
            if db.in_transaction:
                db.execute("rollback")
            raise

    @contextmanager
    def read_snapshot(self) -> Iterator[None]:
        """All reads in the `with` block see one snapshot. For readers only: nothing can be written in the block."""
        self._rows("begin")
        try:
            yield
        finally:
            if self._synced.in_transaction:
                self._rows("rollback")

    def commit(self, db: sqlite3.Connection) -> None:
        """Commit the transaction. On the synced connection, everything written so far is durable afterwards. (The crash
        tests kill the process here.)"""
        db.execute("commit")

    def _write(self, statement: str, values: Sequence[object], *, sync: bool = True) -> int:
        """Write in one transaction; return the id of an inserted row. `sync`: the write is durable at once."""
        with self.writing(self._synced if sync else self._unsynced) as db:
            return db.execute(statement, values).lastrowid or 0

    def _rows(self, statement: str, values: Sequence[object] = ()) -> list[sqlite3.Row]:
        try:
            cursor = self._synced.execute(statement, values)
            cursor.row_factory = sqlite3.Row
            return cursor.fetchall()
        except sqlite3.Error as error:
            raise _translated(error, self.path) from error

    def _select(self, statement: str, values: Sequence[object] = ()) -> list[dict[str, Any]]:
        return [dict(row) for row in self._rows(statement, values)]

    # -- runs ----------------------------------------------------------------------------------------------------------

    def add(self, record: RunRecord, inputs: str = "", *, queue: str = "") -> None:
        """Add a run with all its inputs, in one write. Raises BadInput if a queue is named: only hubs have queues."""
        if queue:
            raise _without_hub(f"there is no queue {queue}")
        now = self.clock()
        row = {**record.model_dump(mode="json"), "created_at": now, "updated_at": now, "inputs": inputs}
        self._write(f"insert into run ({', '.join(row)}) values ({', '.join('?' * len(row))})", list(row.values()))  # noqa: S608

    def put(self, run: str) -> None:
        raise _without_hub(f"run {run} cannot be queued")

    def queue_of(self, run: str) -> str:
        return ""

    def queued(self, run: str = "") -> dict[str, str]:
        return {}

    def update(self, record: RunRecord) -> None:
        row = {**record.model_dump(mode="json", exclude={"id", "created_at"}), "updated_at": self.clock()}
        sets = ", ".join(f"{name} = ?" for name in row)
        self._write(f"update run set {sets} where id = ?", [*row.values(), record.id])  # noqa: S608

    def of(self, run: str, listen: Callable[[Event], None] | None = None) -> "RunJournal":
        return RunJournal(self, run, listen)

    @contextmanager
    def claim(self, run: str, end_driver: Callable[[], None] | None = None) -> Iterator[None]:
        """Hold the run's lock, so that only one process drives the run. Raises Busy if another process holds it.
        `end_driver` is never called: when the run is cancelled, this process gets a signal instead."""
        with self._lock(run).hold():
            yield

    def announce(self, run: str) -> None:
        """Record that this process is about to drive a new run, so that the run does not look abandoned."""
        self._lock(run).announce()

    def lease_file(self, run: str) -> None:
        """Always None, because no other machine can take over a run of this journal."""

    def driver(self, run: str) -> int:
        """The id of the process that drives the run; 0 for none. Takes no lock."""
        return self._lock(run).holder()

    def drivers(self) -> dict[str, int]:
        return {row["id"]: self.driver(row["id"]) for row in self._rows("select id from run")}

    def cancel(self, run: str) -> None:
        """Write a marker file into the run's folder, and send a signal to the process that drives the run."""
        mark = self._cancel_mark(run)
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
        if driver := self.driver(run):
            processes.send(driver, signal.SIGTERM, still=lambda: self.driver(run) == driver)

    def is_cancelled(self, run: str) -> bool:
        return self._cancel_mark(run).exists()

    def private_files(self) -> tuple[Path, ...]:
        return (self.path,)

    def password(self) -> str:
        return ""

    def refuse_if_open(self) -> None:
        """Do nothing: agents cannot read this journal. Sandboxes hide the file, and every run tests that they do."""

    def _cancel_mark(self, run: str) -> Path:
        return self.path.parent / "runs" / run / "cancelled"

    def _lock(self, run: str) -> RunLock:
        return RunLock(self.path.parent, run)

    # -- events, steps, decisions --------------------------------------------------------------------------------------

    def runs_changed(self, after: int = 0) -> dict[str, int]:
        """Run → the id of its newest event, for every run with an event after this id."""
        # `+` makes SQLite search by id; otherwise it would read the whole index of runs
        rows = self._rows("select run, max(id) as last from event where id > ? group by +run", (after,))
        return {row["run"]: row["last"] for row in rows}

    def data_version(self) -> int:
        """A number that changes whenever another connection has written something."""
        return int(self._rows("pragma data_version")[0]["data_version"])

    def steps_after(self, run: str, after: int, *names: str) -> Iterator[tuple[int, str, float, str]]:
        """Number, key, end and result of the steps after this number, oldest first; `names` as in `steps`.

        Results are read one at a time, because a long run has many megabytes of results.
        """
        where, values = self._step_name_condition(names)
        statement = f"select rowid, key, ended from step where run = ? and rowid > ? and {where} order by rowid"  # noqa: S608
        for number, key, ended in self._rows(statement, (run, after, *values)):
            yield number, key, ended, self._rows("select value from step where rowid = ?", (number,))[0][0]

    def approve(self, run: str, approval: Approval, *, instead: bool = False) -> bool:
        """Record an approval or rejection. Refuse it if the run already has a decision on the same contract, or on the
        same requirement at the same commit. With `instead`, refuse nothing: the newest decision counts. Returns
        whether the decision was recorded."""
        now = self.clock()
        with self.writing(self._synced) as db:
            if not instead and _is_decided(db, run, approval):
                return False
            _insert_approval(db, run, approval, now)
            return True

    def decide(
        self, run: str, decisions: "Sequence[tuple[Approval, JournalEvent]]", *, instead: bool = False
    ) -> Approval | None:
        """Record all of these approvals, each with its event, in one write, and return None. If `approve` would refuse
        one of them, record nothing and return the first that it would refuse."""
        now = self.clock()
        with self.writing(self._synced) as db:
            for approval, _ in () if instead else decisions:
                if _is_decided(db, run, approval):
                    return approval
            for approval, event in decisions:
                _insert_approval(db, run, approval, now)
                _insert_event(db, run, now, "", event)
        return None

    def add_comment(self, run: str, comment: Comment, event: "Callable[[int], JournalEvent]", key: str) -> int:
        """Record a comment, and the event that `event` makes from the comment's number, in one write. Returns the
        comment's number."""
        now, row = self.clock(), (comment.to, comment.text, comment.who, comment.way, comment.stops)
        with self.writing(self._synced) as db:
            statement = "insert into comment (run, sent_to, text, who, way, stops, at) values (?, ?, ?, ?, ?, ?, ?)"
            number = db.execute(statement, (run, *row, now)).lastrowid or 0
            _insert_event(db, run, now, key, event(number))
        return number

    def answers_since(self, since: float, workflow: str = "") -> "list[StoredAnswer]":
        # imported here, because few commands read many runs
        from trued.engine.journals import sqlite_history as history

        return history.answers(self._rows(history.ANSWERS, (since, workflow)))

    def verdicts_since(self, since: float, workflow: str = "") -> "list[StoredVerdict]":
        from trued.engine.journals import sqlite_history as history

        return history.verdicts(self._rows(history.VERDICTS, (since, workflow)))

    def sealed_since(self, since: float, workflow: str = "") -> dict[str, int]:
        from trued.engine.journals.sqlite_history import SEALED

        return {row["run"]: int(row["requirements"] or 0) for row in self._rows(SEALED, (since, workflow))}

    def accepted(self, run: str = "") -> dict[str, str]:
        from trued.engine.journals.sqlite_history import ACCEPTED

        return {row["id"]: str(row["accept"]) for row in self._rows(ACCEPTED, (run,)) if row["accept"]}

    def folded_events(self, run: str, after: int, limit: int) -> list[tuple[int, float, str, str, str]]:
        """Id, time, key, kind and data of the events after this id, oldest first, at most `limit`. The data is in
        its shortest form: see `FOLDED`."""
        statement = f"select id, at, key, kind, {FOLDED} from event where run = ? and id > ? order by id limit ?"  # noqa: S608
        return [(row[0], row[1], row[2], row[3], row[4]) for row in self._rows(statement, (run, after, limit))]

    def change_limit(self, run: str, scope: str, what: str, amount: float, who: str) -> None:
        """Record a limit that a person raised, lowered or set."""
        values = (run, scope, what, amount, who, self.clock())
        self._write("insert into raised (run, scope, what, amount, who, at) values (?, ?, ?, ?, ?, ?)", values)

    def close(self) -> None:
        self._unsynced.close()
        self._synced.close()


_NEW_SPENDS = """
    select run.size, run.total, new.rowid as n, new.*
    from (select count(*) as size, sum(rowid) as total from spend where run = ?) as run
    left join spend as new on new.run = ? and new.rowid > ? order by new.rowid"""


class RunJournal(RunQueries[SqliteJournal]):
    """What one run writes: steps by key, events, questions, spends."""

    async def once(self, key: str, inputs: str, step: "Step") -> str:
        rows = self.journal._select("select inputs, value from step where run = ? and key = ?", (self.run, key))
        if (known := recorded_result(rows, self.run, key, inputs)) is not None:
            return known
        began = self.journal.clock()
        value = await step()
        self.journal._write(
            "insert into step (run, key, inputs, value, began, ended) values (?, ?, ?, ?, ?, ?)",
            (self.run, key, inputs, value, began, max(began, self.journal.clock())),
        )
        return value

    def emit(self, event: "JournalEvent", key: str = "") -> None:
        """Write an event for people, and pass it to the listener."""
        now, kind, data = self.journal.clock(), event.stored_kind, event.stored_data()
        number = self.journal._write(
            "insert into event (run, at, key, kind, data) values (?, ?, ?, ?, ?)",
            (self.run, now, key, kind, json.dumps(data, ensure_ascii=False)),
            sync=False,
        )
        if self.listen:
            self.listen(Event(id=number, at=now, key=key, kind=kind, data=data))

    async def available(self) -> None:
        """Return at once: this journal is a file, and a file is always available."""

    def question(self, key: str, text: str, options: Sequence[str]) -> PersonAnswer | None:
        values = (self.run, key, text, json.dumps(list(options)), self.journal.clock())
        statement = "select answer, comment, who from question where run = ? and key = ?"
        rows = self.journal._rows(statement, (self.run, key))
        if not rows:
            self.journal._write(
                "insert into question (run, key, text, options, asked_at) values (?, ?, ?, ?, ?)", values
            )
            return None
        return PersonAnswer(*rows[0]) if rows[0]["answer"] else None

    def answer(self, key: str, answer: str, comment: str, who: str) -> bool:
        """Record an answer, unless the question has one already. Returns whether the answer was recorded."""
        values = (answer, comment, who, self.journal.clock(), self.run, key)
        sets = "answer = ?, comment = ?, who = ?, answered_at = ?"
        with self.journal.writing(self.journal._synced) as db:
            statement = f"update question set {sets} where run = ? and key = ? and answer = ''"  # noqa: S608
            return db.execute(statement, values).rowcount == 1

    def spend(self, decide: "Decide") -> "Spend | None":
        """Call `decide` with the run's spends, write the spend that `decide` returns, and return it. If `decide`
        returns None, nothing is written. All of this is one synced transaction, and other writers wait for its end."""
        with self.journal.writing(self.journal._synced) as db:

            def newer(number: int) -> list[dict[str, object]]:
                cursor = db.execute(_NEW_SPENDS, (self.run, self.run, number))
                cursor.row_factory = sqlite3.Row
                return [dict(row) for row in cursor.fetchall()]

            decided = decide(self._spends.read(newer))
            if decided is None:
                return None
            # `at` never goes back, even if the clock was set back
            decided = replace(decided, at=max(decided.at, self.journal.clock()))
            row = {"run": self.run, **spend_columns(decided)}
            marks = ", ".join("?" * len(row))
            db.execute(f"insert or replace into spend ({', '.join(row)}) values ({marks})", list(row.values()))  # noqa: S608
        return decided

    def approve(self, approval: Approval, *, instead: bool = False) -> bool:
        return self.journal.approve(self.run, approval, instead=instead)


def _is_decided(db: sqlite3.Connection, run: str, approval: Approval) -> bool:
    """Whether the run already has a decision on the same contract, or on the same requirement at the same commit."""
    same = "run = :run and requirement = :requirement and seen = :seen and asked = :asked"
    same += " and contract = :contract" if approval.is_of_contract else ""
    row = approval_columns(run, approval)
    return db.execute(f"select 1 from approval where {same}", row).fetchone() is not None  # noqa: S608


def _insert_approval(db: sqlite3.Connection, run: str, approval: Approval, now: float) -> None:
    row = {**approval_columns(run, approval), "at": now}
    marks = ", ".join(f":{name}" for name in row)
    db.execute(f"insert into approval ({', '.join(row)}) values ({marks})", row)  # noqa: S608


def _insert_event(db: sqlite3.Connection, run: str, now: float, key: str, event: "JournalEvent") -> None:
    data = json.dumps(event.stored_data(), ensure_ascii=False)
    statement = "insert into event (run, at, key, kind, data) values (?, ?, ?, ?, ?)"
    db.execute(statement, (run, now, key, event.stored_kind, data))


def _translated(error: sqlite3.Error, path: Path) -> Busy | StateFailed:
    words = str(error)
    if "UNIQUE" in words:
        return Busy("two processes drive this run, because its lock file was removed; end one of them")
    if "locked" in words or "busy" in words:
        return Busy(f"{path} is busy: another process has held it for {BUSY_S:.0f} s; try again")
    what = {
        "full": "the disk is full; free space, then `trued resume`",
        "readonly": "it cannot be written; make it writable, then `trued resume`",
        "unable to open": "it cannot be opened; set TRUED_HOME to a writable folder",
        "malformed": "it is corrupted; keep a copy and start with a fresh TRUED_HOME",
        "not a database": "it is not a journal; keep a copy and start with a fresh TRUED_HOME",
    }
    return StateFailed(f"journal {path}: {next((then for word, then in what.items() if word in words), words)}")


def _without_hub(what: str) -> BadInput:
    return BadInput(f"{what}: only a hub has queues", then="set [hub] url")
