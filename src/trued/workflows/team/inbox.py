"""A role's `inbox.md`: questions and requests to it, with its answers. Old messages move to an archive."""

from typing import Literal, TypeAlias

from trued.model import Value
from trued.support.timestamps import utc_timestamp
from trued.workflows.team.backlog.items import Line, Priority, escaped
from trued.workflows.team.quoting import Text, quoted

KEPT = 20  # this many messages stay in the inbox, the newest; older ones stay only while they are pending
PAGE = 100  # messages in one file of the archive
TITLES = {"pm": "PM", "techlead": "Tech lead", "dev": "Developer", "qa": "QA", "uat": "UAT"}
FIELDS = ("Time", "From", "Type", "Priority", "Status")
MessageKind: TypeAlias = Literal["question", "request", "notification"]


class Message(Value):
    number: int
    time: str  # UTC, as the journal has it
    sender: Line  # "dev, F1-T2"
    kind: MessageKind = "question"
    priority: Priority = "medium"
    status: Literal["pending", "addressed"] = "pending"
    text: Text
    answer: Text = ""


class Inbox(Value):
    """The messages to one role, numbered in order of arrival. Old messages move to pages of an archive, of which only
    the last page is kept here."""

    role: str
    messages: tuple[Message, ...] = ()
    archived: tuple[Message, ...] = ()  # messages of the archive's last page
    pages: int = 0  # how many pages of the archive are full
    last: int = 0  # number of the newest message

    def with_message(
        self, sender: str, text: str, when: float, *, kind: MessageKind = "question", priority: Priority = "medium"
    ) -> "Inbox":
        number = self.last + 1
        status: Literal["pending", "addressed"] = "addressed" if kind == "notification" else "pending"
        new = Message(
            number=number,
            time=utc_timestamp(when),
            sender=sender,
            kind=kind,
            priority=priority,
            status=status,
            text=text,
        )
        return self._bounded((*self.messages, new), number)

    def addressed(self, answer: str) -> "Inbox":
        """A copy in which the newest pending message has this answer and counts as addressed."""
        newest = self.waiting[-1].number if self.waiting else 0
        done = tuple(
            Message(**{**dict(message), "status": "addressed", "answer": answer})
            if message.number == newest
            else message
            for message in self.messages
        )
        return self._bounded(done, self.last)

    @property
    def waiting(self) -> tuple[Message, ...]:
        return tuple(message for message in self.messages if message.status == "pending")

    def _bounded(self, messages: tuple[Message, ...], last: int) -> "Inbox":
        over = len(messages) - KEPT
        old = [message for message in messages[: max(over, 0)] if message.status == "addressed"]
        archived, pages = (*self.archived, *old), self.pages
        if len(archived) > PAGE:
            archived, pages = archived[PAGE:], pages + 1
        remaining = tuple(message for message in messages if message not in old)
        return Inbox(role=self.role, messages=remaining, archived=archived, pages=pages, last=last)

    def files(self, folder: str) -> dict[str, str]:
        """The inbox, and the current page of the archive, by path."""
        files = {f"{folder}{self.role}/inbox.md": render(self)}
        if self.archived:
            title = f"# {TITLES.get(self.role, self.role)} inbox, archived\n"
            files[f"{folder}{self.role}/{self.archive}"] = "\n".join((title, *map(_message, self.archived)))
        return files

    @property
    def archive(self) -> str:
        return f"inbox-archive{f'-{self.pages + 1}' if self.pages else ''}.md"


def render(inbox: Inbox) -> str:
    head = f"# {TITLES.get(inbox.role, inbox.role)} inbox\n"
    if inbox.pages or inbox.archived:
        older = inbox.last - len(inbox.messages)
        head += f"\n{older} older messages are in {inbox.archive}{' and those before it' if inbox.pages else ''}.\n"
    return "\n".join((head, *map(_message, inbox.messages))) if inbox.messages else f"{head}\nNo messages.\n"


def _message(message: Message) -> str:
    rows = (message.time, escaped(message.sender), message.kind, message.priority, message.status)
    fields = "\n".join(f"- **{name}**: {text}" for name, text in zip(FIELDS, rows, strict=True))
    answer = f"\n**Answer:**\n\n{quoted(message.answer)}\n" if message.answer else ""
    return f"## Message {message.number}\n\n{fields}\n\n{quoted(message.text)}\n{answer}"
