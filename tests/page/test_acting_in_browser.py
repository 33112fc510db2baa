"""A person at the page: answers, decides, types while the page changes; two tabs answer one question."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import browser
from tests.engine.ended_run import RUN as ENDED
from tests.engine.ended_run import ended_run
from tests.page.served import RUN, Served, page
from trued.engine.journals.sqlite import SqliteJournal
from trued.model.events import UnknownEvent
from trued.model.events.call import CallAsked

__all__ = ["browser"]
pytestmark = [pytest.mark.spec("PAGE-4"), pytest.mark.slow]


@pytest.fixture
def ended(tmp_path: Path) -> None:
    """Leave a run behind that has ended."""

    def finish() -> None:
        with ended_run(tmp_path) as place:
            place.finish(1, place.commits[2])

    with ThreadPoolExecutor(1) as beside:  # the browser's event loop runs in this thread
        beside.submit(finish).result()


@contextmanager
def _entered(browser: Browser, served: Served, address: str) -> Iterator[tuple[BrowserContext, Page]]:
    with closing(browser.new_context(locale="en-US")) as context:  # where others write 2:05 PM
        context.set_default_timeout(15_000)
        tab = context.new_page()
        tab.goto(served.enter_file.as_uri())
        tab.wait_for_selector("html[data-connection=live]")
        yield context, _opened(context, served, address)


def _opened(context: BrowserContext, served: Served, address: str) -> Page:
    tab = context.new_page()
    tab.goto(served.url + address)
    tab.wait_for_selector("html[data-connection=live]")
    return tab


def test_two_tabs_answer_one_question_and_the_second_is_told_whose_answer_stands(
    browser: Browser, journal: SqliteJournal, tmp_path: Path
) -> None:
    with page(tmp_path / "state") as served, _entered(browser, served, f"/r/{RUN}") as (context, first):
        second = _opened(context, served, f"/r/{RUN}")
        for tab, answer in ((first, "yes"), (second, "stop")):
            tab.locator("form[data-do=answer]").get_by_label(answer).check()
        context.route("**/live?*", lambda route: route.abort())  # the second hears nothing of the first
        second.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        first.locator("form[data-do=answer] button").click()
        while not (answered := journal.questions(RUN)[0]).answer:
            first.wait_for_timeout(50)
        form = second.locator("form[data-do=answer]")
        if form.count():  # else it has heard of it meanwhile by asking for the pieces
            form.locator("button").click()
            expect(second.locator("[data-said][data-state=refused]")).to_contain_text(
                "has answered go on#1 already: yes"
            )
        assert answered.answer == "yes"
        assert journal.questions(RUN)[0].answer == "yes"


def test_an_answer_is_settled_by_the_journal_and_the_form_goes(
    browser: Browser, journal: SqliteJournal, tmp_path: Path
) -> None:
    with page(tmp_path / "state") as served, _entered(browser, served, f"/r/{RUN}") as (_, tab):
        form = tab.locator("form[data-do=answer]")
        form.get_by_label("yes").focus()
        tab.keyboard.press("Space")  # by keyboard alone
        tab.keyboard.press("Enter")
        expect(form).to_have_count(0)
        assert journal.questions(RUN)[0].answer == "yes"


def test_that_the_run_continues_after_an_answer_is_announced_where_a_screen_reader_listens(
    browser: Browser, journal: SqliteJournal, tmp_path: Path
) -> None:
    with page(tmp_path / "state") as served, _entered(browser, served, f"/r/{RUN}") as (_, tab):
        spoken = tab.get_by_role("log", name="Announcements")
        tab.evaluate("globalThis.place = document.getElementById('spoken')")
        form = tab.locator("form[data-do=answer]")
        form.get_by_label("yes").check()
        form.locator("button").click()
        told = "answered: yes; the run continues when it is resumed"
        expect(tab.locator("#asked")).to_contain_text(told)
        expect(spoken).to_contain_text(told)
        expect(spoken).not_to_contain_text("The run continues.")
        with journal.claim(RUN):  # somebody resumes it
            expect(spoken).to_contain_text("The run continues.")
        assert tab.evaluate("place.isConnected")  # a new element would not be announced


def test_focus_open_rows_and_half_typed_words_outlive_many_updates(
    browser: Browser, journal: SqliteJournal, tmp_path: Path
) -> None:
    with page(tmp_path / "state") as served, _entered(browser, served, f"/r/{RUN}") as (_, tab):
        comment = tab.locator("form[data-do=answer] input[name=comment]")
        comment.fill("half a word")
        comment.evaluate("one => one.setSelectionRange(4, 6)")
        tab.locator("form[data-do=answer]").get_by_label("stop").check()
        comment.focus()
        writer = journal.of(RUN)
        for number in range(12):
            for one in range(80):
                writer.emit(UnknownEvent(name="noticed", data={"text": f"{number} {one}"}))
            journal.update(journal.run(RUN).model_copy(update={"title": f"Slugs {number}"}))
            writer.question(f"more#{number}", f"And {number}?", ("yes", "stop"))  # other forms come and go around it
            tab.wait_for_selector(f"h1:has-text('Slugs {number}')")
        mine = tab.locator('form[data-do=answer]:has(input[name=key][value="go on#1"])')
        expect(mine.locator("input[name=comment]")).to_have_value("half a word")
        expect(mine.locator("input[name=comment]")).to_be_focused()
        expect(mine.get_by_label("stop")).to_be_checked()
        assert mine.locator("input[name=comment]").evaluate("one => [one.selectionStart, one.selectionEnd]") == [4, 6]
        others = tab.locator('form[data-do=answer]:not(:has(input[name=key][value="go on#1"])) input[name=comment]')
        assert set(others.evaluate_all("every => every.map((one) => one.value)")) == {""}


def test_words_that_are_half_typed_follow_their_question_and_never_another(
    browser: Browser, journal: SqliteJournal, tmp_path: Path
) -> None:
    writer = journal.of(RUN)
    writer.question("second#1", "And the second?", ("yes", "stop"))
    with page(tmp_path / "state") as served, _entered(browser, served, f"/r/{RUN}") as (_, tab):
        second = tab.locator('form[data-do=answer]:has(input[name=key][value="second#1"])')
        second.locator("input[name=comment]").fill("only for the second")
        writer.answer("go on#1", "yes", "", "somebody")  # the second moves up to the first one's place
        journal.update(journal.run(RUN))
        expect(tab.locator("form[data-do=answer]")).to_have_count(1)
        expect(second.locator("input[name=comment]")).to_have_value("only for the second")


@pytest.mark.usefixtures("ended")
def test_a_decision_is_finished_in_the_terminal(browser: Browser, tmp_path: Path) -> None:
    with page(tmp_path / "state", terminal=True) as served, _entered(browser, served, f"/r/{ENDED}") as (_, tab):
        form = tab.locator("form[data-do=approve]").first
        for box in form.locator("input[type=checkbox]").all():
            box.check()
        form.locator("input[name=who]").fill("Ann Lee")
        form.locator("input[name=reason]").fill("I looked at it")
        form.get_by_role("button", name="Accept").click()
        asked = tab.locator("#asked")
        expect(asked).to_contain_text("Ann Lee accepts look")
        expect(asked).to_contain_text(re.compile(r"by \d\d:\d\d:\d\d\. It will record"))  # no AM, no PM
        number = asked.locator("b").inner_text()
        assert served.reads("press Enter to refuse").count("Ann Lee accepts look") == 1
        tab.goto(f"{served.url}/history")  # whoever comes back finds the number, on every page
        expect(asked.locator("b")).to_have_text(number)
        tab.goto(f"{served.url}/r/{ENDED}")
        expect(asked.locator("b")).to_have_text(number)
        served.types(number)
        served.reads("recorded")
        journal = SqliteJournal(tmp_path / "state" / "journal.db", read_only=True)
        assert [one.who for one in journal.approvals(ENDED)] == ["Ann Lee"]
        journal.close()
        expect(tab.locator("form[data-do=approve] input[name=requirement][value=look]")).to_have_count(0)
        expect(asked).to_contain_text("recorded: ")
        expect(asked.get_by_role("button")).to_be_hidden()
        tab.reload()
        tab.wait_for_selector("html[data-connection=live]")
        expect(asked).to_be_hidden()


@pytest.mark.usefixtures("ended")
def test_every_open_tab_of_the_session_shows_the_number_and_the_result_of_a_decision(
    browser: Browser, tmp_path: Path
) -> None:
    with page(tmp_path / "state", terminal=True) as served, _entered(browser, served, f"/r/{ENDED}") as (context, tab):
        other = _opened(context, served, "/history")
        other.wait_for_function("sessionStorage.getItem('tab-key')")
        for who in ("Ann Lee", "Bob Ray"):  # the second follows before the tabs have asked what became of the first
            form = tab.locator("form[data-do=approve]").first
            form.locator("input[name=who]").fill(who)
            form.locator("input[name=reason]").fill("it is crooked")
            form.get_by_role("button", name="Reject").click()
            served.reads(f"{who} rejects look")
            expect(tab.locator("#asked")).to_contain_text(f"{who} rejects look")
            number = tab.locator("#asked b").inner_text()
            expect(other.locator("#asked")).to_contain_text(f"{who} rejects look")
            expect(other.locator("#asked b")).to_have_text(number)
            if who == "Ann Lee":
                served.types("")
                served.reads("nothing was recorded")
        other.get_by_role("button", name="Withdraw it").click()
        for one in (tab, other):
            expect(one.locator("#asked")).to_contain_text("not recorded: withdrawn on the page")


def test_a_new_tab_gets_the_key_from_another_one_and_a_stranger_gets_none(
    browser: Browser, journal: SqliteJournal, tmp_path: Path
) -> None:
    with page(tmp_path / "state") as served, _entered(browser, served, "/") as (context, tab):
        own = tab.evaluate("sessionStorage.getItem('tab-key')")
        other = _opened(context, served, f"/r/{RUN}")
        while not other.evaluate("sessionStorage.getItem('tab-key')"):
            other.wait_for_timeout(20)
        assert other.evaluate("sessionStorage.getItem('tab-key')") == own
        stranger = browser.new_context()
        stolen_cookies = [(str(one.get("name")), str(one.get("value"))) for one in context.cookies()]
        stranger.add_cookies([{"name": name, "value": value, "url": served.url} for name, value in stolen_cookies])
        stolen = _opened(stranger, served, f"/r/{RUN}")
        stolen.locator("form[data-do=answer]").get_by_label("yes").check()
        stolen.locator("form[data-do=answer] button").click()
        expect(stolen.locator("form[data-do=answer] [data-said]")).to_contain_text("cannot act")
        assert journal.questions(RUN, only_open=True)
        assert json.dumps(own) not in stolen.content()
        stranger.close()


def _asks(journal: SqliteJournal, key: str, role: str) -> None:
    journal.of(RUN).emit(CallAsked(role=role, agent="scripted", brief="Do it.", chars=6, resume=False), key)


def test_a_half_typed_comment_outlives_its_call_and_no_letter_of_it_is_a_shortcut(
    browser: Browser, journal: SqliteJournal, tmp_path: Path
) -> None:
    _asks(journal, "dev#1", "dev")
    with journal.claim(RUN), page(tmp_path / "state") as served, _entered(browser, served, f"/r/{RUN}") as (_, tab):
        box = tab.locator("#call textarea[name=comment]")
        box.press_sequentially("mind ")
        journal.of(RUN).emit(UnknownEvent(name="answered", data={"state": "done"}), "dev#1")
        _asks(journal, "checker#1", "checker")
        expect(tab.locator("#h-call")).to_have_text("checker#1")  # the piece itself follows the run
        tab.keyboard.type("the j test")
        expect(box).to_have_value("mind the j test")
        expect(box).to_be_focused()
        form = tab.locator("#form-comment")
        expect(form).to_contain_text("dev#1 has ended: what you send goes into the next turn of dev.")
        tab.route("**/do/comment", lambda route: route.fulfill(json={"said": "it goes into the next brief"}))
        with tab.expect_request("**/do/comment") as sent:  # this run has no roles: the server would refuse it
            form.get_by_role("button", name="Send").click()
        wanted = {"run": RUN, "call": "dev#1", "role": "dev", "comment": "mind the j test", "when": "next"}
        assert sent.value.post_data_json == wanted
        expect(box).to_have_value("")
        box.evaluate("one => { one.focus(); one.form.remove(); document.dispatchEvent(new CustomEvent('shown')); }")
        tab.keyboard.type("?")
        expect(tab.locator("dialog[open]")).to_have_count(0)


@pytest.mark.usefixtures("ended")
def test_reject_demands_a_name_and_a_reason_but_no_ticked_box(browser: Browser, tmp_path: Path) -> None:
    with page(tmp_path / "state", terminal=True) as served, _entered(browser, served, f"/r/{ENDED}") as (_, tab):
        form = tab.locator("form[data-do=approve]").first
        reject, invalid = form.get_by_role("button", name="Reject"), form.locator("input:invalid")
        reject.click()
        assert invalid.evaluate_all("every => every.map((one) => one.name)") == ["who", "reason"]
        form.locator("input[name=who]").fill("Ann Lee")
        form.locator("input[name=reason]").fill("it is crooked")
        form.get_by_role("button", name="Accept").click()
        assert set(invalid.evaluate_all("every => every.map((one) => one.type)")) == {"checkbox"}
        reject.click()
        served.reads("Ann Lee rejects look")
        tab.get_by_role("button", name="Withdraw it").click()
        served.reads("nothing was recorded: withdrawn on the page")
        expect(tab.locator("#asked")).to_contain_text("not recorded: withdrawn on the page")


def test_who_does_not_want_to_cancel_a_run_is_led_back_by_a_button_and_by_escape(
    browser: Browser, journal: SqliteJournal, tmp_path: Path
) -> None:
    with journal.claim(RUN), page(tmp_path / "state") as served, _entered(browser, served, f"/r/{RUN}") as (_, tab):
        opens, cancels = tab.locator("#cancelling > summary"), tab.get_by_role("button", name="Cancel it")
        stays = tab.get_by_role("button", name="Keep it running")
        for by_button in (True, False):
            opens.click()
            expect(cancels).to_be_visible()
            if by_button:
                stays.click()
            else:
                tab.keyboard.press("Escape")
            expect(cancels).to_be_hidden()
            expect(opens).to_be_focused()
        assert not journal.is_cancelled(RUN)
