"""A run is shown even if its workflow's own view fails."""

import json
from collections.abc import Iterable

import pytest

from tests.reporting.html.sample import events as purple
from tests.reporting.views.recorded import Recorder, pipeline, team
from trued.model import Event
from trued.model.events import JournalEvent
from trued.reporting.views.event_kinds import EventHead
from trued.reporting.views.progress import Progress
from trued.reporting.views.rows import Remark
from trued.workflows.view import WorkflowView, view_of
from trued.workflows.view_protocols import RunTree


class Broken(WorkflowView):
    def add(self, tree: RunTree, key: str, event: JournalEvent) -> None:
        raise ZeroDivisionError("no view")


@pytest.mark.spec("DAY-15")
def test_a_view_that_fails_is_one_remark_and_the_run_is_shown() -> None:
    tape, seen = Recorder(), Progress()
    seen.workflow, seen.view = "own", Broken()
    for event in (tape.asked("task 1/builder#1", "builder"), tape.answered("task 1/builder#1", "builder")):
        seen.add(event)
    remarks = [row.text for row in seen.rows.values() if isinstance(row, Remark)]
    assert remarks == ["the view of own failed: ZeroDivisionError: no view"]
    assert [one.state for one in seen.calls] == ["done"]


@pytest.mark.parametrize("workflow", ["", "purple", "gone"])
@pytest.mark.spec("DAY-15")
def test_a_workflow_without_a_view_of_its_own_is_shown_like_any(workflow: str) -> None:
    assert type(view_of(workflow)) is WorkflowView


@pytest.mark.spec("RUN-9", "DAY-15")
def test_conflicts_are_shown_in_every_workflow() -> None:
    tape = Recorder()
    events = [
        tape.event("conflict", part="wave 1 T02", files=["a.py"]),
        tape.event("merged", part="wave 1 T01", commit="1" * 40),
        tape.event("merged", part="wave 1 T02", commit="2" * 40),
    ]
    remarks = [row for row in Progress(events, "team").rows.values() if isinstance(row, Remark)]
    assert [(row.key, row.warning) for row in remarks] == [("wave 1 T02/join", True), ("wave 1 T02/join", False)]


@pytest.mark.spec("USE-4", "DAY-12")
def test_a_check_that_is_sealed_again_in_a_built_environment_is_counted_once() -> None:
    tape = Recorder()
    events = [
        tape.event("sealed", check="c1", sort="examples", serves=["r"], cases={"unjudged": 6}),
        tape.event("sealed", check="c1", sort="examples", serves=["r"], cases={"guard": 5, "red": 1}),
        tape.event("sealed", check="c2", sort="tests", serves=["r"], cases={"red": 1}),
    ]
    assert dict(Progress(events, "purple").on_base) == {"guard": 5, "red": 2}


@pytest.mark.spec("USE-4", "PAGE-1")
def test_what_a_killed_driver_worked_counts_and_the_time_until_somebody_resumed_does_not() -> None:
    events = [
        Event(id=1, at=100.0, key="", kind="run began", data={"title": "t", "workflow": "purple"}),
        Event(id=2, at=160.0, key="a#1", kind="asked", data={"role": "builder"}),
        Event(id=3, at=1000.0, key="", kind="resumed", data={}),
        Event(id=4, at=1020.0, key="", kind="ended", data={"state": "interrupted", "code": 130}),
        Event(id=5, at=2000.0, key="", kind="resumed", data={}),
        Event(id=6, at=2003.0, key="a#1", kind="asked", data={"role": "builder"}),
    ]
    assert Progress(events, "purple").worked == 60 + 20 + 3


OF_ANY_VERSION = (
    Event(id=1, at=1.0, key="a#1", kind="asked", data={"role": 7}),
    Event(id=2, at=2.0, key="a#1", kind="answered", data={"tokens": "many", "reply": {"status": "DONE"}, "state": ""}),
    Event(id=3, at=3.0, key="a#1", kind="of tomorrow", data={"x": [1]}),
    Event(id=4, at=4.0, key="prove", kind="proven", data={"grade": "perfect", "requirements": "none"}),
)


@pytest.mark.parametrize(
    "events", [purple(), pipeline(), team(), OF_ANY_VERSION], ids=["purple", "pipeline", "team", "any"]
)
@pytest.mark.spec("PAGE-3")
def test_events_that_are_read_as_json_give_the_same_picture(events: Iterable[Event]) -> None:
    parsed, as_json = Progress(), Progress()
    for one in events:
        parsed.add(one)
        as_json.add_json(EventHead(one.id, one.at, one.key, one.kind), json.dumps(one.data))
        assert (as_json.rows, as_json.scopes, as_json.touched) == (parsed.rows, parsed.scopes, parsed.touched)
    assert (as_json.grades, as_json.verdicts, as_json.state) == (parsed.grades, parsed.verdicts, parsed.state)
