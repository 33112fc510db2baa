"""How often a page is painted: at once when something happens, and never so often that it keeps a core busy."""

import os
from contextlib import closing
from pathlib import Path

import pytest

from tests.page.made_up import demo
from trued.engine.journals.sqlite import SqliteJournal
from trued.page.live import BUSY, CALM_REFRESH_S, IDLE, IDLE_S, LATE_S, PAINT_S, REFRESH_S, WatchedPage
from trued.page.reader import Reader
from trued.page.view import PageView


def _nothing(reader: Reader) -> PageView:
    return PageView("", {})


@pytest.mark.spec("PAGE-3")
@pytest.mark.parametrize(
    ("page", "rests_s"),
    [
        (WatchedPage(_nothing, is_stale=True, took=0.001), PAINT_S),
        (WatchedPage(_nothing, is_stale=True, took=0.5), BUSY * 0.5),
        (WatchedPage(_nothing, took=0.001), REFRESH_S),
        (WatchedPage(_nothing, is_stale=True, took=60.0), LATE_S),
        (WatchedPage(_nothing, took=0.1), IDLE * 0.1),
        (WatchedPage(_nothing, took=60.0), IDLE_S),
        (WatchedPage(_nothing, took=0.001, refresh_s=CALM_REFRESH_S), CALM_REFRESH_S),
    ],
)
def test_a_page_rests_longer_the_more_it_takes_and_the_less_happens(page: WatchedPage, rests_s: float) -> None:
    page.painted = 100.0
    assert not page.is_due(100.0 + rests_s - 0.01)
    assert page.is_due(100.0 + rests_s)


@pytest.mark.spec("PAGE-1")
def test_a_driver_that_died_and_a_transcript_that_grew_are_seen_without_an_event(tmp_path: Path) -> None:
    demo(tmp_path, state="running")
    with closing(SqliteJournal(tmp_path / "journal.db")) as journal, closing(Reader(tmp_path, {})) as reader:
        journal.announce("r-demo")
        driven = reader.outside_journal()
        assert driven == reader.outside_journal() == (0, (("r-demo", os.getpid()),))
        (tmp_path / "runs" / "r-demo" / "lock").write_text("")
        assert reader.outside_journal() == (0, (("r-demo", 0),))
        record = reader.run("r-demo")
        transcript = reader.transcript(record, reader.calls(record)[0])
        assert transcript
        transcript.window()
        assert reader.outside_journal()[0] > 0
