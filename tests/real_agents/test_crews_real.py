"""Pipeline and team, every role played by the real Claude Code, and by the real Codex, on the scripted model."""

import re
from pathlib import Path

import pytest

from tests.real_agents.conformance.rows import ROWS, Row
from tests.real_agents.crews import CREWS, LIARS, RIGHT, Place, played, wanted
from tests.real_agents.model import ModelServer

CLAUDE, CODEX = ROWS[:2]
FOCUSES = ("architecture", "impact", "dependencies", "patterns")
CRITICS = ("security", "scalability", "maintainability", "strategy")
REVIEWERS = ("quality", "security", "testing", "knowledge")
VERIFIERS = ("build", "tests", "tasks", "feature")
ROUND = [f"v-{name}" for name in VERIFIERS]
CALLS = {
    "pipeline": [
        *(f"researcher-{name}#1" for name in FOCUSES),
        *("spec#1", "designer#1", *(f"ct-{name}#1" for name in CRITICS), "planner#1"),
        *("wave 1 T01/implementer-T01#1", *(f"{name}#1" for name in ROUND)),
        *("planner#2", "wave 2 T01/implementer-T01#1", *(f"{name}#2" for name in ROUND)),
        *(f"r-{name}#1" for name in REVIEWERS),
    ],
    "team": [
        *("pm#1", "feature F1/techlead#1", "feature F1/uat#1", "integration/uat#1"),
        *(f"feature F1/task F1-T1/{role}#{turn}" for turn in (1, 2) for role in ("dev", "qa")),
    ],
}
PAGES = {
    *("feature.md", "design.md", *(f"research/{name}.md" for name in FOCUSES)),
    *(f"ct-review/ct-{name}.md" for name in CRITICS),
    *(f"verification/v-{name}.md" for name in VERIFIERS),
    *(f"review/r-{name}.md" for name in REVIEWERS),
}
EDITING = {"Write", "Edit", "NotebookEdit"}
LOOKING = {"pipeline": {"Planned"}, "team": {"Breakdown", "Specified", "Tested", "Validated"}}  # they edit nothing


def offered(model: ModelServer, names: set[str]) -> set[str]:
    """The tools of those whose answers have these names."""
    return {tool for turn in model.asked if wanted(turn) in names for tool in turn.tools}


@pytest.mark.agents
@pytest.mark.spec("AGT-1", "AGT-2", "AGT-3", "PIPE-6", "PIPE-9", "TEAM-5", "LAW-7")
@pytest.mark.parametrize("row", [CLAUDE, CODEX], ids=lambda row: row.kind)
@pytest.mark.parametrize("workflow", CREWS)
def test_what_is_wrong_at_first_is_seen_mended_and_proven(tmp_path: Path, row: Row, workflow: str) -> None:
    place = Place(tmp_path, row)
    with ModelServer(played(CREWS[workflow])) as model:
        done = place.run(workflow, model.url, rounds=3)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not model.troubles
    (record,) = place.data("ls")
    assert record["grade"] == "proven"
    calls = place.data("show")["calls"]
    assert sorted(one["key"] for one in calls) == sorted(CALLS[workflow])
    assert {(one["state"], one["attempts"]) for one in calls} == {("done", 1)}, "nobody had to be asked again"
    assert place.git("show", f"{record['branch']}:tiny.py") == RIGHT, (
        "what those who look leave behind is nobody's work"
    )
    assert "pycache" not in place.git("ls-tree", "-r", "--name-only", record["branch"])
    assert not re.search(r"returns\W+14\b", model.text), "nobody saw what is held out"
    if row is CLAUDE:
        assert not offered(model, LOOKING[workflow]) & EDITING
        assert offered(model, {"Implemented", "Developed"}) >= EDITING
    if workflow == "pipeline":
        _documents(place, record["branch"])


def _documents(place: Place, branch: str) -> None:
    files = place.git("ls-tree", "-r", "--name-only", branch, "docs/feature/").split()
    assert {one.split("/", 3)[3] for one in files} >= PAGES
    elsewhere = [(one["agent"], one["files"]) for one in place.events("left elsewhere")]
    assert elsewhere == [(f"v-{name}", ["tiny.py"]) for name in VERIFIERS[1:]] * 2
    assert place.events("artifact missing") == []


@pytest.mark.agents
@pytest.mark.spec("LAW-1", "LAW-8", "PIPE-6", "TEAM-5")
@pytest.mark.parametrize("workflow", LIARS)
def test_where_those_who_look_lie_the_code_is_refuted_and_stays_where_it_is(tmp_path: Path, workflow: str) -> None:
    place = Place(tmp_path, CLAUDE)
    with ModelServer(played(LIARS[workflow])) as model:
        done = place.run(workflow, model.url, rounds=1)
    assert done.returncode == 1, done.stdout + done.stderr
    assert not model.troubles
    (record,) = place.data("ls")
    assert record["grade"] == "refuted"
    (judged,) = place.data("ledger")["requirements"]
    assert (judged["id"], judged["grade"]) == ("doubles", "refuted")
    assert place.trued("land").returncode == 1
    assert place.git("log", "--format=%s", "main") == "first\n"
