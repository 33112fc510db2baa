"""Turns rows of the journal's tables into values; shared by all databases."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trued.errors import BadInput, Diverged
from trued.model import Approval, Comment, Delivery, Event, Question, RunRecord, TakenComments
from trued.model.step_keys import is_comments

if TYPE_CHECKING:
    from trued.wire import Amount, Spend

PAST = 50  # at most this many earlier calls are read to estimate new ones

_AMOUNTS = ("usd", "tokens", "seconds")
_PLAIN = ("call", "attempt", "step", "task", "role", "agent", "state", "cost", "at")


def select_run(runs: Sequence[RunRecord], name: str) -> RunRecord:
    """The run with the id `name`, or the only run whose id begins with `name`. Raises BadInput if no run or several
    runs fit."""
    fitting = [run for run in runs if run.id == name] or [run for run in runs if run.id.startswith(name)]
    if len(fitting) == 1 and name:
        return fitting[0]
    found = f"{len(fitting)} runs begin with {name!r}" if fitting else f"there is no run {name!r}"
    raise BadInput(found, then="`trued ls` lists the runs")


def landings(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Run → branches that its whole work landed on. `rows`: the run and the data of every landing event."""
    found: dict[str, list[str]] = {}
    for row in rows:
        data = json.loads(row["data"])
        if data.get("through"):  # only a part of the run landed
            continue
        onto = str(data.get("onto"))
        found[row["run"]] = list(dict.fromkeys((*found.get(row["run"], ()), onto)))
    return found


def event_of(row: Mapping[str, Any]) -> Event:
    """The event in a row of the table `event`, whose `data` is JSON."""
    return Event(**{**row, "data": json.loads(row["data"])})


def recorded_result(rows: Sequence[Mapping[str, Any]], run: str, key: str, inputs: str) -> str | None:
    """The result in the row of the step `key`; None if there is no row. Raises Diverged if the step was recorded with
    other inputs."""
    if rows and rows[0]["inputs"] != inputs:
        raise Diverged(f"step {key!r} of run {run} was recorded with other inputs: start a new run")
    return str(rows[0]["value"]) if rows else None


def question_of(row: Mapping[str, Any]) -> Question:
    """The question in a row of the table `question`."""
    fields = {**row, "options": tuple(json.loads(row["options"]))}
    return Question(**{name: value for name, value in fields.items() if name != "run"})


def approval_columns(run: str, approval: Approval) -> dict[str, object]:
    """Column → value of an approval, without the time."""
    return {
        "run": run,
        "requirement": approval.requirement,
        "contract": approval.contract,
        "seen": approval.commit,
        "asked": approval.asked,
        "who": approval.who,
        "why": approval.why,
        "rejected": approval.rejected,
        "way": approval.way,
    }


def comments_of(rows: Iterable[Mapping[str, Any]], steps: Iterable[Mapping[str, Any]]) -> list[Comment]:
    """The comments in rows of `comment`, each with the calls whose agents got it, as recorded in `steps`."""
    given: dict[int, list[Delivery]] = {}
    for row in (step for step in steps if is_comments(step["key"])):
        taken = TakenComments.model_validate_json(row["value"])
        for comment in taken.comments:
            given.setdefault(comment.id, []).append(Delivery(role=taken.role, call=taken.call))
    found = [{("to" if name == "sent_to" else name): value for name, value in row.items()} for row in rows]
    return [Comment(**row, given=tuple(given.get(row["id"], ()))) for row in found]


def spend_of(row: Mapping[str, Any]) -> "Spend":
    """The spend in a row of the table `spend`."""
    from trued.wire import Amount, Spend  # imported here, because only readers of calls need it

    def amounts(of: str) -> "Amount":
        return Amount(**{name: row[f"{of}_{name}"] for name in _AMOUNTS})

    return Spend(**{name: row[name] for name in _PLAIN}, reserved=amounts("reserved"), spent=amounts("spent"))


def spending_of(row: Mapping[str, Any]) -> "Spend":
    """The spend in a row of the table `spend` that has only the columns for step, role, agent, used amount and cost."""
    from trued.wire import Amount, Spend

    spent = Amount(usd=row["spent_usd"], tokens=row["spent_tokens"], seconds=row["spent_seconds"])
    return Spend("", 1, row["step"], "", row["role"], row["agent"], "done", Amount(), spent, row["cost"])


class KnownSpends:
    """A cache of one run's spends, so that a long run reads only its new rows.

    Rows are numbered in the order of writing, and a row that is written again gets a higher number. Only the process
    that drives the run writes rows. `read` notices if somebody removed or renumbered rows by hand.
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._spends: dict[tuple[str, int], tuple[int, Spend]] = {}  # (call, attempt) → number and spend
        self._last, self._total = 0, 0  # the highest number, and the sum of all numbers

    def read(self, query: Callable[[int], Iterable[Mapping[str, Any]]]) -> "list[Spend]":
        """All spends of the run, in the order of writing.

        `query` returns the rows whose number (`n`) is higher than the given number, lowest first. Each row also says
        how many rows the run has (`size`), and the sum of all their numbers (`total`). If no row has a higher number,
        `query` returns one row whose `n` is None. If `size` or `total` does not fit the rows read so far, all rows are
        read again.
        """
        if not self._take(query(self._last)):
            self._forget()
            self._take(query(0))
        return [spend for _, spend in self._spends.values()]

    def __contains__(self, spend: "Spend") -> bool:
        return self._spends.get((spend.call, spend.attempt), (0, None))[1] == spend

    def _take(self, rows: Iterable[Mapping[str, Any]]) -> bool:
        """Add new rows. Returns whether all rows of the run are known now."""
        size, total = 0, 0
        for row in rows:
            size, total = row["size"], int(row["total"] or 0)
            if row["n"] is not None:
                name = (row["call"], row["attempt"])
                self._total += row["n"] - self._spends.pop(name, (0, None))[0]
                self._spends[name] = (row["n"], spend_of(row))
                self._last = row["n"]
        return (size, total) == (len(self._spends), self._total)


def spend_columns(spend: "Spend") -> dict[str, object]:
    """Column → value of a spend, without the run."""
    plain = {name: getattr(spend, name) for name in _PLAIN}
    reserved = {f"reserved_{name}": getattr(spend.reserved, name) for name in _AMOUNTS}
    return {**plain, **reserved, **{f"spent_{name}": getattr(spend.spent, name) for name in _AMOUNTS}}
