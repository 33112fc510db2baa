"""The link shortener, from an almost empty repository to features: whole runs of `handoff` with scripted agents."""

import json
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.cli.conftest import git
from tests.examples.places import Place, begun

FEATURES = ["health", "shorten", "follow", "page", "look"]


def listed(place: Place, branch: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(git(place.repository, "show", f"{branch}:feature_list.json"))["features"]
    return found


def only(place: Place, *names: str) -> tuple[str, ...]:
    """The user's list and requirements, cut down to these features: what `run` is given."""
    features = json.loads((place.folder / "feature_list.json").read_text())["features"]
    kept = {"features": [one for one in features if one["id"] in names]}
    (place.folder / "feature_list.json").write_text(json.dumps(kept, indent=2))
    asked = YAML(typ="safe").load(place.requirements)
    asked["requirements"] = [one for one in asked["requirements"] if set(one["covers"]) <= set(names)]
    place.requirements.with_suffix(".json").write_text(json.dumps(asked))
    requirements = str(place.requirements.with_suffix(".json"))
    return "run", "../feature_list.json", "-w", "handoff", "--requirements", requirements, "--yes"


@pytest.mark.slow
@pytest.mark.spec("HAND-1", "HAND-5", "HAND-10")
def test_a_feature_of_the_users_own_list_is_built_proven_and_written_down(tmp_path: Path) -> None:
    place = begun("service", tmp_path)
    done = place.trued(*only(place, "health"), "--agent", f"scripted:{place.agents}")
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = place.data("ls")
    assert run["grade"] == "proven"
    (feature,) = listed(place, run["branch"])
    assert (feature["passes"], feature["tests_passing"], feature["tests_total"]) == (True, 2, 2)
    subjects = git(place.repository, "log", "--format=%an: %s%n%b", f"main..{run['branch']}")
    assert "coder: feat: " in subjects
    assert "Feature: health" in subjects
    assert git(place.repository, "diff", "--stat", "main") == ""


@pytest.mark.slow
@pytest.mark.spec("HAND-1", "HAND-5", "HAND-8", "RUN-8")
def test_the_specification_is_built_feature_by_feature_and_its_look_waits_for_a_person(tmp_path: Path) -> None:
    place = begun("service", tmp_path)
    words = ("../spec.md", "-w", "handoff", "--requirements", str(place.requirements), "--yes")
    done = place.trued("run", *words, "--agent", f"scripted:{place.agents}")
    assert done.returncode == 3, done.stdout + done.stderr
    (run,) = place.data("ls")
    features = listed(place, run["branch"])
    assert [one["id"] for one in features] == FEATURES
    assert [one["passes"] for one in features] == [True] * 4 + [False]
    assert [one["tests_passing"] for one in features] == [2, 7, 2, 1, 0]
    assert git(place.repository, "ls-tree", "--name-only", run["branch"]).splitlines() == [
        ".gitignore",
        "README.md",
        "agent_state.json",
        "feature_list.json",
        "init.sh",
        "links",
        "progress.txt",
        "tests",
    ]
    approved = place.trued("approve", run["id"], "look", "--reason", "seen on both", "--as", "Ann")
    assert approved.returncode == 0, approved.stdout + approved.stderr
    resumed = place.trued("resume", run["id"])
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert (place.data("show", run["id"])["grade"], place.data("show", run["id"])["state"]) == ("attested", "done")
    assert [one["passes"] for one in listed(place, run["branch"])] == [True] * 5


@pytest.mark.slow
@pytest.mark.spec("HAND-3", "HAND-11")
def test_a_coder_that_marks_its_own_work_is_caught_and_the_list_stays_true(tmp_path: Path) -> None:
    place = begun("service", tmp_path)
    words = only(place, "health", "shorten", "follow")
    liar = ("--agent", f"coder=scripted:{place.agents}#lying_coder")
    done = place.trued(*words, "--agent", f"scripted:{place.agents}", *liar)
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = place.data("ls")
    assert run["grade"] == "proven"
    keys = [one["key"] for one in place.data("show", run["id"])["calls"]]
    assert keys == [
        "feature health/coder#1",
        "feature shorten/coder#1",
        "feature shorten/coder#2",
        "feature follow/coder#1",
    ]
    told = place.trued("logs", run["id"]).stdout
    assert "premature victory" in told
    features = listed(place, run["branch"])
    assert [one["passes"] for one in features] == [True] * 3
    assert [one["test_command"] for one in features] == [
        f"python -m pytest -q tests/test_{one['id']}.py" for one in features
    ]
