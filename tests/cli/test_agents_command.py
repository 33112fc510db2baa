"""`trued agents`, `init`, `doctor` and a run that names no agent, on machines with different agents installed."""

import json
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Each, Trued, git
from tests.cli.test_command_line import one_sentence

SYSTEM = "/usr/local/bin:/usr/bin:/bin"
CREDENTIALS = {
    "claudeAiOauth": {"accessToken": "planted-access-1", "refreshToken": "planted-refresh-1", "expiresAt": 1}
}
LOGGED_IN = {"claude": ".claude/.credentials.json", "codex": ".codex/auth.json"}
TOKENS = {"claude": CREDENTIALS, "codex": {"tokens": {"access_token": "planted-access-2", "refresh_token": "planted"}}}

Installed = Callable[..., dict[str, str]]


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    """Puts programs on PATH and logs a user in to some of them; returns that user's environment variables."""

    def make(*programs: str, logged_in: str = "", **variables: str) -> dict[str, str]:
        place = tmp_path / "programs"
        place.mkdir(exist_ok=True)
        for name in programs:
            shutil.copy(Path(__file__).parents[1] / "agents" / "adapters" / "fake_claude.py", place / name)
            (place / name).chmod(0o755)
        for name in logged_in.split():
            file = tmp_path / "home" / LOGGED_IN[name]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(TOKENS[name]))
        python = Path(subprocess.__file__).parents[2] / "bin"
        return {"PATH": f"{place}:{python}:{SYSTEM}", "HOME": str(tmp_path / "home"), **variables}

    return make


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "base")
    return folder


def as_rows(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    assert "planted" not in done.stdout + done.stderr
    return {one.get("agent") or one["name"]: one for one in json.loads(done.stdout)}


@pytest.mark.spec("AGT-1", "USE-2")
def test_what_is_installed_is_told_with_its_login_and_its_roles_and_init_proposes_the_same(
    each: Each, project: Path, installed: Installed
) -> None:
    given = installed("claude", "codex", logged_in="claude", CODEX_API_KEY="planted-key-1")
    listed, shown, begun = each(["agents", "--json"], ["agents"], ["init"], cwd=project, variables=given)
    found = as_rows(listed)
    claude, codex, gemini = found["claude"], found["codex"], found["gemini"]
    assert (claude["ready"], claude["version"], claude["vendor"]) == (True, "2.1.197", "anthropic")
    assert claude["login"]["says"] == "would use a copy of ~/.claude/.credentials.json (your subscription)"
    assert codex["login"]["says"] == "would use CODEX_API_KEY (from your environment)"
    assert {"purple-team-a", "solo"} <= set(claude["roles"])
    assert codex["roles"] == ["purple-team-b", "examiner"]
    assert codex["lacks"]
    assert (gemini["ready"], gemini["found"], gemini["roles"]) == (False, None, [])
    assert "npm install" in gemini["to_do"]
    assert found["command"]["ready"]
    for part in (
        "✓ claude[:MODEL]",
        "Claude Code 2.1.197: would use a copy of",
        "models small: haiku",
        "plays  purple-team-b",
    ):
        assert part in shown.stdout
    assert "plays  every role but purple-team-b, examiner\n" in shown.stdout
    assert "codex as examiner, claude in all other roles" in shown.stderr
    assert "found Claude Code: would use a copy of" in begun.stderr
    text = (project / "trued.toml").read_text()
    assert tomllib.loads(text) == {"agents": {"default": "claude", "purple-team-b": "codex", "examiner": "codex"}}
    assert {"# usd", "# [login]", "# rounds"} <= {
        line.partition(" =")[0].partition("  ")[0] for line in text.splitlines()
    }


@pytest.mark.spec("AGT-1", "USE-7", "RUN-5")
def test_with_nothing_installed_the_shortest_ways_to_an_agent_are_said_and_what_works_without(
    each: Each, project: Path, home: Path, installed: Installed
) -> None:
    note = home / "runs" / "r-xyzab" / "spool" / "call.1" / "lent.json"
    note.parent.mkdir(parents=True)
    note.write_text("{}")
    refused, begun, doctor = each(
        ["run", "Do something"], ["init"], ["doctor", "--json"], cwd=project, variables=installed()
    )
    for part in ("none is installed", "npm install -g", "log in", "trued verify", "trued demo"):
        assert part in one_sentence(refused)
    assert (begun.returncode, tomllib.loads((project / "trued.toml").read_text())) == (0, {})
    assert "no agent was found" in begun.stderr
    told = json.loads(doctor.stdout)
    (roles,) = [one for one in told if one["name"] == "roles"]
    assert (roles["state"], "npm install" in roles["fix"]) == ("missing", True)
    (left,) = [one for one in told if one["name"] == "login" and one["state"] == "broken"]
    assert "r-xyzab" in left["says"]  # a killed supervisor left a copy of a login in this run
    assert "trued cancel r-xyzab" in left["fix"]


@pytest.mark.spec("AGT-1")
def test_a_run_that_names_nobody_takes_what_is_installed_and_says_so(
    each: Each, project: Path, installed: Installed
) -> None:
    (done,) = each(["run", "Do it", "--json"], cwd=project, variables=installed("claude", logged_in="claude"))
    assert all(fact in done.stderr for fact in ("claude in every role", "~/.claude"))
    assert json.loads(done.stdout)["state"] == "waiting"  # nobody writes cases, so a person is asked first
    assert "planted" not in done.stdout + done.stderr


@pytest.mark.spec("AGT-1", "USE-7")
def test_what_cannot_be_started_is_refused_before_a_run_is_stored(
    each: Each, project: Path, installed: Installed
) -> None:
    wanted: dict[tuple[str, ...], tuple[str, ...]] = {
        ("--agent", "codex:gpt-5"): ("Codex is not installed", "npm install", "codex login"),
        ("--agent", "cluade"): ("there is no agent 'cluade'", "did you mean claude"),
        ("--agent", "acp:not-on-this-machine --acp"): ("not installed", "not-on-this-machine"),
        ("--login", "cluade=key", "--agent", "claude"): ("there is no agent 'cluade'",),
        ("--login", "claude=keys", "--agent", "claude"): ("'auto', 'key'",),
        ("--prompts", "sometimes", "--agent", "claude"): ("'policy' or 'ask'",),
        (): ("Claude Code is installed, and is not logged in",),
    }
    lines = [["run", "Do something", *flags] for flags in wanted]
    *refused, listed = each(*lines, ["ls", "--all", "--json"], cwd=project, variables=installed("claude"))
    for done, parts in zip(refused, wanted.values(), strict=True):
        said = one_sentence(done)
        assert not [part for part in parts if part not in said], said
    assert json.loads(listed.stdout) == []


@pytest.mark.spec("USE-6")
@pytest.mark.parametrize("entry", ["", ".", "node_modules/.bin"], ids=["empty", "dot", "relative"])
def test_a_program_of_the_repository_is_no_agent_and_is_not_run(
    trued: Trued, project: Path, installed: Installed, entry: str
) -> None:
    """An empty entry of PATH (one colon too many) means the working folder."""
    for name in ("codex", "git"):
        file = project / entry / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\ntouch {project}/ran\necho 1.0\n")
        file.chmod(0o755)
    user = installed(OPENAI_API_KEY="planted-key-1")
    rows = as_rows(trued("agents", "--json", cwd=project, variables={**user, "PATH": f"{entry}:{user['PATH']}"}))
    assert not (project / "ran").exists()
    assert not rows["codex"]["ready"]
