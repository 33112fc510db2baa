"""However long a run is, a page stays small: nodes, bars, rows and lines have ceilings."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.page.made_up import add_events, add_run, addresses, html_of, view_of
from tests.reporting.html.reading import Read
from tests.reporting.html.sample import long_run, told
from trued.page.reader import WATCHED, Reader
from trued.page.transcript import WINDOW
from trued.support.hashing import folder_name

NODES = 6_000
WIRE = 400_000  # characters of any page; the first ones are far smaller
CALL = "chunk 1000/purple-team-a#1"

pytestmark = [pytest.mark.spec("PAGE-3"), pytest.mark.slow]


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """1,000 requirements, 4,000 calls, 20,000 events, each transcript longer than a window; at work."""
    home = tmp_path_factory.mktemp("long")
    sample = long_run(1000, state="running")
    lines = [
        json.dumps({"at": 1.0, "kind": "tool", "name": "Bash", "what": f"echo {one}"}) for one in range(WINDOW * 3)
    ]
    record = add_run(home, sample)
    spool = home / "runs" / record.id / "spool"
    first = Reader(home, {})
    for key in (CALL, "chunk 1000/purple-team-b#2"):
        folder = spool / f"{folder_name(key)}.1"
        folder.mkdir(parents=True)
        (folder / "events.jsonl").write_text("\n".join(lines) + "\n")
    more = [told(13_000.0 + n, f"chunk {n}/log#1", "said", answer="yes", comment="go", who="Ann") for n in range(6_000)]
    add_events(home, record.id, more)
    yield first
    first.close()


def test_no_page_of_a_thousand_requirements_has_more_than_six_thousand_nodes(long: Reader) -> None:
    assert long.watch(long.run("r-demo")).count > 18_000
    pages = addresses("r-demo", CALL, "R1000")
    pages += ["/r/r-demo?page=3", "/r/r-demo?only=open", "/r/r-demo/calls?page=7", "/r/r-demo/events?q=chunk"]
    found = {address: html_of(long, address) for address in pages}
    nodes = {address: Read(html).nodes for address, html in found.items()}
    assert max(nodes.values()) <= NODES, nodes
    assert max(map(len, found.values())) <= WIRE


def test_what_is_in_the_way_is_on_the_first_page_of_the_ledger(long: Reader) -> None:
    ledger = view_of(long, "/r/r-demo").pieces["ledger"]
    assert ledger.index("R1000") < ledger.index("<b>R1</b>")
    assert "1–100 of 1" in ledger.replace("\N{NARROW NO-BREAK SPACE}", "")


def test_a_search_says_how_many_there_are(long: Reader) -> None:
    events = view_of(long, "/r/r-demo/events?q=said").pieces["events"].replace("\N{NARROW NO-BREAK SPACE}", "")
    assert "6000 of" in events


def test_a_transcript_is_shown_in_windows_and_every_line_keeps_its_number(long: Reader) -> None:
    address = "/r/r-demo/call/chunk%201000/purple-team-a%231"
    newest = view_of(long, address).pieces["transcript"]
    assert newest.count("<li") == WINDOW
    assert 'id="e900"' in newest
    assert 'id="e600"' not in newest
    linked = view_of(long, f"{address}?line=450").pieces["transcript"]
    assert 'id="e450"' in linked
    assert linked.count("<li") == WINDOW


def test_only_a_few_runs_are_kept_folded(tmp_path: Path) -> None:
    for number in range(WATCHED + 4):
        sample = long_run(2)
        add_run(tmp_path, long_run(2, record=sample.record.model_copy(update={"id": f"r-{number}"})))
    reader = Reader(tmp_path, {})
    for number in range(WATCHED + 4):
        view_of(reader, f"/r/r-{number}")
    assert len(reader._watched._kept) == WATCHED
    reader.close()
