"""The loyalty ticket, worked on by the real Claude Code on the scripted model, and looked at in a real Chromium."""

import os
from pathlib import Path

import pytest

from tests.cli.conftest import git
from tests.examples.places import begun
from tests.real_agents.model import ModelServer
from tests.real_agents.stories import SHOP, environ, played


@pytest.mark.agents
@pytest.mark.spec("AGT-1", "TIC-2", "TIC-4", "TIC-7", "TIC-8")
def test_claude_code_misses_the_late_cards_sees_them_in_the_browser_and_mends_them(tmp_path: Path) -> None:
    place = begun("shop", tmp_path)
    with ModelServer(played(SHOP)) as model:
        variables = environ(tmp_path / "home", os.environ["PATH"], model.url)
        words = ("../ticket.md", "--requirements", str(place.requirements), "--agent", "claude", "--yes")
        done = place.trued("run", *words, variables=variables)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not model.troubles
    (record,) = place.data("ls")
    assert record["grade"] == "proven"
    calls = place.data("show")["calls"]
    assert [one["role"] for one in calls] == ["impl-agent", "verify-agent", "fix-agent", "verify-agent", "pr-agent"]
    assert all(one["tokens"]["peak"] > 0 for one in calls)
    rounds = [one["data"] for one in place.lines("logs") if one["kind"] == "round"]
    seen = {(one["expected"], one["actual"]) for one in rounds[0]["issues"] if one["by"] == "verify-agent"}
    assert seen == {(f"Earn {points} points", "+ loyalty points") for points in (30, 240, 320)}
    assert rounds[1]["issues"] == []
    assert "MutationObserver" in git(place.repository, "show", f"{record['branch']}:assets/loyalty.js")
