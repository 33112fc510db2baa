"""Budget: reserves money, tokens, calls and time for every agent call of a run before it starts."""

import asyncio
import random
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count
from typing import Any

from trued.errors import LimitReached, Postponed
from trued.inputs.settings.limits import FEATURE, TASK, apply_limits, limit_of
from trued.model import Limit, Settings
from trued.model.events.call import CallPostponed
from trued.model.settings import agent_kind
from trued.model.step_keys import feature_scope, task_scope
from trued.protocols import Journal
from trued.support.money import least_certain
from trued.wire import Amount, Price, Report, Spend, Usage, with_cost

USED_UP = 0.95  # a reservation counts as used up from this share on: agents round, and clocks differ
LEAST = 0.05  # a call is not started if less than this share of what it usually takes is left
KNOWN = 3  # after this many past calls of a role by an agent, their figures replace the configured ones
# A call may use this many times the median of past calls or, if that is more, a little more than the largest of them.
# A call that has used this much is stopped, and continues if the limits leave room.
TIMES_USUAL = 3.0
UNREPORTED = ("crashed", "idle", "wall", "output")  # failures in mid-work: the call used more than it reported
GRACE_S = 0.5  # after a crash, how long a new call waits for earlier calls to take up their reservations again
LOOK_S = 1.0  # while a call waits for room, how often to reread the limits: a person may raise one
UNITS = ("usd", "tokens", "seconds")
NAMES = {"usd": "usd", "tokens": "tokens", "calls": "calls", "seconds": "time"}
MORE = "continue with more: "  # in the message about a reached limit, before the command that raises it


def command_for_more(why: str) -> str:
    """The command in a message about a reached limit that continues with a higher limit; "" if there is no command."""
    return why.rpartition(MORE)[2] if MORE in why else ""


def reason_of_limit(why: str) -> str:
    """The message about a reached limit without the command that `command_for_more` reads from it."""
    reason, found, _ = why.rpartition(f"; {MORE}")
    return reason if found else why


@dataclass(frozen=True, slots=True)
class AttemptRequest:
    """One attempt of one order, before it starts."""

    call: str
    attempt: int
    key: str
    role: str
    agent: str
    model: str = ""

    @property
    def task(self) -> str:
        """The scope of the task that the call belongs to, such as `chunk 1A`; "" if there is none. See `task_scope`."""
        return task_scope(self.key)

    @property
    def feature(self) -> str:
        """The scope of the feature that the call belongs to, such as `feature F1`; "" if there is none."""
        return feature_scope(self.key)

    def scopes(self) -> tuple[str, ...]:
        """The scopes whose limits apply: the run, the feature, the task and the role."""
        return ("", *([FEATURE] if self.feature else []), *([TASK] if self.task else []), self.role)

    def row(self, rows: Sequence[Spend]) -> Spend | None:
        """The row of this attempt among `rows`; None if the attempt has reserved nothing yet."""
        return next((row for row in rows if (row.call, row.attempt) == (self.call, self.attempt)), None)

    def sharing(self, rows: Sequence[Spend], scope: str) -> Sequence[Spend]:
        """The rows that count against the same limit as this call: all rows of the run if `scope` is "", else those of
        the same feature, task or role."""
        if scope == FEATURE:
            feature = self.feature
            return [row for row in rows if feature_scope(row.step) == feature]
        if scope == TASK:
            task = self.task
            return [row for row in rows if row.task == task]
        return [row for row in rows if row.role == self.role] if scope else rows


@dataclass(frozen=True, slots=True)
class Shortage:
    """A limit that leaves too little for a call."""

    scope: str  # "", "feature", "task", or the role
    what: str  # usd | tokens | calls | seconds
    limit: float
    spent: float
    reserved: float  # what open calls hold, if there may be enough when they end; else 0


@dataclass(frozen=True, slots=True)
class QuotaWindow:
    """A quota window of a subscription: how much is used, in per cent, and when it resets."""

    name: str
    used: float
    until: float

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> "QuotaWindow":
        """Make a window from the fields of an event or report."""
        return cls(str(fields.get("window") or ""), float(fields.get("used") or 0.0), float(fields.get("until") or 0.0))


class CapQueue:
    """Calls of a run to one kind of agent. They wait because a cap of the hub is reached."""

    def __init__(self) -> None:
        self.has_room = asyncio.Event()  # set when a call of this run to this kind of agent was admitted
        self._turn = asyncio.Lock()

    async def wait_for_turn(self) -> None:
        """Wait until a postponed call may ask the hub again. About once a second one call of the queue asks, in
        turn, because each request costs the hub a transaction. Once a call is admitted, the next one asks at once.

        The delay is random: if all runs asked at the same moments, room that becomes free would be unused in between.
        """
        async with self._turn:  # the call that has waited longest gets the lock first
            self.has_room.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S * random.uniform(0.5, 1.5)):  # noqa: S311  (no secret)
                    await self.has_room.wait()


class Budget:
    """A run's limits, and what its calls used: every call reserves here before it starts, and is settled here."""

    def __init__(
        self,
        journal: Journal,
        settings: Settings,
        run: str = "RUN",
        price: Callable[[str, str], Price] = lambda agent, model: Price(),
        *,
        at_once: int = sys.maxsize,
    ) -> None:
        """`at_once`: how many calls of this run may hold a reservation at the same time; on a hub, the run's setting
        `cap`. Any further call waits before it reserves anything, so it does not count against the caps that all runs
        share."""
        self._journal, self._run, self._price = journal, run, price
        self._begun, self._limits, self.wall_s = settings.limits, settings.limits, settings.wall_s
        self._windows: dict[str, QuotaWindow] = {}
        self._at_work: set[tuple[str, int]] = set()
        self._freed = asyncio.Event()
        self._places = asyncio.Semaphore(at_once)
        self._queues: dict[str, CapQueue] = defaultdict(
            CapQueue
        )  # kind of agent → its queue: each kind has its own cap

    @asynccontextmanager
    async def reserve(self, request: AttemptRequest) -> AsyncIterator["Reservation"]:
        """Reserve what the call may use. A call that is repeated after a crash keeps its earlier reservation.

        Waits while `at_once` calls of this run, or too many calls of all runs, are at work. If a limit of the run, the
        feature, the task or the role leaves too little, waits for calls at work to return what they did not use, and
        raises LimitReached when no call is at work any more. Raises LimitReached at once if the limit on the
        subscription's quota is reached.
        """
        price = self._price(request.agent, request.model)
        await self._journal.available()
        self._apply_changed_limits()
        self._check_quota(request)
        row = await self._wait_for_room(request)
        try:
            yield Reservation(self, request, row.reserved, price)
        finally:
            self._at_work.discard((request.call, request.attempt))
            self._places.release()
            self._freed.set()

    def existing_reservation(self, request: AttemptRequest) -> "Reservation":
        """The reservation that a call already has, made here or on another machine, so that the call can be settled.
        This reserves nothing, never waits, and counts against no cap."""
        row = request.row(self._rows())
        reserved = row.reserved if row else Amount()
        return Reservation(self, request, reserved, self._price(request.agent, request.model))

    def has_used_up(self, call: str) -> bool:
        """Whether the last attempt of a call used up its reservation. If so, the call may reserve more. If not, a call
        that ended for lack of budget used up the agent's own budget, which the engine cannot raise."""
        attempts = [row for row in self._rows() if row.call == call]
        return any(_is_used_up(row, unit) for row in attempts[-1:] for unit in UNITS)

    def set_windows(self, windows: Mapping[str, QuotaWindow]) -> None:
        """Store the quota windows that agents reported for the user's subscriptions, by kind of agent."""
        self._windows.update(windows)

    def _apply_changed_limits(self) -> None:
        """Apply the limits that are in force now: people may change them during the run."""
        self._limits = apply_limits(self._begun, self._journal.limit_changes())

    def _rows(self) -> Sequence[Spend]:
        """All rows of the run's ledger of spending. `Journal.spend` could also write rows; here it only reads them."""
        spends: list[Spend] = []

        def read(rows: Sequence[Spend]) -> None:
            spends[:] = rows

        self._journal.spend(read)
        return spends

    def _check_quota(self, request: AttemptRequest) -> None:
        window, most = self._windows.get(agent_kind(request.agent)), self._limits.quota
        if window and most and window.used >= most and window.until > time.time():
            until = datetime.fromtimestamp(window.until).astimezone().strftime("%a %d %b %H:%M")
            used = (
                f"{window.used:.0f} % of its {window.name.replace('_', '-')} window is used, and the limit is {most} %"
            )
            raise LimitReached(
                f"{agent_kind(request.agent)}: {used}; it resets {until}: trued resume {self._run} then, "
                f"or {MORE}trued resume {self._run} --limit quota=100"
            )

    # -- reserve -------------------------------------------------------------------------------------------------------

    async def _wait_for_room(self, request: AttemptRequest) -> Spend:
        """Wait until the call is one of the `at_once` calls of this run, and has a reservation. The caller has to
        release `_places` when the call ends."""
        looked, reported = False, ""
        for turn in count():
            self._freed.clear()
            if turn:
                await self._journal.available()
                self._apply_changed_limits()
            try:
                row, short = await self._try_in_a_place(request)
            except Postponed as why:
                if str(why) != reported:
                    reported = str(why)
                    self._journal.emit(CallPostponed(why=reported, agent=request.agent), request.key)
                await self._queues[agent_kind(request.agent)].wait_for_turn()
                continue
            if row is not None:
                self._queues[agent_kind(request.agent)].has_room.set()
                self._at_work.add((request.call, request.attempt))
                return row
            assert short is not None  # noqa: S101  (one or the other)
            if self._at_work:  # wait until a running call ends: it may leave some of its reservation
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_S):
                        await self._freed.wait()
            elif short.reserved and not looked:  # reserved by a call before a crash: wait once for it to continue
                looked = True
                await asyncio.sleep(GRACE_S)
            else:
                raise LimitReached(self._limit_message(request, short))
        raise AssertionError("there is always a next turn")

    async def _try_in_a_place(self, request: AttemptRequest) -> tuple[Spend | None, Shortage | None]:
        """Wait until fewer than `at_once` calls of this run hold a place, then try to reserve. A call that reserved
        nothing holds no place."""
        await self._places.acquire()
        row = None
        try:
            row, short = self._try_to_reserve(request)
        finally:
            if row is None:
                self._places.release()
        return row, short

    def _try_to_reserve(self, request: AttemptRequest) -> tuple[Spend | None, Shortage | None]:
        usual = self._usual_amount(request) if any(self._limits_of(request)) else Amount()
        short: list[Shortage] = []

        def decide(rows: Sequence[Spend]) -> Spend | None:
            if known := request.row(rows):  # the call was begun before a crash: its reservation is still valid
                return known
            short.extend(self._shortages(request, rows, usual))
            return None if short else self._row(request, self._allowance(request, rows, usual))

        return self._journal.spend(decide), next(
            iter(sorted(short, key=lambda shortage: bool(shortage.reserved))), None
        )

    def _row(self, request: AttemptRequest, reserved: Amount) -> Spend:
        return Spend(
            request.call, request.attempt, request.key, request.task, request.role, request.agent, reserved=reserved
        )

    def _shortages(self, request: AttemptRequest, rows: Sequence[Spend], usual: Amount) -> Iterator[Shortage]:
        """Every limit that leaves too little for the call."""
        for scope, limit in self._limits_of(request):
            rows_in_scope = request.sharing(rows, scope)
            if (
                limit.calls
                and request.key not in (steps := {row.step for row in rows_in_scope})
                and len(steps) >= limit.calls
            ):
                yield Shortage(scope, "calls", limit.calls, len(steps), 0)
            for what in UNITS:
                most: float = getattr(limit, what)
                spent = sum(getattr(row.spent, what) for row in rows_in_scope if row.state != "open")
                held = sum(getattr(row.reserved, what) for row in rows_in_scope if row.state == "open")
                if most and most - spent - held < LEAST * min(getattr(usual, what), most):
                    room = most - spent >= LEAST * min(getattr(usual, what), most)
                    yield Shortage(scope, what, most, spent, held if room else 0.0)

    def _allowance(self, request: AttemptRequest, rows: Sequence[Spend], usual: Amount) -> Amount:
        """What a call may use: what it usually takes, but not more than the tightest limit leaves. Money, tokens or
        time without a limit are 0."""
        allowed: dict[str, float] = {}
        for scope, limit in self._limits_of(request):
            rows_in_scope = request.sharing(rows, scope)
            for what in UNITS:
                if most := getattr(limit, what):
                    remaining = most - sum(getattr(row.charge, what) for row in rows_in_scope)
                    allowed[what] = min(allowed.get(what, getattr(usual, what)), remaining)
        return Amount(
            usd=allowed.get("usd", 0.0), tokens=int(allowed.get("tokens", 0)), seconds=allowed.get("seconds", 0.0)
        )

    def _usual_amount(self, request: AttemptRequest) -> Amount:
        """What a call of this role by this agent usually takes. Money and tokens are a generous estimate from past
        calls, or the amounts in the settings while there are too few past calls. Time is the setting `wall_s`."""
        past = self._journal.past(request.role, request.agent)
        usd = [row.spent.usd for row in past if row.spent.usd]
        tokens = [row.spent.tokens for row in past if row.spent.tokens]
        return Amount(
            usd=_generous_estimate(usd) if len(usd) >= KNOWN else self._limits.call_usd,
            tokens=int(_generous_estimate(tokens)) if len(tokens) >= KNOWN else self._limits.call_tokens,
            seconds=self.wall_s,
        )

    def _limits_of(self, request: AttemptRequest) -> Iterator[tuple[str, Amount]]:
        """The scopes of a call that have a limit, each with its limit."""
        limits = ((scope, self._limit(scope)) for scope in request.scopes())
        return ((scope, limit) for scope, limit in limits if limit != Amount())

    def _limit(self, scope: str) -> Amount:
        limit: Limit = limit_of(self._limits, scope)
        return Amount(limit.usd, limit.tokens, limit.calls, limit.time)

    # -- settle --------------------------------------------------------------------------------------------------------

    def settle(self, request: AttemptRequest, report: Report) -> None:
        """Record what a call used; the rest of its reservation is free again. A report that is settled again is not
        charged twice."""
        usage = report.usage
        seconds = max(0.0, report.ended - report.began)
        used = Amount(usd=usage.cost_usd, tokens=usage.tokens_in + usage.tokens_out, seconds=seconds)

        def decide(rows: Sequence[Spend]) -> Spend | None:
            row = request.row(rows) or self._row(request, Amount())
            if row.state != "open" and report.ended <= row.at:
                return None
            spent = Amount(
                usd=row.spent.usd + used.usd,
                tokens=row.spent.tokens + used.tokens,
                seconds=row.spent.seconds + used.seconds,
            )
            state = report.state if report.state in ("done", "died") else "failed"
            known = least_certain((row.cost if row.spent.usd else "", usage.cost))
            return replace(row, state=state, spent=spent, cost=known, at=report.ended)

        self._journal.spend(decide)

    # -- words ---------------------------------------------------------------------------------------------------------

    def _limit_message(self, request: AttemptRequest, short: Shortage) -> str:
        parts = {"": "the run", FEATURE: request.feature, TASK: request.task}
        whose = parts.get(short.scope, f"the role {short.scope}")
        held = f" and {_amount_text(short.what, short.reserved)} reserved" if short.reserved else ""
        spent = f"{_amount_text(short.what, short.spent)} of {_amount_text(short.what, short.limit)} spent{held}"
        scope = f"{short.scope}:" if short.scope else ""
        base = short.limit if short.spent < 1.5 * short.limit else short.spent
        more = f"{NAMES[short.what]}={_as_option(short.what, 2 * base)}"
        return (
            f"{whose} has used up its {NAMES[short.what]}: {spent}, and {request.key} is still to come; "
            f"{MORE}trued resume {self._run} --limit {scope}{more}"
        )


@dataclass(frozen=True, slots=True)
class Reservation:
    """What one call may use, and the price that its usage is charged at."""

    budget: Budget
    request: AttemptRequest
    allowance: Amount = field(default_factory=Amount)
    price: Price = field(default_factory=Price)

    def wall_s(self, usual: float) -> float:
        """How many seconds the call may take: `usual`, or less if less time is reserved."""
        return min(usual, self.allowance.seconds) if self.allowance.seconds else usual

    def settle(self, report: Report) -> Report:
        """Settle the call; return the report with its cost. If the call ran out of time, and a limit of the run had
        allowed less time than the setting `wall_s`, the kind of the failure becomes `budget`."""
        report = replace(report, usage=self._charged(report))
        self.budget.settle(self.request, report)
        if report.quota:
            self.budget.set_windows({agent_kind(self.request.agent): QuotaWindow.of(report.quota)})
        if report.kind == "wall" and self.allowance.seconds and self.allowance.seconds < self.budget.wall_s:
            return replace(report, kind="budget")
        return report

    def _charged(self, report: Report) -> Usage:
        """The call's usage with its cost. If the call broke off without reporting its usage, its cost is the whole
        reservation."""
        usage, free = with_cost(report.usage, self.price), not (self.price.usd_in or self.price.usd_out)
        unreported = usage.estimated and usage.cost != "reported" and usage.cost_usd <= self.allowance.usd
        if (
            unreported
            and not free
            and (report.state in ("died", "stopped") or report.kind in UNREPORTED)
            and self.allowance.usd
        ):
            return replace(usage, cost_usd=self.allowance.usd, cost="ceiling")
        return usage


def _is_used_up(row: Spend, what: str) -> bool:
    reserved: float = getattr(row.reserved, what)
    return reserved > 0 and getattr(row.spent, what) >= USED_UP * reserved


def _generous_estimate(past: Sequence[float]) -> float:
    return max(TIMES_USUAL * statistics.median(past), 1.2 * max(past))


def _amount_text(what: str, number: float) -> str:
    if what == "usd":
        return f"${number:.{_digits(number)}f}"
    if what == "seconds":
        return f"{number / 60:.0f} min" if number >= 120 else f"{number:.0f} s"
    return f"{number:,.0f} {what}" if what == "tokens" else f"{number:.0f}"


def _as_option(what: str, number: float) -> str:
    if what == "seconds":
        return f"{number / 60:g}m" if number >= 60 else f"{number:g}s"
    return f"{number:.{_digits(number)}f}".rstrip("0").rstrip(".") if what == "usd" else f"{number:.0f}"


def _digits(usd: float) -> int:
    return 2 if usd >= 0.1 or not usd else 6
