"""`trued demo`: scripted agents work through a small plan. One lies and is refuted; a killed run is resumed."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

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
    # imported here, because `trued demo --help` imports this package and should be quick
    from trued.cli.demo.narration import Narrator
    from trued.cli.demo.show import Demo

    raise typer.Exit(Demo(keep, os.environ, Narrator(sys.stdout)).play())
