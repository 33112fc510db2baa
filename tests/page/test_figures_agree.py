"""A figure that stands on several pages is the same on all of them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.page.made_up import add_events, add_run, demo, html_of
from tests.reporting.html.sample import material
from trued.engine.journals.sqlite import SqliteJournal
from trued.model import Event
from trued.page.reader import Reader
from trued.page.transcript import CallTranscript
from trued.reporting.html.calls import calls
from trued.reporting.html.format import agent_names
from trued.reporting.html.ledger import lines
from trued.reporting.html.timeline import timeline
from trued.reporting.views.claims import claims_done
from trued.reporting.views.stats import HistoryFilter
from trued.support.hashing import folder_name

RUN = "r-demo"


def told_of_verdicts() -> list[Event]:
    """The sample's verdicts as events."""
    found = []
    for one in material().history:
        rows = [{"id": each.id, "grade": str(each.grade), "why": []} for each in one.verdict.requirements]
        data = {"subject": one.verdict.subject, "commit": one.verdict.commit, "holds": True, "grade": "proven"}
        key = one.key.partition("#")[0]
        found.append(Event(id=0, at=one.at, key=key, kind="proven", data={**data, "requirements": rows}))
    return found


@pytest.mark.spec("PAGE-1")
def test_requirements_met_and_claims_refuted_are_the_same_in_the_list_the_run_and_history(tmp_path: Path) -> None:
    demo(tmp_path)
    add_events(tmp_path, RUN, told_of_verdicts())
    reader = Reader(tmp_path, {})
    record = reader.run(RUN)
    listed, own = reader.summary(record), [one for one in lines(reader.material(record)) if not one.guard]
    past = reader.history(HistoryFilter()).runs[0]
    assert (listed.met, listed.requirements) == (sum(one.met for one in own), len(own)) == (past.met, past.requirements)
    fallen = sum(bool(one.refuted) for one in reader.calls(record))
    assert listed.claims_refuted == fallen == sum(one.fell for one in past.claims) > 0
    reader.close()


@pytest.mark.spec("PAGE-1")
@pytest.mark.parametrize("reply", [{"status": "DONE", "passed": False}, {"status": "DONE", "asks": "which one?"}])
def test_who_said_that_it_does_not_pass_claimed_nothing_on_any_page(tmp_path: Path, reply: dict[str, object]) -> None:
    demo(tmp_path)
    said = {"role": "verify-agent", "agent": "scripted:x", "state": "done", "reply": reply}
    add_events(tmp_path, RUN, [Event(id=0, at=1.0, key="round 9/verify-agent#1", kind="answered", data=said)])
    journal = SqliteJournal(tmp_path / "journal.db")
    lean = next(one for one in journal.events(RUN, lean=True) if one.key == "round 9/verify-agent#1").data["reply"]
    journal.close()
    assert not claims_done("verify-agent", "done", lean)
    assert not claims_done("verify-agent", "done", reply)


@pytest.mark.spec("PAGE-1")
def test_the_filters_of_the_ledger_add_up_and_nothing_judged_is_no_share_of_the_bar(tmp_path: Path) -> None:
    demo(tmp_path, state="running", verdict=None, history=(), events=())
    reader = Reader(tmp_path, {})
    html = html_of(reader, f"/r/{RUN}")
    figures = html[html.index('id="figures"') : html.index("</dl>")]
    assert "not checked yet" in figures
    assert 'class="g-unproven"' not in figures
    reader.close()


@pytest.mark.spec("PAGE-1")
def test_a_check_that_was_taken_in_an_earlier_run_does_not_stretch_the_axis() -> None:
    sample = material()
    assert sample.contract
    early = [one.model_copy(update={"began": one.began - 3600}) for one in sample.contract.base_facts]
    again = replace(sample, contract=sample.contract.model_copy(update={"base_facts": tuple(early)}))
    line = timeline(again, calls(again))
    assert line.seconds == timeline(sample, calls(sample)).seconds
    assert not [bar for lane in line.lanes for bar in lane.bars if bar.kind == "check base"]


@pytest.mark.spec("PAGE-2")
def test_a_run_that_is_about_to_be_driven_is_not_interrupted(tmp_path: Path) -> None:
    demo(tmp_path, state="running")
    journal = SqliteJournal(tmp_path / "journal.db")
    reader = Reader(tmp_path, {})
    assert reader.run(RUN).state == "interrupted"
    journal.announce(RUN)
    assert reader.run(RUN).state == "running"
    with journal.claim(RUN):
        assert reader.run(RUN).state == "running"
    assert reader.run(RUN).state == "interrupted"
    reader.close()
    journal.close()


@pytest.mark.spec("PAGE-1")
def test_refuted_claims_are_found_from_the_first_page_the_run_and_history(tmp_path: Path) -> None:
    demo(tmp_path)
    add_events(tmp_path, RUN, told_of_verdicts())
    reader = Reader(tmp_path, {})
    where = f'href="/r/{RUN}/calls?only=refuted"'
    for address in ("/", "/?only=refuted", f"/r/{RUN}", "/history?since=all"):
        assert where in html_of(reader, address), address
    assert "No run matches" in html_of(reader, "/?only=work")
    assert f'href="/r/{RUN}/ledger/count#claims"' in html_of(reader, f"/r/{RUN}")
    reader.close()


@pytest.mark.spec("PAGE-1")
def test_an_ended_run_names_the_next_command_and_all_that_was_spent(tmp_path: Path) -> None:
    demo(tmp_path)
    reader = Reader(tmp_path, {})
    assert f"<code>trued land {RUN}</code>" in html_of(reader, f"/r/{RUN}")
    assert "<b>Total</b>" in html_of(reader, f"/r/{RUN}/spent")
    reader.close()


@pytest.mark.spec("PAGE-1")
def test_agents_of_one_name_are_told_apart_by_their_folders() -> None:
    alike = ["scripted:/a/shop/agents.py", "scripted:/a/links/agents.py", "scripted:/b/links/agents.py", "codex"]
    names = agent_names(alike)
    assert len(set(names.values())) == 4
    assert (names[alike[0]], names["codex"]) == ("scripted: shop/agents.py", "codex")


@pytest.mark.spec("PAGE-1")
def test_what_the_supervisor_wrote_stands_in_words(tmp_path: Path) -> None:
    folder = tmp_path / f"{folder_name('a#1')}.1"
    folder.mkdir()
    rows = [
        {"at": 1.0, "kind": "began", "agent": "scripted:/x/agents.py", "attempt": 1, "resume": False},
        {"at": 2.0, "kind": "usage", "simulated": True, "tokens_in": 1923, "tokens_out": 120, "estimated": True},
        {"at": 3.0, "kind": "ended", "state": "done", "failure": "", "reaped": 0},
        {"at": 4.0, "kind": "ended", "state": ["odd"], "failure": {"odd": 1}, "reaped": "odd"},
    ]
    (folder / "events.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    said = [one.text for one in CallTranscript(tmp_path, "a#1").window().lines]
    assert said[0] == "attempt 1: scripted: agents.py"
    assert said[1].endswith("tokens in, ~120 out, made up by a script")
    assert said[2] == "done"


@pytest.mark.spec("PAGE-1")
@pytest.mark.parametrize(
    ("state", "colour"),
    [
        ("done", "g-proven"),
        ("interrupted", "is-off"),
        ("limited", "is-wait"),
        ("cancelled", "is-off"),
        ("not proven", "g-refuted"),
        ("failed", "g-refuted"),
    ],
)
def test_only_a_run_that_is_done_has_the_colour_of_its_grade(tmp_path: Path, state: str, colour: str) -> None:
    """The newest grade of a run that stopped on the way may be good, and says nothing of the run."""
    demo(tmp_path, state=state)
    reader = Reader(tmp_path, {})
    head, listed = html_of(reader, f"/r/{RUN}"), html_of(reader, "/")
    assert f'class="saying {colour}"' in head
    assert f'class="state {colour}"' in listed
    reader.close()


@pytest.mark.spec("PAGE-1")
def test_of_a_call_that_was_asked_again_report_and_page_show_the_last_brief(tmp_path: Path) -> None:
    one = material()
    asked = next(event for event in one.events if event.kind == "asked")
    again = asked.model_copy(update={"data": {**asked.data, "brief": "continue where you stopped"}})
    one = replace(one, events=(*one.events, again))
    (call,) = [call for call in calls(one) if call.key == asked.key]
    record = add_run(tmp_path, one)
    reader = Reader(tmp_path, {})
    try:
        assert reader.texts(record, call)[0] == call.brief.text == "continue where you stopped"
    finally:
        reader.close()
