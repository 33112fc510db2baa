"""Prints the demo: a headline for each part, a sentence or two, and the journal's events as they happen."""

from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from trued.model import Event
from trued.model.events import call, proof
from trued.reporting.views.event_kinds import typed
from trued.support.plain_text import plain

NAMES = {"purple-team-a": "team A", "purple-team-b": "team B"}
# kind of a check's cases → what they do on the base
WORDS = {"red": "cases fail, as they must", "guard": "pass already, and must keep passing"}
GRADES = {"proven": "bold green", "refuted": "bold red"}


class Narrator:
    def __init__(self, stream: TextIO) -> None:
        terminal = stream.isatty()
        self._console = Console(file=stream, markup=False, highlight=False, emoji=False, soft_wrap=not terminal)
        self._stream = stream

    def headline(self, number: int, text: str) -> None:
        self._print(Text(f"\n{number} · {text}", "bold"))

    def print_text(self, text: str, style: str = "") -> None:
        self._indented(Text("  "), Text(text, style))

    def command(self, text: str) -> None:
        self._print(Text.assemble(("  $ ", "dim"), (text, "cyan")), whole=True)  # not wrapped, so that it can be copied

    def output(self, text: str) -> None:
        """Print a program's output without control characters, because it may contain an agent's text."""
        for line in plain(text).splitlines():
            self._print(Text(f"  │ {line}"))

    def fact(self, happened: bool, text: str) -> None:
        mark, style = ("✓", "green") if happened else ("✗", "bold red")
        self._indented(Text(f"  {mark} ", style), Text(text))

    def _indented(self, start: Text, text: Text) -> None:
        """Print a sentence; on a terminal, wrapped lines are indented to the start of the text."""
        if not self._console.is_terminal:
            self._print(Text.assemble(start, text))
            return
        row = Table.grid()
        row.add_column(width=len(start))
        row.add_column()
        row.add_row(start, text)
        self._print(row)

    def event(self, seconds: float, who: str, what: str, style: str = "") -> None:
        text = plain(what)
        if not self._console.is_terminal:
            self._print(Text(f"  {seconds:5.1f} s  {who:<7}{text}"))
            return
        row = Table.grid()  # wrapped lines of a long sentence are indented to where the sentence begins
        row.add_column(width=11)
        row.add_column(width=7)
        row.add_column()
        row.add_row(Text(f"  {seconds:5.1f} s", "dim"), Text(who, "bold"), Text(text, style))
        self._print(row)

    def _print(self, renderable: Text | Table, *, whole: bool = False) -> None:
        self._console.print(renderable, soft_wrap=whole or None)
        self._stream.flush()


def event_row(event: Event) -> tuple[str, str, str] | None:
    """An event as (who, what, style); None if the demo does not show it."""
    match typed(event):
        case call.CallAsked() as asked:
            again = " again, in the same session, with the gaps" if asked.resume else ""
            return _display_name(asked.role), f"starts {event.key.partition('/')[0]}{again}", "dim"
        case call.CallAnswered() as answer if answer.reply:
            return _display_name(answer.role), f"claims {answer.claim}: “{answer.reply.get('summary')}”", ""
        case call.CallAnswered() as answer:
            return _display_name(answer.role), f"failed: {answer.why}", "red"
        case proof.CheckSealed() as sealed if sealed.serves:
            outcomes = [f"{number} {WORDS.get(kind, kind)}" for kind, number in sealed.cases.items()]
            return "engine", f"{', '.join(sealed.serves)}: {', '.join(outcomes)}", ""
        case proof.RequirementJudged() as judged:
            text = f"{judged.requirement} is {judged.grade}: {'; '.join(judged.why)}"
            return "engine", text, GRADES.get(judged.grade, "yellow")
        case call.CallAdopted():
            return "engine", "finds the call still running and adopts it", "green"
        case call.ReportFound():
            return "engine", "finds the answer that the call wrote meanwhile and uses it", "green"
        case _:
            return None


def _display_name(role: str) -> str:
    return NAMES.get(role, role)
