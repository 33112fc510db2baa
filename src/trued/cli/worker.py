"""The command `worker`: drives runs from a hub's queue on this machine. Its subcommands: `ls`, `drain`, `forget`."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from trued.cli.context import AsJson
from trued.cli.terminal import hint, home, out, outside_agents, print_json
from trued.engine.journals.opening import load_hub
from trued.errors import BadInput
from trued.inputs.settings.hub import hub_address
from trued.support.plurals import counted
from trued.workspace.sandbox.levels import choose_level

app = typer.Typer(rich_markup_mode=None)
group = typer.Typer(rich_markup_mode=None, invoke_without_command=True)
app.add_typer(group, name="worker", help="Drive runs from a hub's queue on this machine")

WorkerName = Annotated[str, typer.Argument(metavar="NAME", help="The worker.")]


def hub_in_use() -> str:
    """The address of the hub. Raises BadInput if there is none."""
    if address := hub_address(os.environ):
        return address
    raise BadInput("no hub is configured", then="set [hub] url in your own trued.toml, or TRUED_HUB")


@contextmanager
def stored_workers() -> "Iterator[Any]":
    """Open the hub's records of its workers."""
    with load_hub("workers").opened_workers(hub_in_use()) as workers:
        yield workers


@group.callback()
def worker(  # noqa: PLR0913  a flag is a parameter
    context: typer.Context,
    name: Annotated[str, typer.Option(help="The worker's name, unique on the hub.", show_default="the host's")] = "",
    agents: Annotated[
        str,
        typer.Option(
            metavar="AGENT,…", help="Agents that the worker may run, for example claude,codex.", show_default=False
        ),
    ] = "",
    queue: Annotated[str, typer.Option(help="The queue that the worker takes runs from.")] = "runs",
    runs: Annotated[int, typer.Option(min=1, help="Maximum number of runs driven at the same time.")] = 2,
    sandbox: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LEVEL", help="A sandbox level that agents may run with.", show_default="the best that works here"
        ),
    ] = None,
    variable: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="An environment variable that runs may pass to agents and forges."),
    ] = None,
    readable: Annotated[
        list[str] | None, typer.Option(metavar="PATH", help="A local file or folder that agents may read.")
    ] = None,
    repository: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH", help="A local repository that runs may work on; not needed if [hub] store is set."
        ),
    ] = None,
    allow_programs: Annotated[
        bool,
        typer.Option(
            "--allow-programs",
            help="Permit command, scripted and acp in --agents: everyone who may start runs can then run any program "
            "on this machine.",
        ),
    ] = False,
    lease: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=1,
            help="If this worker does not renew its lease for this long, other workers take its runs.",
        ),
    ] = 300.0,
) -> None:
    """Drive runs from a hub's queue on this machine, until the worker is drained or ended.

    It runs only what its own options name; logins and keys stay on this machine. Start runs with `trued run … --on
    QUEUE`. Ctrl-C or SIGTERM gives its runs back to the queue.
    """
    if context.invoked_subcommand is not None:
        return
    outside_agents("worker")
    address, hub = hub_in_use(), load_hub("worker")
    kinds = tuple(kind.strip() for kind in agents.split(",") if kind.strip())
    if not kinds:
        raise BadInput("the agents that this worker may run are not named", then="pass --agents claude,codex")
    if (programs := [kind for kind in kinds if kind in hub.PROGRAMS]) and not allow_programs:
        what = f"with {programs[0]}, everyone who may start runs can run any program on this machine"
        raise BadInput(what, then="add --allow-programs if you trust all of them")
    levels = tuple(choose_level(level, allow_unsandboxed=True) for level in sandbox or ["auto"])
    offer = hub.Offer(
        name=name or os.uname().nodename,
        queue=queue,
        runs=runs,
        agents=kinds,
        levels=levels,
        variables=tuple(variable or ()),
        readable=tuple(readable or ()),
        repositories=tuple(map(str, repository or ())),
    )
    code = hub.run_worker(address, home(), dict(os.environ), offer, lease)
    sys.stderr.flush()
    os._exit(code)  # not sys.exit: it would wait for DBOS's threads, which wait for runs that other workers took over


@group.command()
def ls(as_json: AsJson = False) -> None:
    """List the workers: their state, what they may run, and the runs that they drive."""
    with stored_workers() as workers:
        stored = workers.stored()
    if as_json:
        print_json([record.as_data() for record in stored])
        return
    if not stored:
        hint("no worker has joined this hub yet: trued worker --name NAME --agents AGENT,…")
    for record in stored:
        drives = f"drives {', '.join(record.drives)}" if record.drives else "drives nothing"
        may = f"{', '.join(record.agents)}; {', '.join(record.levels)}; at most {counted(record.runs, 'run')}"
        out().print(
            Text(f"{record.name}  {record.state}  {record.queue}  {drives}  ({may}; {record.host})"), soft_wrap=True
        )


@group.command()
def drain(name: WorkerName) -> None:
    """Let a worker finish the runs that it drives, take nothing more, and end."""
    outside_agents("worker drain")
    with stored_workers() as workers:
        workers.drain(name)
    hint(f"{name} takes no more runs, and ends when its own have ended")


@group.command()
def forget(name: WorkerName) -> None:
    """Declare a worker dead, because its machine no longer exists. Other workers continue its runs at once, without
    waiting until its lease has ended.

    If the worker is alive after all, it writes nothing more and ends. Calls that its agents are working on are then
    paid for twice.
    """
    outside_agents("worker forget")
    with stored_workers() as workers:
        workers.forget(name)
    hint(f"{name} is declared dead: its runs go back to their queue")
