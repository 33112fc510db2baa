"""The journal on real SQLite files, with real locks and real faults."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from trued.engine.journals import sqlite, sqlite_history
from trued.engine.journals.sqlite import MIGRATIONS, SqliteJournal
from trued.errors import Busy, StateFailed
from trued.model import RunRecord
from trued.model.events.call import CallAnswered
from trued.model.events.proof import ContractSealed, VerdictReached


def record(name: str) -> RunRecord:
    return RunRecord(
        id=name, workflow="purple", title="a plan", repository="/repo", base="b" * 40, branch=f"trued/{name}"
    )


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[SqliteJournal]:
    with closing(SqliteJournal(tmp_path / "home" / "journal.db")) as opened:
        opened.add(record("r-one"))
        yield opened


class Counting:
    """A step that counts how often it is computed."""

    def __init__(self, results: list[str]) -> None:
        self.results, self.times = results, 0

    async def __call__(self) -> str:
        self.times += 1
        return self.results[self.times - 1]


@pytest.mark.spec("RUN-3")
def test_two_processes_never_drive_one_run(journal: SqliteJournal) -> None:
    with journal.claim("r-one"):
        assert journal.driver("r-one") == os.getpid()
        with pytest.raises(Busy, match=f"process {os.getpid()}"), journal.claim("r-one"):
            pass
    assert journal.driver("r-one") == 0


@pytest.mark.spec("RUN-2", "RUN-3")
def test_a_killed_driver_gives_its_claim_back(journal: SqliteJournal) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from trued.engine.journals.sqlite import SqliteJournal\n"
        "with SqliteJournal(Path(sys.argv[1])).claim('r-one'): os.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(journal.path)], check=False)
    assert ended.returncode == -9
    with journal.claim("r-one"):
        assert journal.driver("r-one") == os.getpid()


@pytest.mark.spec("PAGE-1")
def test_a_journal_that_is_only_read_is_neither_made_nor_converted(tmp_path: Path) -> None:
    with pytest.raises(StateFailed, match="there is no journal"):
        SqliteJournal(tmp_path / "none" / "journal.db", read_only=True)
    assert not (tmp_path / "none").exists()
    for version, says in ((len(MIGRATIONS) - 1, "`trued ls` converts it"), (len(MIGRATIONS) + 1, "upgrade trued")):
        with closing(sqlite3.connect(tmp_path / "other.db")) as db:
            db.execute(f"pragma user_version={version}")
        with pytest.raises(StateFailed, match=says):
            SqliteJournal(tmp_path / "other.db", read_only=True)
        with closing(sqlite3.connect(tmp_path / "other.db")) as db:
            assert db.execute("pragma user_version").fetchone() == (version,)


def test_a_journal_of_a_newer_version_is_not_touched(journal: SqliteJournal) -> None:
    with closing(sqlite3.connect(journal.path)) as db:
        db.execute(f"pragma user_version={len(MIGRATIONS) + 1}")
    with pytest.raises(StateFailed, match="newer trued"):
        SqliteJournal(journal.path)


async def test_a_busy_journal_ends_in_one_sentence_and_loses_nothing(
    journal: SqliteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_S", 0.2)
    with closing(SqliteJournal(journal.path)) as impatient, closing(sqlite3.connect(journal.path)) as hog:
        hog.execute("begin immediate")
        with pytest.raises(Busy, match="busy"):
            await impatient.of("r-one").once("a#1", "h", Counting(["x"]))
        hog.rollback()
        assert await impatient.of("r-one").once("a#1", "h", Counting(["y"])) == "y"


async def test_a_full_disk_ends_in_one_sentence_and_loses_nothing(journal: SqliteJournal) -> None:
    run = journal.of("r-one")
    await run.once("a#1", "h", Counting(["kept"]))
    (pages,) = journal._synced.execute("pragma page_count").fetchone()
    journal._synced.execute(f"pragma max_page_count={pages}")
    with pytest.raises(StateFailed, match="disk is full"):
        await run.once("b#1", "h", Counting(["x" * 100_000]))
    journal._synced.execute("pragma max_page_count=1000000")
    assert await run.once("a#1", "h", Counting([])) == "kept"
    assert await run.once("b#1", "h", Counting(["now"])) == "now"


def test_a_state_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StateFailed, match="TRUED_HOME"):
        SqliteJournal(tmp_path / "file" / "home" / "journal.db")


def test_a_file_that_is_no_journal_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "journal.db").write_text("hello, this is no database, but a text of some length " * 20)
    with pytest.raises(StateFailed, match="not a journal"):
        SqliteJournal(tmp_path / "journal.db")


@pytest.mark.spec("RUN-3")
def test_a_number_that_another_process_has_now_is_no_driver(journal: SqliteJournal) -> None:
    lock = journal.path.parent / "runs" / "r-one" / "lock"
    lock.parent.mkdir(parents=True)
    lock.write_text(f"{os.getpid()}:1")  # this process's id with another start time
    assert journal.driver("r-one") == 0
    lock.write_text("rubbish")
    assert journal.driver("r-one") == 0


@pytest.mark.spec("PAGE-3")
@pytest.mark.parametrize(
    "data",
    [
        {"role": "dev", "agent": "claude", "brief": 'x, "brief": "y"' * 900, "chars": 9, "resume": True},
        {"role": ', "brief": ', "agent": '", "brief": ', "brief": "x", "chars": 1, "resume": False},
        {"brief": "first", "role": "dev", "agent": "é" * 600},
        {"role": "a" * 600, "agent": "claude", "brief": ""},
        {"role": "dev", "agent": "claude"},
        {"role": "dev", "agent": "claude", "brief": '"resume": true}'},
        {"role": "dev", "agent": "claude", "brief": "x", "more": {"resume": True}},
    ],
)
@pytest.mark.parametrize("separators", [None, (",", ":")])
def test_who_folds_events_is_told_who_was_asked_and_no_word_of_the_brief(
    journal: SqliteJournal, data: dict[str, object], separators: tuple[str, str] | None
) -> None:
    text = json.dumps(data, ensure_ascii=False, separators=separators)
    with journal.writing(journal._synced) as db:
        db.execute("insert into event (run, at, key, kind, data) values ('r-one', 1, 'dev#1', 'asked', ?)", (text,))
    ((*_, found),) = journal.folded_events("r-one", 0, 9)
    resumes = {"resume": True} if data.get("resume") else {}
    assert json.loads(found) == {"role": data["role"], "agent": data["agent"], **resumes}


def test_the_kinds_in_queries_of_the_history_are_those_of_the_classes() -> None:
    named = (sqlite_history.ANSWERED, sqlite_history.REACHED, sqlite_history.IS_SEALED)
    assert named == (CallAnswered.KIND, VerdictReached.KIND, ContractSealed.KIND)
