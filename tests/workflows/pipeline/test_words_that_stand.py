"""Facts that the engine knows, and objections, are not lost because other agents approve or give no answer."""

from typing import Any, cast

import pytest

from trued.model import Finding, Goal, Source, Status
from trued.run.clusters import Returned
from trued.run.run import Run
from trued.workflows.pipeline.decision_tables import ClusterDecision
from trued.workflows.pipeline.feature_folder import FeatureFolder
from trued.workflows.pipeline.memory import Memory, SharedMemory
from trued.workflows.pipeline.orchestrator import Orchestrator
from trued.workflows.pipeline.replies import Critique, Verified
from trued.workflows.pipeline.task_plan import Work
from trued.workflows.pipeline.verification import CheckResult as Looked
from trued.workflows.pipeline.verification import (
    _keep_objections,
    _unretracted,
    gaps_by_task,
    grave_critiques,
    open_task_gaps,
)

DONE, REVISE, ERROR = Status.DONE, Status.NEEDS_REVISION, Status.ERROR


def lead() -> Orchestrator:
    works = (Work(id="T1", title="one"), Work(id="T10", title="ten"))
    goal = Goal(text="do it", source=Source())
    return Orchestrator(cast(Run, None), goal, FeatureFolder(slug="x"), SharedMemory(), tasks=works)


def critic(reply: Critique | None) -> dict[str, Returned[Any]]:
    return {"ct-security": Returned("ct-security", "ct-security", reply)}


def said(name: str, status: Status, severity: str = "") -> Memory:
    return Memory(agent=name, role=name, status=status, severity=severity, findings=("it is wrong",))


@pytest.mark.spec("PIPE-8")
def test_a_task_that_nobody_finished_is_known_whoever_is_content_and_goes_to_nobody_else() -> None:
    at = lead()
    assert open_task_gaps(at) == ()
    at.unfinished = {"T10", "T99"}
    assert [one.what for one in open_task_gaps(at)] == ["T10 is open: nobody has finished it"]
    assert gaps_by_task(at, ()) == {"T10": [*open_task_gaps(at)]}
    assert gaps_by_task(at, open_task_gaps(at)) == {"T10": [*open_task_gaps(at)]}  # listed once, not twice


@pytest.mark.spec("PIPE-5")
def test_a_critic_that_does_not_look_again_has_taken_nothing_back() -> None:
    before = critic(Critique(status=REVISE, severity="High", key_findings=("the lock can be picked",)))
    for now in (None, Critique(status=ERROR)):
        (stands,) = grave_critiques(critic(now), before).values()
        assert (stands.what, stands.by) == ("the lock can be picked", "ct-security")
    assert grave_critiques(critic(Critique(severity="Low")), before) == {}
    (stands,) = grave_critiques(critic(Critique(status=REVISE, summary="no"))).values()  # without a severity
    assert stands.what == "no"


@pytest.mark.spec("PIPE-6", "PIPE-7")
@pytest.mark.parametrize("name", ["v-tests", "r-quality"])
@pytest.mark.parametrize("now", [None, ERROR])
def test_whoever_objected_and_then_fell_silent_has_taken_nothing_back(name: str, now: Status | None) -> None:
    at, later = lead(), {name: said(name, now) if now else None}
    looked = Looked(ClusterDecision(status=DONE), later, {})
    _keep_objections(at, later)
    assert _unretracted(at, name, looked) == ()
    _keep_objections(at, {name: said(name, REVISE, "fail" if name == "v-tests" else "Major")})
    _keep_objections(at, later)
    (stands,) = _unretracted(at, name, looked)
    assert stands.what.startswith("it is wrong")
    _keep_objections(at, {name: said(name, DONE)})
    _keep_objections(at, later)
    assert _unretracted(at, name, looked) == ()


@pytest.mark.spec("PIPE-7")
def test_what_is_said_of_one_task_is_not_laid_at_the_door_of_another_with_a_longer_name() -> None:
    found = gaps_by_task(lead(), [Finding(what="T1: it is slow")])
    assert [*found] == ["T1"]


@pytest.mark.spec("PIPE-8")
def test_a_missing_answer_gives_nobody_work_and_an_objection_without_a_finding_does() -> None:
    decision = ClusterDecision(status=ERROR)

    def gaps(memories: dict[str, Memory | None], **replies: Verified | None) -> dict[str, list[str]]:
        returned = {name: Returned[Any](name, name, one) for name, one in zip(memories, replies.values(), strict=True)}
        found = gaps_by_task(lead(), Looked(decision, memories, returned).findings)
        return {task: [one.what for one in every] for task, every in found.items()}

    assert gaps({"v-build": None}, build=None) == {}
    assert gaps({"v-tests": None, "v-tasks": said("v-tasks", ERROR)}, tests=None, tasks=Verified(status=ERROR)) == {}
    wordless = Memory(agent="v-tests", role="v-tests", status=REVISE)
    every = {"T1": ["v-tests: NEEDS_REVISION"], "T10": ["v-tests: NEEDS_REVISION"]}
    assert gaps({"v-tests": wordless}, tests=Verified(status=REVISE)) == every
