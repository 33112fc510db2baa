"""From a sentence to `proven` with nobody there: Codex writes the cases, Claude Code the code."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.real_agents.conformance.rows import PROGRAMS
from tests.real_agents.model import Answer, ModelServer, Read, Script, Write
from tests.real_agents.model.turn import Turn
from tests.workflows.test_examined import CODE, EXAMINED, GOAL

WRONG = CODE.replace("3 * x", "4 * x")


def playing(code: str) -> "type[Script] | object":
    def chosen(turn: Turn) -> Script:
        if "xaminer" in turn.everything[:20_000] and "tiny:triple" not in "\n".join(turn.users):
            return Script([Answer(EXAMINED)])
        built = {"implemented": ["both"], "files": [{"path": "tiny.py", "what": "new"}], "notes": []}
        return Script([Read("tiny.py"), Write("tiny.py", code), Answer({**built, "status": "DONE", "summary": "done"})])

    return chosen


def trued(folder: Path, url: str, *words: str) -> "subprocess.CompletedProcess[str]":
    (folder / "user").mkdir(exist_ok=True)
    environ = {
        "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
        "HOME": str(folder / "user"),
        "TRUED_HOME": str(folder / "state"),
        "VIRTUAL_ENV": os.environ.get("VIRTUAL_ENV", ""),
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_BASE_URL": url,
        "CODEX_API_KEY": "none",
        "OPENAI_BASE_URL": f"{url}/v1",
    }
    return subprocess.run(
        [sys.executable, "-m", "trued", *words],
        cwd=folder / "project",
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "tiny.py").write_text("# numbers\n")
    git = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *words], cwd=tmp_path / "project", check=True)
    return tmp_path


AGENTS = ("--agent", "solo=claude", "--agent", "examiner=codex:gpt-5")


@pytest.mark.agents
@pytest.mark.spec("AGT-1", "LAW-7", "LAW-8")
@pytest.mark.parametrize(("code", "ends"), [(CODE, (0, "proven")), (WRONG, (1, "refuted"))], ids=["right", "wrong"])
def test_cases_of_another_vendors_examiner_prove_and_refute(project: Path, code: str, ends: tuple[int, str]) -> None:
    with ModelServer(playing(code)) as model:  # type: ignore[arg-type]
        done = trued(project, model.url, "run", GOAL, "--yes", "--json", *AGENTS)
        assert done.stdout, done.stderr[-3000:]
        assert (done.returncode, json.loads(done.stdout)["grade"]) == ends, done.stderr[-3000:]
        assert not model.troubles
        builders = [one for one in model.seen if one.dialect == "anthropic"]
        assert builders
        assert not [one for one in builders if '"returns"' in json.dumps(one.body["messages"])]
