"""While the page is served, its user is told of waits and ends, also with no tab open, and once."""

import json
import sys
from pathlib import Path

import pytest

from trued.engine.run_store import RunStore
from trued.model import RunRecord
from trued.model.events.run import RunEnded
from trued.model.settings import NotifySettings
from trued.page.run_notifications import RunNotifications
from trued.reporting.notifications.notifier import Notifier

KEEPS = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read() + chr(10))"


def record(name: str) -> RunRecord:
    return RunRecord(id=name, workflow="solo", title="t", repository="/r", base="b", branch="t")


def settled(one: Notifier | None) -> None:
    for thread in one._sent if one else ():
        thread.join()


@pytest.mark.spec("PAGE-9")
def test_what_happens_after_the_page_began_is_told_once_and_what_was_before_is_not(tmp_path: Path) -> None:
    told, home = tmp_path / "told", tmp_path / "state"
    settings = NotifySettings(command=(sys.executable, "-c", KEEPS, str(told)))
    ended = RunEnded(state="done", code=0, why="", grade="proven")
    with RunStore(home, {}) as store:
        for name in ("r-old", "r-new"):
            store.journal.add(record(name))
        store.writer(record("r-old")).emit(ended)
        one, other = (RunNotifications(home, {}, settings) for _ in range(2))
        one.look()
        other.look()
        store.writer(record("r-new")).emit(ended)
        for each in (one, other, one):
            each.look()
        settled(one.notifier)
        settled(other.notifier)
    (line,) = told.read_text().splitlines()
    assert json.loads(line)["run"] == "r-new"


def test_a_state_folder_without_a_journal_is_waited_for(tmp_path: Path) -> None:
    one = RunNotifications(tmp_path / "state", {}, NotifySettings())
    one.look()
    one.start()
    one.close()
    assert one.notifier is None
