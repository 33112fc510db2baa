"""Attempts at paid calls: each is a row that is written before the call is made. A call has at most one open attempt;
its first result counts, and of later results only the cost is recorded."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias
from uuid import UUID

from trued.errors import BadInput, Postponed
from trued.hub.claim import SOON
from trued.hub.database import Connection, Database
from trued.run.budget import agent_kind
from trued.wire import Amount, Spend

RETRY_S = 5.0  # how long to retry while the database is unavailable: short, because a person is waiting

Ending: TypeAlias = Literal["done", "stopped", "died", "failed"]  # as reported by the process that ran the attempt
# `lost`: its lease has expired, but its end may still be reported. `late`: another attempt's result was recorded first.
AttemptState: TypeAlias = Literal["open", "lost", "late", Ending]


@dataclass(frozen=True, slots=True)
class PaidAttempt:
    """One attempt at a call, and what it cost."""

    key: str
    number: int
    worker: str
    state: AttemptState
    spent: Amount


@dataclass(frozen=True, slots=True)
class Driver:
    """The process that makes a run's calls: its name, the name of its state folder (`place`), and its lease in
    seconds."""

    name: str
    place: UUID | None
    lease_s: float


def reserve_call(db: Connection, run: str, spend: Spend, driver: Driver, token: UUID) -> None:
    """Open an attempt at this call; if one is already open in this driver's state folder, keep it. The transaction `db`
    also reserves the budget.

    Raises Postponed while the agent's cap is reached, or while an attempt in another state folder may be running: then
    the call must not be made yet. The caller must hold the run's newest epoch and have locked the run's row.
    """
    values = (
        run,
        spend.step,
        call_of(spend),
        agent_kind(spend.agent),
        token,
        driver.name,
        driver.place,
        driver.lease_s,
    )
    marks = ", ".join(["%s"] * len(values))
    found = db.execute(f"select given, why from reserve_call({marks})", values).fetchone()  # noqa: S608  (marks)
    if found is None or found["given"] is None:
        raise Postponed(str(found["why"]) if found else "the hub gave no answer to the reservation")


def settle_call(db: Connection, run: str, spend: Spend, driver: Driver, *, late: bool = False) -> None:
    """Record how an attempt ended and what it cost, in the transaction `db` that also settles its budget. The step's
    result is recorded elsewhere.

    `late`: this driver has lost the run, so the result does not count, and the attempt is recorded as late. If this
    machine gets the run back before another machine has made the call, the result counts after all: a second call of
    this function, without `late`, replaces the record.
    """
    paid = (spend.spent.usd, spend.spent.tokens, spend.spent.seconds)
    newest = """select max(number) from attempt where run = %s and key = %s and call = %s
        and place is not distinct from %s and state = any(%s)"""
    statement = f"""update attempt set state = %s, usd = %s, tokens = %s, seconds = %s, ended = clock_timestamp()
        where run = %s and key = %s and number = ({newest})"""  # noqa: S608  (constants)
    which, before = (run, spend.step), ["open", "lost", *([] if late else ["late"])]
    state = "late" if late else spend.state
    db.execute(statement, (state, *paid, *which, *which, call_of(spend), driver.place, before))


def call_of(spend: Spend) -> str:
    """A name for this attempt, unique within its run: the call's name and the attempt's number."""
    return f"{spend.call}.{spend.attempt}"


@contextmanager
def opened_caps(url: str) -> "Iterator[Caps]":
    """The caps of a hub, for one `with` block. Raises StateFailed if the hub was not prepared by this version of
    trued."""
    database = Database(url, "trued", lambda: RETRY_S)
    try:
        database.refuse_other_version()
        yield Caps(database)
    finally:
        database.close()


class Caps:
    """How many calls of an agent may run, over all machines and runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def set(self, agent: str, at_once: int | None, per_minute: int | None) -> None:
        """Cap the calls of an agent; None: no cap. Raises StateFailed if this login is not the owner's."""
        statement = """insert into cap values (%s, %s, %s) on conflict (agent) do update
            set at_once = excluded.at_once, per_minute = excluded.per_minute"""
        self._database.rows(statement, (agent, at_once, per_minute))

    def stored(self) -> list[dict[str, Any]]:
        """Agents with their caps, and how many of their calls are running."""
        now = (
            "select count(*) from attempt a where a.agent = cap.agent and state = 'open' and until > clock_timestamp()"
        )
        columns = f"agent, at_once, per_minute, ({now}) as at_work"
        return self._database.rows(f"select {columns} from cap order by agent")  # noqa: S608  (constants)


class Attempts:
    """The attempts at calls of all runs. Every method may be called again with the same arguments."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database, self._clock = database, clock

    def reserve(self, run: str, key: str, *, token: UUID, worker: str, lease_s: float) -> int | None:
        """Open an attempt at this call and return its number; the same token gets the same number again. None if
        another attempt is open or the call has its result: then the call must not be made."""
        values = (run, key, token, worker, lease_s)
        given = self._database.rows("select reserve_attempt(%s, %s, %s, %s, %s) as number", values)[0]["number"]
        return None if given is None else int(given)

    def renew(self, run: str, key: str, number: int, *, lease_s: float) -> bool:
        """Renew the lease of an open attempt. False: it is no longer open, and its agent has to end."""
        where = "run = %s and key = %s and number = %s and state = 'open'"
        statement = f"update attempt set until = {SOON} where {where} returning 1"  # noqa: S608  (constants)
        return bool(self._database.rows(statement, (lease_s, run, key, number)))

    def lose(self, run: str) -> list[tuple[str, int]]:
        """Mark a run's open attempts as lost if their leases have expired, so that others can be opened. Returns key
        and number of each."""
        where = "run = %s and state = 'open' and until <= clock_timestamp()"
        statement = f"update attempt set state = 'lost' where {where} returning key, number"  # noqa: S608  (constants)
        return [(row["key"], row["number"]) for row in self._database.rows(statement, (run,))]

    def settle(
        self, run: str, key: str, number: int, ending: Ending, spent: Amount, *, inputs: str = "", value: str = ""
    ) -> AttemptState:
        """Record how an attempt ended, what it cost and, if it is done, the step's result, in one transaction.

        Returns the recorded state: `late` if the step already has a result, which is kept. An attempt ends once;
        later reports change nothing. Raises BadInput if there is no such attempt.
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
