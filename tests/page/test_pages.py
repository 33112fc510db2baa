"""Pages are pictures of the journal: complete, deterministic, and the same whether they were watched or opened late."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.page.made_up import add_events, add_run, addresses, demo, html_of, view_of
from tests.page.served import RUN, with_run
from tests.reporting.html.reading import Read
from tests.reporting.html.sample import events, long_run, material, told
from trued.engine.continuations import next_steps
from trued.engine.journals.sqlite import SqliteJournal
from trued.engine.pending import Wait
from trued.engine.run_store import RunStore
from trued.model import Finding, Grade, Judged, Verdict
from trued.model.step_keys import asked_again
from trued.page.reader import BATCH, STORY, TOLD, Reader
from trued.page.render import piece, question_first
from trued.page.story import story_lines as lines_of
from trued.reporting.html.material import ProofSummary, Proved
from trued.reporting.views.event_kinds import typed

CALL = "chunk 1B/purple-team-a#1"
FORM = re.compile(r"<form[^>]*data-do=.*?</form>", re.DOTALL)


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    demo(tmp_path)
    made = Reader(tmp_path, {})
    yield made
    made.close()


@pytest.mark.spec("PAGE-1")
def test_every_page_of_a_run_is_there_well_formed_with_one_first_heading(reader: Reader) -> None:
    for address in addresses("r-demo", CALL, "count"):
        html = html_of(reader, address)
        read = Read(html)
        assert not [*read.open, *read.unbalanced], address
        assert html.count("<h1") == 1, address
        ids = re.findall(r' id="([^"]*)"', html)
        assert len(ids) == len(set(ids)), address
        assert " style=" not in html, address


@pytest.mark.spec("PAGE-1")
def test_a_piece_is_one_element_with_its_own_id(reader: Reader) -> None:
    for address in addresses("r-demo", CALL, "count"):
        for name, html in view_of(reader, address).pieces.items():
            assert html.lstrip().split(">", 1)[0].count(f'id="{name}"') == 1, (address, name)


@pytest.mark.spec("PAGE-2")
def test_a_page_that_watched_every_event_is_the_same_as_one_that_is_opened_at_the_end(tmp_path: Path) -> None:
    sample = material(state="running")
    add_run(tmp_path, material(state="running", events=()))
    watching = Reader(tmp_path, {})
    for event in sample.events:
        add_events(tmp_path, "r-demo", [event])
        watched = view_of(watching, "/r/r-demo")
        late = Reader(tmp_path, {})
        assert watched == view_of(late, "/r/r-demo"), event.kind
        late.close()
    watching.close()


@pytest.mark.spec("PAGE-1")
def test_a_page_is_the_same_twice(reader: Reader) -> None:
    for address in addresses("r-demo", CALL, "count"):
        assert view_of(reader, address) == view_of(reader, address), address


@pytest.mark.spec("PAGE-4")
def test_who_may_only_look_sees_no_form_that_does_something(tmp_path: Path) -> None:
    demo(tmp_path, state="running", events=tuple(events())[:-4])
    reader = Reader(tmp_path, {}, can_steer=False)
    for address in addresses("r-demo", CALL, "count"):
        assert "data-do" not in html_of(reader, address), address
    reader.close()


@pytest.mark.spec("PAGE-4")
def test_who_decides_says_which_commit_they_looked_at(reader: Reader) -> None:
    record = reader.run("r-demo")
    one = Wait(kind="judge", what="look", since=1.0, command="trued approve", requirement="slug", commit="c" * 40)
    html = piece("wait.html.j2", number=1, one=one, record=record, can_steer=True, pictures=())
    assert f'name="commit" value="{"c" * 40}"' in html


@pytest.mark.spec("PAGE-4")
def test_who_answers_reads_the_whole_question(reader: Reader) -> None:
    what = "1A is proven\nContinue? (yes: the next chunk · redo: this one again)"
    one = Wait(kind="go on", what=what, since=1.0, command="trued answer", question="x#1", options=("yes", "redo"))
    html = piece("wait.html.j2", number=1, one=one, record=reader.run("r-demo"), can_steer=True, pictures=())
    assert '<h2 class="question">Continue?</h2>' in html
    assert html.index("Continue?</h2>") < html.index("1A is proven\n(yes: the next chunk · redo: this one again)")


@pytest.mark.spec("PAGE-4")
@pytest.mark.parametrize(
    ("text", "question", "rest"),
    [
        ("Go on with the plan?", "Go on with the plan?", ""),
        ("1A: proven, holds\nContinue? (yes: the next)", "Continue?", "1A: proven, holds\n(yes: the next)"),
        ("Which one?\nA or B? I found both.", "Which one?", "A or B? I found both."),
        ("Tell me the format\nof the file", "Tell me the format", "of the file"),
    ],
)
def test_the_question_itself_stands_before_what_it_is_about(text: str, question: str, rest: str) -> None:
    assert question_first(text) == (question, rest)


@pytest.mark.spec("PAGE-4")
def test_who_paused_a_run_is_said_where_the_question_comes_back(tmp_path: Path) -> None:
    record = demo(tmp_path, state="waiting", verdict=None, history=(), contract=None)
    with closing(SqliteJournal(tmp_path / "journal.db")) as journal, closing(Reader(tmp_path, {})) as reader:
        writer = journal.of(record.id)
        writer.question("chunk 1A/confirm#1", "1A holds\nContinue?", ("yes", "redo", "stop"))
        assert "Paused by" not in html_of(reader, f"/r/{record.id}")
        writer.answer("chunk 1A/confirm#1", "stop", "", "Ann Lee")
        writer.question(asked_again("chunk 1A/confirm#1", 2), "1A holds\nContinue?", ("yes", "redo", "stop"))
        writer.question("chunk 1B/confirm#1", "1B holds\nContinue?", ("yes", "redo", "stop"))
        for address in (f"/r/{record.id}", "/"):
            assert html_of(reader, address).count("<b>Paused by Ann Lee</b>") == 1


@pytest.mark.spec("PAGE-1")
def test_a_requirement_s_page_has_an_active_tab_and_a_refuting_verdict_leads_to_it(tmp_path: Path) -> None:
    demo(tmp_path)
    with closing(Reader(tmp_path, {})) as reader:
        assert view_of(reader, "/r/r-demo/ledger/slug").pieces["tabs"].count('aria-current="page"') == 1
        assert "/ledger/count#history" in view_of(reader, "/r/r-demo").pieces["lanes"]


@pytest.mark.spec("PAGE-4")
def test_a_question_that_was_answered_does_not_wait_for_an_answer_any_more(tmp_path: Path) -> None:
    why = "chunk 1A/confirm#1 waits for an answer: 1A is proven"
    record = demo(tmp_path, state="waiting", verdict=None, history=(), contract=None)
    with closing(SqliteJournal(tmp_path / "journal.db")) as journal, closing(Reader(tmp_path, {})) as reader:
        journal.update(journal.run(record.id).model_copy(update={"why": why}))
        journal.of(record.id).question("chunk 1A/confirm#1", "1A is proven", ("yes", "stop"))
        assert [one.kind for one in reader.waits(reader.run(record.id))] == ["go on"]
        journal.of(record.id).answer("chunk 1A/confirm#1", "yes", "", "Ann")
        (one,) = reader.waits(reader.run(record.id))
        assert (one.kind, one.what) == ("resume", "Ann answered yes: the run continues when it is resumed")


@pytest.mark.spec("PAGE-5")
def test_no_address_can_fill_in_a_form_or_choose_an_answer(tmp_path: Path) -> None:
    with_run(tmp_path).close()
    demo(tmp_path, state="running", events=tuple(events())[:-4])
    given = "&".join(
        f"{name}=yes" for name in ("answer", "comment", "who", "reason", "limit", "run", "key", "when", "do")
    )
    with closing(SqliteJournal(tmp_path / "journal.db")) as journal, closing(Reader(tmp_path, {})) as reader:
        journal.announce("r-demo")
        shown = 0
        for address in (*addresses("r-demo", CALL, "count"), f"/r/{RUN}", f"/r/{RUN}/people"):
            forms, filled = (FORM.findall(html_of(reader, f"{address}{query}")) for query in ("", f"?{given}"))
            assert forms == filled, address
            assert not re.search(r'<textarea[^>]*>[^<]|type="text"[^>]* value=', "".join(forms)), address
            shown += len(forms)
    assert shown > 3


@pytest.mark.spec("PAGE-1")
def test_a_gates_record_is_shown_in_words_with_its_grade_and_short_hashes(tmp_path: Path) -> None:
    (tmp_path / "gates" / "tiny-1").mkdir(parents=True)
    rows = [
        {"at": 1.0, "what": "installed", "places": ["git", "claude"], "contract": "c" * 64},
        {"at": 2.0, "what": "judged", "commit": "b" * 40, "grade": "refuted", "state": "not proven"},
        {"at": 3.0, "what": "judged", "grade": '"><b>'},
    ]
    (tmp_path / "gates" / "tiny-1" / "record.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    with closing(Reader(tmp_path, {})) as reader:
        html = html_of(reader, "/gates")
    assert f"places git, claude · contract {'c' * 10}<" in html
    assert f"commit {'b' * 10} · state not proven" in html
    assert html.count('class="grade g-') == 1
    assert '<span class="grade g-refuted">refuted</span>' in html


@pytest.mark.spec("PAGE-1")
def test_a_verdict_took_as_long_as_the_checks_that_this_run_ran(tmp_path: Path) -> None:
    sample = material()
    (first, *rest) = sample.history
    began = sample.events[0].at
    facts = [one.model_copy(update={"began": began + 1, "seconds": 2.0}) for one in first.verdict.evidence[:1]]
    facts += [one.model_copy(update={"began": began - 90, "seconds": 60.0}) for one in facts]  # of an earlier run
    proved = replace(first, verdict=first.verdict.model_copy(update={"evidence": tuple(facts)}))
    add_run(tmp_path, material(history=(proved, *rest)))
    with closing(Reader(tmp_path, {})) as reader:
        html = view_of(reader, "/r/r-demo/verdicts").pieces["verdicts"]
    assert 'data-name="checks ran">2.0s<' in html.partition(f"{first.key}<")[2].partition("</tr>")[0]


@pytest.mark.spec("PAGE-3")
def test_only_of_a_run_that_is_done_it_is_asked_whether_it_has_landed(tmp_path: Path) -> None:
    class Untroubled(SqliteJournal):
        """A journal that does not look through all of its events."""

        def landed(self) -> dict[str, list[str]]:
            raise AssertionError("every event is read for this")

    record = demo(tmp_path, state="interrupted")
    with RunStore(tmp_path, {}, read_only=True) as store:
        assert ("trued land r-demo", "merges it") in next_steps(store, record.model_copy(update={"state": "done"}))
    with RunStore(tmp_path, {}, journal=Untroubled(tmp_path / "journal.db", read_only=True)) as store:
        for state in ("running", "interrupted", "limited", "failed", "not proven", "planned", "cancelled"):
            next_steps(store, record.model_copy(update={"state": state}))


@pytest.mark.spec("PAGE-3")
def test_events_that_no_page_reads_are_counted_and_let_go(tmp_path: Path) -> None:
    demo(tmp_path, state="interrupted")
    reader = Reader(tmp_path, {})
    watched = reader.watch(reader.run("r-demo"))
    kept, count = len(watched.kept), watched.count
    add_events(tmp_path, "r-demo", [told(90 + n, f"chunk {n}/x#1", "step", text="y" * 200) for n in range(300)])
    add_events(tmp_path, "r-demo", [told(400, "x#1", "no progress")])
    assert reader.watch(reader.run("r-demo")).count == count + 301
    assert len(watched.kept) <= kept + 1
    reader.close()


@pytest.mark.spec("PAGE-1")
def test_the_lanes_show_the_last_part_of_a_long_run_alone(tmp_path: Path) -> None:
    add_run(tmp_path, long_run(60))
    reader = Reader(tmp_path, {})
    whole, last = (view_of(reader, f"/r/r-demo{query}").pieces["lanes"] for query in ("", "?lanes=1+min"))
    assert "last 1 min" in whole
    assert 'aria-current="true">whole run' in whole
    assert 'aria-current="true">last 1 min' in last
    assert "chunk 1/" in whole
    assert "chunk 1/" not in last  # long ago by then
    assert "chunk 60/" in last
    assert "?only=met&amp;lanes=1+min#ledger" in view_of(reader, "/r/r-demo?lanes=1+min").pieces["ledger"]
    assert view_of(reader, "/r/r-demo?lanes=%3Cb%3E").pieces["lanes"] == whole
    reader.close()


@pytest.mark.spec("PAGE-1")
def test_the_bar_of_a_call_at_work_grows_to_now_though_nothing_happens(tmp_path: Path) -> None:
    shift = time.time() - 1_762_000_000 - 600  # the run began ten minutes ago
    begun = [one.model_copy(update={"at": one.at + shift}) for one in events()][:9]
    demo(tmp_path, state="running", events=tuple(begun))
    with closing(SqliteJournal(tmp_path / "journal.db")) as journal, closing(Reader(tmp_path, {})) as reader:
        stopped = view_of(reader, "/r/r-demo").pieces["lanes"]
        journal.announce("r-demo")
        with closing(Reader(tmp_path, {})) as now:
            grown = view_of(now, "/r/r-demo").pieces["lanes"]
    assert ">2m00s<" not in stopped  # nobody drives it: it ends with its newest event
    assert ">2m00s<" in grown
    assert 'class="bar open"' in grown


@pytest.mark.spec("PAGE-1")
def test_an_agent_at_work_is_shown_with_the_gaps_that_its_brief_names_and_no_others(tmp_path: Path) -> None:
    gaps = {"1A": "slug: it joins with _", "1B": "count: it counts commas\nE  assert 1 == 2", "2A": "count: it is slow"}
    ended = []
    for chunk, gap in gaps.items():
        row = Judged(id=gap[:4], text="x", grade=Grade.REFUTED, why=("x",), gaps=(Finding(what=gap),), holds=False)
        ended.append(Proved(f"chunk {chunk}/prove#1", 1.0, Verdict(subject=chunk, commit="c", requirements=(row,))))
    asked = {"role": "purple-team-a", "agent": "scripted:x", "chars": 9, "resume": False}
    briefs = {
        "chunk 1B/purple-team-a#1": ("Build it.", set[str]()),
        "chunk 1B/purple-team-a#2": (f"# Gaps that are left\n\n- what: {gaps['1B']}\n", {"1B"}),
        "fix/lead#1": (f"# Gaps that are left\n\n- what: {gaps['2A']}\n", {"2A"}),
        "chunk 3A/purple-team-a#1": ("Build that.", set[str]()),
    }
    for number, (key, (brief, expected)) in enumerate(briefs.items()):
        home = tmp_path / str(number)
        home.mkdir()
        begun = (told(0, "", "run began", title="x", workflow="purple", branch="b", level="none"),)
        demo(home, state="running", events=(*begun, told(1, key, "asked", brief=brief, **asked)), history=tuple(ended))
        with closing(SqliteJournal(home / "journal.db")) as journal:
            journal.announce("r-demo")
            with closing(Reader(home, {})) as reader:
                html = view_of(reader, "/r/r-demo").pieces["call"]
        assert {chunk for chunk, gap in gaps.items() if gap.partition("\n")[0] in html} == expected, key
        assert ("Gaps in its brief" in html) is bool(expected), key


@pytest.mark.spec("PAGE-3")
def test_while_a_page_is_made_again_and_again_lanes_are_drawn_seldom_and_are_whole_in_the_end(tmp_path: Path) -> None:
    demo(tmp_path, state="running", events=tuple(events())[:6])
    with closing(Reader(tmp_path, {})) as reader:
        before = view_of(reader, "/r/r-demo").pieces["lanes"]
        add_events(tmp_path, "r-demo", tuple(events())[6:])
        with reader.sparing():
            spared = view_of(reader, "/r/r-demo")
        assert (spared.pieces["lanes"], spared.is_behind) == (before, True)  # to be made again soon
        whole = view_of(reader, "/r/r-demo")
        assert not whole.is_behind
        with closing(Reader(tmp_path, {})) as late:
            assert whole == view_of(late, "/r/r-demo")


@pytest.mark.spec("PAGE-3")
def test_the_story_reads_as_many_events_as_it_takes_and_is_the_same_as_if_all_had_been_told(tmp_path: Path) -> None:
    demo(tmp_path, state="interrupted")
    reader = Reader(tmp_path, {})
    record = reader.run("r-demo")
    asked = [told(90 + n, f"chunk {n}/dev#1", "asked", role="dev", agent="x") for n in range(STORY + 20)]
    silent = [told(300 + n, f"chunk {n}/x#1", "step", text="y") for n in range(2 * TOLD + 7)]
    for more in ([], asked, silent, asked[:3], silent):
        add_events(tmp_path, "r-demo", more)
        every = reader.store.journal.events("r-demo", lean=True)
        lines = [line for one in every for line in lines_of(one, typed(one, reader.watch(record).progress.view.EVENTS))]
        assert reader.story(record) == lines[::-1][:STORY]
    reader.close()


@pytest.mark.spec("PAGE-3")
def test_a_long_history_is_read_when_somebody_looks_at_it(tmp_path: Path) -> None:
    sample = material()
    add_run(tmp_path, material(state="interrupted"))
    reader = Reader(tmp_path, {})
    history, whole = reader.history_of(reader.run("r-demo")), list(sample.history)
    assert history.summaries == tuple(map(ProofSummary.of, whole))
    assert [one.verdict for one in history] == [one.verdict for one in whole]
    assert [one.key for one in history[-2:]] == [one.key for one in whole[-2:]]
    assert [one.key for one in history.about("slug")] == ["chunk 1A/prove#1", "finish#1"]
    reader.close()


@pytest.mark.spec("PAGE-3")
def test_a_long_run_is_read_in_parts_and_nothing_of_long_ago_is_shown_as_if_it_were_now(tmp_path: Path) -> None:
    demo(tmp_path, state="running")
    add_events(tmp_path, "r-demo", [told(90 + n, f"chunk {n}/x#1", "step", text="y") for n in range(3 * BATCH)])
    add_events(tmp_path, "r-demo", [told(4000, "chunk 9/dev#1", "asked", role="dev", agent="x")])
    whole = Reader(tmp_path, {})
    for address in ("/r/r-demo", f"/r/r-demo/call/{quote(CALL)}", "/"):
        parts = Reader(tmp_path, {}, at_once=BATCH)
        views = [view_of(parts, address)]
        while not views[-1].is_whole:
            shown = "".join(views[-1].pieces.values())
            assert "events are being read" in shown
            assert not views[-1].pieces.keys() & {"lanes", "ledger", "figures", "call"}
            assert address == "/" or "is asked for chunk 9" in shown  # the newest is there at once
            assert "requirements are met" not in shown
            views.append(view_of(parts, address))
        assert len(views) == 4
        assert views[-1].pieces == view_of(whole, address).pieces
        parts.close()
    whole.close()
