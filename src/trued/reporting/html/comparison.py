"""A comparison as HTML: as a part of each run's report, and as a separate page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trued.reporting.html.format import amount, cut
from trued.reporting.views.comparison import peak_contexts
from trued.support.durations import duration
from trued.support.money import MARKS, money
from trued.support.token_count import token_count

NONE = "–"


@dataclass(frozen=True)
class Column:
    """One run as a column of the table."""

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


ALIKE = "proven (shared)"
HEADS = ("proven", ALIKE, "gaps found", "rounds", "calls", "tokens", "peak context", "cost", "time", "agents' time")


def compared(data: Mapping[str, Any]) -> Compared:
    """The comparison, from the data that `compare --json` prints."""
    rows = [(row["id"], tuple(row["grades"])) for row in data["requirements"]]
    alike = bool(data["asked_alike"]) and not data["same_contract"]
    heads = tuple(head for head in HEADS if head != ALIKE or alike)
    return Compared(
        name=data["id"],
        title=cut(data["title"], 200)[0],
        base=data["base"] if data["same_base"] else "",
        heads=heads,
        columns=tuple(_column(run, heads) for run in data["runs"]),
        requirements=tuple(rows),
        notes=(*peak_contexts(data["runs"]), *data["notes"]),
    )


def _column(run: Mapping[str, Any], heads: Sequence[str]) -> Column:
    tokens, gaps, alike = run["tokens"], run["gaps"], run["asked_alike"]
    cells = {
        "proven": f"{run['proven']}/{run['requirements']}" if run["requirements"] else NONE,
        ALIKE: f"{alike['proven']}/{alike['requirements']}",
        "gaps found": f"{gaps['found']}, {gaps['left']} left" if gaps["left"] else str(gaps["found"]),
        "rounds": NONE if run["rounds"] is None else str(run["rounds"]),
        "calls": amount(run["calls"]),
        "tokens": token_count(tokens["all"], estimated=tokens["estimated"]),
        "peak context": token_count(run["peak"]["tokens"], estimated=tokens["estimated"]),
        "cost": f"{_mark(run)}{money(run['cost_usd'])}" if run["cost"] or run["cost_usd"] else NONE,
        "time": duration(run["time_s"]),
        "agents' time": duration(run["agents_s"]),
    }
    shown = tuple(cells[head] for head in heads)
    return Column(cut(run["name"], 80)[0], run["id"], run["grade"], run["state"], shown)


def _mark(run: Mapping[str, Any]) -> str:
    """A mark for a cost that was computed, or is an upper bound, or is a lower bound because some calls reported no
    cost."""
    return "≥" if run["cost_untold"] and run["cost"] in ("", "reported") else MARKS.get(run["cost"], "")
