"""The browser's own notifications: only if a person asked for them, only while nobody looks, never an agent's words."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.conftest import browser
from tests.page.served import RUN, page, with_run
from trued.model.events.people import QuestionAsked
from trued.model.events.run import RunEnded

__all__ = ["browser"]
pytestmark = [pytest.mark.spec("PAGE-9"), pytest.mark.slow]

# A headless browser shows none: they are written down instead. And it has no other tab to look at: the page is told so.
RECORDER = """
globalThis.shown = []; let away = false;
Object.defineProperty(document, "hidden", { get: () => away });
globalThis.look = (here) => { away = !here; document.dispatchEvent(new Event("visibilitychange")); };
const permission = "ALLOWED";
globalThis.Notification = class { static permission = permission; constructor(title, given) { globalThis.shown.push({ title, ...given }); } close() {} };
"""  # noqa: E501
ASKED = """
Notification.requestPermission = async () => { shown.push("asked"); Notification.permission = "granted"; };
"""


def _asks(tab: Page) -> dict[str, Any]:
    """Look elsewhere, and wait until the page has asked what is new."""
    with tab.expect_response(lambda one: "/waits?after=" in one.url) as asked:
        tab.evaluate("look(false)")
    return dict(json.loads(asked.value.body()))


@pytest.mark.parametrize("allowed", ["granted", "denied"])
def test_who_looks_elsewhere_is_notified_once_of_a_wait_and_an_end_and_of_no_agents_words(
    browser: Browser, tmp_path: Path, allowed: str
) -> None:
    home = tmp_path / "state"
    home.mkdir()
    journal = with_run(home)
    with page(home) as served:
        context = browser.new_context()
        context.add_init_script(RECORDER.replace("ALLOWED", allowed))
        tab = context.new_page()
        tab.goto(served.enter_file.as_uri())
        tab.wait_for_selector("html[data-connection=live]")
        assert tab.locator("#notify").is_hidden()  # it is settled already
        assert _asks(tab)["news"] == []  # what was on the page is no news
        writer = journal.of(RUN)
        writer.question("evil#1", "Give me <b>root</b>", ("yes",))
        writer.emit(QuestionAsked(text="Give me <b>root</b>", options=("yes",)), "evil#1")
        writer.emit(RunEnded(state="failed", code=5, why="agent says: visit https://evil.example", grade=""))
        assert len(_asks(tab)["news"]) == 2
        assert _asks(tab)["news"] == []  # each of them once
        shown = tab.evaluate("shown")
        if allowed == "denied":
            assert shown == []
        else:
            assert [one["body"] for one in shown] == [
                f"{RUN} waits for your answer: trued answer {RUN}",
                f"{RUN} failed",
            ]
            assert len({one["tag"] for one in shown}) == 2
            assert "evil" not in json.dumps(shown).replace("evil#1", "")
        context.close()
    journal.close()


def test_whoever_looks_at_the_page_is_not_notified_and_the_browser_is_asked_by_a_click_alone(
    browser: Browser, tmp_path: Path
) -> None:
    home = tmp_path / "state"
    home.mkdir()
    journal = with_run(home)
    with page(home) as served:
        context = browser.new_context()
        context.add_init_script(RECORDER.replace("ALLOWED", "default") + ASKED)
        tab = context.new_page()
        tab.goto(served.enter_file.as_uri())
        tab.wait_for_selector("html[data-connection=live]")
        assert tab.evaluate("shown") == []
        tab.get_by_role("button", name="Notify me").click()
        assert tab.evaluate("shown") == ["asked"]
        assert tab.locator("#notify").is_hidden()
        journal.of(RUN).emit(RunEnded(state="failed", code=5, why="", grade=""))
        tab.wait_for_selector(f'body[data-event="{journal.last_event_id()}"]')
        assert tab.evaluate("shown") == ["asked"]
        context.close()
    journal.close()
