"""The link shortener, built feature by feature by the real Claude Code on the scripted model."""

import json
import os
from pathlib import Path

import pytest

from tests.cli.conftest import git
from tests.examples.places import begun
from tests.real_agents.model import ModelServer
from tests.real_agents.stories import SERVICE, environ, played


@pytest.mark.agents
@pytest.mark.spec("AGT-1", "HAND-1", "HAND-5", "HAND-8")
def test_claude_code_builds_the_service_one_feature_a_turn_with_a_fresh_context_each(tmp_path: Path) -> None:
    place = begun("service", tmp_path)
    with ModelServer(played(SERVICE)) as model:
        variables = environ(tmp_path / "home", os.environ["PATH"], model.url)
        words = ("../spec.md", "-w", "handoff", "--requirements", str(place.requirements), "--yes")
        done = place.trued("run", *words, "--agent", "claude", variables=variables)
    assert done.returncode == 3, done.stdout + done.stderr  # the look waits for a person
    assert not model.troubles
    (record,) = place.data("ls")
    calls = [one["key"] for one in place.data("show")["calls"]]
    features = ["health", "shorten", "follow", "page", "look"]
    assert calls == ["initializer#1", *(f"feature {name}/coder#1" for name in features)]
    listed = json.loads(git(place.repository, "show", f"{record['branch']}:feature_list.json"))["features"]
    assert [one["passes"] for one in listed] == [True] * 4 + [False]
    assert len({one.turn.users[0] for one in model.seen if one.turn.tools}) == 6  # nobody saw another's conversation
