"""The journal on real SQLite files, with real locks and real faults."""

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from trued.engine.journals import sqlite
from trued.engine.journals.sqlite import MIGRATIONS, SqliteJournal
from trued.errors import BadInput, Busy, Diverged, StateFailed
from trued.model import Approval, Event, Grade, RunRecord
from trued.model.events.call import CallAnswered, CallAsked
from trued.model.events.run import RunResumed


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
    """A step that counts how often it really happens."""

    def __init__(self, results: list[str]) -> None:
        self.results, self.times = results, 0

    async def __call__(self) -> str:
        self.times += 1
        return self.results[self.times - 1]


@pytest.mark.spec("RUN-1", "RUN-2")
async def test_a_recorded_step_never_happens_again(journal: SqliteJournal) -> None:
    step = Counting(["first", "second"])
    run = journal.of("r-one")
    assert [await run.once("chunk 1A/a#1", "h", step) for _ in range(3)] == ["first"] * 3
    assert step.times == 1


@pytest.mark.spec("RUN-1")
async def test_steps_are_found_by_name_whatever_the_order(journal: SqliteJournal) -> None:
    run = journal.of("r-one")
    await asyncio.gather(run.once("a#1", "h", Counting(["A"])), run.once("b#1", "h", Counting(["B"])))
    again = await asyncio.gather(run.once("b#1", "h", Counting([])), run.once("a#1", "h", Counting([])))
    assert list(again) == ["B", "A"]


@pytest.mark.spec("RUN-3")
async def test_other_inputs_under_an_old_name_are_refused_loudly(journal: SqliteJournal) -> None:
    run = journal.of("r-one")
    await run.once("a#1", "the brief", Counting(["x"]))
    with pytest.raises(Diverged, match="a#1"):
        await run.once("a#1", "another brief", Counting(["y"]))


async def test_a_step_that_fails_is_not_recorded(journal: SqliteJournal) -> None:
    async def fails() -> str:
        raise RuntimeError("broken")

    run = journal.of("r-one")
    with pytest.raises(RuntimeError):
        await run.once("a#1", "h", fails)
    assert await run.once("a#1", "h", Counting(["later"])) == "later"


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


@pytest.mark.spec("RUN-8")
def test_a_question_waits_until_a_person_answers_and_keeps_who_and_why(journal: SqliteJournal) -> None:
    run = journal.of("r-one")
    assert run.question("confirm#1", "Go on?", ["yes", "stop"]) is None
    with closing(SqliteJournal(journal.path)) as restarted:
        assert [one.text for one in restarted.questions("r-one", only_open=True)] == ["Go on?"]
        restarted.of("r-one").answer("confirm#1", "stop", "not good", "ann")
    assert run.question("confirm#1", "Go on?", ["yes", "stop"]) == ("stop", "not good", "ann")
    run.answer("confirm#1", "yes", "", "bob")
    assert run.question("confirm#1", "Go on?", ["yes", "stop"]) == ("stop", "not good", "ann")


@pytest.mark.spec("RUN-10")
def test_every_event_is_there_for_whoever_looks_later(journal: SqliteJournal) -> None:
    heard: list[Event] = []
    asked = CallAsked(role="purple-team-a", agent="", brief="näh\n", chars=4, resume=False)
    journal.of("r-one", heard.append).emit(asked, "a#1")
    with closing(SqliteJournal(journal.path)) as other:
        (event,) = other.events("r-one")
        assert (event.kind, event.key, event.data["brief"]) == ("asked", "a#1", "näh\n")
        assert other.events("r-one", after=event.id) == []
        assert [(one.kind, one.id) for one in heard] == [("asked", event.id)]
    journal.of("r-one").emit(RunResumed(after="running"))  # of no step, and while nobody listens
    assert [(one.kind, one.key) for one in journal.events("r-one")] == [("asked", "a#1"), ("resumed", "")]


def answered(reply: dict[str, object] | None) -> CallAnswered:
    told = dict.fromkeys(("role", "agent", "kind", "why", "commit", "cost"), "")
    counts = dict.fromkeys(("attempts", "asks", "reaped", "requests", "compactions"), 1)
    times = dict.fromkeys(("cost_usd", "began", "ended"), 0.0)
    parts = {**told, **counts, **times, "state": "done", "resumed": False, "changed": ()}
    return CallAnswered.model_validate({**parts, "reply": reply})


@pytest.mark.spec("PAGE-2", "PAGE-3")
def test_lean_events_leave_out_briefs_and_replies_but_keep_every_claim(journal: SqliteJournal) -> None:
    run = journal.of("r-one")
    run.emit(CallAsked(role="dev", agent="claude", brief="b" * 9000, chars=9000, resume=False), "dev#1")
    run.emit(answered({"result": "DONE", "summary": "s" * 900, "findings": ["f" * 9000]}), "dev#1")
    run.emit(answered(None), "dev#2")
    run.emit(answered({"status": "PASS", "result": None}), "dev#3")
    run.emit(RunResumed(after="running"))
    lean = journal.events("r-one", lean=True)
    full = journal.events("r-one")
    assert [(one.id, one.kind, one.key, one.at) for one in lean] == [
        (one.id, one.kind, one.key, one.at) for one in full
    ]
    assert lean[0].data == {name: value for name, value in full[0].data.items() if name != "brief"}
    claims = [[one.claim for event in some if (one := CallAnswered.read(event))] for some in (lean, full)]
    assert claims == [["DONE", "", "PASS"]] * 2
    assert sum(len(one.model_dump_json()) for one in lean) < 4000
    assert lean[-1] == full[-1]
    assert journal.events_of_call("r-one", "dev#1") == full[:2]
    assert journal.events_of_kind("r-one", "asked", "resumed") == [full[0], full[-1]]


@pytest.mark.spec("PAGE-2")
def test_pages_of_events_forward_and_backward_join_without_a_gap(journal: SqliteJournal) -> None:
    journal.add(record("r-two"))
    for number in range(25):
        journal.of("r-one").emit(RunResumed(after=str(number)))
        journal.of("r-two").emit(RunResumed(after="other"))
    every = [one.id for one in journal.events("r-one")]
    forward: list[int] = []
    while page := journal.events("r-one", forward[-1] if forward else 0, limit=10):
        forward += [one.id for one in page]
    backward: list[int] = []
    while page := journal.last_events("r-one", 10, before=backward[0] if backward else 0):
        backward = [one.id for one in page] + backward
    assert (forward, backward) == (every, every)
    assert journal.last_event_id() == journal.events("r-two")[-1].id
    assert journal.runs_changed(every[-1]) == {"r-two": journal.last_event_id()}


@pytest.mark.spec("PAGE-1", "PAGE-2")
def test_a_journal_that_is_only_read_sees_every_write_and_makes_none(journal: SqliteJournal) -> None:
    with closing(SqliteJournal(journal.path, read_only=True)) as reader:
        before = reader.data_version()
        assert reader.data_version() == before
        journal.of("r-one").emit(RunResumed(after="running"))
        assert reader.data_version() != before
        assert [one.kind for one in reader.events("r-one")] == ["resumed"]
        with pytest.raises(StateFailed, match="cannot be written"):
            reader.of("r-one").emit(RunResumed(after="running"))
        assert len(journal.events("r-one")) == 1


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


def test_runs_are_found_by_a_beginning_that_fits_one(journal: SqliteJournal) -> None:
    journal.add(record("r-other"))
    assert journal.run("r-on").id == "r-one"
    with pytest.raises(BadInput, match="2 runs begin with"):
        journal.run("r-o")
    with pytest.raises(BadInput, match="no run"):
        journal.run("x")


def test_a_run_keeps_its_state_and_approvals(journal: SqliteJournal) -> None:
    journal.update(record("r-one").model_copy(update={"state": "done", "grade": Grade.PROVEN, "code": 0}))
    journal.approve("r-one", Approval(requirement="*", who="ann", why="read it", contract="c"))
    assert (journal.run("r-one").state, journal.run("r-one").grade) == ("done", Grade.PROVEN)
    assert [(one.who, one.why) for one in journal.approvals("r-one")] == [("ann", "read it")]


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
    with pytest.raises(StateFailed, match="no journal"):
        SqliteJournal(tmp_path / "journal.db")


async def test_a_clock_that_goes_backwards_gives_no_negative_time(tmp_path: Path) -> None:
    hours = iter(range(100, 0, -1))
    with closing(SqliteJournal(tmp_path / "journal.db", clock=lambda: 3600.0 * next(hours))) as journal:
        journal.add(record("r-one"))
        await journal.of("r-one").once("a#1", "h", Counting(["x"]))
        ((_, began, ended),) = journal.steps("r-one")
        assert ended == began


@pytest.mark.spec("RUN-8")
def test_the_first_answer_stands_and_the_second_is_told_so(journal: SqliteJournal) -> None:
    run = journal.of("r-one")
    run.question("confirm#1", "Go on?", ["yes", "stop"])
    assert run.answer("confirm#1", "stop", "", "ann") is True
    assert run.answer("confirm#1", "yes", "", "bob") is False


@pytest.mark.spec("RUN-3")
def test_a_number_that_another_process_has_now_is_no_driver(journal: SqliteJournal) -> None:
    lock = journal.path.parent / "runs" / "r-one" / "lock"
    lock.parent.mkdir(parents=True)
    lock.write_text(f"{os.getpid()}:1")  # this process's number, and not its birth
    assert journal.driver("r-one") == 0
    lock.write_text("rubbish")
    assert journal.driver("r-one") == 0
