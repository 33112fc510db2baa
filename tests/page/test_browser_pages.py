"""Every page in a real browser: no finding by axe, no sideways scrolling, usable by keyboard and without script."""

import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Route

from tests.browser.conftest import browser as browser
from tests.page.made_up import add_run, addresses, demo, html_of
from tests.page.test_history_page import many as many_runs
from tests.reporting.html.sample import events, long_run
from trued.engine.journals.sqlite import SqliteJournal
from trued.page.reader import Reader
from trued.page.render import call_url

pytestmark = [pytest.mark.spec("PAGE-8"), pytest.mark.slow]

AXE = "axe-core@4.10.2"
CALL = "chunk 1B/purple-team-a#1"
ORIGIN = "http://page.test"
SIZES = (
    """every => every.map((one) => one.getBoundingClientRect()).map((at) => [at.left, at.right, at.top, at.bottom])"""
)
TYPES = {".css": "text/css", ".js": "text/javascript"}


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    home = tmp_path_factory.mktemp("browser")
    demo(home, state="running", events=tuple(events())[:-4])
    made = Reader(home, {})
    yield made
    made.close()


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The checker's script, pinned; skipped where npm cannot bring it."""
    folder = tmp_path_factory.mktemp("axe")
    npm = shutil.which("npm")
    packed = npm and subprocess.run([npm, "pack", AXE], cwd=folder, capture_output=True, timeout=120, check=False)
    found = list(folder.glob("*.tgz"))
    if not packed or not found:
        pytest.skip("npm cannot bring axe-core")
    with tarfile.open(found[0]) as opened:
        member = opened.extractfile("package/axe.min.js")
        assert member
        return member.read().decode()


def serve(context: BrowserContext, reader: Reader) -> None:
    """Answer every request of the browser from the reader, as the server would; nothing else is reached."""
    static = Path(str(files("trued.page"))) / "static"

    def answer(route: Route) -> None:
        parts = urlsplit(route.request.url)
        if parts.path.startswith("/static/"):
            file = static / Path(parts.path).name
            route.fulfill(body=file.read_bytes(), content_type=TYPES[file.suffix])
        elif parts.path in ("/live", "/pieces", "/waits"):
            route.fulfill(status=204)
        else:
            route.fulfill(body=html_of(reader, f"{parts.path}?{parts.query}"), content_type="text/html; charset=utf-8")

    context.route(f"{ORIGIN}/**", answer)


def pages() -> list[str]:
    return addresses("r-demo", CALL, "count")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """A run of 1,000 requirements, at work."""
    home = tmp_path_factory.mktemp("many")
    add_run(home, long_run(1000, state="running"))
    made = Reader(home, {})
    yield made
    made.close()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 390)])
def test_axe_finds_nothing_with_a_thousand_requirements(
    browser: Browser, many: Reader, axe: str, scheme: str, width: int
) -> None:
    find_nothing(browser, many, axe, scheme, width, addresses("r-demo", "chunk 1000/purple-team-a#1", "R1000"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 900, 390])
def test_axe_finds_nothing(browser: Browser, reader: Reader, axe: str, scheme: str, width: int) -> None:
    find_nothing(browser, reader, axe, scheme, width, pages())


def find_nothing(browser: Browser, reader: Reader, axe: str, scheme: str, width: int, pages: list[str]) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if scheme == "dark" else "light"
    )
    serve(context, reader)
    page = context.new_page()
    for address in pages:
        page.goto(ORIGIN + address)
        page.evaluate(axe)
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        assert not [(one["id"], one["nodes"][0]["html"]) for one in found], address
    context.close()


def test_no_page_scrolls_sideways_at_320(browser: Browser, reader: Reader) -> None:
    context = browser.new_context(viewport={"width": 320, "height": 700})
    serve(context, reader)
    page = context.new_page()
    for address in pages():
        page.goto(ORIGIN + address)
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, address
    context.close()


@pytest.mark.parametrize("width", [1400, 390])
def test_arabic_names_and_words_of_ten_thousand_letters_break_no_page(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    demo(tmp_path, f" مرحبا بالعالم {'w' * 10_000}", state="running", events=tuple(events("w" * 10_000))[:-4])
    own, context = Reader(tmp_path, {}), browser.new_context(viewport={"width": width, "height": 900})
    serve(context, own)
    page = context.new_page()
    for address in pages():
        page.goto(ORIGIN + address)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address
    assert "مرحبا بالعالم" in page.locator("h1").inner_text()
    context.close()
    own.close()


def test_a_clock_that_runs_behind_shows_no_time_to_come(browser: Browser, reader: Reader) -> None:
    context = browser.new_context()
    context.clock.set_fixed_time("2001-01-01T00:00:00Z")  # long before anything happened
    serve(context, reader)
    page = context.new_page()
    page.goto(f"{ORIGIN}/")
    assert set(page.locator("time[data-ago]").all_inner_texts()) == {"now"}
    page.goto(f"{ORIGIN}/r/r-demo")
    assert set(page.locator("time[data-since]").all_inner_texts()) <= {"0:00"}
    context.close()


def test_rows_are_walked_and_opened_by_keyboard_alone(browser: Browser, reader: Reader) -> None:
    context = browser.new_context()
    serve(context, reader)
    page = context.new_page()
    page.goto(ORIGIN + "/")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{ORIGIN}/r/r-demo")
    page.keyboard.press("l")
    assert page.evaluate("document.activeElement.closest('#ledger') !== null")
    page.keyboard.press("?")
    assert page.locator("#keys").evaluate("dialog => dialog.open")
    page.keyboard.press("Escape")
    assert not page.locator("#keys").evaluate("dialog => dialog.open")
    page.goto(f"{ORIGIN}/r/r-demo/calls")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"
    context.close()


def test_keys_work_on_a_requirement_and_a_call_too_and_the_help_names_those_that_do(
    browser: Browser, reader: Reader
) -> None:
    context = browser.new_context()
    serve(context, reader)
    page = context.new_page()
    inside = "query => document.activeElement.closest(query) !== null"
    page.goto(f"{ORIGIN}/r/r-demo/ledger/count")
    page.keyboard.press("t")
    assert page.evaluate("document.activeElement.hash") == "#transcript"  # of the claim that fell
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate(inside, "#claims, #history")
    page.goto(ORIGIN + call_url("r-demo", CALL))
    page.keyboard.press("t")
    assert page.evaluate(inside, "#transcript .log")
    page.keyboard.press("Escape")
    page.keyboard.press("k")
    assert page.evaluate(inside, "#transcript li:last-child")
    page.keyboard.press("k")
    assert page.evaluate(inside, "#transcript li:first-child")
    page.keyboard.press("?")
    named = page.locator("#keys dt:visible").all_inner_texts()
    assert "transcript" in named
    assert "search" not in named  # there is nothing to search on this page
    page.keyboard.press("Escape")
    page.keyboard.press("l")
    page.wait_for_url(f"{ORIGIN}/r/r-demo#ledger")
    context.close()


@pytest.mark.parametrize("waits", [False, True])
def test_the_call_at_work_is_seen_without_scrolling(browser: Browser, tmp_path: Path, waits: bool) -> None:
    demo(tmp_path, state="running", events=tuple(events())[:-4])
    journal = SqliteJournal(tmp_path / "journal.db")
    if waits:
        journal.of("r-demo").question("go on#1", "Shall it go on with the plan?", ("yes", "stop"))
    own, context = Reader(tmp_path, {}), browser.new_context(viewport={"width": 1400, "height": 900})
    serve(context, own)
    page = context.new_page()
    with journal.claim("r-demo"):
        page.goto(f"{ORIGIN}/r/r-demo")
    log = page.locator("#log").bounding_box()
    assert page.locator("main.at-work").count() == 1
    assert log
    assert log["y"] + log["height"] <= 900
    context.close()
    own.close()
    journal.close()


@pytest.mark.spec("PAGE-10")
@pytest.mark.parametrize("width", [1400, 720, 390, 320])
def test_plots_of_half_a_year_are_seen_whole_with_labels_that_can_be_read(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    demo(tmp_path)
    many_runs(tmp_path, 400)
    own, context = Reader(tmp_path, {}), browser.new_context(viewport={"width": width, "height": 900})
    serve(context, own)
    page = context.new_page()
    page.goto(f"{ORIGIN}/history?since=all")
    plots = page.locator(".plot svg[role=img]").all()
    assert len(plots) == 2
    for plot in plots:
        box = plot.bounding_box()
        assert box
        assert 0 <= box["x"] < box["x"] + box["width"] <= width
        labels = sorted(plot.locator("text:visible").evaluate_all(SIZES))
        assert len(labels) >= 3
        assert min(bottom - top for _, _, top, bottom in labels) >= 11
        assert box["x"] <= labels[0][0]
        assert labels[-1][1] <= box["x"] + box["width"] + 1
        assert all(one[1] < next_one[0] for one, next_one in pairwise(labels))
    context.close()
    own.close()


def test_printed_it_is_light_has_its_bars_and_nothing_to_press(browser: Browser, reader: Reader) -> None:
    context = browser.new_context(color_scheme="dark")
    serve(context, reader)
    page = context.new_page()
    page.goto(f"{ORIGIN}/r/r-demo")
    page.locator("#theme").click()
    page.locator("#theme").click()  # dark, chosen
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('.lane .bar')).display") != "none"
    assert page.locator("button:visible, nav:visible, form:visible, header.bar:visible, .acts:visible").count() == 0
    context.close()


def test_everything_can_be_read_without_script(browser: Browser, reader: Reader) -> None:
    context = browser.new_context(java_script_enabled=False)
    serve(context, reader)
    page = context.new_page()
    page.goto(f"{ORIGIN}/r/r-demo")
    assert page.get_by_role("heading", name="Ledger").is_visible()
    assert page.locator("#theme").is_hidden()
    page.goto(f"{ORIGIN}/r/r-demo/ledger/count")
    page.get_by_role("link", name="Its transcript").first.click()
    assert "writing the module" in page.locator("#transcript").inner_text()
    context.close()


def test_on_a_phone_each_row_of_squares_says_whether_it_is_the_base_or_the_head(
    browser: Browser, reader: Reader
) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    serve(context, reader)
    page = context.new_page()
    page.goto(f"{ORIGIN}/r/r-demo/ledger/count")
    row = page.locator(".cases tbody tr").first
    words = row.locator("td:has(.squares)").evaluate_all(
        "every => every.map((one) => getComputedStyle(one, '::before').content)"
    )
    assert words == ['"base" " "', '"head" " "'] or words == ['"base "', '"head "'], words
    context.close()
