"""Attempts at paid calls: each attempt is a row that is written before the call is made.

A call has at most one open attempt. The call's first result counts. Of later results, only the cost is recorded.

A row's state is `open`, `lost`, `late`, or how the call ended. `lost`: the attempt's lease has expired, or its driver
has given the run back or is gone; how the attempt ended may still be reported. `late`: the attempt ended after its
driver had lost the run, so its result does not count.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from trued.errors import Postponed
from trued.hub.database import Connection, Database, opened_database
from trued.model.settings import agent_kind
from trued.wire import Spend


@dataclass(frozen=True, slots=True)
class Driver:
    """The process that makes a run's calls: its name, the name of its state folder (`place`), and its lease in
    seconds."""

    name: str
    place: UUID | None
    lease_s: float


def reserve_call(db: Connection, run: str, spend: Spend, driver: Driver, token: UUID) -> None:
    """Open an attempt at this call, or keep the attempt that is already open in this driver's state folder. The
    transaction `db` also reserves the budget.

    Raises Postponed if the call must not be made yet, because the agent's cap is reached, or because an attempt in
    another state folder may be running. The caller must hold the run's newest epoch and have locked the run's row.
    `token`: makes it safe to send the same request twice.
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
        raise Postponed(str(found["why"]) if found else "the hub did not answer the request to reserve this call")


def settle_call(db: Connection, run: str, spend: Spend, driver: Driver, *, late: bool = False) -> None:
    """Record how an attempt ended and what it cost. The transaction `db` also settles the attempt's budget. The step's
    result is recorded elsewhere.

    `late`: this driver has lost the run, so the attempt is recorded as late, and its result does not count. If this
    machine gets the run back before another machine has made the call, the result counts after all. Then a second call
    of this function, without `late`, replaces the record.
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
    """Open a hub's limits on the calls of each agent. Raises StateFailed if the hub was not prepared by this version of
    trued."""
    with opened_database(url) as database:
        yield Caps(database)


class Caps:
    """How many calls of each agent may run at the same time, and begin within a minute, over all machines and runs."""

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
