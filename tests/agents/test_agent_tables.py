"""What other modules must know about an agent without loading its module: fails for a new agent until all know it."""

import sys

import pytest

from tests.real_agents.conformance.rows import ROWS
from trued.agents.adapters import agent_names, load_agent
from trued.agents.supervisor.launch import KNOWN_AGENTS, PACKAGES
from trued.engine.agent_selection import PREFERRED
from trued.engine.estimate import OVERHEAD
from trued.engine.sensitive_files import KINDS
from trued.support.processes import AGENT_VARIABLES

# agent → the variable that it sets for the commands that it runs; "" if it sets none
SETS = {
    "claude": "CLAUDECODE",
    "codex": "CODEX_SANDBOX",
    "gemini": "GEMINI_CLI",
    "opencode": "OPENCODE",
    "qwen": "QWEN_CODE",
}
# agent → the folder in a repository from which it reads settings; "" if it has none
FOLDERS = {
    "claude": ".claude",
    "codex": ".codex",
    "gemini": ".gemini",
    "opencode": ".opencode",
    "qwen": ".qwen",
}
OWN_PROGRAMS = [name for name in agent_names() if load_agent(name).program not in ("", sys.executable)]


def test_there_are_agents_to_look_at() -> None:
    assert {"claude", "codex"} <= set(OWN_PROGRAMS)


@pytest.mark.parametrize("name", OWN_PROGRAMS)
def test_an_agent_with_a_program_is_known_everywhere(name: str) -> None:
    agent = load_agent(name)
    package = agent.install.removeprefix("npm install -g ") if agent.install.startswith("npm ") else ""
    places = {
        "KNOWN_AGENTS in agents/supervisor/launch.py (else other agents may start it)": agent.program in KNOWN_AGENTS,
        "PACKAGES in agents/supervisor/launch.py": not package or PACKAGES.get(package) == agent.program,
        "PREFERRED in engine/agent_selection.py (else it is never chosen)": name in PREFERRED,
        "OVERHEAD in engine/estimate.py": name in OVERHEAD,
        "SETS in this file": name in SETS,
        "AGENT_VARIABLES in support/processes.py": SETS.get(name, "") in ("", *AGENT_VARIABLES),
        "FOLDERS in this file": name in FOLDERS,
        "engine/sensitive_files.toml (else its settings land without consent)": not (folder := FOLDERS.get(name))
        or f'"{folder}/*"' in KINDS.read_text(),
        "ROWS in tests/real_agents/conformance/rows.py": name in {row.kind for row in ROWS},
    }
    assert [place for place, known in places.items() if not known] == []
