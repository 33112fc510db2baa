"""Pages are pictures of the journal: complete, deterministic, and the same whether they were watched or opened late."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.page.made_up import add_events, add_run, addresses, demo, html_of, view_of
from tests.reporting.html.reading import Read
from tests.reporting.html.sample import events, long_run, material, told
from trued.engine.pending import Wait
from trued.page.reader import BATCH, STORY, TOLD, Reader
from trued.page.render import piece
from trued.page.story import told as lines_of
from trued.reporting.html.material import ProofSummary

CALL = "chunk 1B/purple-team-a#1"


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
        lines = [line for one in every for line in lines_of(one, reader.watch(record).progress.view)]
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
