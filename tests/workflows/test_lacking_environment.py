"""If this machine lacks something that checks need, sealing finds that, and asks a person before any agent is paid."""

import os
from pathlib import Path

import pytest

from tests.proof.trial import bare_interpreter
from tests.workflows.conftest import Ground
from trued.model import Grade, PersonAnswer, Question

PROGRAM = "speaks-python"
CASE = {"run": [PROGRAM, "-c", "import tiny; print(tiny.double(4))"], "stdout": "8\n"}
REQUIRED = {"id": "double", "text": "double(x) doubles", "covers": ["1A", "goal"], "checks": []}


@pytest.fixture
def lacking(ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of the program that the only case needs, and that is missing."""
    ground.one_chunk()
    ground.require([{**REQUIRED, "checks": [{"kind": "examples", "cases": [CASE]}]}])
    bare = bare_interpreter(tmp_path / "bare")
    monkeypatch.setenv("VIRTUAL_ENV", str(bare))
    return bare / "bin" / PROGRAM


@pytest.mark.spec("DAY-2")
async def test_a_run_says_what_its_machine_lacks_and_stops_before_it_pays(ground: Ground, lacking: Path) -> None:
    engine, runtime = ground.engine()
    record = await ground.run(engine, yes=False)
    assert (record.code, runtime.orders) == (3, [])
    (question,) = [one for one in engine.store.journal.questions(record.id)]
    assert PROGRAM in question.text


@pytest.mark.spec("DAY-2")
async def test_with_yes_it_goes_on_and_what_could_not_be_judged_is_named(ground: Ground, lacking: Path) -> None:
    engine, runtime = ground.engine()
    record = await ground.run(engine, rounds=3)
    verdict = engine.store.verdict(record.id)
    assert [one.role for one in runtime.orders] == ["purple-team-a", "purple-team-b"]  # no second round
    assert verdict
    assert (verdict.grade, record.code) == (Grade.UNJUDGED, 6)
    assert PROGRAM in [one.name for one in verdict.missing_from_environment]


@pytest.mark.spec("DAY-2")
async def test_what_a_person_has_set_right_is_looked_at_again_and_no_agent_is_asked_twice(
    ground: Ground, lacking: Path
) -> None:
    asked: list[str] = []

    async def person(question: Question) -> PersonAnswer:
        asked.append(question.text)
        if len(asked) > 1:
            return PersonAnswer("yes", "", "ann")
        lacking.write_text(f'#!/bin/sh\nexec {os.environ["VIRTUAL_ENV"]}/bin/python "$@"\n')
        lacking.chmod(0o755)
        return PersonAnswer("redo", "", "ann")

    engine, _ = ground.engine(person=person)
    record = await ground.run(engine, yes=False)
    assert PROGRAM in asked[0]
    assert (record.code, record.grade) == (0, Grade.PROVEN), record.why
