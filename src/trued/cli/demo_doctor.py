"""The commands `demo` and `doctor`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from trued.cli.context import AsJson, top_of
from trued.cli.terminal import home, out, print_json
from trued.support.redaction import plain

app = typer.Typer(rich_markup_mode=None)


@app.command()
def demo(
    keep: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep the demo's files in this folder.", show_default="a new folder"),
    ] = None,
) -> None:
    """Watch scripted agents (labelled as such) work through a small plan, in about a minute.

    One of them lies and is refuted; the engine is killed and the run is resumed; a ledger and a report remain.
    """
    from trued.cli.demo import show

    raise typer.Exit(show(keep))


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Check this machine and this project: what works, what is missing, and the exact fix for each problem."""
    from trued.cli.agents import settings_here
    from trued.cli.doctor import diagnose

    seen = diagnose(home(), settings_here(), top_of(Path.cwd()))
    if as_json:
        print_json([one.as_json() for one in seen])
    else:
        console = out()
        for one in seen:
            mark, style = {"ok": ("✓", "green"), "missing": ("·", "yellow"), "broken": ("✗", "bold red")}[one.state]
            console.print(
                Text.assemble((f"{mark} ", style), (f"{one.name:<12} ", "bold"), plain(one.says)), soft_wrap=True
            )
            if one.fix:
                console.print(Text(f"  {'':<12} → {plain(one.fix)}", "yellow"), soft_wrap=True)
    raise typer.Exit(6 if any(one.state == "broken" for one in seen) else 0)
