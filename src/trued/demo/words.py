"""How the demo speaks: a headline a beat, a sentence or two, and what the journal says as it says it."""

from collections.abc import Mapping
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from ..redact import plain
from ..types import Event

NAMES = {"purple-team-a": "team A", "purple-team-b": "team B"}
GRADES = {"proven": "bold green", "refuted": "bold red"}


class Teller:
    def __init__(self, stream: TextIO) -> None:
        terminal = stream.isatty()
        self._console = Console(file=stream, markup=False, highlight=False, emoji=False, soft_wrap=not terminal)
        self._stream = stream

    def headline(self, number: int, text: str) -> None:
        self._print(Text(f"\n{number} · {text}", "bold"))

    def say(self, text: str, style: str = "") -> None:
        self._print(Text(f"  {text}", style))

    def command(self, text: str) -> None:
        self._print(Text.assemble(("  $ ", "dim"), (text, "cyan")))

    def output(self, text: str) -> None:
        """What a program printed; it may hold an agent's words."""
        for line in plain(text).splitlines():
            self._print(Text(f"  │ {line}"))

    def fact(self, happened: bool, text: str) -> None:
        mark, style = ("✓", "green") if happened else ("✗", "bold red")
        self._print(Text.assemble((f"  {mark} ", style), text))

    def event(self, at: float, who: str, what: str, style: str = "") -> None:
        self._print(Text.assemble((f"  {at:5.1f} s  ", "dim"), (f"{who:<7}", "bold"), (plain(what), style)))

    def _print(self, text: Text) -> None:
        self._console.print(text)
        self._stream.flush()


def told(event: Event) -> tuple[str, str, str] | None:
    """Who, what and in which style; None for what only a log needs."""
    data: Mapping[str, Any] = event.data
    who = NAMES.get(str(data.get("role")), str(data.get("role", "")))
    if event.kind == "asked":
        again = ", in the same conversation, with what is missing" if data.get("resume") else ""
        return who, f"begins {event.key.partition('/')[0]}{again}", "dim"
    if event.kind == "answered":
        reply = data.get("reply") or {}
        return who, f"claims {reply.get('result') or reply.get('status')}: “{reply.get('summary')}”", ""
    if event.kind == "judged":
        grade = str(data.get("grade"))
        why = "; ".join(map(str, data.get("why") or ()))
        return "engine", f"{data.get('requirement')} is {grade}: {why}", GRADES.get(grade, "yellow")
    return None
