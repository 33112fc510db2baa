"""Shows a run while it works: a live tree on a terminal, one line per event elsewhere."""

import threading
import time
from pathlib import Path
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from trued.cli.event_lines import event_line
from trued.cli.terminal import ask_person, err, hint
from trued.cli.tree import footer, header, scope_lines
from trued.model import Event, PersonAnswer, Question
from trued.model.events.call import CallStarted
from trued.model.events.proof import CheckRan, RequirementJudged
from trued.model.events.run import RunBegan
from trued.reporting.views.activity import RunActivity
from trued.reporting.views.progress import Progress
from trued.reporting.views.rows import Row
from trued.support.plain_text import plain
from trued.workflows.view import view_of

PER_SECOND = 4  # how often the tree is redrawn; more often would only use CPU
HANGING = 4  # the rest of a wrapped line is indented this many columns further than its beginning
NARROWEST = 40
AT_ONCE = 12  # in a scope with more rows than this, finished rows are printed for good and only the others redrawn


class Screen(Protocol):
    """Shows a run's events and asks its questions."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def follow(self, run: str, folder: Path) -> None: ...
    def print_sentence(self, sentence: str) -> None: ...
    def listen(self, event: Event) -> None: ...
    async def ask(self, question: Question) -> PersonAnswer | None: ...


class Lines:
    """Prints plain lines, for logs, pipes and CI. Routine events are left out; `trued logs` lists them."""

    def __init__(self, workflow: str = "") -> None:
        self._console, self._view = err(), view_of(workflow)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def follow(self, run: str, folder: Path) -> None:
        """Do nothing: the current activity of agents would flood a log."""

    def print_sentence(self, sentence: str) -> None:
        """Print a sentence of the engine."""
        if sentence:
            hint(sentence)

    def listen(self, event: Event) -> None:
        if began := RunBegan.read(event):
            self._view = view_of(began.workflow)
        if not _is_routine(event):
            self._console.print(Text(event_line(event, self._view)), soft_wrap=True)

    async def ask(self, question: Question) -> PersonAnswer | None:
        return await ask_person(question)


def _is_routine(event: Event) -> bool:
    """Whether a log can leave the event out, because a later event says more. Routine events are the start of a call's
    process, a check run that counts, and the grade of one requirement (the verdict has all grades)."""
    if event.kind == CheckRan.KIND:
        return not event.data.get("void")
    return event.kind in (CallStarted.KIND, RequirementJudged.KIND)


class LiveTree:
    """Draws a run as a live tree. A finished scope is printed once, into the scrollback. Scopes in which something
    runs, and the latest scope, are redrawn."""

    def __init__(self, run: str = "", before: tuple[Event, ...] = (), console: Console | None = None) -> None:
        self._console = console or err()
        self._run = run
        self._seen = Progress(before)
        # scope → how many of its rows have been printed for good
        self._printed = {scope: self._settled_rows(names) for scope, names in self._seen.scopes.items()}
        self._titled = False
        self._last = ""
        # the scopes that still have something to draw, in order (the values mean nothing)
        self._alive: dict[str, None] = {}
        self._live = self._fresh()
        self._turn = threading.RLock()  # held by the thread that writes to the screen
        self._over = threading.Event()
        self._drawing = threading.Thread()
        self._activity: RunActivity | None = None

    def __enter__(self) -> Self:
        self._live.start()
        self._over.clear()
        self._drawing = threading.Thread(target=self._draw, daemon=True)
        self._drawing.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._drawing.join()
        self._settle(everything=True)
        self._live.stop()

    def _draw(self) -> None:
        while not self._over.wait(1 / PER_SECOND):
            with self._turn:
                if self._live.is_started:
                    self._live.refresh()

    def follow(self, run: str, folder: Path) -> None:
        """Show this run and the current activity of its agents; `folder`: the run's folder in the private state."""
        self._run = run
        self._activity = self._activity or RunActivity(folder / "spool")

    def print_sentence(self, sentence: str) -> None:
        """Print a sentence of the engine above the live tree."""
        with self._turn:
            if sentence:
                self._live.console.print(Text(plain(sentence), "dim"))

    def listen(self, event: Event) -> None:
        with self._turn:
            self._add_event(event)

    def _add_event(self, event: Event) -> None:
        self._seen.add(event)
        for scope in self._seen.touched:
            self._last = scope
            self._alive[scope] = None
        if event.kind == RunBegan.KIND or not self._titled:
            self._title(event)
        self._settle(everything=False)

    async def ask(self, question: Question) -> PersonAnswer | None:
        with self._turn:
            self._settle(everything=True)
            self._live.stop()
        try:
            return await ask_person(question)
        finally:
            with self._turn:
                self._live = self._fresh()  # a new one: the stopped tree would draw over what the user has typed
                self._live.start()

    def _fresh(self) -> Live:
        return Live(get_renderable=self._picture, console=self._console, auto_refresh=False, transient=True)

    def _title(self, event: Event) -> None:
        began = RunBegan.read(event)
        self._run = self._run or (began.run if began else "") or self._seen.branch.removeprefix("trued/")
        self._titled = True
        self._live.console.print(header(self._run, self._seen, live=True))

    def _settle(self, *, everything: bool) -> None:
        """Print for good the rows that will no longer change: the finished rows at the beginning of a long scope, and
        all rows of a scope that has nothing running and is not the latest. `everything`: print all rows, as before a
        question and at the end."""
        if everything:
            self._seen.settle()
        for scope, names in self._unprinted_rows():
            at_work = len(names) - self._settled_rows(names)
            if everything or (not at_work and scope != self._last):
                self._print(scope, names)
                self._alive.pop(scope, None)
            elif len(names) > AT_ONCE and (settled := self._settled_rows(names)):
                self._print(scope, names[:settled])

    def _settled_rows(self, names: list[str]) -> int:
        """How many rows, from the first on, are finished: counting stops at the first row that is not."""
        rows = (self._seen.rows[name] for name in names)
        return next((number for number, row in enumerate(rows) if not _is_settled(row)), len(names))

    def _unprinted_rows(self) -> list[tuple[str, list[str]]]:
        """Each scope with rows that are not yet printed for good, and the names of these rows."""
        fresh = [(scope, self._seen.scopes[scope][self._printed.get(scope, 0) :]) for scope in list(self._alive)]
        return [(scope, names) for scope, names in fresh if names]

    def _print(self, scope: str, names: list[str]) -> None:
        before = self._printed.get(scope, 0)
        rows = [self._seen.rows[name] for name in names]
        called = self._seen.names.get(scope, "")
        accept = self._seen.accept
        lines = scope_lines(scope, rows, time.time(), accept=accept, called=called, continued=before > 0)
        self._live.console.print(Group(*(part for text in lines for part in wrap_indented(text, self._console))))
        self._printed[scope] = before + len(names)

    def _activity_of(self, key: str) -> str:
        return self._activity.of_call(key) if self._activity else ""

    def _picture(self) -> RenderableType:
        now, lines = time.time(), list[Text]()
        for scope, names in self._unprinted_rows():
            rows = [self._seen.rows[name] for name in names]
            called = self._seen.names.get(scope, "")
            drawn = scope_lines(scope, rows, now, accept=self._seen.accept, called=called, doing=self._activity_of)
            lines += [part for text in drawn for part in wrap_indented(text, self._console)]
        room = max(3, self._console.height - 4)
        return Group(*lines[-room:], *footer(self._seen, now))


def wrap_indented(text: Text, console: Console) -> list[Text]:
    """Wrap a line that is wider than the screen, and indent every line but the first."""
    if text.cell_len <= console.width or console.width < NARROWEST:
        return [text]
    indent = len(text.plain) - len(text.plain.lstrip()) + HANGING
    first, *rest = text.wrap(console, console.width - indent)
    return [first, *(Text(" " * indent) + part for part in rest)]


def _is_settled(row: Row) -> bool:
    return getattr(row, "state", "") not in ("running", "unfinished")
