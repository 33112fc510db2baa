"""The report as a person meets it: in Chromium, wide and narrow, light and dark."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.reporting.html.sample import long_run, material
from trued.reporting.html.page import page as page_of
from trued.reporting.html.render import rendered

EVIL = '"><script>document.title = "owned"</script><img src="https://evil.example/x.png" onerror="document.title=1">'


class Opened:
    """A page and everything that it did."""

    def __init__(self, browser: Browser, path: Path, width: int, scheme: Literal["light", "dark"]) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page: Page = self.context.new_page()
        self.said: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.url = path.as_uri()
        self.page.goto(self.url)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(rendered(page_of(material())), encoding="utf-8")
    return path


@pytest.fixture
def opened(browser: Browser, report: Path) -> Iterator[Opened]:
    one = Opened(browser, report, 1280, "light")
    yield one
    one.context.close()


def test_the_page_asks_for_nothing_and_complains_of_nothing(opened: Opened) -> None:
    opened.page.wait_for_load_state("networkidle")
    assert (opened.said, opened.requests) == ([], [opened.url])


@pytest.mark.spec("USE-6")
def test_hostile_words_do_nothing_in_a_real_browser(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "evil.html"
    path.write_text(rendered(page_of(material(EVIL))), encoding="utf-8")
    one = Opened(browser, path, 1280, "light")
    for summary in one.page.locator("summary").all():
        summary.click(force=True)
    assert one.page.title().startswith("proven: ")  # no script has changed it
    assert (one.page.locator("script").count(), one.page.locator("img").count()) == (0, 0)
    assert (one.said, one.requests) == ([], [one.url])
    one.context.close()


def test_the_lie_is_a_red_diamond_in_the_timeline_that_leads_to_its_transcript(opened: Opened) -> None:
    diamonds = opened.page.locator("#timeline .lane.agent a.mark.refuted")
    assert diamonds.count() == 2
    colour = diamonds.first.locator("path").evaluate("one => getComputedStyle(one).fill")
    red, green, blue = map(int, colour.removeprefix("rgb(").removesuffix(")").split(","))
    assert red > 2 * max(green, blue)
    transcript = opened.page.locator("#call-3")
    expect(transcript).not_to_be_visible()
    diamonds.first.locator("path").click()
    expect(transcript).to_be_visible()
    expect(transcript).to_contain_text("The engine's own check of count failed on the work of this call.")


@pytest.mark.spec("RUN-10")
def test_the_ledger_has_a_row_for_each_requirement_and_opens_to_its_evidence(opened: Opened) -> None:
    rows = opened.page.locator(".ledger > li")
    assert rows.count() == 2
    expect(rows.nth(1)).to_contain_text("refuted → proven → proven")
    evidence = rows.nth(1).locator(".trial").first
    expect(evidence).not_to_be_visible()
    rows.nth(1).locator("summary").first.click()
    expect(evidence).to_be_visible()


def test_everything_can_be_reached_by_keyboard(opened: Opened) -> None:
    focused = []
    for _ in range(12):
        opened.page.keyboard.press("Tab")
        focused.append(opened.page.evaluate("document.activeElement.tagName.toLowerCase()"))
    assert "a" in focused
    first = opened.page.locator(".ledger > li > details").first
    first.locator("summary").first.focus()
    opened.page.keyboard.press("Enter")
    assert first.evaluate("one => one.open")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_can_be_read_against_their_ground(
    browser: Browser, report: Path, scheme: Literal["light", "dark"]
) -> None:
    one = Opened(browser, report, 1280, scheme)
    for name in (".badge", ".why", ".quiet", "h1", "nav a", ".way i", ".who span", ".figures small"):
        ratio = one.page.locator(name).first.evaluate(CONTRAST)
        assert ratio >= (3.0 if name == "h1" else 4.5), (name, ratio)
    one.context.close()


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_has_to_be_scrolled_sideways(browser: Browser, report: Path, width: int) -> None:
    one = Opened(browser, report, width, "light")
    one.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    assert one.page.evaluate("document.documentElement.scrollWidth") <= width
    one.context.close()


@pytest.mark.slow
@pytest.mark.spec("PAGE-3")
def test_a_thousand_chunks_are_few_nodes_in_a_real_browser(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "long.html"
    path.write_text(rendered(page_of(long_run(1000))), encoding="utf-8")
    opened = Opened(browser, path, 390, "light")
    assert opened.page.evaluate(NODES) <= 30_000
    assert (opened.page.locator(".ledger > li").count(), opened.page.locator(".call").count()) == (1000, 60)
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
    facts = opened.page.locator("header dl.facts div")
    assert sum(facts.nth(number).is_visible() for number in range(facts.count())) <= 4
    opened.context.close()


NODES = """() => {
  const all = document.createTreeWalker(document, NodeFilter.SHOW_ALL);
  let number = 0;
  while (all.nextNode()) number++;
  return number;
}"""


CONTRAST = """one => {
  const light = text => {
    const [r, g, b] = text.match(/[0-9.]+/g).slice(0, 3).map(Number)
      .map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const a = light(getComputedStyle(one).color), b = light(getComputedStyle(document.body).backgroundColor);
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}"""
