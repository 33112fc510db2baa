"""The browser of the verify-agent in real agents: offered, driven on the preview, and its picture handed on."""

import os
from pathlib import Path

import pytest

from tests.cli.conftest import git
from tests.examples.places import begun
from tests.real_agents.model import Answer, Call, ModelServer, Run
from tests.real_agents.model.script import Step
from tests.real_agents.model.turn import Turn
from tests.real_agents.stories import SHOP, environ, fixed, played
from trued.proof.room.chromium import find_chromium

PAGE = "/collections/tea?shown=7"
ISSUE = {
    "severity": "critical",
    "description": "A card does not say how many points it earns",
    "location": PAGE,
    "expected": "Earn 30 points",
    "actual": "+ loyalty points",
    "screenshot": "late.png",
}


def looked(turn: Turn) -> list[Step]:
    """By the browser's tools alone; what they told is what is answered. The ticket has the old words in it, too."""
    told = "\n".join(text for text in turn.texts if text not in turn.users)
    issues = [ISSUE] if "+ loyalty points" in told else []
    return [
        Call("mcp__browser__open", {"path": PAGE}),
        Call("mcp__browser__screenshot", {"name": "late.png"}),
        Answer({"summary": "I looked", "passed": not issues, "issues": issues, "screenshots": ["late.png"]}),
    ]


def shown(turn: Turn) -> list[Step]:
    return [Run("head -c 4 ~/pictures/late.png | tail -c 3 > seen.txt"), *fixed(turn)]


@pytest.mark.agents
@pytest.mark.skipif(bool(find_chromium()[1]), reason="no Chromium")
@pytest.mark.spec("DAY-3", "TIC-4", "AGT-2")
def test_claude_code_drives_the_preview_and_its_picture_is_kept_and_seen_by_the_fixer(tmp_path: Path) -> None:
    place = begun("shop", tmp_path)
    parts = {**SHOP, "issues": looked, "files_modified": shown}
    with ModelServer(played(parts)) as model:
        variables = environ(tmp_path / "home", os.environ["PATH"], model.url)
        words = ("../ticket.md", "--requirements", str(place.requirements), "--agent", "claude", "--yes")
        done = place.trued("run", *words, variables=variables)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not model.troubles
    pictures = [one["data"]["pictures"] for one in place.lines("logs") if one["kind"] == "pictures claimed"]
    assert "late.png" in pictures[0]
    (record,) = place.data("ls")
    assert git(place.repository, "show", f"{record['branch']}:seen.txt") == "PNG"
