"""A role's inbox: questions wait, answers stand below them, old ones are put away."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from trued.errors import BadInput
from trued.workflows.team.inbox import KEPT, PAGE, Inbox, parse_messages, render

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


@pytest.mark.spec("TEAM-6")
def test_a_message_has_time_sender_type_priority_and_status() -> None:
    inbox = Inbox(role="techlead").with_message("dev, F1-T2", "Which hash?", WHEN, priority="high")
    assert "- **Status**: pending\n" in render(inbox)
    assert [one.number for one in inbox.waiting] == [1]
    inbox = inbox.addressed("argon2,\nas everywhere")
    assert render(inbox) == WRITTEN
    assert parse_messages(WRITTEN, "inbox.md") == inbox.messages
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
    found = [one for name, text in sorted(files.items()) for one in parse_messages(text, name)]
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
    assert parse_messages(render(inbox), "inbox.md") == inbox.messages
    page = MarkdownIt("commonmark").render(render(inbox))
    outside = page.split("<blockquote>")[0] + "".join(
        part.split("</blockquote>")[-1] for part in page.split("<blockquote>")[1:]
    )
    assert outside.count("<h2>") == 2


@pytest.mark.spec("TEAM-6", "USE-7")
def test_an_inbox_that_cannot_be_read_is_said_with_its_line() -> None:
    with pytest.raises(BadInput, match=r"inbox.md:3: message 1 has no From"):
        parse_messages(WRITTEN.replace("- **From**: dev, F1-T2\n", ""), "inbox.md")
    with pytest.raises(BadInput, match=r"inbox.md:3: message 1 cannot be read"):
        parse_messages(WRITTEN.replace("high", "urgent"), "inbox.md")
