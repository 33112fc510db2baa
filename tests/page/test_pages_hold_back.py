"""What is held out, and what examiners were told and said, is on no page before the run is over."""

import json
import sqlite3
from pathlib import Path

import pytest

from tests.page.made_up import add_events, addresses, demo, html_of
from tests.reporting.html.sample import told
from trued.page.reader import Reader
from trued.support.hashing import folder_name

KEY = "seal/examiner#1"
SECRETS = ("secretbrief", "secretcase", "secretsummary", "secretline", "secretwhy")


def examined(home: Path, state: str) -> Reader:
    """A run whose examiner spoke of secrets, and whose held-out case is Foo & Bar 42."""
    demo(home, state=state)
    reply = {"status": "DONE", "summary": "secretsummary", "cases": ["secretcase"]}
    answer = {"role": "examiner", "agent": "scripted:x", "state": "done", "why": "secretwhy", "reply": reply}
    asked = {"role": "examiner", "agent": "scripted:x", "brief": "secretbrief", "chars": 11, "resume": False}
    add_events(home, "r-demo", [told(30, KEY, "asked", **asked), told(31, KEY, "answered", **answer)])
    spool = home / "runs" / "r-demo" / "spool" / f"{folder_name(KEY)}.1"
    spool.mkdir(parents=True)
    (spool / "events.jsonl").write_text(json.dumps({"at": 1, "kind": "log", "text": "secretline"}) + "\n")
    return Reader(home, {})


@pytest.mark.spec("PAGE-6")
@pytest.mark.parametrize("state", ["running", "waiting", "failed", "interrupted", "limited", "planned"])
def test_nothing_of_an_examiner_and_no_held_out_value_is_on_any_page_under_way(tmp_path: Path, state: str) -> None:
    reader = examined(tmp_path, state)
    pages = addresses("r-demo", KEY, "slug")
    searches = [f"/r/r-demo/events?q={one}" for one in SECRETS] + [f"/r/r-demo/calls?q={one}" for one in SECRETS]
    for address in [*pages, *searches, "/?q=secretsummary"]:
        html = html_of(reader, address).replace(f'value="{address.rpartition("=")[2]}"', "")
        for secret in (*SECRETS, "Foo &amp; Bar 42", "foo-bar-42"):
            assert secret not in html.replace(f"q={secret}", ""), (address, secret)
        if "q=" in address:
            assert "data-name" not in html, address  # and it is not told by a hit, either
    reader.close()


@pytest.mark.spec("PAGE-6")
def test_it_is_all_there_when_the_run_is_over(tmp_path: Path) -> None:
    reader = examined(tmp_path, "done")
    html = "".join(html_of(reader, address) for address in addresses("r-demo", KEY, "slug"))
    for secret in (*SECRETS, "Foo &amp; Bar 42"):
        assert secret in html, secret
    reader.close()


@pytest.mark.spec("PAGE-6")
def test_no_event_of_an_examiners_call_says_a_word_whatever_its_kind(tmp_path: Path) -> None:
    reader = examined(tmp_path, "interrupted")
    again = "seal/second-examiner#2"
    failed = {"role": "examiner", "agent": "scripted:x", "state": "failed", "kind": "contract", "reply": None}
    said = [
        told(40, KEY, "answered", **failed, why="case 0: secretfail is not of type array"),
        told(41, KEY, "waits", until=1.0, why="secretwait", failure="rate", agent="scripted:x"),
        told(42, KEY, "run again", attempt=2, why="secretagain"),
        told(43, KEY, "fresh session", why="secretfresh"),
        told(44, KEY, "what only a runtime knows", text="secretruntime"),
        told(45, again, "asked", role="second-examiner", agent="scripted:y", brief="secrettwo", chars=1, resume=False),
        told(46, again, "what only a runtime knows", text="secrettwo"),
    ]
    add_events(tmp_path, "r-demo", said)
    secrets = ("secretfail", "secretwait", "secretagain", "secretfresh", "secretruntime", "secrettwo")
    pages = addresses("r-demo", KEY, "slug") + addresses("r-demo", again, "slug")
    for address in [*pages, *(f"/r/r-demo/events?q={one}" for one in secrets)]:
        html = html_of(reader, address).replace(f'value="{address.rpartition("=")[2]}"', "")
        for secret in secrets:
            assert secret not in html.replace(f"q={secret}", ""), (address, secret)
        if "q=" in address:
            assert "data-name" not in html, address
    assert "run again" in html_of(reader, "/r/r-demo/events")  # that it happened is no secret
    reader.close()


@pytest.mark.spec("PAGE-6")
@pytest.mark.parametrize(("state", "shown"), [("running", False), ("done", True)])
def test_notes_can_quote_a_case_and_are_only_counted_under_way(tmp_path: Path, state: str, shown: bool) -> None:
    examined(tmp_path, state).close()
    with sqlite3.connect(tmp_path / "journal.db") as db:
        for key, value in db.execute("select key, value from step").fetchall():
            held = {**json.loads(value), "undecided": ["examiner: slugify('zz-held') shows nothing"]}
            db.execute("update step set value = ? where key = ?", (json.dumps(held), key))
    db.close()
    reader = Reader(tmp_path, {})
    pages = {address: html_of(reader, address) for address in addresses("r-demo", KEY, "slug")}
    assert any("zz-held" in html for html in pages.values()) is shown
    assert "1 note" in pages["/r/r-demo/contract"]
    reader.close()
