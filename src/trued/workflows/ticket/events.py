"""Events of the ticket workflow: rounds of verification, fixes, previews, pictures."""

from typing import Self

from trued.model.events import JournalEvent
from trued.model.events.proof import NoProgress
from trued.workflows.ticket.issues import Beyond, Issue


class RoundVerified(JournalEvent, kind="round"):
    """One round of verification ended."""

    number: int
    issues: tuple[Issue, ...]
    open: tuple[str, ...]  # `issues` as sentences
    fate: str  # what became of the issues of the round before

    @classmethod
    def of(cls, number: int, issues: tuple[Issue, ...], fate: str) -> Self:
        """The event of a round that found these issues."""
        return cls(number=number, issues=issues, open=tuple(issue.sentence for issue in issues), fate=fate)


class RoundWithoutProgress(NoProgress, omits=("gaps",)):
    """A round found the same issues as the round before, and nothing was changed: the loop ends. This event is a
    `NoProgress` event with more fields."""

    number: int
    issues: tuple[Issue, ...]
    open: tuple[str, ...]  # `issues` as sentences
    fate: str  # what became of the issues of the round before

    @classmethod
    def of(cls, ended: RoundVerified) -> Self:
        """The event that ends the loop after this round."""
        return cls(number=ended.number, issues=ended.issues, open=ended.open, fate=ended.fate)


class IssuesFixed(JournalEvent, kind="mended", shown="fixed"):
    """An agent says that it fixed the issues of a round."""

    number: int
    summary: str
    files: tuple[str, ...]
    beyond: tuple[Beyond, ...]  # files that nobody had named


class PreviewShown(JournalEvent, kind="preview", omits=("commit",)):
    """The verifier gets a preview of the work, or the preview could not be started or reached."""

    url: str
    why: str  # why there is nothing to look at
    commit: str = ""


class PagesNotOpened(JournalEvent, kind="pages not opened"):
    """Pages of the preview that the engine wanted to look at and that this machine could not open."""

    urls: tuple[str, ...]
    why: str

    @property
    def sentence(self) -> str:
        return f"not looked at {', '.join(self.urls)}: {self.why}"


class PicturesClaimed(JournalEvent, kind="pictures claimed", omits=("missing",)):
    """A verifier handed in pictures. They are a claim, not evidence."""

    role: str
    pictures: dict[str, str]  # name → hash
    missing: tuple[str, ...] = ()  # pictures that it names and did not leave


EVENTS = (RoundVerified, IssuesFixed, PreviewShown, PagesNotOpened, PicturesClaimed)
