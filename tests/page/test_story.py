"""The sentence about what happens now says of every running call what it does."""

import pytest

from trued.model import Event, RunRecord
from trued.page.story import sentence
from trued.reporting.views.progress import Progress

RECORD = RunRecord(
    id="r-1", workflow="pipeline", title="t", repository="/r", base="b" * 40, branch="trued/r-1", state="running"
)


@pytest.mark.spec("PAGE-1")
@pytest.mark.parametrize(
    ("waiting", "who", "words"),
    [
        ("", "a", "works; so do b, c."),
        ("a", "b", "works; so do c; a waits for its provider."),
        ("ab", "c", "works; a, b wait for their providers."),
        ("b", "a", "works; so do c; b waits for its provider."),
        ("abc", "a", "waits for its provider (rate limit of claude); so do b, c."),
    ],
)
def test_whoever_works_is_not_said_to_wait_and_whoever_waits_is_not_said_to_work(
    waiting: str, who: str, words: str
) -> None:
    events = [
        Event(id=1, at=1.0, key=f"{role}#1", kind="asked", data={"role": role, "agent": "claude", "brief": ""})
        for role in "abc"
    ]
    waits = {"until": 99.0, "why": "busy", "failure": "rate", "agent": "claude"}
    events += [Event(id=2, at=2.0, key=f"{role}#1", kind="waits", data=waits) for role in waiting]
    assert sentence(RECORD, Progress(events), ()) == (who, words)
