"""Somebody who has never seen the page: clicks only on words that are in sight, and is there within three clicks.

Every click is on a visible link, label or button chosen by its words; no address is typed, no key is pressed, and no
part of the page is known by its name.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.browser.conftest import browser
from tests.page.made_up import add_events, demo
from tests.page.served import RUN, Served, page, with_run
from tests.page.test_figures_agree import told_of_verdicts
from tests.reporting.html.sample import events, history
from trued.engine.journals.sqlite import SqliteJournal

__all__ = ["browser"]
pytestmark = [pytest.mark.spec("PAGE-1", "PAGE-8"), pytest.mark.slow]

CLICKS = 3
WIDTHS = [1400, 390]
TO_PRESS = "a:visible, button:visible, label:visible, summary:visible"


class Stranger:
    """A browser at the first page, and how often it was clicked."""

    def __init__(self, context: BrowserContext, served: Served) -> None:
        self.clicks = 0
        self.tab: Page = context.new_page()
        self.tab.goto(served.enter_file.as_uri())
        self.tab.wait_for_selector("html[data-connection=live]")

    def sees(self, words: str) -> Locator:
        """Something to press whose words contain these; the first of them in reading order."""
        found = self.tab.locator(TO_PRESS).filter(has_text=words).first
        expect(found).to_be_visible()
        return found

    def click(self, words: str) -> None:
        self.sees(words).click()
        self.clicks += 1
        assert self.clicks <= CLICKS

    def reads(self, words: str) -> None:
        """Whether these words are on the page, and not behind something that is still closed."""
        expect(self.tab.get_by_text(words).first).to_be_visible()


@pytest.fixture(params=WIDTHS)
def stranger(request: pytest.FixtureRequest, browser: Browser, tmp_path: Path) -> Iterator[Stranger]:
    """Two runs: one asks something, and of the other the engine refuted what its agents had claimed."""
    home = tmp_path / "state"
    home.mkdir()
    with_run(home, question="Go on with the plan?").close()
    refuted = tuple(one for one in events() if one.at < 1_762_000_014.6)
    demo(home, state="not proven", events=refuted, history=tuple(history())[:2], verdict=tuple(history())[1].verdict)
    add_events(home, "r-demo", [one for one in told_of_verdicts() if one.at < 1_762_000_016])
    with page(home) as served:
        context = browser.new_context(viewport={"width": request.param, "height": 900})
        context.set_default_timeout(15_000)
        yield Stranger(context, served)
        context.close()


def test_a_stranger_answers_the_question_that_waits(stranger: Stranger, tmp_path: Path) -> None:
    stranger.reads("One thing waits for you")
    stranger.reads("Go on with the plan?")
    stranger.click("yes")
    stranger.click("Answer")
    stranger.reads("Nothing waits for you")
    journal = SqliteJournal(tmp_path / "state" / "journal.db", read_only=True)
    assert journal.questions(RUN)[0].answer == "yes"
    journal.close()


def test_a_stranger_finds_why_a_requirement_is_refuted(stranger: Stranger) -> None:
    stranger.reads("not proven")
    stranger.click("Text kit")  # the run that says so
    stranger.reads("refuted")
    stranger.click("claims about count")
    stranger.reads("Why it is refuted")
    stranger.reads("1 of 1 held-out cases failed")


def test_a_stranger_reads_the_transcript_of_the_call_that_claimed_otherwise(stranger: Stranger) -> None:
    stranger.click("claims refuted")
    stranger.reads("said DONE, refuted")
    stranger.click("purple-team-a#1")
    stranger.reads("failed on the work of this call")
    stranger.reads("writing the module")  # what the call wrote while it worked


def test_a_stranger_sees_what_failed_of_a_refuted_claim(stranger: Stranger) -> None:
    stranger.click("claims refuted")
    stranger.click("purple-team-a#1")
    stranger.click("said DONE, refuted")
    stage = stranger.tab.locator("#refuted")
    expect(stage.get_by_text("failed", exact=True).first).to_be_visible()  # without opening anything
    expect(stage).to_be_in_viewport()


def test_a_stranger_comes_from_the_reason_to_the_transcript(stranger: Stranger) -> None:
    stranger.click("Text kit")
    stranger.click("claims about count")
    stranger.reads("Refuted claims")
    stranger.click("Its transcript")
    stranger.reads("writing the module")
