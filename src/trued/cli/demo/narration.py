"""Prints the demo: a headline for each part, a sentence or two, and the journal's events as they happen."""

from collections.abc import Callable, Mapping
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from trued.model import Event
from trued.support.redaction import plain

NAMES = {"purple-team-a": "team A", "purple-team-b": "team B"}
WORDS = {"red": "cases fail, as they must", "guard": "pass already, and must keep passing"}  # on the base
GRADES = {"proven": "bold green", "refuted": "bold red"}


class Narrator:
    def __init__(self, stream: TextIO) -> None:
        terminal = stream.isatty()
        self._console = Console(file=stream, markup=False, highlight=False, emoji=False, soft_wrap=not terminal)
        self._stream = stream

    def headline(self, number: int, text: str) -> None:
        self._print(Text(f"\n{number} · {text}", "bold"))

    def say(self, text: str, style: str = "") -> None:
        self._print(Text(f"  {text}", style))

    def command(self, text: str) -> None:
        self._print(Text.assemble(("  $ ", "dim"), (text, "cyan")), whole=True)  # unwrapped, to be copied

    def output(self, text: str) -> None:
        """Print a program's output; it may contain an agent's text."""
        for line in plain(text).splitlines():
            self._print(Text(f"  │ {line}"))

    def fact(self, happened: bool, text: str) -> None:
        mark, style = ("✓", "green") if happened else ("✗", "bold red")
        self._print(Text.assemble((f"  {mark} ", style), text))

    def event(self, at: float, who: str, what: str, style: str = "") -> None:
        said = plain(what)
        if not self._console.is_terminal:
            self._print(Text(f"  {at:5.1f} s  {who:<7}{said}"))
            return
        row = Table.grid()  # wraps a long sentence under its own beginning
        row.add_column(width=11)
        row.add_column(width=7)
        row.add_column()
        row.add_row(Text(f"  {at:5.1f} s", "dim"), Text(who, "bold"), Text(said, style))
        self._print(row)

    def _print(self, one: Text | Table, *, whole: bool = False) -> None:
        self._console.print(one, soft_wrap=whole or None)
        self._stream.flush()


def event_row(event: Event) -> tuple[str, str, str] | None:
    """An event as (who, what, style); None if the demo does not show it."""
    row = _ROWS.get(event.kind)
    return row(event) if row else None


def _asked(event: Event) -> tuple[str, str, str]:
    again = " again, in the same session, with the gaps" if event.data.get("resume") else ""
    return _who(event), f"starts {event.key.partition('/')[0]}{again}", "dim"


def _answered(event: Event) -> tuple[str, str, str]:
    reply: Mapping[str, Any] = event.data.get("reply") or {}
    if not reply:
        return _who(event), f"failed: {event.data.get('why')}", "red"
    return _who(event), f"claims {reply.get('result') or reply.get('status')}: “{reply.get('summary')}”", ""


def _sealed(event: Event) -> tuple[str, str, str] | None:
    cases: Mapping[str, int] = event.data.get("cases") or {}
    named = ", ".join(map(str, event.data.get("serves") or ()))
    if not named:
        return None
    found = [f"{number} {WORDS.get(kind, kind)}" for kind, number in cases.items()]
    return "engine", f"{named}: {', '.join(found)}", ""


def _judged(event: Event) -> tuple[str, str, str]:
    grade = str(event.data.get("grade"))
    why = "; ".join(map(str, event.data.get("why") or ()))
    return "engine", f"{event.data.get('requirement')} is {grade}: {why}", GRADES.get(grade, "yellow")


def _adopted(_: Event) -> tuple[str, str, str]:
    return "engine", "finds the call still running and adopts it", "green"


def _found(_: Event) -> tuple[str, str, str]:
    return "engine", "finds the answer that the call wrote meanwhile and uses it", "green"


def _who(event: Event) -> str:
    role = str(event.data.get("role", ""))
    return NAMES.get(role, role)


_ROWS: dict[str, Callable[[Event], tuple[str, str, str] | None]] = {
    "asked": _asked,
    "answered": _answered,
    "sealed": _sealed,
    "judged": _judged,
    "adopted": _adopted,
    "report found": _found,
}
