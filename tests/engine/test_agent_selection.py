"""Which agent is proposed for which role, depending on the agents that could start."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from trued.agents.driver.agent import Agent
from trued.agents.driver.login import LoginMethod
from trued.engine.agent_selection import (
    AgentStatus,
    agent_status,
    describe_agents,
    propose_agents,
    roles_of_agent,
    select_agents,
)
from trued.errors import BadInput
from trued.model import Settings
from trued.wire import Capabilities

VENDORS = {"claude": "anthropic", "codex": "openai", "gemini": "google", "opencode": "", "qwen": "alibaba"}


def seen(*names: str) -> list[AgentStatus]:
    return [
        AgentStatus(name, Agent(name, Capabilities(vendor=VENDORS[name])), login=LoginMethod("key", ""))
        for name in names
    ]


@pytest.mark.spec("AGT-1", "LAW-7")
@pytest.mark.parametrize(
    ("able", "cast"),
    [
        ("", {}),
        ("claude", {"*": "claude"}),
        ("claude opencode", {"*": "claude"}),
        ("opencode claude", {"*": "opencode"}),
        ("claude codex", {"*": "claude", "purple-team-b": "codex", "examiner": "codex"}),
        ("codex opencode gemini", {"*": "codex", "purple-team-b": "gemini", "examiner": "gemini"}),
        ("claude codex gemini qwen", {"*": "claude", "purple-team-b": "codex", "examiner": "gemini"}),
    ],
)
def test_whoever_examines_is_of_another_vendor_than_whoever_builds(able: str, cast: dict[str, str]) -> None:
    assert propose_agents(seen(*able.split())) == cast


@pytest.mark.spec("LAW-7")
def test_with_three_vendors_the_examiner_is_of_another_than_both_teams() -> None:
    cast = propose_agents(seen("claude", "codex", "gemini"))
    assert VENDORS[cast["examiner"]] not in {VENDORS[agent] for role, agent in cast.items() if role != "examiner"}


def test_a_map_is_told_in_words() -> None:
    assert describe_agents({"*": "claude"}) == "claude in every role"
    assert describe_agents({"*": "a", "examiner": "b"}) == "b as examiner, a in all other roles"
    assert roles_of_agent("b", {"*": "a", "examiner": "b:large"}) == ("examiner",)
    assert "examiner" not in roles_of_agent("a", {"*": "a", "examiner": "b"})


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    for name in ("claude", "codex"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "home/.codex").mkdir(parents=True)
    (tmp_path / "home/.codex/auth.json").write_text(json.dumps({"tokens": {"access_token": "planted"}}))
    return {"PATH": str(tmp_path), "HOME": str(tmp_path / "home"), "ANTHROPIC_API_KEY": "planted-key"}


@pytest.mark.spec("AGT-1")
def test_only_roles_that_nobody_plays_are_given_to_what_is_found(machine: dict[str, str]) -> None:
    solo = Settings(workflow="solo")
    agents, said = select_agents(solo, machine)
    assert agents == {"*": "claude", "examiner": "codex"}  # another vendor than the building roles
    assert "Claude Code would use ANTHROPIC_API_KEY" in said
    assert "planted" not in said
    named = {"solo": "command:x"}
    assert select_agents(solo.model_copy(update={"agents": named}), machine) == (named, "")
    half = Settings(workflow="purple", agents={"purple-team-b": "command:x"})
    assert select_agents(half, machine)[0] == {"*": "claude", "purple-team-b": "command:x", "examiner": "codex"}
    assert select_agents(Settings(workflow="solo", login={"claude": "none", "codex": "key"}), machine)[0] == {
        "*": "claude"
    }
    with pytest.raises(BadInput, match="has no subscription to log in with") as caught:
        select_agents(Settings(workflow="solo", login={"*": "subscription", "codex": "key"}), machine)
    assert "or set ANTHROPIC_API_KEY" in str(caught.value)


@pytest.mark.spec("AGT-1", "USE-7")
def test_a_missing_extra_is_named_with_the_line_that_brings_it(machine: dict[str, str]) -> None:
    agent = Agent("Some agent", Capabilities(), program="claude", extra="more", modules=("no_such_module_here",))
    one = agent_status("some", agent, Settings(), machine)
    assert (one.missing, one.to_do) == ("needs the extra trued[more]", "pip install 'trued[more]'")
    both = agent_status("some", replace(agent, program="nowhere", install="npm install x"), Settings(), machine)
    assert both.to_do == "npm install x, then pip install 'trued[more]'"
