"""What agents may read of the reasons for a grade."""

import pytest

from trued.model import (
    BrowserCheck,
    Contract,
    Evidence,
    Finding,
    Grade,
    Judged,
    MissingFromEnvironment,
    Outcomes,
    Requirement,
    TestsCheck,
    Tried,
    Verdict,
)
from trued.proof.hashes import check_hash
from trued.proof.verdict import reasons
from trued.proof.verdict.for_agents import as_gap, reason_for_agents, reasons_for_agents
from trued.proof.verdict.judge import Facts, judge
from trued.proof.verdict.missing import missing_part
from trued.reporting.views.ledger import ledger_for_agents
from trued.workflows.handoff.feature_list import Feature, FeatureList
from trued.workflows.handoff.project import HandoffProject
from trued.workflows.handoff.steps import unjudged
from trued.workflows.purple.memory_log import reasons_of

SECRET = "quicksilver-lantern-4711"
CHOSEN = [f"src/{SECRET}.py"]  # a name that code under proof can choose
SENTENCES = (
    reasons.not_run_by_any_check(CHOSEN),
    reasons.known_by_exit_code_only(CHOSEN),
    reasons.passes_with_superseded_tests(CHOSEN),
    reasons.reached_by_failing_tests(CHOSEN),
    reasons.not_loaded_by_tests(CHOSEN),
    reasons.hiding_from_tests(CHOSEN),
    reasons.hidden_from_tests(CHOSEN),
    reasons.tests_vanished(CHOSEN),
    reasons.fails_on_base_too([f"acceptance/test_{SECRET}.py::test_it"]),
    reasons.tests_need_base_version(CHOSEN),
    reasons.fail_before([SECRET]),
    reasons.skipped_on_base([SECRET]),
    f"acceptance/test_{SECRET}.py::test_it could not be judged on the base: not counted",
    f"existing tests passed on the base and fail now: tests/test_a.py::test_{SECRET}: it fails",
    f"existing tests 2 passed on the base and fail now: tests/test_a.py::test_{SECRET}: it fails",
    f"{reasons.QUICK} ({reasons.not_run_by_any_check(CHOSEN)})",
    f"{SECRET}: it does not return the expected value",
    SECRET,
)


def judged(*why: str, grade: Grade = Grade.TESTED, holds: bool = True, **more: object) -> Judged:
    return Judged.model_validate(
        {"id": "double", "text": "twice", "grade": grade, "why": why, "holds": holds, "lacks": "attest", **more}
    )


@pytest.mark.spec("LAW-7")
@pytest.mark.parametrize("sentence", SENTENCES)
@pytest.mark.parametrize("grade", [Grade.REFUTED, Grade.UNJUDGED, Grade.UNPROVEN, Grade.TESTED, Grade.PROVEN])
def test_no_name_that_a_run_of_checks_brought_up_reaches_an_agent(sentence: str, grade: Grade) -> None:
    """A liar's code imports, or lets fail, what spells the held-out value: no reason may carry the name to an agent."""
    one = judged(sentence, grade=grade, holds=False)
    verdict = Verdict(subject="all", commit="c", requirements=(judged(sentence, grade=grade), one))
    project = HandoffProject(features=FeatureList(features=(Feature(id="a", description="b"),)))
    noted = project.with_verdict(project.features["a"], verdict).features["a"].agent_notes
    shown = [
        reason_for_agents(one),
        *reasons_for_agents(one),
        as_gap(one).what,
        noted,
        *reasons_of(verdict),
        *unjudged(verdict),
    ]
    assert all(shown)
    assert SECRET not in "\n".join(shown)
    assert SECRET not in str([row["why"] for row in ledger_for_agents(verdict, None)["requirements"]])


@pytest.mark.spec("LAW-7", "LAW-11")
def test_of_notes_agents_read_only_which_existing_tests_did_not_run() -> None:
    contract = Contract(base="0" * 40, requirements=(), held_out=True, unguarded=("cargo test: no runner",))
    notes = ("existing tests not run: cargo test: no runner", f"no check runs src/{SECRET}.py")
    shown = ledger_for_agents(Verdict.open("x").model_copy(update={"undecided": notes}), contract)
    assert shown["undecided"][0] == notes[0]
    assert len(shown["undecided"]) == 2
    assert SECRET not in str(shown)


@pytest.mark.parametrize(
    "sentence",
    [
        reasons.turned(5, held_out=True, pages=1, tests=2),
        f"{reasons.turned(1, held_out=False)}; {reasons.still_pass(tests=14, cases=1, commands=0)}",
        f"its {reasons.still_pass(tests=2, cases=0, commands=1)}; {reasons.NO_NEW_BEHAVIOUR}",
        reasons.already_satisfied(3),
        reasons.NO_CHECK,
        reasons.NOTHING_TURNED,
        f"{reasons.BY_HAND}look at the page",
        f"{reasons.ACCEPTED}by Ann: I looked",
        reasons.lost_cases(["it doubles"]),
        reasons.not_judged("the module inflection is not installed; declare it"),
    ],
)
def test_agents_read_counts_and_what_the_contract_or_a_person_says(sentence: str) -> None:
    assert reason_for_agents(judged(sentence)) == sentence


def test_gaps_come_before_reasons() -> None:
    gap = Finding(what="double: it fails\nwith many words")
    assert reason_for_agents(judged(reasons.NO_CHECK, gaps=(gap,))) == "double: it fails"


def test_a_cap_is_named_without_its_files() -> None:
    assert reason_for_agents(judged(reasons.submodules_moved(["lib"]))) == reasons.submodules_moved(["…"])


@pytest.mark.spec("LAW-7")
@pytest.mark.parametrize("held_out", [True, False])
def test_what_is_missing_quotes_no_output_of_a_check_with_something_held_out(*, held_out: bool) -> None:
    check = TestsCheck(command="pytest", files=("acceptance/test_it.py",))
    stopped = Tried(id="*", outcome=Outcomes.FAILED, kind="start", detail=f"pytest stopped: assert {SECRET!r}")
    base = Evidence(
        **{"id": "e", "requirement": "r", "check": check_hash(check), "kind": "tests", "side": "base"},
        **{"commit": "b", "tree": "t", "isolation": "none", "tried": (stopped,), "held_out": held_out},
    )
    head = base.model_copy(update={"side": "head"})
    verdict = judge(
        Requirement(id="r", text="r", checks=(check,)), Facts(base=(base,), head=(head, head), held_out=True)
    )
    assert verdict.grade is Grade.UNJUDGED
    assert (SECRET in str(verdict.missing)) is not held_out
    assert (SECRET in reason_for_agents(verdict)) is not held_out


@pytest.mark.parametrize("may_quote", [True, False])
def test_a_broken_browser_is_quoted_only_if_its_page_is_not_held_out(*, may_quote: bool) -> None:
    broke = Tried(id="sees 1", outcome=Outcomes.UNJUDGED, kind="environment", detail=f"Error: {SECRET}")
    part = missing_part(BrowserCheck(page="/", sees=("x",)), broke, may_quote_held_out=may_quote)
    assert isinstance(part, MissingFromEnvironment)
    assert (SECRET in part.what) is not may_quote
