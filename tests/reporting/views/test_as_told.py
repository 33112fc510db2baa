"""The views understand the events that workflows emit, with the values that a run writes into its journal."""

from typing import Any

import pytest

from tests.reporting.views.recorded import Recorder
from trued.cli.event_lines import event_line
from trued.model import Event, Status
from trued.model.events import JournalEvent
from trued.reporting.views.progress import Progress
from trued.reporting.views.rows import Remark
from trued.workflows.pipeline.events import ClusterDecided, StepReported, WaveStarted
from trued.workflows.pipeline.view import STEPS
from trued.workflows.team.events import TeamReported

COUNTS = {"features": 2, "tasks": 3}


def folded(*events: tuple[str, JournalEvent], workflow: str) -> Progress:
    began = Event(id=0, at=1.0, key="", kind="run began", data={"workflow": workflow})
    stored = [(one.stored_kind, key, one.stored_data()) for key, one in events]
    return Progress([began, *(Event(id=1, at=2.0, key=key, kind=kind, data=data) for kind, key, data in stored)])


def said(seen: Progress) -> list[str]:
    return [row.text for row in seen.rows.values() if isinstance(row, Remark)]


@pytest.mark.spec("TEAM-10", "TEAM-13")
def test_what_a_team_tells_is_understood() -> None:
    at: dict[str, Any] = {"feature": "F1", "feature_name": "Search", "task": "F1-T1", "task_name": "Index"}
    at |= {"attempt": 10, "attempts": 10, **COUNTS}
    found = ("F1: Search", "F2: Pay")
    seen = folded(
        ("team", TeamReported(kind="begun", project="Go", commands={"test": "go test"}, found=found, **COUNTS)),
        ("feature F1/team", TeamReported(kind="task", qa="failed", state="failed", why=("no index",), **at)),
        ("feature F1/team", TeamReported(kind="feature", feature="F1", state="failed", **COUNTS)),
        ("team", TeamReported(kind="uat", uat="failed", **COUNTS)),
        workflow="team",
    )
    assert said(seen) == [
        "project: Go; test: go test",
        "2 features found: F1: Search, F2: Pay",
        "QA failed, attempt 10/10: no index",
        "task F1-T1: Index failed at attempt 10/10; what QA found: .trued/team/qa/results.md",
        "feature F1: Search failed",
        "integration UAT failed",
    ]
    data = seen.view.data(seen.calls)
    assert (data["features_all"], data["tasks_all"], [one["id"] for one in data["failed"]]) == (2, 3, ["F1-T1"])


@pytest.mark.spec("TEAM-5", "TEAM-6", "TEAM-10")
def test_a_pleased_qa_that_evidence_overrules_is_told_as_that_and_questions_have_lines() -> None:
    at: dict[str, Any] = {"feature": "F1", "task": "F1-T1", "attempt": 1, "attempts": 10, **COUNTS}
    tape = Recorder()
    qa = tape.event("team", "feature F1/team", kind="task", qa="passed, overruled by evidence", why=["1 fails"], **at)
    asks = tape.event("team asks", "feature F1/task F1-T1/team asks", who="dev, F1-T1", to="techlead", text="How?")
    tells = tape.event("team answers", "feature F1/task F1-T1/team answers", role="techlead", text="So.")
    fixes = tape.event("fix tasks", "feature F1/fix tasks", about="F1", tasks=["mend it", "show it"])
    seen = Progress([asks, tells, qa, fixes], "team")
    rows = [(row.text, row.warning) for row in seen.rows.values() if isinstance(row, Remark)]
    assert rows == [
        ("dev, F1-T1 asks the techlead: How?", False),
        ("the techlead answers: So.", False),
        ("QA passed, overruled by evidence, attempt 1/10: 1 fails", True),
        ("the PM makes fix tasks for F1: mend it, show it", False),
    ]
    lines = [event_line(one, seen.view).partition(" ")[2] for one in (asks, tells, qa, fixes)]
    assert lines[0] == "team asks feature F1/task F1-T1: dev, F1-T1 asks the techlead: How?"
    assert lines[1] == "team answers feature F1/task F1-T1: the techlead: So."
    assert lines[2].startswith("team: feature F1 · task F1-T1 · attempt 1/10 · QA passed, overruled by evidence · ")
    assert lines[3] == "fix tasks feature F1: for F1: mend it, show it"


@pytest.mark.spec("PIPE-4", "USE-4")
def test_what_a_pipeline_tells_is_understood() -> None:
    seen = folded(
        *(("step", StepReported(step=step, agents=("somebody",))) for step in STEPS),
        ("decided", ClusterDecided(cluster="review", result=Status.NEEDS_REVISION, why=("r-quality: Major",))),
        ("wave", WaveStarted(number=1, tasks=("T01", "T02"))),
        workflow="pipeline",
    )
    data = seen.view.data(seen.calls)
    assert [one["step"] for one in data["steps"]] == list(STEPS)
    assert (data["tasks"], data["decisions"][0]["result"]) == (2, "NEEDS_REVISION")
    assert "review: NEEDS_REVISION (r-quality: Major)" in said(seen)
