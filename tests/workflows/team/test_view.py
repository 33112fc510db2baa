"""A team, folded from small events."""

from collections.abc import Iterable

import pytest

from tests.reporting.views.recorded import Recorder, team
from trued.model import Event
from trued.reporting.views.progress import Progress
from trued.reporting.views.rows import Remark
from trued.workflows.team.events import TeamReported
from trued.workflows.team.view import RESULTS, Team, TeamView, counts, describe, now, team_of

AT_WORK = {"feature": "F1", "feature_name": "Search", "task": "F1-T1", "task_name": "Index", "attempts": 3}


def progress(events: Iterable[Event] = ()) -> Progress:
    return Progress(events, "team")


def state_of(seen: Progress) -> Team:
    assert isinstance(seen.view, TeamView)
    return seen.view.team


def warnings(seen: Progress) -> list[str]:
    return [row.text for row in seen.rows.values() if isinstance(row, Remark) and row.warning]


def notes(seen: Progress) -> list[str]:
    return [row.text for row in seen.rows.values() if isinstance(row, Remark) and not row.warning]


@pytest.mark.spec("TEAM-10", "TEAM-13")
def test_at_the_start_kind_commands_and_features_are_shown() -> None:
    told = notes(progress(team()))
    assert told[:2] == ["project: Python; test: uv run pytest", "2 features found: F1: Feature 1, F2: Feature 2"]


@pytest.mark.spec("TEAM-10")
def test_while_it_works_feature_task_attempt_qa_uat_and_counts_are_shown() -> None:
    seen, lines = progress(), list[str]()
    for event in team():
        seen.add(event)
        lines.append(f"{now(state_of(seen))} | {counts(state_of(seen))}")
    assert "feature 1/2 F1: Feature 1 · task F1-T1: Do F1-T1, attempt 1/10 | 0/2 features · 0/4 tasks" in lines
    wanted = (
        "feature 2/2 F2: Feature 2 · task F2-T2: Do F2-T2, attempt 1/10 · QA failed"
        " | 1/2 features · 3/4 tasks · 1 recovery"
    )
    assert wanted in lines
    assert lines[-1].endswith("integration UAT passed | 2/2 features · 4/4 tasks · 2 recoveries")


@pytest.mark.spec("TEAM-10", "USE-9")
def test_what_every_feature_came_to_is_data() -> None:
    found = team_of(state_of(progress(team())))
    assert [(one["id"], one["state"], one["uat"], one["uat_cycles"]) for one in found["features"]] == [
        ("F1", "completed", "passed", 1),
        ("F2", "completed", "passed", 2),
    ]
    assert [(one["tasks_done"], one["tasks"], one["attempts"]) for one in found["features"]] == [(2, 2, 3), (2, 2, 3)]
    assert (found["features_done"], found["tasks_done"], found["recoveries"]) == (2, 4, 2)
    assert found["integration_uat"] == "passed"


@pytest.mark.spec("TEAM-5", "TEAM-10")
def test_a_failed_task_is_named_with_its_attempts_and_where_the_results_are() -> None:
    tape = Recorder()
    last = {**AT_WORK, "attempt": 3, "qa": "failed", "state": "failed", "why": ["no index", "too slow"]}
    seen = progress([tape.event("team", "feature F1/team", kind="task", **last)])
    assert warnings(seen) == [
        "QA failed, attempt 3/3: no index (and 1 more)",
        f"task F1-T1: Index failed at attempt 3/3; what QA found: {RESULTS}",
    ]
    long = {**last, "attempt": 2, "state": "", "why": [f"{'the index is old, ' * 9}and actual: nothing"]}
    cut = warnings(progress([tape.event("team", "feature F1/team", kind="task", **long)]))[0]
    assert cut.endswith("the index is…"), "whole words, and a sign that there are more"
    (failed,) = team_of(state_of(seen))["failed"]
    assert (failed["id"], failed["results"]) == ("F1-T1", ".trued/team/qa/results.md")


@pytest.mark.spec("TEAM-10")
def test_what_is_told_of_a_task_stands_with_its_calls_under_its_name() -> None:
    seen = progress(team())
    assert seen.names["feature F1"] == "Feature 1"
    assert seen.names["feature F1/task F1-T2"] == "Do F1-T2"
    tape = Recorder()
    other = progress([tape.event("team", "feature F1/team", kind="task", **AT_WORK, attempt=1, qa="passed")])
    assert list(other.scopes) == ["feature F1/task F1-T1"]


@pytest.mark.spec("TEAM-10", "TEAM-14")
def test_tasks_that_are_tried_side_by_side_are_all_named() -> None:
    tape = Recorder()
    tries = [{**AT_WORK, "task": f"F1-T{number}", "attempt": number, "attempts": 10} for number in range(1, 7)]
    seen = progress(tape.event("team", "feature F1/team", kind="attempt", **one) for one in tries)
    assert now(state_of(seen)) == (
        "feature 1/1 F1: Search · tasks F1-T1 1/10, F1-T2 2/10, F1-T3 3/10, F1-T4 4/10 and 2 more side by side"
    )
    for one in tries[:5]:
        seen.add(tape.event("team", "feature F1/team", kind="task", qa="passed", state="done", **one))
    assert len(state_of(seen).at_work) == 1


@pytest.mark.spec("TEAM-10", "TEAM-7")
def test_a_feature_that_fails_and_uat_that_objects_are_warnings() -> None:
    tape = Recorder()
    feature = {"feature": "F1", "feature_name": "Search"}
    seen = progress(
        [
            tape.event("team", "feature F1/team", kind="uat", uat="failed", why=["it finds nothing"], **feature),
            tape.event("team", "feature F1/team", kind="feature", state="failed", **feature),
            tape.event("team", "team", kind="uat", uat="failed"),
        ]
    )
    assert warnings(seen) == ["UAT failed: it finds nothing", "feature F1: Search failed", "integration UAT failed"]


@pytest.mark.spec("TEAM-7", "TEAM-10")
@pytest.mark.parametrize("feature", ["F1", ""])
def test_every_cycle_of_uat_is_counted_and_shown_though_it_ends_as_the_one_before(feature: str) -> None:
    tape = Recorder()
    failed = {"kind": "uat", "feature": feature, "uat": "failed", "why": ["it finds nothing"]}
    twice = [tape.event("team", "team", **failed) for _ in range(2)]  # as a crash leaves it
    fixes = tape.event("fix tasks", "fix tasks", about="all", tasks=[])
    seen = progress([*twice, fixes, tape.event("team", "team", **failed)])
    assert len(warnings(seen)) == 2
    assert [one["uat_cycles"] for one in team_of(state_of(seen))["features"]] == ([2] if feature else [])


@pytest.mark.spec("USE-4")
def test_one_event_is_one_line_for_those_without_a_terminal() -> None:
    last = {**AT_WORK, "attempt": 2, "qa": "failed", "features": 4, "features_done": 1, "tasks": 9, "why": ["no index"]}
    assert describe(TeamReported(kind="task", **last)) == (
        "feature F1: Search · task F1-T1: Index · attempt 2/3 · QA failed · 1/4 features · 0/9 tasks · no index"
    )
    begun = {"project": "Go", "found": ["F1: Search", "F2: Pay"], "features": 2}
    assert describe(TeamReported(kind="begun", **begun)) == "Go · F1: Search, F2: Pay · 0/2 features"
