"""Rounds of a ticket as remarks: issues, files changed that nobody had named, failed previews, and pictures."""

from trued.model.events import JournalEvent
from trued.support.plurals import counted
from trued.workflows.ticket.events import (
    EVENTS,
    IssuesFixed,
    PagesNotOpened,
    PicturesClaimed,
    PreviewShown,
    RoundVerified,
)
from trued.workflows.view import WorkflowView
from trued.workflows.view_protocols import RunTree


class TicketView(WorkflowView):
    EVENTS = EVENTS

    def __init__(self) -> None:
        self._notices: list[str] = []

    def notices(self) -> list[str]:
        """Sentences about files that fixers changed unasked, previews and pages that could not be opened, and missing
        pictures."""
        return self._notices

    def add(self, tree: RunTree, key: str, event: JournalEvent) -> None:
        """Take the next event of the run."""
        match event:
            case RoundVerified():
                number = len(event.open)
                result = counted(number, "issue") if number else "nothing found"
                tree.remark(key, f"round {event.number}: {result}; {event.fate}", warning=bool(number))
            case IssuesFixed():
                for file in event.beyond:
                    why = file.why or "no reason was given"
                    tree.remark(key, f"changed beyond the named files: {file.path} ({why})", warning=True)
                    self._notices.append(f"A fix changed a file beyond the named ones: {file.path} ({why}).")
            case PreviewShown() if event.why:
                self._notices.append(f"There was no preview to look at: {event.why}.")
                tree.remark(key, f"preview{f' {event.url}' if event.url else ''}: {event.why}", warning=True)
            case PagesNotOpened():
                self._notices.append(f"The engine has {event.sentence}.")
                tree.remark(key, f"preview: {event.sentence}", warning=True)
            case PicturesClaimed():
                names = ", ".join(event.pictures) or "no usable picture"
                tree.remark(key, f"{event.role} provided pictures (claims, not evidence): {names}")
                if event.missing:
                    gone = f"{event.role} names pictures that are not in its clone: {', '.join(event.missing)}"
                    tree.remark(key, gone, warning=True)
                    self._notices.append(f"{gone}.")
            case _:
                pass

    def describe(self, event: JournalEvent) -> str | None:
        match event:
            case RoundVerified():
                return f"{event.fate}; {'; '.join(event.open or ('nothing found',))}"
            case IssuesFixed():
                return event.summary
            case PicturesClaimed():
                gone = f"named, but not in its clone: {', '.join(event.missing)}" if event.missing else ""
                return "; ".join(filter(None, (", ".join(event.pictures), gone)))
            case PagesNotOpened():
                return event.sentence
            case PreviewShown():
                return event.url or f"none: {event.why}"
            case _:
                return None
