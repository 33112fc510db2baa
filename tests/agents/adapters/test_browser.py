"""The browser's server is in an agent's settings only for roles that may use a browser, and opens the preview."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agents.supervisor.world import World
from trued.agents.adapters import load_agent
from trued.agents.driver.discovery import InstalledProgram

BROWSER = ("/usr/bin/python3", "-I", "server.py", "http://127.0.0.1:8000")


def words(tmp_path: Path, agent: str, browser: tuple[str, ...]) -> tuple[str, ...]:
    begin = load_agent(agent).build_program
    assert begin is not None
    order = replace(World(tmp_path / "world").order(agent, tools=("read", "browser")), browser=browser)
    return begin(order, InstalledProgram(f"/opt/bin/{agent}")).argv


@pytest.mark.spec("DAY-3", "AGT-2")
def test_claude_code_gets_the_browsers_server_and_may_use_its_tools(tmp_path: Path) -> None:
    argv = words(tmp_path, "claude", BROWSER)
    servers = json.loads(argv[argv.index("--mcp-config") + 1])
    assert servers == {"mcpServers": {"browser": {"command": BROWSER[0], "args": list(BROWSER[1:])}}}
    assert argv[argv.index("--allowedTools") + 1] == "Read,mcp__browser"
    assert argv[argv.index("--tools") + 1] == "Read"
    assert "--mcp-config" not in words(tmp_path / "none", "claude", ())


@pytest.mark.spec("DAY-3", "AGT-2")
def test_codex_gets_the_browsers_server(tmp_path: Path) -> None:
    argv = words(tmp_path, "codex", BROWSER)
    given = [tomllib.loads(word) for word in argv if word.startswith("mcp_servers.")]
    assert given == [
        {"mcp_servers": {"browser": {"command": BROWSER[0]}}},
        {"mcp_servers": {"browser": {"args": list(BROWSER[1:])}}},
    ]
    assert not any(word.startswith("mcp_servers.") for word in words(tmp_path / "none", "codex", ()))
