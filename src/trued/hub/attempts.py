"""Attempts: a row before every paid call. One is open at a time, the first result stands, later ones are paid for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias
from uuid import UUID

from trued.errors import BadInput
from trued.hub.claim import SOON
from trued.hub.database import Database
from trued.wire import Amount

Ending: TypeAlias = Literal["done", "stopped", "died", "failed"]  # as whoever ran the attempt says
# `lost`: its lease is over, and its end may still come. `late`: another attempt's result was there first.
AttemptState: TypeAlias = Literal["open", "lost", "late", Ending]


@dataclass(frozen=True, slots=True)
class PaidAttempt:
    """One attempt at a call, and what it cost."""

    key: str
    number: int
    worker: str
    state: AttemptState
    spent: Amount


class Attempts:
    """The attempts at calls of all runs. Every method may be called again with the same arguments."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database, self._clock = database, clock

    def reserve(self, run: str, key: str, *, token: UUID, worker: str, lease_s: float) -> int | None:
        """Open an attempt at this call and return its number; the same token gets the same number again. None if
        another one is open or the call has its result: then nothing may be paid."""
        values = (run, key, token, worker, lease_s)
        given = self._database.rows("select reserve_attempt(%s, %s, %s, %s, %s) as number", values)[0]["number"]
        return None if given is None else int(given)

    def renew(self, run: str, key: str, number: int, *, lease_s: float) -> bool:
        """Keep an open attempt for another lease. False: it is open no more, and its agent has to end."""
        where = "run = %s and key = %s and number = %s and state = 'open'"
        statement = f"update attempt set until = {SOON} where {where} returning 1"  # noqa: S608  (constants)
        return bool(self._database.rows(statement, (lease_s, run, key, number)))

    def lose(self, run: str) -> list[tuple[str, int]]:
        """Mark the open attempts of a run whose lease is over as lost, so that others can be opened; return key and
        number of each."""
        where = "run = %s and state = 'open' and until <= clock_timestamp()"
        statement = f"update attempt set state = 'lost' where {where} returning key, number"  # noqa: S608  (constants)
        return [(row["key"], row["number"]) for row in self._database.rows(statement, (run,))]

    def settle(
        self, run: str, key: str, number: int, ending: Ending, spent: Amount, *, inputs: str = "", value: str = ""
    ) -> AttemptState:
        """Record how an attempt ended, what it cost and, if it is done, its result as the step's, in one transaction.

        Returns the state that is recorded: `late` if the step has a result, which stands. An attempt ends once; what
        is said of it later changes nothing. Raises BadInput if there is no such attempt.
        """
        paid = (spent.usd, spent.tokens, spent.seconds)
        values = (run, key, number, ending, *paid, inputs, value, self._clock())
        statement = f"select settle_attempt({', '.join(['%s'] * len(values))}) as state"
        state: AttemptState | None = self._database.rows(statement, values)[0]["state"]
        if state is None:
            raise BadInput(f"there is no attempt {number} at {key!r} of run {run}", then="reserve it before it is paid")
        return state

    def of(self, run: str) -> list[PaidAttempt]:
        """The attempts of a run, oldest first."""
        columns = "key, number, worker, state, usd, tokens, seconds"
        rows = self._database.rows(f"select {columns} from attempt where run = %s order by began, key", (run,))  # noqa: S608
        return [
            PaidAttempt(
                row["key"],
                row["number"],
                row["worker"],
                row["state"],
                Amount(row["usd"], row["tokens"], 0, row["seconds"]),
            )
            for row in rows
        ]
