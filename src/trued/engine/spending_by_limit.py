"""Sums up what a run has used, next to its limits."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trued.engine.limits import limits_in_force
from trued.engine.run_store import RunStore
from trued.model import Limit
from trued.model.step_keys import feature_scope
from trued.support.durations import duration
from trued.support.money import MARKS, least_certain, money
from trued.support.plurals import counted
from trued.support.token_count import token_count

if TYPE_CHECKING:
    from trued.wire import Amount, Spend


def spending_lines(store: RunStore, run_id: str) -> Iterator[str]:
    """What was used, and the limit: a line for the run, each task, each feature (if features have a limit) and each
    role. No line before the first call."""
    rows, allowed = store.journal.spends(run_id), limits_in_force(store, run_id)
    if not rows:
        return
    yield _spent("the run", rows, allowed)
    for task in dict.fromkeys(row.task for row in rows if row.task):
        yield _spent(task, [row for row in rows if row.task == task], allowed.task)
    if allowed.feature != Limit():
        yield from _features(rows, allowed.feature)
    for role in dict.fromkeys(row.role for row in rows):
        own = [row for row in rows if row.role == role]
        yield _spent(role, own, allowed.roles.get(role, Limit()))


def _features(rows: "list[Spend]", limit: Limit) -> Iterator[str]:
    for feature in dict.fromkeys(feature_scope(row.step) for row in rows):
        own = [row for row in rows if feature and feature_scope(row.step) == feature]
        yield from [_spent(f"all of {feature}", own, limit)] if own else []


def total_spent(rows: "list[Spend]") -> "Amount":
    """What was spent, without what is only reserved. `calls` includes calls in progress."""
    from trued.wire import Amount

    paid = [row.spent for row in rows]
    return Amount(
        usd=sum(amount.usd for amount in paid),
        tokens=sum(amount.tokens for amount in paid),
        calls=len({row.step for row in rows}),
        seconds=sum(amount.seconds for amount in paid),
    )


def _spent(whose: str, rows: "list[Spend]", limit: Limit) -> str:
    used = total_spent(rows)
    mark = MARKS.get(least_certain(row.cost for row in rows), "")
    parts = [
        f"{mark}{money(used.usd)}" + (f" of {money(limit.usd)}" if limit.usd else "")
        if used.usd or limit.usd
        else "cost not reported",
        f"{token_count(used.tokens)} tokens" + (f" of {token_count(limit.tokens)}" if limit.tokens else ""),
        counted(used.calls, "call") + (f" of {limit.calls}" if limit.calls else ""),
        duration(used.seconds) + (f" of {duration(limit.time)}" if limit.time else ""),
    ]
    return f"{whose}: {', '.join(parts)}"
