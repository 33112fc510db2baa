"""Exported roles before the tools that they are for: real Claude Code and real OpenCode take them as they are."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.real_agents.claude import QUIET
from trued.agents.roles import load_roles
from trued.agents.roles.export import plan_exports, write_exports
from trued.agents.roles.other_tools import FORMS
from trued.agents.roles.tools import CLAUDE, names_of_tools

pytestmark = [pytest.mark.agents, pytest.mark.spec("TIC-14", "AGT-2")]

PROGRAMS = Path(__file__).parents[2] / ".cache" / "agents" / "bin"
ROLES = load_roles(None, None)
MODELS = {"small": "haiku", "medium": "sonnet", "large": "opus"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository that has every packaged role in every form."""
    folder = tmp_path / "project"
    folder.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    for form in FORMS.values():
        write_exports(plan_exports(ROLES.values(), form, folder))
    return folder


def said(project: Path, program: str, *words: str) -> str:
    """What it prints, with an empty environment, a HOME of its own and nobody to talk to."""
    assert (PROGRAMS / program).exists(), f"{program} is not installed: make test-agents, or tools/agents.sh"
    home = project.parent / "home"
    home.mkdir(exist_ok=True)
    alone = {"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9", **QUIET}
    done = subprocess.run(
        [str(PROGRAMS / program), *words],
        cwd=project,
        env={"PATH": os.environ["PATH"], "HOME": str(home), **alone, "CLAUDE_CODE_MAX_RETRIES": "0"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout


@pytest.mark.parametrize("name", ["purple-team-a", "examiner"])
def test_claude_code_lists_the_roles_and_works_as_one_with_its_tools_and_model(project: Path, name: str) -> None:
    output = said(project, "claude", "-p", "hi", "--agent", name, "--output-format", "stream-json", "--verbose")
    begun: dict[str, Any] = next(one for one in map(json.loads, output.splitlines()) if one.get("subtype") == "init")
    assert set(ROLES) <= set(begun["agents"])
    # where it was built without Grep and Glob it searches by Bash
    assert set(begun["tools"]) | {"Grep", "Glob"} == set(names_of_tools(ROLES[name].tools, CLAUDE))
    assert MODELS[ROLES[name].model] in begun["model"]


def test_opencode_lists_the_roles_and_lets_each_have_its_tools_alone(project: Path) -> None:
    listed = said(project, "opencode", "agent", "list").splitlines()
    assert {f"{name} (all)" for name in ROLES} <= set(listed)
    told = json.loads(said(project, "opencode", "debug", "agent", "examiner"))
    assert (told["name"], told["description"]) == ("examiner", ROLES["examiner"].description)
    assert told["prompt"].startswith(ROLES["examiner"].prompt)
    may = {tool for tool, allowed in told["tools"].items() if allowed} - {"invalid"}
    assert may == {"read", "glob", "grep", "bash"}
    builder = json.loads(said(project, "opencode", "debug", "agent", "purple-team-a"))
    may = {tool for tool, allowed in builder["tools"].items() if allowed} - {"invalid"}
    assert may == {"read", "glob", "grep", "bash", "edit", "write"}
