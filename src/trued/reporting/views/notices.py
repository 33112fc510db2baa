"""What happened between calls and checks and is worth a line: events as sentences."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from trued.model import Event

if TYPE_CHECKING:
    from trued.reporting.views.progress import Progress

FILES = 6  # of a list; more are counted
LENGTH = 300  # characters of one fact


def _told(text: str, *, warning: bool = True) -> "Callable[[Progress, Event], None]":
    def fold(seen: "Progress", event: Event) -> None:
        seen.remark(event, text.format_map(_Facts(event.data)), warning=warning)

    return fold


class _Facts(dict[str, str]):
    """The facts of an event as words; one that was not told is nothing."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__({name: _words(value) for name, value in data.items()})

    def __missing__(self, name: str) -> str:
        return "somebody" if name == "agent" else ""


def _words(value: object) -> str:
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):
        every = [str(one) for one in value]
        more = f" and {len(every) - FILES} more" if len(every) > FILES else ""
        return ", ".join(every[:FILES]) + more
    return str(value)[:LENGTH]


def _built(seen: "Progress", event: Event) -> None:
    """The engine's own build, where it failed."""
    if str(event.data.get("outcome")) != "passed":
        lines = [line for line in str(event.data.get("said", "")).splitlines() if line.strip()]
        last = f": {lines[-1].strip()[:LENGTH]}" if lines else ""
        seen.remark(event, f"{event.data.get('command')} {event.data.get('outcome')}{last}", warning=True)


def _critique(seen: "Progress", event: Event) -> None:
    """Critiques of the design that were still High when it was built."""
    for name, how in (("stands", "still stand"), ("closed", "are closed")):
        if event.data.get(name):
            text = f"critiques of the design {how}: {_words(event.data[name])}"
            seen.remark(event, text, warning=name == "stands")


FOLDS: dict[str, "Callable[[Progress, Event], None]"] = {
    "agents found": _told("nobody named an agent; found: {says}", warning=False),
    "working tree is dirty": _told("uncommitted changes are left alone and are no part of the run: {files}"),
    "role of another tool": _told("{role} works by {origin}, not by the packaged role"),
    "no progress": _told("no progress: the same checks failed twice and nothing was changed"),
    "branch not moved": _told("the run's branch was not moved: {why}"),
    "sealed file edited": _told("{role} edited what is sealed or the engine's, to no effect: {files}"),
    "tried to start an agent": _told("tried to start an agent: refused"),
    "claim refuted": _told("a claim that git does not bear out: {what}"),
    "missing in the ticket": _told("the ticket {key} does not say: {what}", warning=False),
    "not offered": _told("not offered: {files}: {why}"),
    "offered": _told("offered as a pull request: {url}", warning=False),
    "agreed": _told("{who} agreed to changes of {files}", warning=False),
    "carried": _told("{who} said again for the new commit: {requirements}", warning=False),
    "memory missing": _told("{agent} gave no answer: it is missing in the table"),
    "memory undone": _told("{agent} wrote what only the engine writes, and it was undone: {files}"),
    "artifact missing": _told("{path} is missing: {why}"),
    "left elsewhere": _told("{agent} wrote beyond its own document, and it was undone: {files}"),
    "plan refused": _told("the plan was refused: {why}"),
    "team asks": _told("{who} asks the {to}: {text}", warning=False),
    "team answers": _told("the {role} answers: {text}", warning=False),
    "fix tasks": _told("the PM makes fix tasks for {about}: {tasks}", warning=False),
    "critique": _critique,
    "built": _built,
    "migrated": _told("{file} is taken over: {said}", warning=False),
    "not migrated": _told("{file} is not taken over, and left as it is: {why}"),
    "tests not counted": _told("tests that were named could not be counted: {command}: {why}"),
    "edited": _told("somebody edited {path}", warning=False),
    "edit honoured": _told("the edit of {path} is honoured: {said}", warning=False),
    "edit not understood": _told("the edit of {path} is not understood, and left as it is: {why}"),
}
