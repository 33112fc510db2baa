"""Whoever approves a contract on the page has read all of it there, and approves exactly that."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import browser as browser
from tests.page.made_up import demo, html_of
from tests.page.test_browser_pages import ORIGIN, serve
from tests.reporting.html.sample import CONTRACT, history
from trued.engine.run_store import RunStore
from trued.errors import BadInput
from trued.model import CallCase, Contract, ExamplesCheck, Grade
from trued.page.actions import Actions
from trued.page.reader import Reader
from trued.proof.hashes import contract_hash

RUN = "r-demo"
LONG, WEAK = "x" * 5_000, "only the last case shows that it is a table"
CASES = (
    *(CallCase(call="textkit.slug:slugify", args=(f"A {number}",), returns=f"a-{number}") for number in range(40)),
    CallCase(call="textkit.slug:slugify", args=("abc\u200b",), returns=LONG),
    CallCase(call="textkit.slug:slugify", args=("z",), returns=WEAK),
)


def waiting(home: Path) -> Contract:
    """A run that waits for the approval of a contract with many and long cases."""
    first, *others = CONTRACT.requirements
    asked = (first.model_copy(update={"checks": (ExamplesCheck(cases=CASES),)}), *others)
    contract = CONTRACT.model_copy(update={"requirements": asked, "undecided": ("a note of the examination",)})
    *proofs, final = history()
    judged, *rest = final.verdict.requirements
    lacking = judged.model_copy(update={"grade": Grade.EXAMINED, "lacks": "approve"})
    verdict = final.verdict.model_copy(update={"requirements": (lacking, *rest)})
    last = type(final)(final.key, final.at, verdict)
    demo(home, state="waiting", contract=contract, verdict=verdict, history=(*proofs, last))
    return contract


@pytest.mark.spec("PAGE-4", "PAGE-6")
def test_the_page_on_which_a_contract_is_approved_shows_every_case_whole(tmp_path: Path) -> None:
    contract = waiting(tmp_path)
    with closing(Reader(tmp_path, {})) as reader:
        for address in ("/", f"/r/{RUN}", f"/r/{RUN}/people"):
            html = html_of(reader, address)
            assert 'data-do="approve"' not in html, address
            assert f'href="/r/{RUN}/approve"' in html, address
        html = html_of(reader, f"/r/{RUN}/approve")
    assert all(f"a-{number}&#39;" in html for number in range(40))
    assert LONG in html
    assert WEAK in html
    assert r"abc\u200b" in html
    assert "a note of the examination" in html
    assert f'name="contract" value="{contract_hash(contract)}"' in html


@pytest.mark.spec("PAGE-4", "LAW-3")
def test_only_the_contract_that_the_page_showed_is_approved(tmp_path: Path) -> None:
    contract = waiting(tmp_path)
    wanted = {"run": RUN, "who": "Ann Lee", "reason": "I read them"}
    with RunStore(tmp_path, {}) as store:
        actions = Actions(tmp_path, {}, "Ann Lee")
        with pytest.raises(BadInput, match="contract is missing"):
            actions.prepare(store, "approve", wanted)
        shown = {**wanted, "contract": contract_hash(contract)}
        assert "approves the contract" in actions.prepare(store, "approve", shown).words
        other = contract.model_copy(update={"requirements": contract.requirements[::-1]})
        with sqlite3.connect(tmp_path / "journal.db") as db:
            db.execute("update step set value = ? where key = 'seal#1'", (other.model_dump_json(),))
        db.close()
        with pytest.raises(BadInput, match="moved on since you looked"):
            actions.prepare(store, "approve", shown)


@pytest.mark.spec("PAGE-6")
def test_nothing_held_out_is_shown_while_no_approval_is_asked_for(tmp_path: Path) -> None:
    demo(tmp_path, state="waiting")
    with closing(Reader(tmp_path, {})) as reader:
        html = html_of(reader, f"/r/{RUN}/approve")
    assert "foo-bar-42" not in html
    assert 'data-do="approve"' not in html


@pytest.mark.slow
@pytest.mark.spec("PAGE-4", "PAGE-8")
def test_a_browser_shows_the_whole_contract_above_the_button(browser: Browser, tmp_path: Path) -> None:
    waiting(tmp_path)
    with closing(Reader(tmp_path, {})) as reader, closing(browser.new_context()) as context:
        serve(context, reader)
        tab = context.new_page()
        tab.goto(f"{ORIGIN}/r/{RUN}")
        tab.get_by_role("link", name=re.compile("Read every case")).click()
        button, case = tab.get_by_role("button", name="Approve"), tab.get_by_text(WEAK)
        assert case.is_visible()
        above, below = case.bounding_box(), button.bounding_box()
        assert above
        assert below
        assert above["y"] < below["y"]
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
