"""A page that was away, opened late, or whose server was killed, is the same as one that was open all along."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser.conftest import browser
from tests.page.served import RUN, Served, page
from trued.engine.journals.sqlite import SqliteJournal
from trued.model.events import UnknownEvent

__all__ = ["browser"]
pytestmark = [pytest.mark.spec("PAGE-2"), pytest.mark.slow]

LANES_FOLLOW_S = 20  # on a busy machine; the server draws them every two seconds

# The page as it stands, without what a browser adds by itself: clocks, open rows, the state of the connection.
STANDS = """() => {
  const main = document.querySelector("main").cloneNode(true);
  for (const one of main.querySelectorAll("time")) one.textContent = "";
  for (const one of main.querySelectorAll("*")) { delete one.dataset.seen; delete one.dataset.state; }
  return document.body.dataset.event + " " + document.title + " " + main.innerHTML.replace(/\\s+/g, " ").replace(/> </g, "><").trim();
}"""  # noqa: E501


def _entered(browser: Browser, served: Served, address: str = "/") -> tuple[BrowserContext, Page]:
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(served.enter_file.as_uri())
    tab.wait_for_selector("html[data-connection=live]")
    tab.goto(served.url + address)
    tab.wait_for_selector("html[data-connection=live]")
    return context, tab


def _happen(journal: SqliteJournal, number: int, title: str) -> int:
    """So many events, and another title of the run. Returns the id of the last event."""
    writer = journal.of(RUN)
    with journal.writing(journal._unsynced) as db:
        rows = [(RUN, float(one), f"task {one % 7}", "noticed", '{"text": "x"}') for one in range(number - 1)]
        db.executemany("insert into event (run, at, key, kind, data) values (?, ?, ?, ?, ?)", rows)
    journal.update(journal.run(RUN).model_copy(update={"title": title}))
    writer.emit(UnknownEvent(name="noticed", data={"text": title}))
    return journal.last_event_id()


def _reaches(tab: Page, event: int) -> None:
    tab.wait_for_selector(f'body[data-event="{event}"]', timeout=60_000)
    tab.wait_for_selector("html[data-connection=live]")


def _stands(tab: Page) -> str:
    return str(tab.evaluate(STANDS))


def _become_equal(one: Callable[[], str], other: Callable[[], str]) -> None:
    """Both show the newest event already. Lanes are drawn again some seconds after it at the latest."""
    until = time.monotonic() + LANES_FOLLOW_S
    while (first := one()) != (second := other()):
        assert time.monotonic() < until, f"still different after {LANES_FOLLOW_S} s:\n{first}\n{second}"
        time.sleep(0.2)


def _fresh(context: BrowserContext, tab: Page) -> str:
    """The same address, loaded now."""
    other = context.new_page()
    other.goto(tab.url)
    other.wait_for_selector("html[data-connection=live]")
    found = _stands(other)
    other.close()
    return found


@pytest.mark.parametrize("address", ["/", f"/r/{RUN}"])
def test_an_open_page_follows_and_equals_a_fresh_one(
    browser: Browser, journal: SqliteJournal, tmp_path: Path, address: str
) -> None:
    with page(tmp_path / "state") as served:
        context, tab = _entered(browser, served, address)
        for number in range(5):
            _reaches(tab, _happen(journal, 3, f"Slugs {number}"))
            assert f"Slugs {number}" in tab.content()
        _become_equal(lambda: _stands(tab), lambda: _fresh(context, tab))
        context.close()


@pytest.mark.parametrize("missed", [3, 10_000])
def test_a_laptop_that_slept_has_missed_nothing(
    browser: Browser, journal: SqliteJournal, tmp_path: Path, missed: int
) -> None:
    with page(tmp_path / "state") as served:
        context, tab = _entered(browser, served, f"/r/{RUN}")
        context.set_offline(True)  # which leaves an open stream alone: the page has to want a new one
        tab.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        tab.wait_for_selector("html[data-connection=not-connected]")
        last = _happen(journal, missed, "Slugs, awake")
        assert "awake" not in tab.content()
        context.set_offline(False)
        _reaches(tab, last)
        _become_equal(lambda: _stands(tab), lambda: _fresh(context, tab))
        context.close()


def test_a_server_that_was_killed_and_started_anew_shows_what_another_showed_all_along(
    browser: Browser, journal: SqliteJournal, tmp_path: Path
) -> None:
    home = tmp_path / "state"
    with page(home) as all_along:
        watching, tab = _entered(browser, all_along, f"/r/{RUN}")
        with page(home) as killed:
            left, old = _entered(browser, killed, f"/r/{RUN}")
            killed.process.send_signal(signal.SIGKILL)
            old.wait_for_selector("html[data-connection=not-connected]")
            last = _happen(journal, 50, "Slugs after the kill")
        with page(home) as anew:
            context, late = _entered(browser, anew, f"/r/{RUN}")
            _reaches(late, last)
            _reaches(tab, last)
            _become_equal(lambda: _stands(late), lambda: _stands(tab))
            last = _happen(journal, 2, "and live again")
            _reaches(late, last)
            _reaches(tab, last)
            _become_equal(lambda: _stands(late), lambda: _stands(tab))
            context.close()
        left.close()
        watching.close()


@pytest.mark.spec("PAGE-3")
def test_seven_tabs_are_all_live_and_hold_four_streams_at_most(
    browser: Browser, journal: SqliteJournal, tmp_path: Path
) -> None:
    with page(tmp_path / "state") as served:
        context, first = _entered(browser, served)
        tabs = [first, *(context.new_page() for _ in range(6))]
        for tab in tabs[1:]:
            tab.goto(served.url)
        last = _happen(journal, 2, "Seven")
        for tab in tabs:
            _reaches(tab, last)
        context.close()
