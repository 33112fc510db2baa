"""How often a page is painted: at once when something happens, and never so often that it keeps a core busy."""

import asyncio
import json
import os
from contextlib import closing
from pathlib import Path

import pytest

from tests.page.made_up import add_events, demo, view_of
from trued.engine.journals.sqlite import SqliteJournal
from trued.model import Event
from trued.page.live import (
    BRISK,
    BRISK_S,
    BUSY,
    CALM_REFRESH_S,
    IDLE,
    IDLE_S,
    LATE_S,
    PAINT_S,
    REFRESH_S,
    Painting,
    WatchedPage,
    Watcher,
)
from trued.page.reader import Reader
from trued.page.view import PageView


def _nothing(reader: Reader) -> PageView:
    return PageView("", {})


@pytest.mark.spec("PAGE-3")
@pytest.mark.parametrize(
    ("page", "rests_s"),
    [
        (WatchedPage(_nothing, is_stale=True, took=0.001), PAINT_S),
        (WatchedPage(_nothing, is_stale=True, took=0.02), BRISK * 0.02),
        (WatchedPage(_nothing, is_stale=True, took=0.1), BRISK_S),
        (WatchedPage(_nothing, is_stale=True, took=0.5), BUSY * 0.5),
        (WatchedPage(_nothing, whole=Painting.whole(PageView("", {}, is_whole=False)), took=0.5), PAINT_S),
        (WatchedPage(_nothing, took=0.001), REFRESH_S),
        (WatchedPage(_nothing, is_stale=True, took=60.0), LATE_S),
        (WatchedPage(_nothing, took=0.1), IDLE * 0.1),
        (WatchedPage(_nothing, took=60.0), IDLE_S),
        (WatchedPage(_nothing, took=0.001, refresh_s=CALM_REFRESH_S), CALM_REFRESH_S),
    ],
)
def test_a_page_rests_longer_the_more_it_takes_and_the_less_happens(page: WatchedPage, rests_s: float) -> None:
    page.painted = 100.0
    assert page.due == pytest.approx(100.0 + rests_s)


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


@pytest.mark.spec("PAGE-3")
def test_all_tabs_are_sent_the_same_bytes_and_a_slow_one_what_it_has_missed() -> None:
    first = PageView("one", {"head": "<p>\r\n\u2028</p>", "gone": "<i></i>"}, event=7)
    then = PageView("two", {"head": "<p>\r\n\u2028</p>", "story": "<b></b>"}, event=8)
    quick, other, slow = Watcher("/"), Watcher("/"), Watcher("/")

    async def sent(watcher: Watcher) -> bytes:
        return await anext(watcher.frames())

    async def shown() -> tuple[bytes, ...]:
        for one in (quick, other, slow):
            one.show(Painting.whole(first))
        await sent(quick), await sent(other)
        painting = Painting(then, {"story": "<b></b>"})
        for one in (quick, other, slow):
            one.show(painting)
        return tuple([await sent(one) for one in (quick, other, slow)])

    to_quick, to_other, to_slow = asyncio.run(shown())
    assert to_quick is to_other
    for frame, pieces in ((to_quick, ["story"]), (to_slow, ["head", "story"])):
        number, data, *rest = frame.decode().split("\r\n")
        assert (number, rest) == ("id: 8", ["", ""])
        told = json.loads(data.removeprefix("data: "))
        assert told == {
            "title": "two",
            "layout": "",
            "event": 8,
            "order": ["head", "story"],
            "pieces": {name: then.pieces[name] for name in pieces},
        }


@pytest.mark.spec("PAGE-1")
def test_a_page_is_of_one_moment_whatever_happens_while_it_is_made(tmp_path: Path) -> None:
    record = demo(tmp_path, state="running")
    with closing(Reader(tmp_path, {})) as reader:
        view_of(reader, f"/r/{record.id}")
        with reader.at_one_moment():
            before, material = reader.watch(record).count, reader.material(record)
            add_events(tmp_path, record.id, [Event(id=0, at=1.0, key="", kind="run resumed", data={})])
            assert reader.watch(record).count == before
            assert reader.material(record) is material
            assert reader.newest_event() == reader.watch(record).last
        assert reader.watch(record).count == before + 1
        assert reader.material(record) is not material
