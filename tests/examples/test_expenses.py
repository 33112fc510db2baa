"""The flat's expenses, from a goal to accepted features: a whole run of `team` with scripted agents."""

from pathlib import Path

import pytest

from tests.cli.conftest import git
from tests.examples.places import Place, begun
from trued.workflows.team.backlog.reading import parse_backlog


def teamed(place: Place, *more: str) -> tuple[int, str]:
    words = ("../goal.md", "-w", "team", "--requirements", str(place.requirements), "--yes")
    done = place.trued("run", *words, "--agent", f"scripted:{place.agents}", *more)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.spec("TEAM-1", "TEAM-2", "TEAM-4", "TEAM-5", "TEAM-6", "TEAM-7", "TEAM-8", "TEAM-9", "TEAM-10")
def test_a_team_heals_asks_is_rejected_once_overruled_once_and_reaches_its_goal(tmp_path: Path) -> None:
    place = begun("expenses", tmp_path)
    base = git(place.repository, "rev-parse", "main")
    code, said = teamed(place)
    assert code == 0, said
    assert "2/2 features · 5/5 tasks · 2 recoveries" in said
    (run,) = place.data("ls")
    assert (run["workflow"], run["grade"], run["state"]) == ("team", "proven", "done")
    assert git(place.repository, "rev-parse", "main") == base
    told = place.events("team")
    tried = [(one["task"], one["attempt"], one["qa"]) for one in told if one["kind"] == "task"]
    assert tried == [
        ("F1-T1", 1, "passed"),
        ("F1-T2", 1, "failed"),
        ("F1-T2", 2, "passed"),
        ("F1-T3", 1, "passed"),  # the PM's, after UAT
        ("F2-T1", 1, "passed"),
        ("F2-T2", 1, "passed, overruled by evidence"),
        ("F2-T2", 2, "passed"),
    ]
    accepted = [(one["feature"], one["uat"]) for one in told if one["kind"] == "uat"]
    assert accepted == [("F1", "failed"), ("F1", "passed"), ("F2", "passed"), ("", "passed")]
    assert [(one["about"], one["tasks"]) for one in place.events("fix tasks")] == [
        ("F1", ["blanks around a name are no part of it"])
    ]
    assert [(one["who"], one["to"]) for one in place.events("team asks")] == [("dev, F2-T1", "techlead")]
    the_files_tell_it(place, run["branch"])


def the_files_tell_it(place: Place, branch: str) -> None:
    def page(name: str) -> str:
        return place.file(branch, f".trued/team/{name}")

    backlog = parse_backlog(page("backlog.md"))
    assert [(one.id, one.status, one.uat) for one in backlog.features] == [
        ("F1", "completed", "passed"),
        ("F2", "completed", "passed"),
    ]
    assert {one.id: (one.state, one.attempts) for one in backlog.tasks} == {
        "F1-T1": ("done", 1),
        "F1-T2": ("done", 2),
        "F1-T3": ("done", 1),
        "F2-T1": ("done", 1),
        "F2-T2": ("done", 2),
    }
    question = page("techlead/inbox.md")
    assert all(words in question for words in ("may a share be nothing?", "**Status**: addressed", "has no line"))
    assert "1.005 is taken as an amount" in page("qa/test-history.md")
    assert "passed, overruled by evidence" in page("qa/inbox.md")
    results = page("uat/results.md")
    assert "with a blank behind her name Dora is somebody else" in results
    assert "actual: Dora paid 3.00 for Dora , Emil" in results
    assert "All features: passed" in page("uat/integration-uat.md")
    assert "def shares" in place.file(branch, "expenses/sharing.py")
