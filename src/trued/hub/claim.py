"""Claim: the right to drive one run, as an epoch that the database gives out and a lease that a thread renews."""

import threading
from types import TracebackType

from trued.hub.database import Database

RENEWALS = 15  # in one lease: a few may fail


class Claim:
    """While it is open, its lease is renewed. A driver that is killed, frozen or cut off renews nothing: when the lease
    is over, anybody may take the next epoch, and whatever this one writes later is refused by the database."""

    def __init__(self, database: Database, run: str, epoch: int, lease_s: float) -> None:
        """`database`: connections of this claim's own, which it closes."""
        self.epoch, self._database, self._run, self._lease_s = epoch, database, run, lease_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._renew, name=f"lease of {run}", daemon=True)

    def __enter__(self) -> "Claim":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def release(self) -> bool:
        """Give the run back. Returns whether that is sure: it may have been lost before, or the database is away."""
        statement = "update run set until = null where id = %s and epoch = %s returning 1"
        return bool(self._database.try_once(statement, (self._run, self.epoch)))

    def close(self) -> None:
        self._database.close()

    def _renew(self) -> None:
        statement = f"update run set until = {SOON} where id = %s and epoch = %s returning 1"  # noqa: S608  (a constant)
        while not self._over.wait(self._lease_s / RENEWALS):
            if self._database.try_once(statement, (self._lease_s, self._run, self.epoch)) == []:
                return  # somebody else drives it: the next write will say so


SOON = "clock_timestamp() + make_interval(secs => %s)"  # by the database's clock, which all can see
