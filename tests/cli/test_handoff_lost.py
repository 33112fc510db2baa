"""`trued run` and `trued resume` after all private state was lost: the branch alone is enough."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import git
from tests.examples.places import begun
from tests.examples.test_service import listed, only


@pytest.mark.slow
@pytest.mark.spec("HAND-12", "USE-7")
def test_resume_by_the_runs_name_goes_on_from_its_branch_and_says_so(tmp_path: Path) -> None:
    place = begun("service", tmp_path)
    words = only(place, "health", "shorten")
    agents = ("--agent", f"scripted:{place.agents}")
    stopped = place.trued(*words, *agents, "--limit", "calls=1")
    assert stopped.returncode == 4, stopped.stdout + stopped.stderr
    (run,) = place.data("ls")
    assert [one["passes"] for one in listed(place, run["branch"])] == [True, False]
    shutil.rmtree(place.variables["TRUED_HOME"])
    unknown = place.trued("resume", "r-nobody")
    assert unknown.returncode == 2, unknown.stderr
    named = place.trued("resume", run["id"])  # no agent plays the roles, so it stops before a run begins
    assert f"continuing from {run['branch']}" in named.stderr
    assert place.data("ls") == []
    done = place.trued(*words, *agents)
    assert done.returncode == 0, done.stdout + done.stderr
    (anew,) = place.data("ls")
    assert anew["branch"] == run["branch"]
    assert [one["key"] for one in place.data("show", anew["id"])["calls"]] == ["feature shorten/coder#1"]
    assert [one["passes"] for one in listed(place, run["branch"])] == [True, True]
    state = json.loads(git(place.repository, "show", f"{run['branch']}:agent_state.json"))
    assert state["base_commit"] == git(place.repository, "rev-parse", "main").strip()
