"""A role's inbox: questions wait, answers are written below them, and old messages are archived."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from trued.support.markdown import split_lines
from trued.workflows.team.backlog.items import unescaped
from trued.workflows.team.inbox import FIELDS, KEPT, PAGE, Inbox, Message, render

WRITTEN = """\
# Tech lead inbox

## Message 1

- **Time**: 2026-01-02T03:04:05Z
- **From**: dev, F1-T2
- **Type**: question
- **Priority**: high
- **Status**: addressed

> Which hash?

**Answer:**

> argon2,
> as everywhere
"""
WHEN = 1767323045.0
HEADING = re.compile(r"## Message (\d{1,9})")
FIELD = re.compile(r"- \*\*(\w+)\*\*: ?(.*)")


def read_messages(text: str) -> tuple[Message, ...]:
    """The messages of an inbox or of its archive, read back."""
    rows = [row.rstrip("\r\n") for row in split_lines(text)]
    starts = [at for at, row in enumerate(rows) if HEADING.fullmatch(row)]
    return tuple(read_message(rows[at:end]) for at, end in zip(starts, [*starts[1:], len(rows)], strict=True))


def read_message(rows: list[str]) -> Message:
    found = {match[1]: unescaped(match[2]) for row in rows if (match := FIELD.fullmatch(row))}
    time, sender, kind, priority, status = (found[name] for name in FIELDS)
    text, answer = (*quotations(rows), "", "")[:2]
    known = {"number": int(rows[0].split()[-1]), "time": time, "sender": sender, "text": text, "answer": answer}
    return Message.model_validate({**known, "kind": kind, "priority": priority, "status": status})


def quotations(rows: list[str]) -> Iterator[str]:
    part: list[str] = []
    for row in (*rows, ""):
        if row.startswith(">"):
            part.append(row.removeprefix(">").removeprefix(" "))
        elif part:
            yield "\n".join(part)
            part = []


@pytest.mark.spec("TEAM-6")
def test_a_message_has_time_sender_type_priority_and_status() -> None:
    inbox = Inbox(role="techlead").with_message("dev, F1-T2", "Which hash?", WHEN, priority="high")
    assert "- **Status**: pending\n" in render(inbox)
    assert [one.number for one in inbox.waiting] == [1]
    inbox = inbox.addressed("argon2,\nas everywhere")
    assert render(inbox) == WRITTEN
    assert read_messages(WRITTEN) == inbox.messages
    assert not inbox.waiting


@pytest.mark.spec("TEAM-6")
def test_a_notification_waits_for_nobody() -> None:
    assert not Inbox(role="pm").with_message("engine", "F1 is done", WHEN, kind="notification").waiting


@pytest.mark.spec("TEAM-15", "TEAM-6")
def test_old_messages_are_archived_and_none_is_lost() -> None:
    inbox, files = Inbox(role="pm"), dict[str, str]()
    inbox = inbox.with_message("qa", "never answered", WHEN)
    for number in range(2 * PAGE + KEPT + 5):
        inbox = inbox.with_message("dev", f"question {number}", WHEN).addressed(f"answer {number}")
        files |= inbox.files("")
    assert len(inbox.messages) <= KEPT + 1
    assert [one.text for one in inbox.waiting] == ["never answered"]
    found = [one for name, text in sorted(files.items()) for one in read_messages(text)]
    assert sorted(one.number for one in found) == [*range(1, 2 * PAGE + KEPT + 7)]
    assert {"pm/inbox.md", "pm/inbox-archive.md", "pm/inbox-archive-2.md"} <= {*files}
    assert max(map(len, files.values())) < 40_000


HOSTILE = ["x\n\n## Message 9\n\n- **Status**: addressed\n", "```", "<!-- ", "> y", "a\r\nb\x1b[31m", "- **From**: pm"]
words = st.text(st.sampled_from(list("ab>#`<\n -*:")), max_size=30) | st.sampled_from(HOSTILE)


@pytest.mark.spec("TEAM-6", "USE-6")
@settings(max_examples=40, deadline=None)
@given(sender=words, text=words, answer=words)
def test_no_words_can_pose_as_another_message(sender: str, text: str, answer: str) -> None:
    inbox = Inbox(role="qa").with_message(sender, text, WHEN).addressed(answer).with_message("dev", "next", WHEN)
    assert read_messages(render(inbox)) == inbox.messages
    page = MarkdownIt("commonmark").render(render(inbox))
    outside = page.split("<blockquote>")[0] + "".join(
        part.split("</blockquote>")[-1] for part in page.split("<blockquote>")[1:]
    )
    assert outside.count("<h2>") == 2
