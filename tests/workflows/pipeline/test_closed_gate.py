"""If v-build fails, no other verifier is asked; findings that the last round leaves open count at the end."""

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import pytest

from tests.run.test_clusters import Stage
from tests.workflows.pipeline.pipeline_agents import Crew, Line, leaves
from trued.model import Finding, Goal, Plan, Status
from trued.run.clusters import Returned
from trued.run.run import Run
from trued.wire import Order
from trued.workflows.pipeline.decision_tables import (
    REVIEW_TABLE,
    REVIEWERS,
    VERIFICATION_TABLE,
    VERIFIERS,
    ClusterDecision,
)
from trued.workflows.pipeline.feature_folder import FeatureFolder
from trued.workflows.pipeline.flow import verify
from trued.workflows.pipeline.memory import Memory, SharedMemory
from trued.workflows.pipeline.orchestrator import Orchestrator
from trued.workflows.pipeline.verification import CheckResult, record_open_objections


@pytest.mark.spec("PIPE-6", "PIPE-8")
async def test_where_v_build_says_error_no_other_verifier_is_asked_and_the_cluster_is_an_error(tmp_path: Path) -> None:
    def fails(order: Order) -> dict[str, Any]:
        leaves(order)
        return {"status": "ERROR", "summary": "it does not build"}

    with ExitStack() as stack:
        crew, line = Crew(v_build=fails), Line(tmp_path, stack)
        (line.repository / "tiny.py").unlink()  # now the engine knows no build command
        line.commit()
        run = await Stage(line).run(crew)
        found = await verify(await Orchestrator.start(run, Goal(text="Name two colours.")), Plan())
        assert crew.asked == ["v-build", "v-build"]
        assert found.decision.status is Status.ERROR
        assert not found.settled


class Heard:
    """A stand-in for a run's judgement that records open objections by author."""

    def __init__(self) -> None:
        self.said: dict[str, list[str]] = {}

    @property
    def judgement(self) -> "Heard":
        return self

    def object(self, by: str, findings: Iterable[Finding]) -> None:
        if words := [one.what for one in findings]:
            self.said[by] = words

    def set_unverified(self, about: str, notes: Iterable[str]) -> None:
        """Notes change no grade."""


def said(names: tuple[str, ...], **of: Memory) -> dict[str, Memory | None]:
    every = {name: Memory(agent=name, role=name, status=Status.DONE) for name in names}
    return {**every, **{name.replace("_", "-"): one for name, one in of.items()}}


def looked(decision: ClusterDecision, memories: dict[str, Memory | None]) -> CheckResult:
    return CheckResult(decision, memories, {name: Returned[Any](name, name, None) for name in memories})


def against(name: str, severity: str) -> Memory:
    return Memory(
        agent=name, role=name, status=Status.NEEDS_REVISION, severity=severity, findings=(f"{name}: it is wrong",)
    )


@pytest.fixture
def heard() -> tuple[Orchestrator, Heard]:
    at = Heard()
    return Orchestrator(cast(Run, at), Goal(text="do it"), FeatureFolder(slug="x"), SharedMemory()), at


@pytest.mark.spec("PIPE-7", "PIPE-8")
async def test_what_the_last_round_or_review_leaves_open_is_on_record_and_what_is_settled_is_not(
    heard: tuple[Orchestrator, Heard],
) -> None:
    lead, at = heard
    fine, good = said(VERIFIERS), said(REVIEWERS)
    await record_open_objections(
        lead, looked(VERIFICATION_TABLE.decide(fine), fine), looked(REVIEW_TABLE.decide(good), good)
    )
    assert at.said == {}
    open_one = said(VERIFIERS, v_tests=against("v-tests", "fail"))
    major = said(REVIEWERS, r_testing=against("r-testing", "Major"))
    await record_open_objections(
        lead, looked(VERIFICATION_TABLE.decide(open_one), open_one), looked(REVIEW_TABLE.decide(major), major)
    )
    assert at.said == {"v-tests": ["v-tests: it is wrong"], "r-testing": ["r-testing: it is wrong"]}
