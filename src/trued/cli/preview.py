"""The command `preview`: starts the project at a run's commit, for a person to look at."""

import asyncio
import signal
import sys
from typing import Annotated

import typer

from trued.cli.context import AsJson, RunName, newest, open_store, selected_run
from trued.cli.terminal import hint, out, outside_agents, print_json
from trued.engine.run_preview import RunPreview, preview_run
from trued.engine.run_store import RunStore
from trued.model import RunRecord

app = typer.Typer(rich_markup_mode=None)


@app.command()
def preview(
    run: RunName = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port on this machine.", show_default="a free one")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Start the project at the run's newest commit, in the sandbox, and print its address. Ctrl-C ends it.

    The contract says how to start the server; if it does not, the command is found in the project's files.
    """
    outside_agents("preview")
    with open_store() as store:
        asyncio.run(_serve_until_interrupted(store, selected_run(store, run), port, as_json=as_json))


async def _serve_until_interrupted(store: RunStore, record: RunRecord, port: int, *, as_json: bool) -> None:
    """Run the project until the user interrupts it; then its server ends with all its processes."""
    over, loop = asyncio.Event(), asyncio.get_running_loop()
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signal_number, over.set)
    async with preview_run(store, record.id, port, commit=newest(record)) as shown:
        _print_preview(shown, as_json=as_json)
        await over.wait()
    hint(f"the preview of run {record.id} has ended")


def _print_preview(shown: RunPreview, *, as_json: bool) -> None:
    if as_json:
        print_json(shown.model_dump(mode="json"))
        sys.stdout.flush()  # a program that reads our output waits for this line
    else:
        out().print(shown.url, soft_wrap=True)
        hint(f"commit {shown.commit[:10]}, started by `{' '.join(shown.command)}`; Ctrl-C ends it")
