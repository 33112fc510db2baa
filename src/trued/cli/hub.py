"""The commands `hub init`, `hub status` and `hub limit`."""

import os
from typing import Annotated

import typer

from trued.cli.context import AsJson
from trued.cli.terminal import hint, outside_agents, print_json
from trued.engine.journals.opening import load_hub, prepare_hub
from trued.errors import BadInput
from trued.inputs.settings.hub import hub_address

CAPS = {"at_once": "at once", "per_minute": "a minute"}

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
    name = prepare_hub(url or _hub_in_use())
    if as_json:
        print_json({"hub": name, "roles": ["trued_worker", "trued_asker"]})
        return
    typer.echo(f"{name} is ready")
    hint("give each login one role: grant trued_worker to ann; grant trued_asker to bob;")


@group.command()
def status(as_json: AsJson = False) -> None:
    """Show the caps of agents on the hub, and how many of their calls are at work on all machines."""
    with load_hub("attempts").opened_caps(_hub_in_use()) as caps:
        found = caps.stored()
    if as_json:
        print_json({"caps": found})
        return
    for cap in found:
        most = [f"{cap[name]} {words}" for name, words in CAPS.items() if cap[name] is not None]
        typer.echo(f"{cap['agent']}: at most {' and '.join(most) or 'any number'}; {cap['at_work']} at work")
    if not found:
        hint("no agent is capped: trued hub limit AGENT --at-once N --per-minute N")


@group.command()
def limit(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="claude, codex, …; all its models together.")],
    at_once: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Most calls at the same time.", show_default="no cap")
    ] = None,
    per_minute: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Most calls that begin in a minute.", show_default="no cap")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Cap the calls of an agent over all machines of the hub, as its owner. Without options: no cap.

    A call that would be too much waits for its turn. A run's own limits stay as they are.
    """
    outside_agents("hub limit")
    with load_hub("attempts").opened_caps(_hub_in_use()) as caps:
        caps.set(agent, at_once, per_minute)
    if as_json:
        print_json({"agent": agent, "at_once": at_once, "per_minute": per_minute})
    else:
        typer.echo(f"{agent}: {'capped' if at_once or per_minute else 'no cap'}")


def _hub_in_use() -> str:
    """The address of the hub. Raises BadInput if none is named."""
    if address := hub_address(os.environ):
        return address
    raise BadInput("no hub is named", then="pass postgresql://USER@HOST/DATABASE, or set [hub] url")
