"""The commands `hub init`, `hub status` and `hub limit`."""

from typing import Annotated

import typer

from trued.cli.context import AsJson
from trued.cli.terminal import hint, outside_agents, print_json
from trued.cli.worker import hub_in_use, stored_workers
from trued.engine.journals.opening import load_hub, prepare_hub
from trued.support.plurals import counted

CAPS = {"at_once": "at once", "per_minute": "a minute"}

app = typer.Typer(rich_markup_mode=None)
group = typer.Typer(rich_markup_mode=None, no_args_is_help=True)
app.add_typer(
    group,
    name="hub",
    help="Prepare and inspect the Postgres database that keeps the runs of several machines; limit their agents",
)


@group.command()
def init(
    url: Annotated[
        str | None,
        typer.Argument(
            metavar="[URL]",
            help="postgresql://OWNER@HOST/DATABASE: the owner's login.",
            show_default="[hub] url, TRUED_HUB",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create a hub's tables and its roles trued_worker and trued_asker; run it again after each upgrade of trued.

    A login with trued_worker can drive runs; one with trued_asker can look, answer, comment, change limits and cancel.
    """
    outside_agents("hub init")
    name = prepare_hub(url or hub_in_use())
    if as_json:
        print_json({"hub": name, "roles": ["trued_worker", "trued_asker"]})
        return
    typer.echo(f"{name} is ready")
    hint("give each login one role: grant trued_worker to ann; grant trued_asker to bob;")


@group.command()
def status(as_json: AsJson = False) -> None:
    """Show the hub's workers, how many runs wait in its queues, and the caps on agents."""
    with stored_workers() as workers:
        stored, waiting = workers.stored(), workers.waiting()
    with load_hub("attempts").opened_caps(hub_in_use()) as caps:
        capped = caps.stored()
    if as_json:
        print_json({"workers": [worker.as_data() for worker in stored], "queues": waiting, "caps": capped})
        return
    for worker in stored:
        typer.echo(f"{worker.name}: {worker.state}, drives {', '.join(worker.drives) or 'nothing'}")
    for queue, number in waiting.items():
        typer.echo(f"queue {queue}: {counted(number, 'run')} waiting")
    for cap in capped:
        most = [f"{cap[name]} {unit}" for name, unit in CAPS.items() if cap[name] is not None]
        typer.echo(f"{cap['agent']}: at most {' and '.join(most) or 'any number'}; {cap['at_work']} at work")
    if not capped:
        hint("no agent is capped: trued hub limit AGENT --at-once N --per-minute N")
    if not stored:
        hint("no worker has joined yet: trued worker --name NAME --agents AGENT,…")


@group.command()
def limit(
    agent: Annotated[
        str,
        typer.Argument(
            metavar="AGENT", help="The agent, such as claude or codex. The limit is for all its models together."
        ),
    ],
    at_once: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Maximum number of calls at the same time.", show_default="no cap"),
    ] = None,
    per_minute: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Maximum number of calls that begin in a minute.", show_default="no cap"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Cap an agent's calls on all machines of the hub together. Needs the owner's login.

    Without options, the cap is removed. A call that would exceed the cap waits for its turn. The limits of single runs
    stay as they are.
    """
    outside_agents("hub limit")
    with load_hub("attempts").opened_caps(hub_in_use()) as caps:
        caps.set(agent, at_once, per_minute)
    if as_json:
        print_json({"agent": agent, "at_once": at_once, "per_minute": per_minute})
    else:
        typer.echo(f"{agent}: {'capped' if at_once or per_minute else 'no cap'}")
