"""Claim: the right to drive one run, as an epoch that the database gives out and a lease that a thread renews."""

import threading
from collections.abc import Callable
from types import TracebackType
from uuid import UUID

from trued.hub.database import Database
from trued.support.lease_file import LeaseFile, boot_time

RENEWALS = 15  # how often a lease is renewed before it would expire: often, because a few renewals may fail
MARGIN = 0.2  # share of a lease that is left for ending the agents before others may take over
LOOK_S = 1.0  # how often a driver checks whether its run was cancelled


class Claim:
    """Renews the lease of a run while the claim is open. If the driver is killed, frozen or cut off, the lease expires.
    Then another driver may take the next epoch, and the database refuses the old driver's writes."""

    def __init__(
        self,
        database: Database,
        run: str,
        epoch: int,
        lease_s: float,
        place: UUID | None,
        end_driver: Callable[[], None] | None = None,
        lease_file: LeaseFile | None = None,
    ) -> None:
        """`database`: connections that only this claim uses, and that `close` closes. `place`: the name of the state
        folder in which this driver's agents work. The claim also renews the leases of attempts in this folder.
        `end_driver`: called when the run was cancelled, and when another driver has taken the run. `lease_file`: tells
        supervisors how long this driver's agents may work."""
        self.epoch, self._database, self._run, self._lease_s, self._place = epoch, database, run, lease_s, place
        self._end_driver, self._lease_file = end_driver or (lambda: None), lease_file
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._hold, name=f"lease of {run}", daemon=True)

    def __enter__(self) -> "Claim":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def release(self) -> bool:
        """Give the run back. False if that is not certain: the claim was lost, or the database is unavailable."""
        statement = """
            with mine as (update run set until = null where id = %s and epoch = %s returning id),
            over as (update attempt set state = 'lost' from mine
                where run = mine.id and state = 'open' and place is not distinct from %s::uuid)
            select 1 from mine"""  # attempts become `lost`: their agents have ended, but may still report their usage
        return bool(self._database.try_once(statement, (self._run, self.epoch, self._place)))

    def close(self) -> None:
        self._database.close()

    def allow(self, asked: float) -> None:
        """Let agents work until shortly before the lease ends. `asked`: when the lease was requested. No other driver
        may take the run before the lease ends."""
        if self._lease_file:
            self._lease_file.extend(asked + self._lease_s * (1 - MARGIN))

    def _hold(self) -> None:
        """Renew the lease and check whether the run was cancelled, until the claim ends or is lost."""
        every, renewed = self._lease_s / RENEWALS, boot_time()  # a clock that also runs while the machine sleeps
        renew = f"""
            with soon as (select {SOON} as at),
            mine as (update run set until = soon.at from soon where id = %s and epoch = %s returning id, cancelled),
            kept as (update attempt set until = soon.at from soon, mine
                where run = mine.id and state = 'open' and place is not distinct from %s::uuid)
            select cancelled from mine"""  # noqa: S608  (a constant)
        look = "select cancelled from run where id = %s and epoch = %s"
        mine = (self._run, self.epoch)
        while not self._over.wait(min(LOOK_S, every)):
            asked = boot_time()
            due = asked - renewed >= every
            found = self._database.try_once(*((renew, (self._lease_s, *mine, self._place)) if due else (look, mine)))
            if found is None:
                continue  # the database is unavailable
            if due and found:
                self.allow(asked)
            renewed = boot_time() if due else renewed
            if not found or found[0]["cancelled"]:
                self._end_driver()
            if not found:
                return  # another driver has the run, so this driver's next write will fail


SOON = "clock_timestamp() + make_interval(secs => %s)"  # by the database's clock, which all machines share
