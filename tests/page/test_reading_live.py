"""Somebody reads while a run is at work: what is read keeps its place, and the newest stays in sight of who follows."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize

from tests.browser.conftest import browser
from tests.page.served import RUN, Served, page, with_run
from trued.engine.journals.sqlite import SqliteJournal
from trued.model.events.call import CallAsked
from trued.support.hashing import folder_name

__all__ = ["browser"]
pytestmark = [pytest.mark.spec("PAGE-8"), pytest.mark.slow]

CALL = "dev#1"
WIDTHS = [1400, 390]
TOP = "id => document.getElementById(id)?.getBoundingClientRect().top"
DRAWN = "() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(drawn))))"
IN_SIGHT = """one => {
  const at = one.getBoundingClientRect(), bar = document.querySelector(".bar").getBoundingClientRect();
  return at.top >= Math.max(0, bar.bottom) - 1 && at.bottom <= innerHeight + 1;
}"""


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[SqliteJournal]:
    home = tmp_path / "state"
    home.mkdir()
    opened = with_run(home)
    asks(opened, CALL)
    for number in range(40):
        asks(opened, f"part {number}/dev#1")
    writes(home, 1, 60)
    yield opened
    opened.close()


def asks(journal: SqliteJournal, key: str) -> None:
    journal.of(RUN).emit(CallAsked(role="dev", agent="scripted", brief="Do it.", chars=6, resume=False), key)


def writes(home: Path, first: int, last: int) -> None:
    """The first call's process writes these lines."""
    file = home / "runs" / RUN / "spool" / f"{folder_name(CALL)}.1" / "events.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as opened:
        for number in range(first, last + 1):
            opened.write(json.dumps({"at": 1.0, "kind": "log", "text": f"line {number}"}) + "\n")


def entered(browser: Browser, served: Served, address: str, width: int) -> tuple[BrowserContext, Page]:
    context = browser.new_context(viewport=ViewportSize(width=width, height=900))
    context.set_default_timeout(30_000)
    tab = context.new_page()
    tab.goto(served.enter_file.as_uri())
    tab.wait_for_selector("html[data-connection=live]")
    tab.goto(served.url + address)
    tab.wait_for_selector("html[data-connection=live]")
    return context, tab


def shown(tab: Page, journal: SqliteJournal) -> None:
    """The newest event is on the page, and the browser has drawn it."""
    tab.wait_for_selector(f'body[data-event="{journal.last_event_id()}"]')
    tab.evaluate(DRAWN)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_row_of_the_story_stays_where_it_is_read(
    browser: Browser, journal: SqliteJournal, tmp_path: Path, width: int
) -> None:
    with journal.claim(RUN), page(tmp_path / "state") as served:
        context, tab = entered(browser, served, f"/r/{RUN}", width)
        row = tab.locator(".story li").nth(6)
        name = row.get_attribute("id")
        row.evaluate("one => scrollBy(0, one.getBoundingClientRect().top - 200)")
        tab.evaluate(DRAWN)
        before = tab.evaluate(TOP, name)
        for number in range(4):
            asks(journal, f"more {number}/dev#1")  # a row above it
            journal.update(journal.run(RUN).model_copy(update={"title": "Slugs and more " * 12 * (number % 2 + 1)}))
            journal.of(RUN).question(f"more#{number}", f"And {number}?", ("yes", "stop"))  # a whole panel above it
            asks(journal, f"again {number}/dev#1")
            shown(tab, journal)
            assert tab.evaluate(TOP, name) == pytest.approx(before, abs=1.5), number
        context.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_whoever_is_at_the_top_of_the_story_sees_what_is_new(
    browser: Browser, journal: SqliteJournal, tmp_path: Path, width: int
) -> None:
    with journal.claim(RUN), page(tmp_path / "state") as served:
        context, tab = entered(browser, served, f"/r/{RUN}", width)
        tab.locator("#h-story").evaluate("one => scrollBy(0, one.getBoundingClientRect().top - 150)")
        tab.evaluate(DRAWN)
        before = tab.evaluate(TOP, "h-story")
        for number in range(3):
            asks(journal, f"more {number}/dev#1")
            shown(tab, journal)
            newest = tab.locator(".story li").first
            assert f"more {number}" in newest.inner_text()
            assert newest.evaluate(IN_SIGHT)
            assert tab.evaluate(TOP, "h-story") == pytest.approx(before, abs=1.5)
        tab.evaluate("scrollTo(0, 0)")
        asks(journal, "last/dev#1")
        shown(tab, journal)
        assert tab.evaluate("scrollY") == 0
        context.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_end_of_a_transcript_is_followed_and_a_line_further_up_is_not_left(
    browser: Browser, journal: SqliteJournal, tmp_path: Path, width: int
) -> None:
    home = tmp_path / "state"
    with journal.claim(RUN), page(home) as served:
        context, tab = entered(browser, served, f"/r/{RUN}/call/{CALL.replace('#', '%23')}", width)
        tab.locator("#e60").evaluate("one => scrollBy(0, one.getBoundingClientRect().bottom - innerHeight + 40)")
        tab.evaluate(DRAWN)
        for first, last in ((61, 61), (62, 75), (76, 120)):
            writes(home, first, last)
            tab.wait_for_selector(f"#e{last}")
            tab.evaluate(DRAWN)
            assert tab.locator(f"#e{last}").evaluate(IN_SIGHT), last
        tab.locator("#e30").evaluate("one => scrollBy(0, one.getBoundingClientRect().top - 200)")
        tab.evaluate(DRAWN)
        before = tab.evaluate(TOP, "e30")
        writes(home, 121, 140)
        tab.wait_for_selector("#e140", state="attached")
        tab.evaluate(DRAWN)
        assert tab.evaluate(TOP, "e30") == pytest.approx(before, abs=1.5)
        context.close()


def test_a_line_that_is_read_beside_the_ledger_keeps_its_place_though_older_ones_go(
    browser: Browser, journal: SqliteJournal, tmp_path: Path
) -> None:
    home = tmp_path / "state"
    with journal.claim(RUN), page(home) as served:
        context, tab = entered(browser, served, f"/r/{RUN}", 1400)
        log = tab.locator("#log")
        assert log.evaluate("one => one.scrollHeight - one.scrollTop - one.clientHeight < 8")  # the newest at first
        writes(home, 61, 63)
        tab.wait_for_selector("#log #e63")
        assert log.evaluate("one => one.scrollHeight - one.scrollTop - one.clientHeight < 8")
        log.evaluate("one => { one.scrollTop = one.querySelector('#e40').offsetTop - one.offsetTop; }")
        before = tab.evaluate(TOP, "e40")
        writes(home, 64, 70)
        tab.wait_for_selector("#log #e70", state="attached")
        assert tab.evaluate(TOP, "e40") == pytest.approx(before, abs=1.5)
        context.close()
