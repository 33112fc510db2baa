"""A question without options is answered in a person's own words, by command and at the terminal."""

import asyncio
import json
import os
import pty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import RUN, Each
from tests.cli.test_command_line import one_sentence
from trued.cli.terminal import ask_person
from trued.engine.inputs import Inputs
from trued.engine.journals.sqlite import SqliteJournal
from trued.model import Goal, Question, RunRecord, Settings

ASKS = "purple-team-a asks: by adding or by shifting?"


@pytest.mark.spec("RUN-8", "AGT-5")
def test_an_agents_question_takes_any_words_but_none(each: Each, journal: SqliteJournal, tmp_path: Path) -> None:
    where = str(tmp_path / "project")
    record = RunRecord(id=RUN, workflow="solo", title="x", repository=where, base="b" * 40, branch=f"trued/{RUN}")
    given = {"goal": Goal(text="x"), "settings": Settings(), "roles": {}, "requirements": None}
    texts = {"requirements_file": "", "instructions": "", "level": "bubblewrap", "version": "0"}
    journal.add(record, Inputs.model_validate({**given, **texts}).model_dump_json())
    journal.of(RUN).question("solo#1?1", ASKS, ())
    lines = [["answer", RUN, " "], ["answer", RUN], ["answer", RUN, "by", "adding"]]
    *refused, shown, done, again = each(
        *lines, ["show", RUN, "--json"], ["answer", RUN, "by adding, please", "--json"], ["answer", RUN, "by shifting"]
    )
    for one, said in zip(refused, ("empty", "is a run, not an answer", "your own words"), strict=True):
        assert said in one_sentence(one)
    assert ASKS in shown.stdout
    assert json.loads(done.stdout)["answer"] == "by adding, please"
    assert "has no open question" in one_sentence(again)


@contextmanager
def terminal(patch: pytest.MonkeyPatch) -> Iterator[int]:
    """The other end of a terminal that stdin is connected to, as if a person sat there."""
    mine, theirs = pty.openpty()
    with open(theirs, closefd=False) as given, open(theirs, "w", closefd=False) as told:
        patch.setattr("sys.stdin", given)
        patch.setattr("sys.stderr", told)
        yield mine
    os.close(theirs)
    os.close(mine)


@pytest.mark.spec("RUN-8", "AGT-5")
async def test_at_the_terminal_too(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    with terminal(monkeypatch) as person:
        loop.call_later(0.2, os.write, person, b"\n")
        loop.call_later(0.4, os.write, person, b"By adding\n")
        async with asyncio.timeout(300):
            own = await ask_person(Question(key="k", text=ASKS))
        loop.call_later(0.2, os.write, person, b"r\n")
        loop.call_later(0.4, os.write, person, b"more tests\n")
        async with asyncio.timeout(300):
            chosen = await ask_person(Question(key="k", text="Go on?", options=("yes", "stop", "redo")))
    assert (own or ())[:2] == ("By adding", "")
    assert (chosen or ())[:2] == ("redo", "more tests")
