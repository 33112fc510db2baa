"""The page of history: the first figure is how often each agent's *done* was false, as plot, table and text."""

import json
import re
import sqlite3
from html import unescape
from pathlib import Path

import pytest

from tests.page.made_up import demo, html_of
from tests.reporting.html.reading import Read
from trued.engine.verification_log import VerificationLog, VerificationRecord
from trued.errors import BadInput
from trued.model import Grade
from trued.page.reader import Reader

EVIL = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


def words_of(html: str) -> str:
    """What is read, cell by cell."""
    return " ".join(unescape(re.sub("<[^>]+>", " ", html)).split())


def many(home: Path, runs: int) -> None:
    """Runs with two calls and a proof each; of every fifth the claim falls."""
    rows, events, spends = [], [], []
    for number in range(runs):
        name, at = f"r-{number:04}", 1_790_000_000.0 + number * 40_000
        rows.append((name, "purple", f"Goal {number}", f"/shop{number % 3}", at, at, "done", "proven", "{}"))
        for place, agent in enumerate(("claude", f"codex:{number % 40}")):
            key = f"chunk 1/purple-team-{'ab'[place]}#1"
            data = {
                "role": f"team-{place}",
                "agent": agent,
                "state": "done",
                "ended": at + 1,
                "reply": {"status": "DONE"},
                "tokens": {"in": 900, "out": 100, "estimated": agent != "claude"},
            }
            events.append((name, at + 1, key, "answered", json.dumps(data)))
            spends.append((name, key, key, f"team-{place}", agent, at))
        grade = "refuted" if number % 5 == 0 else "proven"
        data = {"requirements": [{"id": "R1", "grade": grade}], "subject": "", "commit": "", "grade": "", "holds": True}
        events.append((name, at + 2, "chunk 1/prove#1", "proven", json.dumps(data)))
    with sqlite3.connect(home / "journal.db") as db:
        columns = "id, workflow, title, repository, created_at, updated_at, state, grade, inputs"
        more = "base, branch, code, why, head"
        db.executemany(f"insert into run ({columns}, {more}) values (?,?,?,?,?,?,?,?,?,'b','t',0,'','h')", rows)
        db.executemany("insert into event (run, at, key, kind, data) values (?,?,?,?,?)", events)
        db.executemany(
            "insert into spend (run, call, attempt, step, task, role, agent, state, reserved_usd, reserved_tokens,"
            " reserved_seconds, spent_usd, spent_tokens, spent_seconds, cost, at)"
            " values (?,?,1,?,'',?,?,'done',0,0,0,0.5,1000,60,'reported',?)",
            spends,
        )
    db.close()


@pytest.mark.spec("PAGE-10")
def test_the_first_figure_is_how_often_each_agents_done_was_false(tmp_path: Path) -> None:
    demo(tmp_path)
    many(tmp_path, 100)
    reader = Reader(tmp_path, {})
    html = html_of(reader, "/history?since=all")
    read, words = Read(html), words_of(html)
    first, then = words.index("How often was each agent's done false?"), words.index("Over time")
    assert re.search(r"claude 20 % 20 100\b", words[first:then])
    assert re.search(r"scripted: agents.py \d+ % \d 6\b", words[first:then])
    bars = read.having("rect", "fell")
    assert [one["width"] for one in bars if one["width"] == "20.00%"]
    reader.close()


@pytest.mark.spec("PAGE-10", "AGT-6")
def test_tokens_that_are_estimated_are_marked(tmp_path: Path) -> None:
    demo(tmp_path)
    many(tmp_path, 10)
    reader = Reader(tmp_path, {})
    html = html_of(reader, "/history?since=all")
    by_agent = html[html.index("<h3>By agent") : html.index("<h3>By role")]
    marks = dict(re.findall(r'<th scope="row">(\w+).*?data-name="tokens">(~?)\d', by_agent))
    assert (marks["claude"], marks["codex"]) == ("", "~")
    reader.close()


@pytest.mark.spec("PAGE-10", "PAGE-6")
def test_plots_are_attributes_alone_and_have_the_same_figures_as_a_table(tmp_path: Path) -> None:
    demo(tmp_path)
    many(tmp_path, 60)
    reader = Reader(tmp_path, {})
    html = html_of(reader, "/history?since=all")
    read = Read(html)
    assert [attributes for _, attributes in read.tags if "style" in attributes] == []
    assert [name for _, attributes in read.tags for name in attributes if name.startswith("on")] == []
    assert [tag for tag, _ in read.tags if tag == "style"] == []
    plotted = re.findall(r"<title>claude, (\S+): (\d+ of \d+) claims were false</title>", html)
    assert plotted
    words = words_of(html[html.index("The same as a table") :])
    assert [one for one in plotted if not re.search(rf"{one[0]} .*?{one[1]}", words)] == []
    reader.close()


@pytest.mark.spec("PAGE-10", "PAGE-3")
def test_a_thousand_runs_and_forty_agents_are_few_nodes(tmp_path: Path) -> None:
    demo(tmp_path)
    many(tmp_path, 1000)
    reader = Reader(tmp_path, {})
    read = Read(html_of(reader, "/history?since=all"))
    assert len(read.tags) <= 6_000
    assert "more agents" in read.text
    assert len(read.having("polyline")) == 6
    reader.close()


@pytest.mark.spec("PAGE-10")
@pytest.mark.parametrize(
    ("filters", "runs"),
    [
        ("since=all", 61),
        ("since=all&repository=/shop1", 20),
        ("since=all&workflow=purple&agent=claude", 60),
        ("since=all&agent=nobody", 0),
        ("since=2026-01-01", 61),
    ],
)
def test_filters_are_in_the_address(tmp_path: Path, filters: str, runs: int) -> None:
    demo(tmp_path)
    many(tmp_path, 60)
    reader = Reader(tmp_path, {})
    found = re.search(r"runs proven (\d+) of (\d+)", words_of(html_of(reader, f"/history?{filters}")))
    assert (int(found[2]) if found else 0) == runs
    reader.close()


def test_hostile_names_and_times_do_nothing(tmp_path: Path) -> None:
    demo(tmp_path, EVIL)
    reader = Reader(tmp_path, {})
    html = html_of(reader, f"/history?since=all&agent={EVIL}&role={EVIL}&repository=/%00")
    assert [tag for tag, _ in Read(html).tags if tag == "img"] == []
    with pytest.raises(BadInput, match="is not a time"):
        html_of(reader, "/history?since=soon")
    reader.close()


@pytest.mark.spec("PAGE-10")
def test_verifications_on_record_are_listed(tmp_path: Path) -> None:
    demo(tmp_path)
    record = VerificationRecord(
        at=1_790_000_000.0,
        seconds=3.0,
        repository="/shop1",
        base="b" * 40,
        head="c" * 40,
        state="done",
        grade=Grade.TESTED,
        code=1,
        met=2,
        requirements=3,
    )
    VerificationLog(tmp_path).add(record)
    reader = Reader(tmp_path, {})
    words = words_of(html_of(reader, "/history?since=all"))
    assert "1 verification, 0 with every requirement met." in words
    assert "2 of 3" in words
    assert "Verifications" not in Read(html_of(reader, "/history?since=all&agent=claude")).text
    reader.close()


@pytest.mark.spec("PAGE-1")
def test_verifications_stand_below_the_runs_and_are_filtered_and_searched(tmp_path: Path) -> None:
    demo(tmp_path)
    reader = Reader(tmp_path, {})
    assert "Verifications" not in Read(html_of(reader, "/")).text
    for number, code in enumerate((0, 1, 1)):
        VerificationLog(tmp_path).add(
            VerificationRecord(
                at=1_790_000_000.0 + number,
                seconds=3.0,
                repository=f"/shop{number}",
                base="b" * 40,
                head=f"{number}" * 40,
                state="done",
                grade=Grade.TESTED,
                code=code,
                met=3 - code,
                requirements=3,
            )
        )
    words = words_of(html_of(reader, "/"))
    assert "all 3 every requirement met 1 some not met 2" in words
    assert [f"shop{number}" in words for number in range(3)] == [True, True, True]
    words = words_of(html_of(reader, "/?verified=open&q=shop2"))
    assert "shop2" in words
    assert "shop1" not in words
    reader.close()


def test_there_is_a_page_before_there_is_a_journal(tmp_path: Path) -> None:
    reader = Reader(tmp_path, {})
    assert "No run matches." in html_of(reader, "/history")
    reader.close()
