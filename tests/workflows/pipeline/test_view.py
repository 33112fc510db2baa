"""A pipeline, folded from events."""

from collections.abc import Iterable

import pytest

from tests.reporting.views.recorded import Recorder, pipeline
from trued.cli.event_lines import event_line
from trued.model import Event
from trued.reporting.views.progress import Progress
from trued.reporting.views.rows import Remark
from trued.workflows.pipeline.view import STEPS, PipelineView, Stages, stages_of, wave_summary
from trued.workflows.team.view import TeamView


def progress(events: Iterable[Event] = ()) -> Progress:
    return Progress(events, "pipeline")


def stages_in(seen: Progress) -> Stages:
    assert isinstance(seen.view, PipelineView)
    return seen.view.stages


def remarks(seen: Progress) -> list[str]:
    return [row.text for row in seen.rows.values() if isinstance(row, Remark)]


@pytest.mark.spec("PIPE-4", "USE-4")
def test_every_step_has_its_result_its_reasons_and_who_worked_in_it() -> None:
    seen = progress(pipeline())
    found = stages_of(stages_in(seen), seen.calls)
    steps = {one["step"]: one for one in found["steps"]}
    assert list(steps) == list(STEPS)
    assert [one["number"] for one in found["steps"]] == ["0", "1", "2", "3", "3b", "4", "5", "6", "7"]
    assert {one["result"] for one in found["steps"]} == {"DONE"}
    assert {name: one["times"] for name, one in steps.items() if one["times"] > 1} == {
        "design": 2,
        "critique": 2,
        "verification": 2,
    }
    assert [one["name"] for one in steps["research"]["agents"]] == [
        "researcher-architecture",
        "researcher-impact",
        "researcher-dependencies",
    ]
    security = next(one for one in steps["critique"]["agents"] if one["name"] == "ct-security")
    assert security == {"name": "ct-security", "state": "done", "claim": "DONE", "calls": 2}


@pytest.mark.spec("PIPE-5", "PIPE-8", "PIPE-11", "USE-4")
def test_waves_conflicts_rounds_and_revisions_are_counted_and_decisions_have_their_reasons() -> None:
    seen = progress(pipeline())
    found = stages_of(stages_in(seen), seen.calls)
    assert (found["waves"], found["tasks"], found["merged"]) == (2, 3, 3)
    assert found["conflicts"] == [{"part": "implementation/T02", "files": ["shop/search.py"]}]
    assert (found["rounds"], found["revisions"]) == (2, 1)
    assert found["decisions"][1] == {
        "cluster": "critique",
        "result": "NEEDS_REVISION",
        "why": ["ct-security: NEEDS_REVISION, High"],
    }
    assert (
        wave_summary(stages_in(seen)) == "wave 2, 3/3 tasks merged · 1 conflict · verification round 2/3 · 1 revision"
    )
    told = remarks(seen)
    assert "verification round 1: NEEDS_REVISION (v-tests: NEEDS_REVISION, fail)" in told
    assert any(one.startswith("conflicts with what was merged before, in shop/search.py") for one in told)
    at_t02 = [seen.rows[name] for name in seen.scopes["implementation/T02"]]
    assert [isinstance(row, Remark) for row in at_t02] == [False, True, False, True]  # work, conflict, work, merged


@pytest.mark.spec("USE-4", "RUN-10")
def test_a_step_is_known_by_whoever_works_in_it_where_nobody_tells_of_it() -> None:
    silent = [one for one in pipeline() if one.kind != "step"]
    steps = {one["step"]: one for one in stages_of(stages_in(progress(silent)), progress(silent).calls)["steps"]}
    assert {name for name, one in steps.items() if one["state"] == "ended"} == {*STEPS} - {"set-up"}
    assert [one["name"] for one in steps["implementation"]["agents"]] == [
        "implementer-T01",
        "implementer-T02",
        "implementer-T03",
    ]


@pytest.mark.spec("USE-4")
def test_agents_of_these_names_make_no_pipeline_of_another_workflow() -> None:
    tape = Recorder()
    events = [tape.event("run began", workflow="purple"), tape.asked("planner#1", "planner")]
    assert not isinstance(progress(events).view, PipelineView)


@pytest.mark.spec("USE-4")
def test_a_step_that_has_ended_badly_says_so_while_the_next_is_at_work() -> None:
    tape = Recorder()
    events = [
        tape.event("run began", workflow="pipeline"),
        tape.event("step", step="verification", agents=["v-build"], result="ERROR", why=["v-build: missing"]),
        tape.event("step", step="review", agents=["r-quality", "r-security"]),
    ]
    stages = stages_in(progress(events))
    assert (stages.all["verification"].result, stages.all["review"].state) == ("ERROR", "running")
    assert stages.all["verification"].why == ("v-build: missing",)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"step": None, "agents": "all", "why": 3},
        {"step": "something new", "agents": [{"name": "a"}, {"id": "b"}, {}], "result": "DONE"},
        {"tasks": "T1", "number": None, "cluster": 7, "result": None, "part": None, "files": {"a": 1}},
    ],
)
def test_events_of_another_shape_break_nothing(data: dict[str, object]) -> None:
    kinds = ("step", "wave", "merged", "conflict", "decided", "team")
    events = [Event(id=1, at=1.0, key="", kind=kind, data=data) for kind in kinds]
    seen = progress(events)
    assert stages_of(stages_in(seen), seen.calls)["steps"]
    assert all(event_line(one, view) for one in events for view in (PipelineView(), TeamView()))
