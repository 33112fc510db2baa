"""A real agent asks a person, the run waits, somebody answers from elsewhere, and the same session goes on."""

import json
from pathlib import Path

import pytest

from tests.real_agents.model import Answer, ModelServer, Read, Script, Write
from tests.real_agents.model.turn import Turn
from tests.real_agents.test_other_vendor import project, trued
from tests.workflows.test_examined import CODE, EXAMINED, GOAL

__all__ = ["project"]
QUESTION = "By adding or by shifting?"
BUILT = {"implemented": ["both"], "files": [{"path": "tiny.py", "what": "new"}], "status": "DONE", "summary": "done"}


def played(turn: Turn) -> Script:
    said = "\n".join(turn.users)
    if "xaminer" in turn.everything[:20_000] and "tiny:triple" not in said:
        return Script([Answer(EXAMINED)])
    if "by adding, please" in said:
        return Script([Read("tiny.py"), Write("tiny.py", CODE), Answer(BUILT)])
    return Script([Answer({**BUILT, "question": QUESTION})])


@pytest.mark.agents
@pytest.mark.spec("AGT-5", "RUN-8")
@pytest.mark.parametrize(("builder", "examiner"), [("claude", "codex:gpt-5"), ("codex:gpt-5", "claude")])
def test_a_question_waits_for_a_person_and_the_session_goes_on(project: Path, builder: str, examiner: str) -> None:
    with ModelServer(played) as model:
        agents = ("--agent", f"solo={builder}", "--agent", f"examiner={examiner}")
        asked = trued(project, model.url, "run", GOAL, "--json", *agents)
        assert asked.returncode == 3, asked.stderr[-3000:]
        before = len(model.seen)
        run = json.loads(asked.stdout)["id"]
        answered = trued(project, model.url, "answer", run, "by adding, please")
        assert answered.returncode == 0, answered.stderr[-3000:]
        assert len(model.seen) == before  # answering calls nobody
        done = trued(project, model.url, "resume", run, "--json")
        assert (done.returncode, json.loads(done.stdout)["grade"]) == (0, "proven"), done.stderr[-3000:]
        assert not model.troubles
    shown = json.loads(trued(project, model.url, "show", run, "--json").stdout)
    assert [call["state"] for call in shown["calls"] if call["role"] == "solo"] == ["done"]
