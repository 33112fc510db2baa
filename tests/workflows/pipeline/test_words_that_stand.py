"""What the engine knows and what somebody objected to: neither is lost because others are content or fall silent."""

from typing import Any, cast

import pytest

from trued.model import Finding, Goal, Source, Status
from trued.run.clusters import Returned
from trued.run.run import Run
from trued.workflows.pipeline.decision_tables import Decision
from trued.workflows.pipeline.feature_folder import FeatureFolder
from trued.workflows.pipeline.memory import Memory, Shared
from trued.workflows.pipeline.orchestrator import Desk
from trued.workflows.pipeline.replies import Critique
from trued.workflows.pipeline.task_plan import Work
from trued.workflows.pipeline.verification import Checked as Looked
from trued.workflows.pipeline.verification import _heard, _said_before, critiques, open_tasks, to_mend

DONE, REVISE, ERROR = Status.DONE, Status.NEEDS_REVISION, Status.ERROR


def desk() -> Desk:
    works = (Work(id="T1", title="one"), Work(id="T10", title="ten"))
    goal = Goal(text="do it", source=Source())
    return Desk(cast(Run, None), goal, FeatureFolder(slug="x"), Shared(), works=works)


def critic(reply: Critique | None) -> dict[str, Returned[Any]]:
    return {"ct-security": Returned("ct-security", "ct-security", reply)}


def said(name: str, status: Status, severity: str = "") -> Memory:
    return Memory(agent=name, role=name, status=status, severity=severity, findings=("it is wrong",))


@pytest.mark.spec("PIPE-8")
def test_a_task_that_nobody_finished_is_known_whoever_is_content_and_goes_to_nobody_else() -> None:
    at = desk()
    assert open_tasks(at) == ()
    at.failed = {"T10", "T99"}
    assert [one.what for one in open_tasks(at)] == ["T10 is open: nobody has finished it"]
    assert to_mend(at, ()) == {"T10": [*open_tasks(at)]}
    assert to_mend(at, open_tasks(at)) == {"T10": [*open_tasks(at)]}  # once, however many say it


@pytest.mark.spec("PIPE-5")
def test_a_critic_that_does_not_look_again_has_taken_nothing_back() -> None:
    before = critic(Critique(status=REVISE, severity="High", key_findings=("the lock can be picked",)))
    for now in (None, Critique(status=ERROR)):
        (stands,) = critiques(critic(now), before).values()
        assert (stands.what, stands.by) == ("the lock can be picked", "ct-security")
    assert critiques(critic(Critique(severity="Low")), before) == {}
    (stands,) = critiques(critic(Critique(status=REVISE, summary="no"))).values()  # and does not say how badly
    assert stands.what == "no"


@pytest.mark.spec("PIPE-6", "PIPE-7")
@pytest.mark.parametrize("name", ["v-tests", "r-quality"])
@pytest.mark.parametrize("now", [None, ERROR])
def test_whoever_objected_and_then_fell_silent_has_taken_nothing_back(name: str, now: Status | None) -> None:
    at, later = desk(), {name: said(name, now) if now else None}
    looked = Looked(Decision(status=DONE), later, {})
    _heard(at, later)
    assert _said_before(at, name, looked) == ()
    _heard(at, {name: said(name, REVISE, "fail" if name == "v-tests" else "Major")})
    _heard(at, later)
    (stands,) = _said_before(at, name, looked)
    assert stands.what.startswith("it is wrong")
    _heard(at, {name: said(name, DONE)})
    _heard(at, later)
    assert _said_before(at, name, looked) == ()


@pytest.mark.spec("PIPE-7")
def test_what_is_said_of_one_task_is_not_laid_at_the_door_of_another_with_a_longer_name() -> None:
    found = to_mend(desk(), [Finding(what="T1: it is slow")])
    assert [*found] == ["T1"]
