"""Features of a handoff, folded from events."""

from typing import Any

import pytest

from trued.model import Event
from trued.reporting.views.progress import Progress
from trued.reporting.views.rows import Remark
from trued.workflows.handoff.events import FeatureListWritten
from trued.workflows.handoff.view import HandoffView, summary

DONE = {"id": "a", "passes": True, "state": "completed", "holds": True, "tests_passing": 2, "tests_total": 2}
HELD = {"id": "b", "passes": False, "state": "in_progress", "holds": True}
OPEN = {"id": "c", "passes": False, "state": "in_progress", "tests_passing": 15, "tests_total": 20, "coverage": 72.5}
BLOCKED = {"id": "d", "passes": False, "state": "not_started", "agent_notes": "blocked: it needs c, which failed"}


def event(number: int, kind: str, key: str = "", **data: Any) -> Event:
    return Event(id=number, at=float(number), key=key, kind=kind, data=data)


@pytest.mark.spec("HAND-11", "RUN-10")
def test_the_list_as_it_was_written_last_has_what_went_wrong_under_the_feature_that_was_at_work() -> None:
    events = [
        event(1, "features", features=[OPEN, BLOCKED]),
        event(2, "meddling", "feature c/meddling", feature="d", evidence="passes of d was written"),
        event(3, "features", features=[{**OPEN, "passes": True}, BLOCKED], feature="c", attempt=2, of=3),
    ]
    seen = Progress(events, "handoff")
    assert isinstance(seen.view, HandoffView)
    first, second = seen.view.data(())
    assert first["passes"] is True
    assert first["failure_modes"] == [{"name": "meddling", "evidence": "passes of d was written"}]
    assert second["failure_modes"] == []
    written = seen.view.written
    assert (written.feature, written.attempt, written.of) == ("c", 2, 3)
    remarks = [row.text for row in seen.rows.values() if isinstance(row, Remark)]
    assert remarks == ["meddling: passes of d was written"]


@pytest.mark.spec("USE-4")
def test_a_list_in_a_few_words() -> None:
    rows = (DONE, HELD, OPEN, BLOCKED)
    assert summary(FeatureListWritten(features=rows, feature="c", attempt=2, of=3)) == (
        "1/4 features pass, 1 waits for you, 1 blocked · c: attempt 2/3, 15/20 tests, 72.5 % covered"
    )
    assert summary(FeatureListWritten(features=(), feature="c", attempt=2, of=3)) == ""
