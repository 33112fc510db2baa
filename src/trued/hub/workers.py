"""The hub's table of workers: their leases, and what their own settings let them run."""

import os
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, TypeAlias

from trued.engine.inputs import Inputs
from trued.errors import BadInput
from trued.hub.claim import SOON
from trued.hub.database import Connection, Database, opened_database
from trued.hub.postgres import WAITS, WILL_BE_DRIVEN
from trued.hub.queue import SCHEMA
from trued.hub.schema import MIGRATIONS
from trued.model.settings import agent_kind

Move: TypeAlias = Callable[[Sequence[str], str], object]  # moves drives to a queue
FORMAT = "(select max(version)::text from format)"
KEEP_S = 3600.0  # how long an ended drive stays in DBOS's table, for people who look there
CLEAR = 500  # at most this many ended drives are removed at a time
# The newest drive of each run in DBOS's table; it is live until it has ended.
DRIVES = f"{SCHEMA}.workflow_status s join run r on s.workflow_uuid = 'drive/' || r.id || '/' || r.drives"
LIVE = "s.status in ('ENQUEUED', 'DELAYED', 'PENDING')"

# A look at a queue ends after this time, so that the lease is renewed. The next look gets further, because the results
# of this look's checks are remembered.
LOOKING_S = 5.0

PROGRAMS = ("acp", "command", "scripted")  # kinds of agents that run whatever program the asker names


@dataclass(frozen=True, slots=True)
class Offer:
    """What a worker's own settings let it run, and how many runs at the same time. The settings of a run cannot add
    anything to this."""

    name: str
    queue: str
    runs: int  # how many at the same time
    agents: tuple[str, ...]  # kinds of agents
    levels: tuple[str, ...]  # levels of the sandbox
    variables: tuple[str, ...] = ()  # environment variables of the worker that agents or forges may get
    readable: tuple[str, ...] = ()  # files and folders of the machine that agents may read
    repositories: tuple[str, ...] = ()  # local repositories that runs may work on; not needed with a store


@dataclass(frozen=True, slots=True)
class StoredWorker:
    """A worker as commands show it."""

    name: str
    life: int
    state: str  # working | draining | dead
    queue: str
    runs: int
    agents: tuple[str, ...]
    levels: tuple[str, ...]
    host: str
    version: str
    seconds_left: float  # of its lease
    drives: tuple[str, ...] = ()  # runs that it drives now

    def as_data(self) -> dict[str, Any]:
        """The fields for --json."""
        return {**asdict(self), "seconds_left": round(self.seconds_left, 1)}


def what_is_missing(offer: Offer | StoredWorker, inputs: Inputs, level: str) -> str:
    """The first thing that the run needs and this worker does not offer: an agent or the sandbox level, as text for
    people. "" if nothing is missing."""
    kinds = {agent_kind(agent) for agent in inputs.settings.agents.values()}
    if lacking := sorted(kinds - set(offer.agents)):
        return f"the agent {', '.join(lacking)}"
    if level not in offer.levels:
        return f"the sandbox level {level}"
    return ""


def what_is_withheld(
    offer: Offer, inputs: Inputs, environ: Collection[str], repository: str | None, *, calls_servers: bool = True
) -> str:
    """The first variable, repository or file of this machine that the run would see although the worker does not offer
    it, as text for people. "" if there is none.

    `repository`: the path of the run's repository on this machine; None if the run's work comes from the hub's store.
    `calls_servers`: whether the run may call its forge and its tracker from this machine. These calls would send them
    this machine's tokens.
    """
    settings = inputs.settings
    # The asker names these servers, and they would get the worker's token.
    servers = (settings.forge, settings.tickets) if calls_servers else ()
    tokens = [server.token_env for server in servers if server != type(server)() and server.kind != "local"]
    if hidden := sorted({name for name in (*settings.variables, *tokens) if name in environ} - set(offer.variables)):
        return f"the variable {hidden[0]}"
    if repository is not None and not (repository and _is_below(repository, offer.repositories)):
        return f"the repository {repository}"
    pictures = [picture for picture in (inputs.ticket.pictures if inputs.ticket else ()) if Path(picture).is_absolute()]
    may = (*offer.readable, *offer.repositories)
    return next((f"the file {path}" for path in (*settings.readable, *pictures) if not _is_below(path, may)), "")


def _is_below(path: str, folders: Sequence[str]) -> bool:
    """Whether a path, with links resolved, is one of these folders or in one of them."""
    place = Path(os.path.realpath(path))
    return any(place.is_relative_to(os.path.realpath(folder)) for folder in folders)


class Workers:
    """The rows of all workers. If a worker joins under the name of an older worker, the older worker loses its
    drives."""

    def __init__(self, database: Database, lease_s: float) -> None:
        self._database, self._lease_s = database, lease_s

    def join(self, offer: Offer, version: str) -> int:
        """Add this worker, or let it replace an earlier worker of its name. Returns the worker's life: 1 at its first
        start, and one more at each later start."""
        values = (offer.queue, list(offer.agents), list(offer.levels), offer.runs, os.uname().nodename, version)
        statement = f"""
            insert into worker as w (name, life, until, queue, agents, levels, runs, host, version, token)
            values (%s, 1, {SOON}, %s, %s, %s, %s, %s, %s, %s)
            on conflict (name) do update set
                life = w.life + (w.token <> excluded.token)::integer, until = excluded.until, dead = false,
                draining = false, queue = excluded.queue, agents = excluded.agents, levels = excluded.levels,
                runs = excluded.runs, host = excluded.host, version = excluded.version, token = excluded.token,
                began = clock_timestamp()
            returning life"""  # noqa: S608  (a constant)
        rows = self._database.rows(statement, (offer.name, self._lease_s, *values, uuid.uuid4()))
        return int(rows[0]["life"])

    def renew(self, name: str, life: int) -> list[dict[str, Any]] | None:
        """Renew the lease. Returns one row with `draining` and the hub's `format`. The list is empty if the worker was
        declared dead or replaced. Returns None if the database is unavailable."""
        statement = f"""update worker set until = {SOON} where name = %s and life = %s and not dead
            returning draining, (select max(version) from format) as format"""  # noqa: S608  (a constant)
        return self._database.try_once(statement, (self._lease_s, name, life))

    def other_format(self) -> int:
        """The format of the hub's tables if it differs from the format of this version of trued. Returns 0 if both are
        the same, or if the database does not answer."""
        rows = self._database.try_once("select max(version) as format from format") or []
        return sum(row["format"] for row in rows if row["format"] != len(MIGRATIONS))

    def is_alive(self, name: str, life: int) -> bool:
        where = "name = %s and life = %s and not dead and until > clock_timestamp()"
        return bool(self._database.rows(f"select 1 from worker where {where}", (name, life)))  # noqa: S608

    def ask_again(self, driver: str) -> None:
        """Ask for another drive of every run that this driver drives, because the driver is about to end. People who
        follow such a run then wait for its next driver."""
        statement = "update run set asked = asked + 1 where driver = %s and until > clock_timestamp() and queue <> ''"
        self._database.try_once(statement, (driver,))

    def leave(self, name: str, life: int) -> None:
        """Record that this worker has ended, so that other workers can continue its runs at once."""
        self._database.try_once("update worker set dead = true where name = %s and life = %s", (name, life))

    def drain(self, name: str) -> None:
        """Let a worker finish its drives, take no more, and end. Raises BadInput if no worker of this name runs."""
        where = "name = %s and not dead and until > clock_timestamp()"
        if not self._database.rows(f"update worker set draining = true where {where} returning 1", (name,)):  # noqa: S608
            raise BadInput(f"no worker {name} is running", then="`trued worker ls` lists them")

    def forget(self, name: str) -> None:
        """Declare a worker dead now, without waiting for its lease, so that it writes nothing more about its runs.
        Raises BadInput if no worker has this name."""
        if not self._database.rows("update worker set dead = true where name = %s returning 1", (name,)):
            raise BadInput(f"there is no worker {name}", then="`trued worker ls` lists them")
        self._database.transaction(_fence)

    def stored(self) -> list[StoredWorker]:
        """All workers, sorted by name."""
        left = "coalesce(extract(epoch from until - clock_timestamp()), 0)::float8"
        columns = f"name, life, dead, draining, queue, runs, agents, levels, host, version, {left} as left"
        rows = self._database.rows(f"select {columns} from worker order by name")  # noqa: S608
        held = self._database.rows("select id, driver from run where until > clock_timestamp() order by id")
        return [_stored_worker(row, [run["id"] for run in held if run["driver"] == executor(row)]) for row in rows]

    def waiting(self) -> dict[str, int]:
        """Queue → number of runs that wait there for a worker."""
        where = f"queue <> '' and {WAITS}"
        rows = self._database.rows(f"select queue, count(*) as number from run where {where} group by 1 order by 1")  # noqa: S608
        return {row["queue"]: row["number"] for row in rows}

    def refuse(self, run: str, name: str, life: int, why: str) -> None:
        """Record why this worker does not drive a run, so that the person who asked for the run can read it. If `why`
        is "", the worker may drive the run, and its earlier refusal is removed."""
        statement = """insert into refusal (run, worker, life, why) values (%s, %s, %s, %s)
            on conflict (run, worker) do update set life = excluded.life, why = excluded.why, at = clock_timestamp()"""
        if why:
            self._database.rows(statement, (run, name, life, why))
        else:
            self._database.rows("delete from refusal where run = %s and worker = %s", (run, name))

    def take(self, offer: Offer, fits: Callable[[str, int], bool], move: "Move") -> None:
        """Move drives from the shared queue to the worker's own queue, the oldest first, until the worker has as many
        as it offers to run. Skips the drives of runs for which `fits` is false. Only one worker moves drives at a time.
        A worker that can take no more does not read the shared queue."""
        own = own_queue(offer.name)
        room = f"select %s - count(*) as number from {DRIVES} where s.queue_name = %s and {LIVE}"  # noqa: S608
        there = f"""select s.workflow_uuid as drive, r.id as run, r.asked from {DRIVES}
            where s.queue_name = %s and s.status = 'ENQUEUED' and s.application_version = {FORMAT}
            order by s.created_at, r.id"""  # noqa: S608  (constants)
        (found,) = self._database.rows(room, (offer.runs, own))
        if found["number"] <= 0:
            return
        queued = ((str(row["run"]), int(row["asked"])) for row in self._database.rows(there, (offer.queue,)))
        until = time.monotonic() + LOOKING_S
        looked = takewhile(lambda _: time.monotonic() < until, queued)
        fitting = set(islice((run for run, asked in looked if fits(run, asked)), found["number"]))

        def work(db: Connection) -> None:
            db.execute("select pg_advisory_xact_lock(hashtext('trued queue'))")
            number = sum(row["number"] for row in db.execute(room, (offer.runs, own)))
            still = [str(row["drive"]) for row in db.execute(there, (offer.queue,)) if row["run"] in fitting]
            move(still[: max(0, number)], own)

        if fitting:
            self._database.transaction(work)

    def clear(self, remove: Callable[[Sequence[str]], object]) -> None:
        """Remove drives that ended long ago from DBOS's tables. The number of a removed drive is never used again."""
        statement = f"""select workflow_uuid as drive from {SCHEMA}.workflow_status
            where name = 'drive' and status not in ('ENQUEUED', 'DELAYED', 'PENDING')
            and updated_at < (extract(epoch from clock_timestamp()) - %s) * 1000 limit {CLEAR}"""  # noqa: S608
        remove([str(row["drive"]) for row in self._database.rows(statement, (KEEP_S,))])

    def reap(self, move: "Move") -> None:
        """Declare workers dead if their lease has expired, and give the drives of dead workers back to the queues of
        their runs. One worker does this at a time.

        Within one lease after the database started, no worker is declared dead, because no worker could renew its lease
        while the database was down.
        """

        def work(db: Connection) -> None:
            young = "pg_postmaster_start_time() > clock_timestamp() - make_interval(secs => %s)"
            started = db.execute(f"select {young} as young", (self._lease_s,)).fetchone()
            if not _take_reaper_lock(db) or not started or started["young"]:
                return
            db.execute("update worker set dead = true where not dead and until <= clock_timestamp()")
            _fence(db)
            _put_again(db)

        def give_back(db: Connection) -> None:
            for queue, drives in _drives_of_gone_workers(db).items() if _take_reaper_lock(db) else ():
                move(drives, queue)

        self._database.transaction(work)
        self._database.transaction(give_back)  # not in `work`: `move` changes rows that `work` may have locked


def own_queue(worker: str) -> str:
    """The queue that only this worker listens to."""
    return f"@{worker}"


def executor(row: Mapping[str, Any]) -> str:
    """The name of a worker's process: the worker's name and its life. No other process ever has this name."""
    return f"{row['name']}#{row['life']}"


def _stored_worker(row: Mapping[str, Any], drives: Sequence[str]) -> StoredWorker:
    state = "dead" if row["dead"] or row["left"] <= 0 else "draining" if row["draining"] else "working"
    known: dict[str, Any] = {name: row[name] for name in ("name", "life", "queue", "runs", "host", "version")}
    known |= {name: tuple(row[name]) for name in ("agents", "levels")}
    return StoredWorker(**known, state=state, seconds_left=max(0.0, row["left"]), drives=tuple(drives))


def _take_reaper_lock(db: Connection) -> bool:
    """Take the lock for reaping until this transaction ends. Returns False if another worker has it."""
    free = db.execute("select pg_try_advisory_xact_lock(hashtext('trued reaper')) as free").fetchone()
    return bool(free and free["free"])


def _drives_of_gone_workers(db: Connection) -> dict[str, list[str]]:
    """Queue → the drives of gone workers that have to be moved to this queue.

    If a worker was started again, the drives that its last process was running go to the worker's own queue, because
    the new process adopts their agents. All other drives go back to the queue of their run.
    """
    gone = """s.queue_name <> r.queue and not exists (select 1 from worker w where not w.dead and
        (s.status = 'PENDING' and s.executor_id = w.name || '#' || w.life
        or s.status <> 'PENDING' and s.queue_name = '@' || w.name))"""
    again = "s.status = 'PENDING' and not w.dead and not w.draining and w.name = split_part(s.executor_id, '#', 1)"
    queue = f"coalesce((select '@' || w.name from worker w where {again}), r.queue) as queue"  # noqa: S608
    statement = f"select {queue}, s.workflow_uuid as drive from {DRIVES} where {LIVE} and {gone}"  # noqa: S608
    left: dict[str, list[str]] = {}
    for row in db.execute(statement):
        left.setdefault(str(row["queue"]), []).append(str(row["drive"]))
    return left


def _fence(db: Connection) -> None:
    """Fence dead and replaced workers, so that they write nothing more about their runs. Mark attempts as lost: those
    whose own lease has ended, and those of workers that were declared dead before their lease ended."""
    gone = (
        "position('#' in {0}) > 0 and split_part({0}, '#', 1) = w.name and (w.dead or {0} <> w.name || '#' || w.life)"
    )
    of_dead = "a.state = 'open' and w.dead and position('#' in a.worker) > 0 and split_part(a.worker, '#', 1) = w.name"
    # A worker that died before its lease ran out loses all its attempts. If the lease ran out, the worker may be alive,
    # but cut off: each of its agents works until the attempt's own lease ends.
    of_dead += " and (w.until > clock_timestamp() or a.until <= clock_timestamp())"
    fence = "update run r set epoch = epoch + 1, until = null from worker w where r.until is not null and "
    db.execute(fence + gone.format("r.driver"))
    db.execute(f"update attempt a set state = 'lost' from worker w where {of_dead}")  # noqa: S608
    db.execute("update attempt set state = 'lost' where state = 'open' and until <= clock_timestamp()")


def _put_again(db: Connection) -> None:
    """Put a run into its queue if somebody asked for it or its driver abandoned it. Runs that have a drive or a driver
    are left alone.

    Before that, give waiting drives of an earlier format the current format, so that workers take them. Also remove the
    refusals of runs that no worker will drive.
    """
    relabel = f"""update {SCHEMA}.workflow_status set application_version = {FORMAT}
        where name = 'drive' and status in ('ENQUEUED', 'DELAYED') and application_version <> {FORMAT}"""  # noqa: S608
    live = f"select 1 from {DRIVES} where r.id = run.id and {LIVE}"  # noqa: S608  (constants)
    wanted = f"select 1 from run where id = refusal.run and {WILL_BE_DRIVEN}"  # noqa: S608  (constants)
    db.execute(relabel)
    db.execute(f"delete from refusal where not exists ({wanted})")  # noqa: S608  (constants)
    db.execute(f"select put_drive(id) from run where queue <> '' and {WAITS} and not exists ({live})")  # noqa: S608


@contextmanager
def opened_workers(url: str) -> Iterator[Workers]:
    """The workers of a hub, for commands about them. Raises StateFailed if the hub has another version."""
    with opened_database(url) as database:
        yield Workers(database, 0.0)
