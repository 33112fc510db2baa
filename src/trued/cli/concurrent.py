"""Drives several runs at once and prints one line per event, each beginning with its run's name."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import closing
from typing import Any

import typer
from rich.text import Text

from trued.cli.context import open_store, run_ledger
from trued.cli.event_lines import event_line
from trued.cli.format import line
from trued.cli.notify import users_notifier
from trued.cli.summary import print_end, run_as_json
from trued.cli.terminal import ask_person, complain, err, exit_on_interrupt, print_json
from trued.engine.concurrent_runs import EndedRuns, worst_exit_code
from trued.engine.engine import Engine
from trued.engine.run_store import RunStore
from trued.errors import TruedError
from trued.model import Event, PersonAnswer, Question, RunRecord
from trued.workflows.view import view_of

SHORT = 24  # maximum length of the run's name that begins each line


class SideBySide:
    """Prints the events of several runs, notifies the user of them, and asks one question at a time."""

    def __init__(self, store: RunStore, notify: bool | None = None) -> None:
        self._console, self._one, self._store = err(), asyncio.Lock(), store
        self._shown_names: dict[str, str] = {}
        self.notifier = users_notifier(store, notify)

    def show_event(self, record: RunRecord, event: Event) -> None:
        text = event_line(event, view_of(record.workflow))
        self._console.print(Text(f"{self.name_of(record)}  {text}"), soft_wrap=True)
        self.notifier.notify_of(record, event)

    def name_of(self, record: RunRecord) -> str:
        if record.id not in self._shown_names:
            self._shown_names[record.id] = name_of(self._store, record)
        return self._shown_names[record.id]

    async def ask(self, question: Question) -> PersonAnswer | None:
        async with self._one:
            return await ask_person(question)


def name_of(store: RunStore, record: RunRecord) -> str:
    """The key of the run's ticket; the run's id if it has no ticket."""
    ticket = store.inputs(record.id).ticket
    return line(ticket.key if ticket else record.id, SHORT)


def drive_all(
    work: Callable[[Engine], Coroutine[Any, Any, EndedRuns]], *, as_json: bool, notify: bool | None = None
) -> None:
    """Drive the runs side by side, print how each ended, and exit with the worst exit code of the runs."""
    interrupted = "interrupted, nothing is lost; continue with `trued resume --all` (`trued ls` lists the runs)"
    with open_store() as store:
        screen = SideBySide(store, notify)
        store.listen = screen.show_event
        with closing(screen.notifier), exit_on_interrupt(interrupted):
            ended = asyncio.run(work(Engine(store, person=screen.ask)))
            _conclude(store, ended, as_json=as_json)
    raise typer.Exit(worst_exit_code(ended))


def _conclude(store: RunStore, ended: EndedRuns, *, as_json: bool) -> None:
    records = [end for end in ended if isinstance(end, RunRecord)]
    for error in (end for end in ended if isinstance(end, TruedError)):
        complain(str(error))
    if as_json:
        print_json(
            [
                {**run_as_json(store, record), "requirements": run_ledger(store, record)["requirements"]}
                for record in records
            ]
        )
        return
    for record in records:
        err().print(Text(f"\n{name_of(store, record)} ({record.id}) on {line(record.branch)}", style="bold"))
        print_end(store, record, as_json=False)
