"""What the page costs while nothing happens: it wakes up seldom, and never while nobody looks."""

import socket
import sqlite3
import time
from contextlib import closing
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest

from tests.page.served import RUN, WITHIN_S, Served, page, with_run
from trued.model.events import UnknownEvent
from trued.page.live import CALM_S, JournalFiles

WATCH_S = 4.0
OPEN_WAKES = 9.0  # a second, of all threads: 2.5 polls, and every two seconds a question to the journal


def _wakes(process: int) -> int:
    """How often the process's threads have gone to sleep of their own accord."""
    texts = [one.read_text() for one in Path(f"/proc/{process}/task").glob("*/status")]
    lines = [line for text in texts for line in text.splitlines() if line.startswith("voluntary_ctxt_switches")]
    return sum(int(line.split()[1]) for line in lines)


def _wakes_per_second(served: Served) -> float:
    before, began = _wakes(served.process.pid), time.monotonic()
    time.sleep(WATCH_S)
    return (_wakes(served.process.pid) - before) / (time.monotonic() - began)


def _stream(served: Served, address: str) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", served.port), timeout=WITHIN_S)
    lines = [
        f"GET /live?address={address} HTTP/1.1",
        f"Host: {served.authority}",
        f"Cookie: {served.session['Cookie']}",
    ]
    connection.sendall("\r\n".join([*lines, "", ""]).encode())
    return connection


@pytest.mark.spec("PAGE-3")
@pytest.mark.slow
def test_nobody_who_looks_costs_nothing_and_a_calm_tab_little_and_it_still_sees_the_next_event(tmp_path: Path) -> None:
    with closing(with_run(tmp_path)) as journal, page(tmp_path) as served:
        served.enter()
        time.sleep(1.0)
        assert _wakes_per_second(served) < 1.0
        with closing(_stream(served, f"/r/{RUN}")) as tab:
            text = b""
            while b"Slugs" not in text:
                text += tab.recv(65536)
            time.sleep(CALM_S + 1.0)
            assert _wakes_per_second(served) < OPEN_WAKES
            journal.of(RUN).emit(UnknownEvent(name="noticed", data={"text": "after a long calm"}))
            newest = journal.last_event_id()
            while b"id: %d\r\n" % newest not in text:
                text += tab.recv(65536)


@pytest.mark.spec("PAGE-2")
def test_the_files_of_the_journal_show_each_write_twice_and_then_rest(tmp_path: Path) -> None:
    files = JournalFiles(tmp_path)
    assert [files.may_have_changed() for _ in range(3)] == [True, True, False]  # no journal yet
    with closing(with_run(tmp_path)) as journal:
        for _ in range(3):
            journal.of(RUN).emit(UnknownEvent(name="noticed", data={}))
            assert [files.may_have_changed() for _ in range(3)] == [True, True, False]
        with closing(sqlite3.connect(tmp_path / "journal.db")) as reader:
            reader.execute("select count(*) from event").fetchone()
        assert not files.may_have_changed()  # who reads changes nothing


@pytest.mark.spec("PAGE-1")
def test_every_answer_has_the_time_of_the_server(served: Served) -> None:
    for address in ("/", "/nothing", "/static/page.css"):
        found = parsedate_to_datetime(served.get(address).headers["date"])
        assert abs(found.timestamp() - time.time()) < 60
