"""Worker: a process that takes runs from a queue, drives them on its machine, and puts runs of dead workers back."""

import asyncio
import errno
import math
import signal
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from trued.engine.engine import Engine
from trued.engine.run_end import DriveEnd, end_run
from trued.engine.run_store import RunStore
from trued.errors import AgentFailed, BadInput, Busy, Fenced, StateFailed, TruedError
from trued.hub.claim import RENEWALS
from trued.hub.database import Database
from trued.hub.postgres import ASKED_FOR, LEASE_S, PostgresJournal
from trued.hub.queue import DriveQueue, load_queue
from trued.hub.schema import MIGRATIONS
from trued.hub.workers import PROGRAMS, Offer, Workers, executor, own_queue, what_is_missing, what_is_withheld
from trued.inputs.settings.folders import FILE, user_config
from trued.inputs.settings.hub import store_address
from trued.model import RunRecord
from trued.model.records import ENDED_STATES
from trued.support.lazy_regex import lazy_regex

__all__ = ["PROGRAMS", "Offer", "Worker", "run_worker"]

ENDING_S = 30.0  # how long drives may take to end their agents when this worker ends
NAME = lazy_regex(r"[A-Za-z0-9][\w.-]*")  # a worker's name; "@" and "#" are reserved
RUN = lazy_regex(r"r-[a-z0-9]+")
AGAIN_S = 5.0  # delay before a run that could not be driven is offered again
TAKE_S = 1.0  # seconds between two looks at the queue: a run waits at most this long for a worker that has room
CHECK_S = 300.0  # after this time a refused run is checked again: an agent may have been installed here meanwhile
# Errors of the operating system that other machines may not have: disk, memory, open files, this machine's folders.
_ITS_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
OF_THIS_MACHINE = frozenset((*_ITS_DISK, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EISDIR, errno.EEXIST))
LEFT = ("clones", "rooms")  # folders of a run that nobody needs once it has ended
NOTIFY = "NOTIFY_SOCKET"  # the variable with the address at which systemd listens to a service with WatchdogSec=
HOLD_S = 30.0  # how long a run whose drive failed here is left to others; doubled after each further failure
HOLD_AT_MOST_S = 240.0


def say(words: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {words}", file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True)
class Drive:
    """One run that this process is driving: the task, and the event loop in which the task runs."""

    loop: asyncio.AbstractEventLoop
    task: "asyncio.Task[RunRecord]"

    def interrupt(self) -> None:
        self.loop.call_soon_threadsafe(self.task.cancel)


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of checking whether this worker may drive a run. The check is repeated after `until`, or when `asked`
    or `settings` has changed."""

    why: str  # why the worker may not drive the run; "" if it may
    asked: float  # how many drives of the run had been asked for; infinite if a later request changes nothing
    settings: int  # when this machine's own settings were last changed
    until: float


class Worker:
    """Drives runs until it is drained, ended by a signal, replaced by another worker of its name, or declared dead."""

    def __init__(
        self, url: str, home: Path, environ: Mapping[str, str], offer: Offer, lease_s: float = LEASE_S
    ) -> None:
        self._url, self._home, self._environ, self._offer, self._lease_s = url, home, environ, offer, lease_s
        self._database = Database(url, "trued", lambda: min(lease_s, 60.0))
        self._workers = Workers(self._database, lease_s)
        self._drives: dict[str, Drive] = {}
        self._turn = threading.Lock()
        self._ends = threading.Event()  # set when a signal asks this process to end
        self._takes = True
        self._failed = ""  # the error of the last call in `_safely`, so that it is printed only once
        self._checked: dict[str, Checked] = {}  # by run
        self._failures: Counter[str] = Counter()  # run → how often in a row its drive failed on this machine
        self.life = 0

    @property
    def name(self) -> str:
        return executor({"name": self._offer.name, "life": self.life})

    def work(self) -> int:
        """Work until this worker has to end; return the exit code. Raises StateFailed for a hub of another version, and
        BadInput for a hub that needs no password."""
        self._database.refuse_other_version()
        self._database.refuse_if_open()
        load_queue()  # before the lease begins, because it takes seconds
        self.life = self._workers.join(self._offer, version("trued"))
        queue = DriveQueue(self._database, own_queue(self._offer.name), self.name, str(len(MIGRATIONS)))
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._ends.set())
        try:
            queue.listen(self._drive)
            say(f"{self.name} takes runs from {self._offer.queue}: {', '.join(self._offer.agents)}")
            return self._work_until_end(queue)
        finally:
            self._interrupt_all()
            self._workers.leave(self._offer.name, self.life)
            queue.close()
            self._database.close()

    def _work_until_end(self, queue: DriveQueue) -> int:
        """Take drives, renew the lease and reap dead workers, until this worker has to end."""
        due = 0.0
        while not self._ends.wait(TAKE_S):
            self._tell_systemd()
            if time.monotonic() >= due:
                due = time.monotonic() + self._lease_s / RENEWALS
                found = self._workers.renew(self._offer.name, self.life)
                if found is None:  # try again: perhaps only the connection was cut
                    found = self._workers.renew(self._offer.name, self.life)
                if found is None and (other := self._workers.other_format()):
                    say(f"the hub was prepared by another version of trued (format {other}): {self.name} ends")
                    return StateFailed.code
                if found is None:
                    continue  # the database is unavailable
                if not found:
                    say(f"{self.name} was replaced by another worker of its name, or declared dead: it ends")
                    return Fenced.code
                if found[0]["format"] != len(MIGRATIONS) and self._takes:
                    say(f"the hub was prepared by another version of trued: {self.name} finishes its runs and ends")
                self._takes = not found[0]["draining"] and found[0]["format"] == len(MIGRATIONS)
                self._safely(lambda: self._tidy(queue))
            if self._takes:
                self._safely(lambda: self._workers.take(self._offer, self._may_drive, queue.move))
            elif not self._drives:
                say(f"{self.name} is drained")
                return 0
        say(f"{self.name} ends; its runs go back to their queue")
        return 0

    def _tell_systemd(self) -> None:
        """If systemd watches this worker, report that the worker does not hang. systemd restarts a worker that hangs.
        Then the new process adopts the old one's agents, as long as their lease lasts."""
        if address := self._environ.get(NOTIFY):
            with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as said:
                said.sendto(b"WATCHDOG=1", address.replace("@", "\0", 1) if address.startswith("@") else address)

    def _tidy(self, queue: DriveQueue) -> None:
        self._workers.reap(queue.move)
        self._workers.clear(queue.remove)
        self._clean_up()

    def _clean_up(self) -> None:
        """Remove the folders that ended runs left in this state folder. A worker that lost a run to another worker
        leaves such folders behind."""
        left = {path.parent.name for name in LEFT for path in self._home.glob(f"runs/*/{name}")} - self._drives.keys()
        if not left:
            return
        statement = "select id from run where id = any(%s) and state = any(%s)"
        ended = [row["id"] for row in self._database.rows(statement, (sorted(left), list(ENDED_STATES)))]
        for run in ended:
            with self._open_store() as (store, journal), suppress(Busy):
                asyncio.run(Engine(store).clean_up(journal.run(run)))

    def _safely(self, do: Callable[[], None]) -> None:
        """Call `do`. Print an error instead of raising it, because a worker soon does the same work again. If several
        calls in a row fail with the same error, the error is printed once."""
        failed = ""
        self._tell_systemd()  # before each call, since an unavailable database can block it for a minute
        try:
            do()
        except Exception as error:  # noqa: BLE001  (a worker that ends would leave its runs)
            failed = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        if failed and failed != self._failed:
            say(failed)
        self._failed = failed

    def _interrupt_all(self) -> None:
        """End the agents of all drives; their runs go back to their queue."""
        self._takes = False
        self._workers.ask_again(self.name)  # before the runs are released, so that watchers wait for the next driver
        until = time.monotonic() + ENDING_S
        while self._drives and time.monotonic() < until:
            with self._turn:
                for drive in self._drives.values():
                    drive.interrupt()
            time.sleep(0.1)

    # -- one drive -----------------------------------------------------------------------------------------------------

    def _drive(self, run: str, number: int) -> None:
        """Drive a run until it ends or waits for a person, or until this worker ends. Runs in a thread of DBOS."""
        if not self._workers.is_alive(self._offer.name, self.life):
            return  # the worker that declares this one dead gives the drive to another
        with self._open_store() as (store, journal):
            asked = self._drives_asked_for(run)
            if lacking := self._why_not(store, journal, run):  # possible if another worker moved the drive here
                self._refuse(run, Checked(lacking, asked + 1, self._settings_changed_at(), time.monotonic() + CHECK_S))
                self._put_into_queue(run, number, again=True)
                return
            say(f"{run}: driven by {self.name}")
            again = False
            try:
                record = asyncio.run(self._resume(store, run))
                self._failures.pop(run, None)
                say(f"{run}: {record.state}{f': {record.why}' if record.why else ''}")
                again = record.state == "interrupted" and not record.has_ended
            except Fenced as error:
                say(f"{run}: {error}")
                return
            except Busy as error:  # another process drives it
                say(f"{run}: {error}")
                again = True
            except (StateFailed, OSError) as error:  # this machine's disk is full, or hub or store stayed unavailable
                if isinstance(error, OSError) and error.errno not in OF_THIS_MACHINE:
                    self._fail(store, run, error)  # the same would happen on every machine, and each would pay again
                else:
                    self._leave_to_others(run, " ".join(str(error).split())[:500])
                    again = True
            except Exception as error:  # noqa: BLE001  (one run must not end the others)
                self._fail(store, run, error)
        self._database.rows("update run set served = greatest(served, %s) where id = %s", (asked, run))
        self._put_into_queue(run, number, again=again)

    def _leave_to_others(self, run: str, why: str) -> None:
        """After a drive of the run failed on this machine, do not drive the run here for a while, longer after each
        failure. Two workers that both fail would otherwise hand the run to each other every few seconds."""
        self._failures[run] += 1
        hold_s = min(HOLD_S * 2 ** (self._failures[run] - 1), HOLD_AT_MOST_S)
        self._refuse(run, Checked(why, math.inf, self._settings_changed_at(), time.monotonic() + hold_s))

    @contextmanager
    def _open_store(self) -> Iterator[tuple[RunStore, PostgresJournal]]:
        """A store and a journal with connections for one drive only."""
        journal = PostgresJournal(self._url, name=self.name, home=self._home, lease_s=self._lease_s)
        journal.travels = bool(store_address(self._environ))
        with RunStore(self._home, self._environ, journal=journal) as store:
            yield store, journal

    def _drives_asked_for(self, run: str) -> int:
        """How often people and workers have asked for a drive of this run so far. The drive that begins now serves all
        these requests; a later request gets another drive."""
        return sum(int(row["asked"]) for row in self._database.rows("select asked from run where id = %s", (run,)))

    async def _resume(self, store: RunStore, run: str) -> RunRecord:
        task = asyncio.ensure_future(Engine(store).resume(run))
        with self._turn:
            self._drives[run] = Drive(asyncio.get_running_loop(), task)
        try:
            return await task
        except asyncio.CancelledError:
            return store.journal.run(run).model_copy(update={"state": "interrupted"})
        finally:
            with self._turn:
                del self._drives[run]

    def _may_drive(self, run: str, asked: int) -> bool:
        """Whether this worker may drive the run. If not, the reason is recorded for whoever asked for the run."""
        known, changed = self._checked.get(run), self._settings_changed_at()
        if known and time.monotonic() < known.until and known.asked >= asked and known.settings == changed:
            return not known.why
        try:
            with self._open_store() as (store, journal):
                lacking = self._why_not(store, journal, run)
            hold_s = CHECK_S
        except (StateFailed, OSError) as error:  # the hub or the store is unavailable for a moment
            lacking, hold_s = " ".join(str(error).split())[:200], HOLD_S
        except Exception as error:  # noqa: BLE001  (one row must not keep all others waiting)
            lacking, hold_s = f"unexpected {type(error).__name__}: {' '.join(str(error).split())[:200]}", CHECK_S
        found = Checked(lacking, asked, changed, time.monotonic() + hold_s)
        self._refuse(run, found, known)
        return not lacking

    def _refuse(self, run: str, found: Checked, before: Checked | None = None) -> None:
        """Remember and record the result of a check; print it if it differs from the previous result."""
        self._checked[run], known = found, before.why if before else ""
        if found.why or known:
            self._workers.refuse(run, self._offer.name, self.life, found.why)
        if found.why != known:
            say(f"{run}: not driven here: {found.why}" if found.why else f"{run}: can be driven here now")

    def _settings_changed_at(self) -> int:
        """When this machine's own settings were last changed, in nanoseconds; 0 if it has none."""
        try:
            return (user_config(self._environ) / FILE).stat().st_mtime_ns
        except OSError:
            return 0

    def _why_not(self, store: RunStore, journal: PostgresJournal, run: str) -> str:
        """Why this worker may not or cannot drive the run; "" if it can."""
        if not RUN.fullmatch(run):  # the id becomes the name of a folder
            return "its id does not have the form of trued's run ids"
        try:
            inputs, record = store.inputs(run), journal.run(run)
        except ValueError:
            return "a newer version of trued recorded it"
        try:
            journal.refuse_if_elsewhere(run)
            Engine(store).check_machine(record)
            travel = store.travel(record)
            level = travel.level(inputs) if travel else inputs.level
        except BadInput as error:
            return str(error)
        lacking = what_is_missing(self._offer, inputs, level)
        here = None if travel and travel.sent() else record.repository
        origin = travel is None or travel.is_origin
        lacking = lacking or what_is_withheld(
            self._offer, inputs, self._environ.keys(), here, calls_servers=origin or here is not None
        )
        return f"{self._offer.name} may not use {lacking}" if lacking else ""

    def _put_into_queue(self, run: str, number: int, *, again: bool) -> None:
        """Put the next drive of the run into the run's queue if `again` is set, or if somebody asked for a drive after
        drive `number` had begun. Otherwise do nothing."""
        where = f"id = %s and (%s or {ASKED_FOR})"
        statement = f"select put_drive(id, %s, %s) from run where {where}"  # noqa: S608  (constants)
        self._database.rows(statement, (number, AGAIN_S if again and self._takes else 0.0, run, again))

    def _fail(self, store: RunStore, run: str, error: Exception) -> None:
        """Record that a run cannot be driven, so that people see it and can resume it."""
        words = str(error) if isinstance(error, TruedError) else f"unexpected {type(error).__name__}: {error}"
        say(f"{run}: {words}")
        record = store.journal.run(run)
        if not record.has_ended:
            code = error.code if isinstance(error, TruedError) else AgentFailed.code
            end_run(store, record, DriveEnd("failed", code, " ".join(words.split())[:500]))


def run_worker(url: str, home: Path, environ: Mapping[str, str], offer: Offer, lease_s: float = LEASE_S) -> int:
    """Take and drive runs until this worker has to end; return the exit code. Raises BadInput for an invalid name."""
    for what, given in (("worker", offer.name), ("queue", offer.queue)):
        if not NAME.fullmatch(given):
            raise BadInput(
                f"{given!r} cannot be the name of a {what}",
                then="begin with a letter or digit; then letters, digits, dots, dashes and underscores",
            )
    return Worker(url, home, environ, replace(offer, runs=max(1, offer.runs)), lease_s).work()
