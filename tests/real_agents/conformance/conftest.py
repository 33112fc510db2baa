"""Each scenario is played by each agent of the suite."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.supervisor.world import World
from tests.real_agents.conformance.rows import PROGRAMS, ROWS, Row
from tests.real_agents.conformance.stage import SECRET, Stage
from tests.real_agents.model import ModelServer, Say, Script
from trued.agents.adapters import agent_names
from trued.workspace.sandbox.levels import level_state


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "row" in metafunc.fixturenames:
        metafunc.parametrize("row", ROWS, ids=lambda row: row.kind)


@pytest.fixture
def row(request: pytest.FixtureRequest) -> Row:
    raise AssertionError("parametrised above")


@pytest.fixture
def stage(row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    assert row.kind in agent_names()
    program = PROGRAMS / row.program
    assert program.exists(), f"{row.program} is not installed: tools/agents.sh {row.program}"
    user = tmp_path / "user"
    _settings_of_the_user(user)
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.setenv("PATH", f"{PROGRAMS}:/usr/local/bin:/usr/bin:/bin")
    monkeypatch.setenv("PLANTED_API_KEY", SECRET)
    world = World(tmp_path / "world", level="bubblewrap" if level_state("bubblewrap").works else "none")
    _instructions_of_the_project(world.clone)
    with ModelServer(Script([Say("nothing is scripted")])) as model:
        yield Stage(row, world, model)
    assert not world.left()
    assert model.troubles == []


def _settings_of_the_user(home: Path) -> None:
    """Hooks, servers and instructions that must not reach an agent of ours."""
    hook = {"hooks": [{"type": "command", "command": "touch hook-of-the-user"}]}
    settings = {"hooks": {"SessionStart": [hook], "PreToolUse": [{"matcher": "*", **hook}]}}
    server = {"mcpServers": {"theirs": {"command": "touch", "args": ["server-of-the-user"]}}}
    for name, content in {
        ".claude/settings.json": json.dumps(settings),
        ".claude.json": json.dumps(server),
        ".claude/CLAUDE.md": "INSTRUCTIONS-OF-THE-USER",
        ".codex/AGENTS.md": "INSTRUCTIONS-OF-THE-USER",
        ".codex/config.toml": '[mcp_servers.theirs]\ncommand = "touch"\nargs = ["server-of-the-user"]\n',
        ".gemini/GEMINI.md": "INSTRUCTIONS-OF-THE-USER",
        ".gemini/settings.json": json.dumps(server),
        ".config/opencode/AGENTS.md": "INSTRUCTIONS-OF-THE-USER",
        ".qwen/QWEN.md": "INSTRUCTIONS-OF-THE-USER",
        ".qwen/settings.json": json.dumps(server),
    }.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(content)


def _instructions_of_the_project(clone: Path) -> None:
    hook = {"hooks": [{"type": "command", "command": "touch hook-of-the-project"}]}
    for name, content in {
        ".mcp.json": json.dumps({"mcpServers": {"theirs": {"command": "touch", "args": ["server-of-the-project"]}}}),
        ".claude/settings.json": json.dumps({"hooks": {"SessionStart": [hook]}}),
        "opencode.json": json.dumps(
            {"mcp": {"theirs": {"type": "local", "command": ["touch", "server-of-the-project"]}}}
        ),
    }.items():
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_text(content)
