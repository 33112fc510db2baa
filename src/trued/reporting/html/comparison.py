"""A comparison as HTML: as a part of each run's report, and as a separate page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trued.reporting.html.format import cut
from trued.reporting.views.comparison import cells, peak_contexts


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


def compared(data: Mapping[str, Any]) -> Compared:
    """The comparison, from the data that `compare --json` prints."""
    rows = [cells(data, run) for run in data["runs"]]
    return Compared(
        name=data["id"],
        title=cut(data["title"], 200)[0],
        base=data["base"] if data["same_base"] else "",
        heads=tuple(rows[0]),
        columns=tuple(
            Column(cut(run["name"], 80)[0], run["id"], run["grade"], run["state"], tuple(row.values()))
            for run, row in zip(data["runs"], rows, strict=True)
        ),
        requirements=tuple((row["id"], tuple(row["grades"])) for row in data["requirements"]),
        notes=(*peak_contexts(data["runs"]), *data["notes"]),
    )
