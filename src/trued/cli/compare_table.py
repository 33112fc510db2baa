"""Prints a comparison as a table, one column per run: drawn on a terminal, plain text elsewhere."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from trued.cli.format import GRADE_COLOURS, STATE_COLOURS, line, spent
from trued.cli.terminal import out
from trued.reporting.views.comparison import peak_contexts
from trued.support.durations import duration
from trued.support.token_count import token_count

RunFigures: TypeAlias = Mapping[str, Any]

# In characters: the longest name; the width at which a name wraps on a terminal; the space between two columns.
NAME, NARROW, GAP = 80, 18, 3
LINE = 600  # maximum length of a note, in characters
NONE = "–"
ALIKE = "proven (shared)"  # name of a row: how many of the requirements that all contracts share are proven


def _size(number: int, *, estimated: bool) -> Text:
    return Text(token_count(number, estimated=estimated))


def _gaps(run: RunFigures) -> Text:
    left = run["gaps"]["left"]
    return Text.assemble(str(run["gaps"]["found"]), (f", {left} left" if left else "", "yellow"))


def _cost(run: RunFigures) -> Text:
    least = "≥" if run["cost_untold"] and run["cost"] in ("", "reported") else ""
    is_known = run["cost"] or run["cost_usd"]
    return Text(f"{least}{spent(run['cost_usd'], run['cost']) or '$0'}" if is_known else NONE)


# name of the row → how its cells are written
ROWS: dict[str, Callable[[RunFigures], Text]] = {
    "run": lambda run: Text(run["id"]),
    "state": lambda run: Text(run["state"], STATE_COLOURS.get(run["state"], "yellow")),
    "grade": lambda run: Text(run["grade"], GRADE_COLOURS.get(run["grade"], "")),
    "proven": lambda run: Text(f"{run['proven']}/{run['requirements']}" if run["requirements"] else NONE),
    ALIKE: lambda run: Text(f"{run['asked_alike']['proven']}/{run['asked_alike']['requirements']}"),
    "gaps found": _gaps,
    "rounds": lambda run: Text(NONE if run["rounds"] is None else str(run["rounds"])),
    "calls": lambda run: Text(f"{run['calls']:,}"),
    "tokens": lambda run: _size(run["tokens"]["all"], estimated=run["tokens"]["estimated"]),
    "peak context": lambda run: _size(run["peak"]["tokens"], estimated=run["tokens"]["estimated"]),
    "cost": _cost,
    "time": lambda run: Text(duration(run["time_s"])),
    "agents' time": lambda run: Text(duration(run["agents_s"])),
}
FIRST = max(map(len, ROWS))


def print_table(data: Mapping[str, Any]) -> None:
    console = out()
    title = Text.assemble((f"{data['id']}  " if data["id"] else "", "bold"), line(data["title"], 60))
    title.append(f", from {data['base'][:10]}" if data["same_base"] else "", "dim")
    console.print(title, soft_wrap=True)
    rows = [name for name in ROWS if name != ALIKE or (data["asked_alike"] and not data["same_contract"])]
    for runs in _blocks(data["runs"], console):
        if console.is_terminal:
            console.print(_rich_table(runs, rows))
        else:
            for text in _text_table(runs, rows):
                console.print(text, soft_wrap=True)
    for note in (*peak_contexts(data["runs"]), *data["notes"]):
        console.print(Text(line(note, LINE), "dim"), soft_wrap=not console.is_terminal)


def _blocks(runs: Sequence[RunFigures], console: Console) -> Iterator[Sequence[RunFigures]]:
    """Split the runs into blocks that fit the terminal's width; without a terminal, all are in one block."""
    room, block = console.width - FIRST, list[RunFigures]()
    for run in runs:
        wide = _width(run, NARROW) + GAP
        if block and wide > room and console.is_terminal:
            yield block
            room, block = console.width - FIRST, []
        room, block = room - wide, [*block, run]
    yield block


def _width(run: RunFigures, narrow: int = NAME) -> int:
    name = min(narrow, cell_len(line(run["name"], NAME)))
    return max(name, *(cell_len(cell(run).plain) for cell in ROWS.values()))


def _rich_table(runs: Sequence[RunFigures], rows: Sequence[str]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="", show_edge=False)
    table.add_column("", style="dim", no_wrap=True)
    for run in runs:
        name = Text(line(run["name"], NAME), "bold")
        table.add_column(name, justify="right", overflow="fold", width=_width(run, NARROW))
    for row in rows:
        table.add_row(row, *(ROWS[row](run) for run in runs))
    return table


def _text_table(runs: Sequence[RunFigures], rows: Sequence[str]) -> Iterator[Text]:
    widths = [_width(run) for run in runs]
    yield Text(f"{'':<{FIRST}}{_right([line(run['name'], NAME) for run in runs], widths)}")
    for name in rows:
        yield Text(f"{name:<{FIRST}}{_right([ROWS[name](run).plain for run in runs], widths)}")


def _right(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "".join(" " * (GAP + width - cell_len(cell)) + cell for cell, width in zip(cells, widths, strict=True))
