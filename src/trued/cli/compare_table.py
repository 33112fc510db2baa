"""Prints a comparison as a table, one column per run: drawn on a terminal, plain text elsewhere."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from trued.cli.format import GRADE_COLOURS, STATE_COLOURS, line
from trued.cli.terminal import out
from trued.reporting.views.comparison import cells, peak_contexts

Column: TypeAlias = tuple[str, Mapping[str, Text]]  # the name of a run, and its cell in each row

# In characters: the longest name; the width at which a name wraps on a terminal; the space between two columns.
NAME, NARROW, GAP = 80, 18, 3
LINE = 600  # maximum length of a note, in characters


def print_table(data: Mapping[str, Any]) -> None:
    console = out()
    title = Text.assemble((f"{data['id']}  " if data["id"] else "", "bold"), line(data["title"], 60))
    title.append(f", from {data['base'][:10]}" if data["same_base"] else "", "dim")
    console.print(title, soft_wrap=True)
    for columns in _blocks([_column(data, run) for run in data["runs"]], console):
        if console.is_terminal:
            console.print(_rich_table(columns))
        else:
            for text in _text_table(columns):
                console.print(text, soft_wrap=True)
    for note in (*peak_contexts(data["runs"]), *data["notes"]):
        console.print(Text(line(note, LINE), "dim"), soft_wrap=not console.is_terminal)


def _column(data: Mapping[str, Any], run: Mapping[str, Any]) -> Column:
    """One run as a column of the table: its name, and a cell for each row."""
    rows = {name: Text(cell) for name, cell in cells(data, run).items()}
    if run["gaps"]["left"]:
        rows["gaps found"].stylize("yellow")
    state = Text(run["state"], STATE_COLOURS.get(run["state"], "yellow"))
    grade = Text(run["grade"], GRADE_COLOURS.get(run["grade"], ""))
    return line(run["name"], NAME), {"run": Text(run["id"]), "state": state, "grade": grade, **rows}


def _blocks(columns: Sequence[Column], console: Console) -> Iterator[Sequence[Column]]:
    """Split the columns into blocks that fit the terminal's width; without a terminal, all are in one block."""
    first = _first_width(columns)
    room, block = console.width - first, list[Column]()
    for column in columns:
        wide = _width(column, NARROW) + GAP
        if block and wide > room and console.is_terminal:
            yield block
            room, block = console.width - first, []
        room, block = room - wide, [*block, column]
    yield block


def _first_width(columns: Sequence[Column]) -> int:
    """The width of the column with the rows' names."""
    return max(map(len, columns[0][1]))


def _width(column: Column, narrow: int = NAME) -> int:
    name, rows = column
    return max(min(narrow, cell_len(name)), *(cell_len(cell.plain) for cell in rows.values()))


def _rich_table(columns: Sequence[Column]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="", show_edge=False)
    table.add_column("", style="dim", no_wrap=True)
    for column in columns:
        head = Text(column[0], "bold")
        table.add_column(head, justify="right", overflow="fold", width=_width(column, NARROW))
    for row in columns[0][1]:
        table.add_row(row, *(rows[row] for _, rows in columns))
    return table


def _text_table(columns: Sequence[Column]) -> Iterator[Text]:
    first, widths = _first_width(columns), [_width(column) for column in columns]
    yield Text(f"{'':<{first}}{_right([name for name, _ in columns], widths)}")
    for row in columns[0][1]:
        yield Text(f"{row:<{first}}{_right([rows[row].plain for _, rows in columns], widths)}")


def _right(texts: Sequence[str], widths: Sequence[int]) -> str:
    return "".join(" " * (GAP + width - cell_len(text)) + text for text, width in zip(texts, widths, strict=True))
