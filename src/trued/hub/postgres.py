"""The journal of many machines in one Postgres database, with the same protocol as the embedded journal."""

import asyncio
import json
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trued.engine.journals.queries import Dialect, JournalQueries, RunQueries
from trued.engine.journals.rows import approval_columns, recorded_result, spend_columns
from trued.engine.journals.run_lock import RunLock
from trued.errors import BadInput, Busy, Fenced, StateFailed
from trued.hub import run_history
from trued.hub.attempts import Driver, reserve_call, settle_call
from trued.hub.claim import SOON, Claim
from trued.hub.database import RETRY_S, Connection, Database
from trued.hub.roles import grant_again
from trued.hub.run_history import accepted_grade
from trued.hub.short_events import bare, claims, folded, lean
from trued.model import Approval, Comment, Event, PersonAnswer, RunRecord
from trued.model.step_keys import SENT_KEY
from trued.support import atomic_files
from trued.support.hashing import digest
from trued.support.lease_file import LeaseFile, boot_time

if TYPE_CHECKING:
    from trued.model.events import JournalEvent
    from trued.model.history import StoredAnswer, StoredVerdict
    from trued.protocols import Decide, Step
    from trued.wire import Spend

# far longer than an outage of the database; another driver has to wait until a lease expires only if a machine dies
LEASE_S = 300.0
SENT_WORK = "exists (select 1 from step where step.run = run.id and step.key ~ %s)"
ASKED_FOR = "asked > served"  # somebody asked for a drive of the run, and none has begun since
WILL_BE_DRIVEN = f"(drives > 0 and ({ASKED_FOR} or state = 'running'))"  # a worker drives it, now or later
WAITS = f"{WILL_BE_DRIVEN} and (until is null or until <= clock_timestamp())"  # it waits for a worker


class PostgresJournal(JournalQueries):
    """The journal of all runs of one hub. `of(run)` is the journal of one run, to write to.

    A run is driven under an epoch. `claim` takes the next epoch. Steps, questions and spending are written only while
    the driver's epoch is the newest: each writing statement checks that. After a claim is lost, all writes about the
    run through this object raise Fenced.
    """

    _dialect = Dialect(number="n", position="strpos", role="role", lean="coalesce(lean, data)", bare="bare")

    def __init__(
        self,
        url: str,
        clock: Callable[[], float] = time.time,
        *,
        name: str = "",
        home: Path | None = None,
        schema: str = "trued",
        lease_s: float = LEASE_S,
        retry_s: float = RETRY_S,
        read_only: bool = False,
    ) -> None:
        """`name`: the name of this machine or worker, for people.

        `home`: the state folder, with the work of runs. A run that was added with a state folder is driven only with
        the same folder, unless the run's work can be fetched from the hub's store. If a driver with this folder died,
        its run can be taken over at once, before the lease expires.

        `retry_s`: how long to retry while the database is unavailable; a driver of a run retries for a whole lease.

        `read_only`: create and migrate nothing; each write raises StateFailed.

        Raises StateFailed if the database cannot be used.
        """
        self.clock, self.name, self.lease_s = clock, name or "another process", lease_s
        self._home = home
        self.travels = False  # whether work that other machines sent can be fetched here
        self._place = place_of(home, create=not read_only) if home else None
        # `_place`, if the locks in `home` show whether a driver is dead. None if another machine named this folder (it
        # is a copy, or shared): then drivers may run where its locks cannot be seen.
        self._own_place = self._place if home and is_named_here(home, create=not read_only) else None
        self._lease_files: dict[str, LeaseFile] = {}  # by run; each remembers why its lease could not be written
        self._epochs: dict[str, int] = {}  # run → epoch, for runs that are claimed or whose claim was lost
        self._announced: dict[str, tuple[float, int]] = {}  # run → when its epoch was requested, and the epoch
        self._unsent: list[Callable[[], None]] = []  # events to write when the database is available again
        self._hurries = False  # the caller was cancelled: do not wait for a whole lease

        def retry_for() -> float:
            return lease_s if self._epochs and not self._hurries else retry_s

        def connect() -> Database:
            return Database(url, schema, retry_for, read_only=read_only)

        self._connect = connect
        self._database = self._connect()
        self.as_driver = Driver(self.name, self._place, lease_s)
        try:
            self._database.migrate(then=lambda db: grant_again(db, schema))
        except BaseException:
            self._database.close()
            raise

    # -- runs ----------------------------------------------------------------------------------------------------------

    def add(self, record: RunRecord, inputs: str = "", *, queue: str = "") -> None:
        """Add a run with all its inputs, in one write. `queue`: the queue into which `put` will put the run; "" for
        none. Raises Busy if another process has just added a run with this id."""
        now = self.clock()
        if queue:
            given = record.model_dump(mode="json")
            asked = ("id", "workflow", "title", "repository", "base", "branch", "head")
            values = [*(given[name] for name in asked), inputs, accepted_grade(inputs), now]
            values += [self.name, self._place, queue]
            self._rows(f"select ask_for_run({', '.join(['%s'] * len(values))})", values)
            self._refuse_other(record.id, now, inputs)
            return
        row = {**record.model_dump(mode="json"), "created_at": now, "updated_at": now, "inputs": inputs}
        row |= {"accept": accepted_grade(inputs), "driver": self.name, "place": self._place}
        names, marks = ", ".join(row), ", ".join(["%s"] * len(row))
        self._rows(f"insert into run ({names}) values ({marks}) on conflict (id) do nothing", list(row.values()))  # noqa: S608
        self._refuse_other(record.id, now, inputs)

    def _refuse_other(self, run: str, created_at: float, inputs: str) -> None:
        stored = self._rows("select created_at, inputs from run where id = %s", (run,))[0]
        if stored != {"created_at": created_at, "inputs": inputs}:
            raise Busy(f"there is a run {run} already: another process has just added it")

    def put(self, run: str) -> None:
        """Put the run into its queue, unless it is there already. A run that is being driven will be driven again."""
        self._rows("select ask_for_drive(%s)", (run,))

    def queue_of(self, run: str) -> str:
        return "".join(row["queue"] for row in self._rows("select queue from run where id = %s", (run,)))

    def queued(self, run: str = "") -> dict[str, str]:
        """Run → why no worker drives it yet, as a sentence, for every run that waits in a queue. `run`: only this run;
        "" for all."""
        where = f"queue <> '' and {WAITS} and %s in ('', id)"
        runs = self._rows(f"select id, queue from run where {where} order by id", (run,))  # noqa: S608
        if not runs:
            return {}
        alive = "select name, life, queue from worker where not dead and not draining and until > clock_timestamp()"
        workers = self._rows(f"{alive} order by name")
        rows = self._rows("select run, worker, life, why from refusal where %s in ('', run)", (run,))
        refusals = {(row["run"], row["worker"], row["life"]): row["why"] for row in rows}
        found = {}
        for row in runs:
            own = [worker for worker in workers if worker["queue"] == row["queue"]]
            refused = {worker["name"]: refusals.get((row["id"], worker["name"], worker["life"]), "") for worker in own}
            found[row["id"]] = _why_queued(row["queue"], refused)
        return found

    def update(self, record: RunRecord) -> None:
        row = {**record.model_dump(mode="json", exclude={"id", "created_at"}), "updated_at": self.clock()}
        sets, epoch = ", ".join(f"{name} = %s" for name in row), self._epochs.get(record.id, 0)
        where = "id = %s and (%s::bigint = 0 or epoch = %s)"
        values = [*row.values(), record.id, epoch, epoch]
        if not self._rows(f"update run set {sets} where {where} returning 1", values) and epoch:  # noqa: S608
            raise self.fenced(record.id)

    def of(self, run: str, listen: Callable[[Event], None] | None = None) -> "PostgresRunJournal":
        return PostgresRunJournal(self, run, listen)

    @contextmanager
    def claim(self, run: str, end_driver: Callable[[], None] | None = None) -> Iterator[None]:
        """Claim the run under its next epoch. Raises Busy while another driver drives the run, or while that driver's
        lease lasts. Raises BadInput if the run's work is on another machine. `end_driver`: called when the run was
        cancelled, or when another driver has taken the run."""
        with RunLock(self._home, run).hold() if self._home else nullcontext():
            asked, epoch = self._announced.pop(run) if run in self._announced else (boot_time(), self._take(run))
            claim = Claim(self._connect(), run, epoch, self.lease_s, self._place, end_driver, self.lease_file(run))
            claim.allow(asked)
            self._epochs[run] = epoch
            try:
                with claim:
                    yield
                    self.send_events()
            finally:
                if claim.release():
                    del self._epochs[run]
                claim.close()

    def announce(self, run: str) -> None:
        """Take the epoch of a new run before the run is claimed, so that it does not look abandoned meanwhile. `claim`
        will use this epoch."""
        if self._home:
            RunLock(self._home, run).announce()
        self._announced[run] = (boot_time(), self._take(run))

    def lease_file(self, run: str) -> LeaseFile | None:
        """The lease file of a run; None if the run's work stays on this machine. Then the file is not needed, because
        no other machine can take over the run."""
        if not self._home or not self.travels:
            return None
        return self._lease_files.setdefault(run, LeaseFile(self._home / "runs" / run / "lease"))

    def driver(self, run: str) -> int:
        """The epoch under which the run is driven. 0 if nobody drives the run, for example because the lease has
        expired, or because the driver died on this machine.

        A run that a worker will drive counts as driven: under its last epoch, or under 1 if it has none yet.
        """
        return self._drivers(run).get(run, 0)

    def drivers(self) -> dict[str, int]:
        return self._drivers()

    def _drivers(self, only: str = "") -> dict[str, int]:
        columns = f"id, epoch, place, until > clock_timestamp() as holds, {WILL_BE_DRIVEN} as will_be"
        rows = self._rows(f"select {columns} from run where %s in ('', id)", (only,))  # noqa: S608  (constants)
        return {row["id"]: self._driver_in(row) for row in rows}

    def _driver_in(self, row: dict[str, Any]) -> int:
        if row["will_be"]:
            return max(1, int(row["epoch"]))
        here = self._home and self._own_place and row["place"] == self._own_place
        is_dead = row["holds"] and here and self._home and not RunLock(self._home, row["id"]).holder()
        return int(row["epoch"]) if row["holds"] and not is_dead else 0

    def cancel(self, run: str) -> None:
        """Mark the run as cancelled. The run's current or next driver sees the mark and ends the run. If the run has a
        queue, also ask for a worker to drive the run, and so to end it."""

        def say(db: Connection) -> None:
            db.execute("update run set cancelled = true where id = %s", (run,))
            db.execute("select ask_for_drive(id) from run where id = %s and queue <> ''", (run,))

        self.send_events()
        self._database.transaction(say)

    def is_cancelled(self, run: str) -> bool:
        return any(row["cancelled"] for row in self._rows("select cancelled from run where id = %s", (run,)))

    def read_snapshot(self) -> AbstractContextManager[None]:
        return self._database.read_snapshot()

    def private_files(self) -> tuple[Path, ...]:
        return tuple(file for file in self._database.login_files if file.is_file())

    def password(self) -> str:
        return self._database.password

    def refuse_if_open(self) -> None:
        self._database.refuse_if_open()

    def _take(self, run: str) -> int:
        """Take the next epoch of a run that nobody drives. A token makes it safe to send the statement twice.

        The caller holds the run's lock in this state folder, or has just added the run. So if the run was driven on
        this machine before, that driver is dead, and there is no lease to wait for. A machine with a copy of this state
        folder cannot see locks that are held here, so there the lease has to expire first.
        """
        token, place = uuid.uuid4(), self._place
        here = f"(place is null or %s::uuid is null or place = %s or (%s and {SENT_WORK}))"
        free = "(until is null or until <= clock_timestamp() or claim = %s or place = %s)"
        statement = f"""update run set epoch = epoch + 1, driver = %s, claim = %s, until = {SOON}, served = asked,
                place = case when place is null then null else coalesce(%s::uuid, place) end
            where id = %s and {here} and {free} returning epoch"""  # noqa: S608  (constants)
        where = (run, place, place, self.travels, SENT_KEY, token, self._own_place)
        if taken := self._rows(statement, (self.name, token, self.lease_s, place, *where)):
            return int(taken[0]["epoch"])
        self.run(run)  # raises BadInput if there is no such run
        self.refuse_if_elsewhere(run)
        (row,) = self._rows("select driver, epoch from run where id = %s", (run,))
        who = f"{row['driver']} (epoch {row['epoch']})"
        raise Busy(f"run {run} is driven by {who}; follow it with `trued logs -f {run}`")

    def refuse_if_elsewhere(self, run: str) -> None:
        """Raise BadInput if the run's work is on another machine, and cannot be fetched."""
        (row,) = self._rows(f"select driver, place, {SENT_WORK} as sent from run where id = %s", (SENT_KEY, run))  # noqa: S608
        is_elsewhere = self._place and row["place"] and row["place"] != self._place
        if is_elsewhere and not (self.travels and row["sent"]):
            what = f"run {run} was last driven by {row['driver']}, and its work is there"
            what += ", not in the store" if self.travels else ""
            then = "use `trued` there; `ls`, `show`, `answer` and `cancel` also work here"
            then += "" if self.travels else "; to move work between machines, set `[hub] store`"
            raise BadInput(what, then=then)

    def driving(self, run: str) -> int:
        """The epoch under which this object drives the run. Raises Fenced if this object has not claimed it."""
        if epoch := self._epochs.get(run, 0):
            return epoch
        raise self.fenced(run)

    def fenced(self, run: str) -> Fenced:
        """The error for a write without the newest epoch."""
        return Fenced(
            f"run {run} is not driven by this process any more: another driver has it; see `trued show {run}`"
        )

    # -- events, steps, decisions --------------------------------------------------------------------------------------

    def runs_changed(self, after: int = 0) -> dict[str, int]:
        """Run → the id of its newest event, for every run with an event after this id."""
        rows = self._rows("select run, max(id) as last from event where id > %s group by run", (after,))
        return {row["run"]: row["last"] for row in rows}

    def data_version(self) -> int:
        """A number that changes whenever another connection has written something. It is a hash of the transactions
        that ended."""
        statement = "select hashtextextended(pg_current_snapshot()::text, 0) as version"
        return int(self._rows(statement)[0]["version"])

    def folded_events(self, run: str, after: int, limit: int) -> list[tuple[int, float, str, str, str]]:
        """Id, time, key, kind and data of the events after this id, oldest first, at most `limit`. The data is in its
        shortest form: see `folded`."""
        columns = "id, at, key, kind, coalesce(lean, data) as data"
        statement = f"select {columns} from event where run = %s and id > %s order by id limit %s"  # noqa: S608
        rows = self._rows(statement, (run, after, limit))
        return [(row["id"], row["at"], row["key"], row["kind"], folded(row["kind"], row["data"])) for row in rows]

    def answers_since(self, since: float, workflow: str = "") -> "list[StoredAnswer]":
        return run_history.answers(self._select(run_history.ANSWERS, (since, workflow)))

    def verdicts_since(self, since: float, workflow: str = "") -> "list[StoredVerdict]":
        return run_history.verdicts(self._select(run_history.VERDICTS, (since, workflow)))

    def sealed_since(self, since: float, workflow: str = "") -> dict[str, int]:
        return run_history.sealed(self._select(run_history.SEALED, (since, workflow)))

    def accepted(self, run: str = "") -> dict[str, str]:
        rows = self._rows("select id, accept from run where %s in ('', id) and accept <> '' order by id", (run,))
        return {row["id"]: row["accept"] for row in rows}

    def steps_after(self, run: str, after: int, *names: str) -> Iterator[tuple[int, str, float, str]]:
        """Number, key, end time and result of the steps after this number, oldest first. `names`: as in `steps`."""
        where, values = self._step_name_condition(names)
        rows = self._select(
            f"select n, key, ended, value from step where run = ? and n > ? and {where} order by n",  # noqa: S608
            (run, after, *values),
        )
        return ((row["n"], row["key"], row["ended"], row["value"]) for row in rows)

    def approve(self, run: str, approval: Approval, *, instead: bool = False) -> bool:
        """Record an approval or rejection. Refuse it if the run already has a decision on the same contract, or on the
        same requirement at the same commit. With `instead`, refuse nothing: the newest decision counts. Returns
        whether the decision was recorded."""
        return self._decide(run, [(approval, None)], instead=instead) is None

    def decide(
        self, run: str, decisions: "Sequence[tuple[Approval, JournalEvent]]", *, instead: bool = False
    ) -> Approval | None:
        """Record all of these approvals, each with its event, in one write, and return None. If `approve` would refuse
        one of the approvals, record nothing and return the first refused one."""
        return self._decide(run, decisions, instead=instead)

    def _decide(
        self, run: str, decisions: "Sequence[tuple[Approval, JournalEvent | None]]", *, instead: bool
    ) -> Approval | None:
        now, tokens = self.clock(), [uuid.uuid4() for _ in decisions]
        rows = [
            {**approval_columns(run, approval), "token": token, "at": now}
            for (approval, _), token in zip(decisions, tokens, strict=True)
        ]

        def record(db: Connection) -> Approval | None:
            db.execute("select 1 from run where id = %s for no key update", (run,))  # other writers wait
            for (approval, _), row in () if instead else zip(decisions, rows, strict=True):
                same = "run = %(run)s and requirement = %(requirement)s and seen = %(seen)s and asked = %(asked)s"
                same += " and contract = %(contract)s" if approval.is_of_contract else ""
                if db.execute(f"select 1 from approval where {same} and token <> %(token)s", row).fetchone():  # noqa: S608
                    return approval
            for (_, event), row, token in zip(decisions, rows, tokens, strict=True):
                marks = ", ".join(f"%({name})s" for name in row)
                insert = f"insert into approval ({', '.join(row)}) values ({marks}) on conflict (token) do nothing"  # noqa: S608
                db.execute(insert, row)
                if event:
                    db.execute(WRITE_EVENT, _event_values(run, 0, now, "", event, token))
            return None

        self.send_events()
        return self._database.transaction(record)

    def add_comment(self, run: str, comment: Comment, event: "Callable[[int], JournalEvent]", key: str) -> int:
        """Record a comment, and the event that `event` makes from the comment's number, in one write. Returns the
        comment's number."""
        now, token = self.clock(), uuid.uuid4()
        values = (run, comment.to, comment.text, comment.who, comment.way, comment.stops, now, token)

        def record(db: Connection) -> int:
            db.execute(
                "insert into comment (run, sent_to, text, who, way, stops, at, token)"
                " values (%s, %s, %s, %s, %s, %s, %s, %s) on conflict (token) do nothing",
                values,
            )
            found = db.execute("select id from comment where token = %s", (token,)).fetchone()
            number = int(found["id"]) if found else 0
            db.execute(WRITE_EVENT, _event_values(run, 0, now, key, event(number), token))
            return number

        self.send_events()
        return self._database.transaction(record)

    def change_limit(self, run: str, scope: str, what: str, amount: float, who: str) -> None:
        """Record a limit that a person raised, lowered or set."""
        self._rows(
            "insert into raised (run, scope, what, amount, who, at, token) values (%s, %s, %s, %s, %s, %s, %s)"
            " on conflict (token) do nothing",
            (run, scope, what, amount, who, self.clock(), uuid.uuid4()),
        )

    def close(self) -> None:
        self._database.close()

    async def available(self) -> None:
        """Wait, in a thread, until the database is available. Then write the events that could not be written
        before."""
        await self._rows_in_thread("select 1")
        self.send_events()

    async def rows_when_available(self, statement: str, values: Sequence[object]) -> list[dict[str, Any]]:
        """Like `_rows`, but does not block other tasks while the database is unavailable."""
        if self._unsent:
            await self.available()
        return await self._rows_in_thread(statement, values)

    async def _rows_in_thread(self, statement: str, values: Sequence[object] = ()) -> list[dict[str, Any]]:
        """The rows of one statement, sent in a thread. If the caller is cancelled meanwhile, the statement may still be
        sent. If the database is unavailable when the caller is cancelled, later calls wait only briefly for the
        database, because the caller wants to end."""
        try:
            rows = await asyncio.to_thread(self._database.rows, statement, values)
        except asyncio.CancelledError:
            self._hurries = self._database.is_away
            raise
        self._hurries = False
        return rows

    def send_events(self) -> None:
        """Write the events that could not be written before, oldest first."""
        while self._unsent:
            send = self._unsent.pop(0)  # removed first: a listener that reads the journal would send it again
            try:
                send()
            except StateFailed:
                self._unsent.insert(0, send)
                raise

    def _rows(self, statement: str, values: Sequence[object] = ()) -> list[dict[str, Any]]:
        self.send_events()
        return self._database.rows(statement, values)

    def _select(self, statement: str, values: Sequence[object] = ()) -> list[dict[str, Any]]:
        return self._rows(statement.replace("?", "%s"), values)


_NEW_SPENDS = """
    select run.size, run.total, new.*
    from (select count(*) as size, sum(n) as total from spend where run = %s) as run
    left join spend as new on new.run = %s and new.n > %s order by new.n"""


class PostgresRunJournal(RunQueries[PostgresJournal]):
    """What one run writes: steps by key, events, questions, spends."""

    async def once(self, key: str, inputs: str, step: "Step") -> str:
        if (known := await self._recorded_step(key, inputs)) is not None:
            return known
        epoch, began = self.journal.driving(self.run), self.journal.clock()
        value = await step()
        values = (self.run, epoch, self.run, key, inputs, value, began, max(began, self.journal.clock()))
        if not (written := await self.journal.rows_when_available(RECORD_STEP, values)):
            raise self.journal.fenced(self.run)
        is_first = written[0]["first"]  # the first result counts
        return value if is_first else await self._recorded_step(key, inputs) or value

    async def available(self) -> None:
        await self.journal.available()

    async def _recorded_step(self, key: str, inputs: str) -> str | None:
        rows = await self.journal.rows_when_available(RECORDED_STEP, (self.run, key))
        return recorded_result(rows, self.run, key, inputs)

    def emit(self, event: "JournalEvent", key: str = "") -> None:
        """Write an event for people, and pass it to the listener. If this process drives the run and the database is
        unavailable, write the event and pass it on later. Raises Fenced if another driver has the run."""
        now, epoch = self.journal.clock(), self.journal._epochs.get(self.run, 0)
        values = _event_values(self.run, epoch, now, key, event, uuid.uuid4())

        def written(rows: list[dict[str, Any]]) -> None:
            if (number := rows[0]["number"]) is None:
                raise self.journal.fenced(self.run)
            if self.listen:
                self.listen(Event(id=number, at=now, key=key, kind=event.stored_kind, data=event.stored_data()))

        database, unsent = self.journal._database, self.journal._unsent
        if not epoch:  # nobody drives the run: a person's command writes this event, and waits for it
            self.journal.send_events()
            written(database.rows_unsynced(WRITE_EVENT, values))
        elif unsent or (rows := database.try_unsynced(WRITE_EVENT, values)) is None:
            unsent.append(lambda: written(database.rows_unsynced(WRITE_EVENT, values)))
        else:
            written(rows)

    def question(self, key: str, text: str, options: Sequence[str]) -> PersonAnswer | None:
        where = "select answer, comment, who from question where run = %s and key = %s"
        if rows := self.journal._rows(where, (self.run, key)):
            return PersonAnswer(**rows[0]) if rows[0]["answer"] else None
        statement = """
            with mine as (select 1 from run where id = %s and epoch = %s for share),
            put as (insert into question (run, key, text, options, asked_at)
                select %s, %s, %s, %s, %s from mine on conflict do nothing)
            select 1 from mine"""
        values = (self.run, key, text, json.dumps(list(options)), self.journal.clock())
        if not self.journal._rows(statement, (self.run, self.journal.driving(self.run), *values)):
            raise self.journal.fenced(self.run)
        return None

    def answer(self, key: str, answer: str, comment: str, who: str) -> bool:
        """Record an answer, unless the question has one already. If the run has a queue, also ask for a worker to
        continue the run. Returns whether the answer was recorded."""
        now = self.journal.clock()
        sets = "answer = %s, comment = %s, who = %s, answered_at = %s"
        given = "(answer = '' or (answer, who, answered_at) = (%s, %s, %s))"  # unanswered, or this answer is sent twice
        statement = f"update question set {sets} where run = %s and key = %s and {given} returning 1"  # noqa: S608
        values = (answer, comment, who, now, self.run, key, answer, who, now)

        def record(db: Connection) -> bool:
            if not db.execute(statement, values).fetchone():
                return False
            db.execute("select ask_for_drive(id) from run where id = %s and queue <> ''", (self.run,))
            return True

        self.journal.send_events()
        return self.journal._database.transaction(record)

    def spend(self, decide: "Decide") -> "Spend | None":
        """Let `decide` reserve or settle the budget of a call, and write the spend that `decide` returns. Returns this
        spend, or None if `decide` returned None. All of this is one synced transaction, and other writers of this run
        wait for its end. Raises Fenced if another driver has the run, but still records the cost of an ended call."""
        epoch, driver, token = self.journal.driving(self.run), self.journal.as_driver, uuid.uuid4()
        is_fenced = False

        def settle(db: Connection) -> "Spend | None":
            nonlocal is_fenced
            mine = "select 1 from run where id = %s and epoch = %s for no key update"
            is_fenced = not db.execute(mine, (self.run, epoch)).fetchone()

            def newer(number: int) -> "list[dict[str, Any]]":
                return db.execute(_NEW_SPENDS, (self.run, self.run, number)).fetchall()

            decided = decide(self._spends.read(newer))
            if decided is None:
                return None
            # True if nothing is to be settled: the call is open, or exactly this settlement is stored already.
            is_call = decided.state == "open" or decided in self._spends
            if is_fenced and not is_call:
                settle_call(db, self.run, decided, driver, late=True)  # record the cost all the same
            if is_fenced:
                return None
            if decided.state == "open":
                reserve_call(db, self.run, decided, driver, token)
            elif not is_call:
                settle_call(db, self.run, decided, driver)
            decided = replace(decided, at=max(decided.at, self.journal.clock()))  # the clock may have been set back
            row = {"run": self.run, **spend_columns(decided)}
            same = (self.run, decided.call, decided.attempt)
            db.execute("delete from spend where run = %s and call = %s and attempt = %s", same)
            names, marks = ", ".join(row), ", ".join(["%s"] * len(row))
            db.execute(f"insert into spend ({names}) values ({marks})", list(row.values()))  # noqa: S608
            return decided

        self.journal.send_events()
        settled = self.journal._database.transaction(settle)
        if is_fenced:
            raise self.journal.fenced(self.run)
        return settled

    def approve(self, approval: Approval, *, instead: bool = False) -> bool:
        return self.journal.approve(self.run, approval, instead=instead)


RECORDED_STEP = "select inputs, value from step where run = %s and key = %s"
# The run's row is locked, so the next claim waits for this commit and sees it, and steps of a run become visible in the
# order of their numbers.
RECORD_STEP = """
    with mine as (select epoch from run where id = %s and epoch = %s for no key update),
    put as (insert into step (run, key, inputs, value, began, ended, epoch)
        select %s, %s, %s, %s, %s, %s, epoch from mine on conflict do nothing returning 1)
    select exists (select 1 from put) as first from mine"""
WRITE_EVENT = f"select write_event({', '.join(['%s'] * 11)}) as number"
PLACE = "place"  # a file in the state folder; it holds the folder's name, which is unique among all machines
MACHINE = "machine"  # a file in the state folder; it holds a hash of the id of the machine that named the folder
MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))


def _event_values(
    run: str, epoch: int, at: float, key: str, event: "JournalEvent", token: uuid.UUID
) -> tuple[object, ...]:
    kind, data = event.stored_kind, event.stored_data()
    role = data.get("role")
    whole = json.dumps(data, ensure_ascii=False)
    texts = (key, kind, role if isinstance(role, str) else "", whole, lean(kind, data), bare(data))
    return run, epoch, at, *texts, token, claims(kind, data)


def place_of(home: Path, *, create: bool) -> uuid.UUID | None:
    """The unique name of this state folder; None if it has no name. With `create`, a folder without a name gets one.
    Raises StateFailed if the name cannot be read."""
    file = home / PLACE
    if not file.exists() and create:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = home / f"{PLACE}.{uuid.uuid4()}"
        made.write_text(str(uuid.uuid4()))
        with suppress(FileExistsError):  # another process was faster: its name counts
            file.hardlink_to(made)
        made.unlink()
    try:
        return uuid.UUID(file.read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise StateFailed(f"{file} holds no valid state folder name ({error}): restore it from a backup") from error


def is_named_here(home: Path, *, create: bool) -> bool:
    """Whether the state folder got its name on this machine. False for a copy on another machine. If several machines
    share a folder, True on only one of them. Always True if this machine has no id."""
    own = next((file.read_text().strip() for file in MACHINE_IDS if file.is_file()), "")
    named, file = digest(f"trued {own}"), home / MACHINE  # hashed: the id itself is private
    if not own:
        return True
    if create and not file.exists():
        atomic_files.write(file, named.encode(), sync=False)
    try:
        return file.read_text().strip() == named
    except OSError:
        return not file.exists()


def _why_queued(queue: str, refused: dict[str, str]) -> str:
    """Why a run that waits in this queue is not driven yet. `refused`: living worker of the queue → why this worker
    does not drive the run; "" if it would drive the run."""
    why = "; ".join(f"{name}: {why}" for name, why in refused.items() if why)
    if not refused:
        return f"no worker of the queue {queue} is running: the run waits for one"
    if all(refused.values()):
        return f"no worker of the queue {queue} can drive it: {why}"
    return f"it waits in the queue {queue} for a worker that has room{f' ({why})' if why else ''}"
