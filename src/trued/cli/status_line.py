"""The lines that a workflow adds about its run (what is planned, what is being worked on, the result), and the run's
usage in one line."""

from collections.abc import Iterator

from rich.text import Text

from trued.cli.format import line, spent, tokens
from trued.reporting.views.progress import Progress
from trued.support.durations import duration
from trued.workflows.view import StyledLine

LONGEST = 400  # maximum length of one styled piece of a line, in characters; longer pieces are cut


def status_lines(seen: Progress) -> list[Text]:
    """What the workflow is working on now; nothing for workflows without a view of their own."""
    return [_status_text(pieces) for pieces in seen.view.status(seen.calls, running=seen.state == "running")]


def planned(seen: Progress) -> list[Text]:
    """What a planned run will build, in its workflow's terms; nothing for workflows without a view of their own."""
    return [_status_text(pieces) for pieces in seen.view.planned()]


def ending(seen: Progress) -> Iterator[Text]:
    """The result of an ended run in its workflow's terms; nothing for workflows without a view of their own."""
    lines, totals = list(seen.view.ending(seen.calls, seen.branch)), list(filter(None, seen.view.totals()))
    if not lines and not totals:
        return
    yield from map(_status_text, lines)
    yield Text(" · ".join(part for part in (*totals, usage(seen)) if part))


def usage(seen: Progress) -> str:
    """The tokens, cost and time that a run has used: `45.2k tokens · $0.79 · 4m10s`."""
    used, estimated = seen.tokens
    took = duration(seen.worked)
    return " · ".join(filter(None, (tokens(used, estimated=estimated), spent(seen.cost_usd, seen.cost), took)))


def _status_text(pieces: StyledLine) -> Text:
    """One line without control characters: names in it may come from an agent."""
    return Text.assemble(*((_piece(text), style) for text, style in pieces))


def _piece(text: str) -> str:
    before, after = text[: len(text) - len(text.lstrip(" "))], text[len(text.rstrip(" ")) :]
    return f"{before}{line(text, LONGEST)}{after}" if text.strip() else text
