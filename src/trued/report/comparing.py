"""A comparison as HTML: a part of the report of each of its runs, and a page of its own."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .words import amount, cut, duration, money

NONE = "–"
_MARKS = {"ceiling": "≤", "computed": "~"}


@dataclass(frozen=True)
class Column:
    """One run, as it stands in the table."""

    name: str
    run: str
    grade: str
    state: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Compared:
    """A comparison, ready to be laid out."""

    name: str
    title: str
    base: str
    heads: tuple[str, ...]
    columns: tuple[Column, ...]
    requirements: tuple[tuple[str, tuple[str | None, ...]], ...]
    notes: tuple[str, ...]


HEADS = ("proven", "gaps found", "rounds", "calls", "tokens", "peak context", "cost", "time", "agents' time")


def compared(data: Mapping[str, Any]) -> Compared:
    """Out of what `compare --json` prints."""
    rows = [(one["id"], tuple(one["grades"])) for one in data["requirements"]]
    return Compared(
        name=data["id"],
        title=cut(data["title"], 200)[0],
        base=data["base"] if data["same_base"] else "",
        heads=HEADS,
        columns=tuple(map(_column, data["runs"])),
        requirements=tuple(rows),
        notes=(*_peaks(data["runs"]), *data["notes"]),
    )


def _column(run: Mapping[str, Any]) -> Column:
    tokens, gaps = run["tokens"], run["gaps"]
    mark = "~" if tokens["estimated"] and tokens["all"] else ""
    cells = (
        f"{run['proven']}/{run['requirements']}" if run["requirements"] else NONE,
        f"{gaps['found']}, {gaps['left']} left" if gaps["left"] else str(gaps["found"]),
        NONE if run["rounds"] is None else str(run["rounds"]),
        amount(run["calls"]),
        f"{mark}{amount(tokens['all'])}",
        f"{mark}{amount(run['peak']['tokens'])}",
        f"{_mark(run)}{money(run['cost_usd'])}" if run["cost"] or run["cost_usd"] else NONE,
        duration(run["time_s"]),
        duration(run["agents_s"]),
    )
    return Column(cut(run["name"], 80)[0], run["id"], run["grade"], run["state"], cells)


def _mark(run: Mapping[str, Any]) -> str:
    """How the cost is known: computed, at most, or at least, where some calls told none."""
    return "≥" if run["cost_untold"] and run["cost"] in ("", "reported") else _MARKS.get(run["cost"], "")


def _peaks(runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for run in runs:
        roles = run["peak"]["roles"]
        if len(roles) > 1:
            each = ", ".join(f"{role} {amount(peak)}" for role, peak in roles.items())
            yield f"peak context in {run['name']}: {each}"
