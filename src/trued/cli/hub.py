"""The command `hub init`: makes the tables and roles of a hub."""

import os
from typing import Annotated

import typer

from trued.cli.context import AsJson
from trued.cli.terminal import hint, outside_agents, print_json
from trued.engine.journals.opening import prepare_hub
from trued.errors import BadInput
from trued.inputs.settings.hub import hub_address

app = typer.Typer(rich_markup_mode=None)
group = typer.Typer(rich_markup_mode=None, no_args_is_help=True)
app.add_typer(group, name="hub", help="Prepare a Postgres database that keeps the runs of several machines")


@group.command()
def init(
    url: Annotated[
        str | None,
        typer.Argument(
            metavar="[URL]", help="postgresql://USER@HOST/DATABASE, as its owner.", show_default="[hub] url, TRUED_HUB"
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a hub's tables and its roles trued_worker and trued_asker; run it again after an upgrade of trued.

    A worker's login can drive runs. An asker's can look, answer, comment, change limits and cancel.
    """
    outside_agents("hub init")
    address = url or hub_address(os.environ)
    if not address:
        raise BadInput("no hub is named", then="pass postgresql://USER@HOST/DATABASE, or set [hub] url")
    name = prepare_hub(address)
    if as_json:
        print_json({"hub": name, "roles": ["trued_worker", "trued_asker"]})
        return
    typer.echo(f"{name} is ready")
    hint("give each login one role: grant trued_worker to ann; grant trued_asker to bob;")
