"""Lists of runs: read in a constant number of statements, and saying of each run what its own page says."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.bare_inputs import BARE_INPUTS
from tests.postgres import PostgresServer
from trued.cli.look import ls, show
from trued.engine.journals.sqlite import SqliteJournal
from trued.hub.database import Database
from trued.hub.postgres import PostgresJournal
from trued.model import RunRecord
from trued.page.pages.runs import runs
from trued.page.reader import Reader
from trued.protocols import JournalStore

NO_WORKER = "no worker of the queue runs is running: the run waits for one"
FEW, MANY = 3, 40


def record(name: str) -> RunRecord:
    return RunRecord(id=name, workflow="purple", title="a plan", repository="/repo", base="b" * 40, branch=name)


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Everything that is sent to a journal, in the order in which it is sent."""
    sent: list[object] = []

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def send(self: object, *given: object, **named: object) -> Any:
            sent.append(given)
            return real(self, *given, **named)

        return send

    monkeypatch.setattr(Database, "_send", counted(Database._send))
    monkeypatch.setattr(SqliteJournal, "_rows", counted(SqliteJournal._rows))
    return sent


@pytest.fixture(params=["sqlite", "postgres"])
def journal(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JournalStore]:
    """The journal that the commands of this process use; on Postgres it has a queue."""
    monkeypatch.setenv("TRUED_HOME", str(tmp_path))
    if request.param == "sqlite":
        monkeypatch.setenv("TRUED_HUB", "")
        store: JournalStore = SqliteJournal(tmp_path / "journal.db")
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        monkeypatch.setenv("TRUED_HUB", url := server.new_database(request.getfixturevalue("prepared")))
        store = PostgresJournal(url)
    with closing(store):
        yield store


def add(journal: JournalStore, *names: str) -> None:
    """Add these runs, in a queue if the journal has any."""
    for name in names:
        if isinstance(journal, PostgresJournal):
            journal.add(record(name), BARE_INPUTS, queue="runs")
            journal.put(name)
        else:
            journal.add(record(name), BARE_INPUTS)


def ask(journal: JournalStore, name: str) -> None:
    """The run asks a person something, and ends its turn."""
    with journal.claim(name):
        journal.of(name).question("q#1", "Go on?", ("yes", "stop"))
        journal.update(record(name).model_copy(update={"state": "waiting", "why": "it asks"}))


@pytest.mark.spec("HUB-8")
def test_a_list_of_many_runs_takes_as_many_statements_as_one_of_few(
    journal: JournalStore, statements: list[object], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    listed, painted = [], []
    for number in (FEW, MANY):
        add(journal, *(f"r-{number}-{one}" for one in range(number)))
        statements.clear()
        ls(every=True, as_json=True)
        listed.append(len(statements))
        capsys.readouterr()
        for params in ({}, {"q": "nowhere"}):  # words are looked for in all runs
            statements.clear()
            with closing(Reader(tmp_path, _environ(journal))) as reader:
                with reader.at_one_moment():
                    runs(reader, params)
                statements.append(reader.outside_journal())
            painted.append(len(statements))
    assert listed[0] == listed[1] <= 20, listed
    assert painted[:2] == painted[2:], painted
    assert max(painted) <= 50, painted


@pytest.mark.spec("HUB-8")
def test_a_long_list_prints_the_newest_runs_and_those_that_somebody_should_see_and_counts_the_others(
    journal: JournalStore, capsys: pytest.CaptureFixture[str]
) -> None:
    add(journal, "r-asks", "r-works", *(f"r-{one}" for one in range(MANY)))
    ask(journal, "r-asks")
    with journal.claim("r-works"):
        ls(every=True, most=FEW)
        told = capsys.readouterr()
        assert [row.split()[0] for row in told.out.splitlines()[1:]] == ["r-39", "r-38", "r-37", "r-works", "r-asks"]
        assert f"{MANY - FEW} older runs not listed" in told.err
        if isinstance(journal, PostgresJournal):
            assert f"and {MANY - 3} more: {NO_WORKER}" in told.err
        ls(every=True, most=FEW, as_json=True)
        assert len(json.loads(capsys.readouterr().out)) == MANY + 2
        ls(every=True, most=0)
        told = capsys.readouterr()
        assert len(told.out.splitlines()) == MANY + 3
        assert "not listed" not in told.err


@pytest.mark.spec("HUB-8")
def test_the_list_says_of_each_run_what_is_shown_of_it_alone(
    journal: JournalStore, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    add(journal, "r-new", "r-asks", "r-done")
    ask(journal, "r-asks")
    with journal.claim("r-done"):
        journal.update(record("r-done").model_copy(update={"state": "done"}))
        names = ("r-new", "r-asks", "r-done")
        assert journal.drivers() == {name: journal.driver(name) for name in names}
        assert journal.drivers()["r-done"]
    ls(every=True, as_json=True)
    listed = {row["id"]: row for row in json.loads(capsys.readouterr().out)}
    for name, row in listed.items():
        show(name, as_json=True)
        shown = json.loads(capsys.readouterr().out)
        same = [key for key in row if key in shown and key != "waits"]
        assert {"state", "why", "queued", "grade", "landed"} <= {*same}
        assert [row[key] for key in same] == [shown[key] for key in same]
        assert row["waits"] == len(shown["waits"])
    on_hub = isinstance(journal, PostgresJournal)
    states = {name: row["state"] for name, row in listed.items()}
    assert states == {"r-new": "queued" if on_hub else "interrupted", "r-asks": "waiting", "r-done": "done"}
    assert (listed["r-asks"]["waits"], listed["r-new"]["waits"]) == (1, 0)
    with closing(Reader(tmp_path, _environ(journal))) as reader, reader.at_one_moment():
        assert {one.id: one.state for one in reader.runs()} == states
        assert {one.id: len(reader.waits(one)) for one in reader.runs()} == {"r-new": 0, "r-asks": 1, "r-done": 0}


@pytest.mark.spec("HUB-8")
def test_a_queued_run_is_queued_in_the_list_and_on_the_page_with_what_it_waits_for(
    tmp_path: Path,
    postgres: PostgresServer,
    prepared: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url = postgres.new_database(prepared)
    monkeypatch.setenv("TRUED_HUB", url)
    monkeypatch.setenv("TRUED_HOME", str(tmp_path))
    with closing(PostgresJournal(url, name="w1#1")) as journal:
        add(journal, "r-one")
        ls(every=True)
        told = capsys.readouterr()
        assert "queued" in told.out
        assert f"r-one: {NO_WORKER}" in told.err
        show("r-one")
        told = capsys.readouterr()
        assert "state queued" in told.out
        assert NO_WORKER in told.err
        with closing(Reader(tmp_path, _environ(journal))) as reader:
            with reader.at_one_moment():
                page = "".join(runs(reader, {}).pieces.values())
            assert "queued</span>" in page
            assert f"It is queued: {NO_WORKER}" in page
            waiting = reader.outside_journal()
            with journal.claim("r-one"):  # a worker takes it
                assert reader.outside_journal() != waiting  # so the page is painted again
                assert reader.run("r-one").state == "running"
                ls(every=True, as_json=True)
                (row,) = json.loads(capsys.readouterr().out)
                assert (row["state"], row["queued"]) == ("running", "")
                journal.of("r-one").question("q#1", "Go on?", ("yes", "stop"))
                journal.update(record("r-one").model_copy(update={"state": "waiting", "why": "it asks"}))
            assert reader.run("r-one").state == "waiting"
            assert journal.of("r-one").answer("q#1", "yes", "", "ann")
            seen = reader.run("r-one")
            assert (seen.state, seen.why) == ("queued", NO_WORKER)
            assert reader.waits(seen) == []  # it was answered: nobody but a worker is needed


def _environ(journal: JournalStore) -> dict[str, str]:
    return {"TRUED_HUB": journal._database.info} if isinstance(journal, PostgresJournal) else {}
