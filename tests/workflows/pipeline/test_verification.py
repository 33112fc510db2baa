"""Agents' answers compared with what the engine saw, the statuses that they may use, and which findings are run."""

from typing import Any, cast, get_args

import pytest

from trued.model import Finding, Goal, Status
from trued.run.clusters import Returned
from trued.run.run import Run
from trued.workflows.pipeline import replies as pipeline_replies
from trued.workflows.pipeline.decision_tables import (
    REVIEW_TABLE,
    REVIEWERS,
    REVISING,
    VERIFICATION_TABLE,
    ClusterDecision,
)
from trued.workflows.pipeline.feature_folder import FeatureFolder
from trued.workflows.pipeline.memory import Memory, SharedMemory
from trued.workflows.pipeline.orchestrator import Orchestrator, graver_replies, worst_severity
from trued.workflows.pipeline.replies import (
    BuildChecked,
    Critique,
    PipelineReply,
    Researched,
    Reviewed,
    TasksPlanned,
    Verified,
)
from trued.workflows.pipeline.verification import CheckResult, grave_critiques, overruled, runnable_objections

DONE, REVISE, ERROR = Status.DONE, Status.NEEDS_REVISION, Status.ERROR
CASE = {"call": "tiny:double", "args": [2], "returns": 4}


def memory(agent: str, status: Status = DONE) -> Memory:
    return Memory(agent=agent, role=agent, status=status, severity="pass", findings=("all is well",))


def returned(**replies: PipelineReply) -> dict[str, Returned[Any]]:
    named = {name.replace("_", "-"): reply for name, reply in replies.items()}
    return {name: Returned(name, name, reply) for name, reply in named.items()}


@pytest.mark.spec("PIPE-14")
@pytest.mark.parametrize("said", [memory("v-tests"), memory("v-tests", REVISE), memory("v-tests", ERROR), None])
def test_where_the_engine_saw_a_failure_no_word_of_v_tests_makes_it_done(said: Memory | None) -> None:
    others = {name: memory(name) for name in ("v-build", "v-tasks", "v-feature")}
    seen = overruled(said, "v-tests", REVISE, ("the engine found: 4 is not 6",))
    assert VERIFICATION_TABLE.decide({**others, "v-tests": seen}).status is REVISE
    assert (seen.severity, seen.findings[0]) == ("fail", "the engine found: 4 is not 6")


@pytest.mark.spec("PIPE-14")
@pytest.mark.parametrize("said", [memory("v-build"), memory("v-build", ERROR), None])
def test_what_the_engine_cannot_build_is_an_error_of_v_build(said: Memory | None) -> None:
    assert overruled(said, "v-build", ERROR, ("the engine's own build ends with failed",)).status is ERROR


@pytest.mark.spec("PIPE-3", "PIPE-9")
def test_a_severity_is_the_worst_of_what_is_said_and_what_is_found_each_in_its_own_scale() -> None:
    grave = ({"what": "x", "severity": "critical"},)
    assert worst_severity("ct-security", Critique(severity="Low")) == "Low"
    assert worst_severity("ct-security", Critique.model_validate({"severity": "Low", "findings": grave})) == "Critical"
    assert worst_severity("r-security", Reviewed.model_validate({"findings": grave})) == "Blocker"
    assert (
        worst_severity("r-quality", Reviewed.model_validate({"findings": [{"what": "x", "severity": "minor"}]}))
        == "Minor"
    )
    assert (
        worst_severity("r-quality", Reviewed.model_validate({"severity": "Major", "findings": [{"what": "x"}]}))
        == "Major"
    )
    ladder = {"low": "Minor", "medium": "Minor", "major": "Major", "high": "Major", "blocker": "Blocker"}
    for found, own in ladder.items():
        assert (
            worst_severity("r-testing", Reviewed.model_validate({"findings": [{"what": "x", "severity": found}]}))
            == own
        )
    assert worst_severity("v-tests", Verified.model_validate({"severity": "pass", "findings": grave})) == "fail"
    assert (
        worst_severity("v-tests", Verified.model_validate({"severity": "pass", "findings": [{"what": "x"}]})) == "pass"
    )
    unfinished = {"severity": "pass", "tasks": [{"task": "T1", "state": "partial"}, {"task": "T2", "state": "done"}]}
    assert worst_severity("v-tasks", Verified.model_validate(unfinished)) == "fail"
    assert worst_severity("researcher-impact", Researched()) == ""


@pytest.mark.spec("PIPE-18")
def test_only_critics_verifiers_and_reviewers_may_ask_for_a_revision() -> None:
    """The gate, v-build, may not: a failed build is an ERROR."""
    replies = [
        one for one in vars(pipeline_replies).values() if isinstance(one, type) and issubclass(one, PipelineReply)
    ]
    words: dict[str, Any] = {one.__name__: one.model_fields["status"] for one in replies if one is not PipelineReply}
    words = {name: field.annotation for name, field in words.items()}
    may = {name for name, known in words.items() if known is Status}
    assert may == {"Critique", "Verified", "Reviewed"}
    assert {get_args(known) for name, known in words.items() if name not in may} == {(DONE, ERROR)}
    assert BuildChecked.__name__ not in may
    assert "v-build" not in REVISING


@pytest.mark.spec("PIPE-7")
def test_the_engine_runs_what_has_a_case_and_weighs_what_names_a_requirement() -> None:
    findings = [{"what": "a", "case": CASE}, {"what": "b", "requirement": "R"}, {"what": "c"}]
    grave = [{"what": "d", "requirement": "R", "severity": "major"}]
    found = runnable_objections(
        returned(
            v_tests=Verified.model_validate({"findings": findings}),
            v_tasks=Verified.model_validate({"status": REVISE, "findings": findings}),
            r_quality=Reviewed.model_validate({"findings": grave}),
            r_knowledge=Reviewed.model_validate({"severity": "Blocker", "findings": [*findings, *grave]}),
        )
    )
    assert [(one.by, one.what) for one in found] == [
        ("v-tests", "a"),
        ("v-tasks", "a"),
        ("v-tasks", "b"),
        ("r-quality", "d"),
    ]


@pytest.mark.spec("PIPE-5")
def test_what_stays_high_after_the_revision_gets_a_name_and_what_is_low_does_not() -> None:
    high = Critique.model_validate(
        {
            "status": REVISE,
            "severity": "High",
            "findings": [{"what": "a", "severity": "major"}, {"what": "b", "severity": "minor"}],
        }
    )
    found = grave_critiques(
        returned(
            ct_security=high,
            ct_scalability=Critique(severity="Low", key_findings=("c",)),
            ct_strategy=Critique(status=REVISE, severity="Critical", key_findings=("d",)),
        )
    )
    assert {name: (one.by, one.what) for name, one in found.items()} == {
        "C1": ("ct-security", "a"),
        "C2": ("ct-strategy", "d"),
    }


def test_findings_of_a_round_are_those_of_all_but_the_reviewer_for_knowledge() -> None:
    replies = returned(
        v_tasks=Verified.model_validate({"tasks": [{"task": "T1", "state": "open", "what": "no code"}]}),
        v_feature=Verified(status=REVISE, key_findings=("AC-1 does not hold",)),
        v_tests=Verified(),
        r_knowledge=Reviewed(status=REVISE, key_findings=("more docs",)),
    )
    checked = CheckResult(ClusterDecision(status=REVISE), {}, replies)
    assert [one.what for one in checked.findings] == ["T1: open: no code", "AC-1 does not hold"]
    assert TasksPlanned(tasks=()).failures == ()


@pytest.mark.spec("PIPE-3", "PIPE-7")
def test_whoever_is_asked_again_does_not_unsay_what_was_found_before() -> None:
    """After an agent that says ERROR a second one is asked; the worse of both answers decides."""
    grave = {"what": "the key is in the code", "requirement": "R", "severity": "critical"}
    first = Reviewed.model_validate({"status": ERROR, "findings": [grave]})
    mild, last = Reviewed(status=ERROR, summary="no network"), Reviewed(severity="Minor", key_findings=("all is well",))
    lost = Returned("r-security", "r-security", last, tries=2, before=(mild, first))
    assert graver_replies(lost) == (first,)
    lead = Orchestrator(cast(Run, None), Goal(text="do it"), FeatureFolder(slug="x"), SharedMemory())
    noted = lead.memories({"r-security": lost})["r-security"]
    assert noted is not None
    assert (noted.status, noted.severity) == (DONE, "Blocker")
    assert noted.findings == ("the key is in the code", "all is well")
    assert REVIEW_TABLE.decide({**{name: memory(name) for name in REVIEWERS}, "r-security": noted}).status is ERROR
    assert [one.what for one in runnable_objections({"r-security": lost})] == ["the key is in the code"]
    checked = CheckResult(ClusterDecision(status=REVISE), {}, {"r-security": lost})
    assert [one.what for one in checked.findings] == ["the key is in the code"]
    fine = Returned("r-security", "r-security", last, tries=2, before=(mild,))
    assert graver_replies(fine) == ()
    verifier = Returned(
        "v-build", "v-build", BuildChecked(), tries=2, before=(BuildChecked(status=ERROR, severity="fail"),)
    )
    assert graver_replies(verifier) == ()  # the engine builds and tests by itself


@pytest.mark.spec("PIPE-5", "PIPE-7")
@pytest.mark.parametrize(
    ("said", "stands"),
    [
        (["C1"], {"C1"}),
        (["c2"], {"C2"}),
        (["C2: it is slow", "[C1]"], {"C1", "C2"}),
        (["still true: It is slow"], {"C2"}),
        (["the second one"], {"C1", "C2"}),  # it does not say which: all count
        (["C9"], {"C1", "C2"}),
        (["", " "], set()),
    ],
)
def test_a_critique_that_is_found_again_stands_however_it_is_named(said: list[str], stands: set[str]) -> None:
    known = {"C1": Finding(what="the lock can be picked"), "C2": Finding(what="it is slow")}
    replies = returned(r_quality=Reviewed.model_validate({"repeats": said}), r_security=Reviewed())
    assert CheckResult(ClusterDecision(status=DONE), {}, replies).repeated_critiques(known) == stands
