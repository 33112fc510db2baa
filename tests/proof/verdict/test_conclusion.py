"""People's approvals, and how a verdict ends a run."""

import pytest

from trued.model import Approval, Contract, Evidence, Finding, Grade, Judged, Requirement, Verdict
from trued.proof.verdict.conclusion import apply_approvals, conclude, exit_code_of_run
from trued.proof.verdict.reasons import ALL_GREEN_BEFORE, STAYS

CONTRACT = Contract(base="b" * 40, requirements=(Requirement(id="r", text="it works"),))
FACT = Evidence(id="1", requirement="r", check="c", kind="tests", side="base", commit="c", tree="t", isolation="x")


def judged(grade: Grade, name: str = "r", *, holds: bool | None = None, lacks: str = "") -> Judged:
    fine = grade not in (Grade.REFUTED, Grade.UNJUDGED) if holds is None else holds
    return Judged(id=name, text="it works", grade=grade, why=("because",), holds=fine, lacks=lacks)


def contract_of(given: Verdict) -> Contract:
    """The contract with just the requirements that this verdict judges."""
    asked = tuple(Requirement(id=one.id, text=one.text) for one in given.requirements)
    return Contract(base="b" * 40, requirements=asked)


def is_success(given: Verdict, accept: Grade = Grade.ATTESTED) -> bool:
    return conclude(given, contract_of(given), accept).state == "done"


def verdict(*requirements: Judged, **more: tuple[Finding, ...]) -> Verdict:
    return Verdict(subject="all", commit="c" * 40, requirements=requirements, **more)


@pytest.mark.spec("LAW-8")
@pytest.mark.parametrize("grade", list(Grade))
def test_a_named_person_attests_anything_but_what_is_refuted(grade: Grade) -> None:
    word = Approval(requirement="r", who="Ada", why="seen it")
    (found,) = apply_approvals(verdict(judged(grade)), [word]).requirements
    if grade in (Grade.REFUTED, Grade.ATTESTED, Grade.PROVEN):
        assert found.grade is grade
    else:
        assert (found.grade, found.holds, found.lacks, found.gaps) == (Grade.ATTESTED, True, "", ())
        assert "Ada" in found.why[0]
        assert "seen it" in found.why[0]


@pytest.mark.spec("LAW-8")
@pytest.mark.parametrize("grade", list(Grade))
def test_an_approved_contract_lifts_what_is_examined_and_nothing_else(grade: Grade) -> None:
    (found,) = apply_approvals(verdict(judged(grade)), [Approval(requirement="*", who="Ada", why="")]).requirements
    assert found.grade is (Grade.PROVEN if grade is Grade.EXAMINED else grade)


@pytest.mark.spec("LAW-8", "DAY-6")
def test_an_approved_contract_makes_a_criterion_on_what_stays_satisfied() -> None:
    stays = judged(Grade.UNPROVEN, lacks="approve").model_copy(
        update={"why": (ALL_GREEN_BEFORE, STAYS), "basis": "green before"}
    )
    tests = stays.model_copy(update={"why": (ALL_GREEN_BEFORE, "done"), "basis": ""})  # no held-out cases
    (lower,) = apply_approvals(verdict(tests), [Approval(requirement="*", who="Ada", why="")]).requirements
    assert lower.grade is Grade.ATTESTED
    (found,) = apply_approvals(verdict(stays), [Approval(requirement="*", who="Ada", why="")]).requirements
    assert (found.grade, found.lacks) == (Grade.PROVEN, "")
    assert ALL_GREEN_BEFORE not in found.why
    (other,) = apply_approvals(verdict(stays), [Approval(requirement="else", who="Ada", why="")]).requirements
    assert other == stays
    # an approval does not help work that changed nothing
    idle = verdict(stays, remarks=(Finding(what="the diff is empty"),))
    assert not is_success(apply_approvals(idle, [Approval(requirement="*", who="Ada", why="")]))


def test_a_word_for_one_requirement_is_no_word_for_another() -> None:
    word = Approval(requirement="a", who="Ada", why="seen it")
    lifted = apply_approvals(verdict(judged(Grade.TESTED, "a"), judged(Grade.TESTED, "b")), [word])
    assert [one.grade for one in lifted.requirements] == [Grade.ATTESTED, Grade.TESTED]


def test_a_word_for_a_disputed_requirement_settles_its_objections() -> None:
    disputed = verdict(judged(Grade.UNPROVEN, holds=False), objections=(Finding(what="no", requirement="r"),))
    settled = apply_approvals(disputed, [Approval(requirement="r", who="Ada", why="B is wrong")])
    assert is_success(settled)


@pytest.mark.spec("LAW-2", "LAW-8")
@pytest.mark.parametrize("accept", [Grade.TESTED, Grade.EXAMINED, Grade.ATTESTED])
@pytest.mark.parametrize("grade", list(Grade))
def test_success_is_every_requirement_at_the_bar(grade: Grade, accept: Grade) -> None:
    assert is_success(verdict(judged(Grade.PROVEN, "a"), judged(grade, "b")), accept) == (grade.rank >= accept.rank)


@pytest.mark.spec("LAW-3", "LAW-8")
@pytest.mark.parametrize("state", ["left out", "beside", "outside"])
@pytest.mark.parametrize("accept", list(Grade))
def test_a_verdict_on_a_part_of_the_contract_is_no_success(state: str, accept: Grade) -> None:
    """A row counts only if it is about the contract's own requirement: the rest is unproven, whatever was accepted."""
    other = judged(Grade.PROVEN, "b")
    part = verdict(judged(Grade.PROVEN), *([other.model_copy(update={"outside": "1A"})] if state == "outside" else []))
    given = part.model_copy(update={"beside": (other,)}) if state == "beside" else part
    whole = CONTRACT.model_copy(update={"requirements": (*CONTRACT.requirements, Requirement(id="b", text="it holds"))})
    outcome = conclude(given, whole, max(accept, Grade.SELF_TESTED))
    assert (outcome.state, outcome.grade, exit_code_of_run(outcome)) == ("not proven", Grade.UNPROVEN, 1)
    assert outcome.verdict
    assert [row.id for row in outcome.verdict.requirements if row.grade is Grade.UNPROVEN] == ["b"]
    assert conclude(verdict(judged(Grade.PROVEN), other), whole).state == "done"


@pytest.mark.spec("LAW-2")
def test_nothing_asked_is_nothing_proven() -> None:
    outcome = conclude(verdict(), contract_of(verdict()))
    assert (outcome.state, exit_code_of_run(outcome)) == ("not proven", 1)
    assert "no requirement" in outcome.why[0]


@pytest.mark.spec("LAW-2", "USE-3")
@pytest.mark.parametrize(
    ("given", "state", "code"),
    [
        (verdict(judged(Grade.PROVEN)), "done", 0),
        (verdict(judged(Grade.ATTESTED), judged(Grade.PROVEN, "b")), "done", 0),
        (verdict(judged(Grade.TESTED, lacks="attest")), "waiting", 3),
        (verdict(judged(Grade.EXAMINED, lacks="approve")), "waiting", 3),
        (verdict(judged(Grade.UNPROVEN, lacks="attest")), "waiting", 3),
        (verdict(judged(Grade.UNPROVEN, holds=False)), "not proven", 1),
        (verdict(judged(Grade.REFUTED), judged(Grade.TESTED, "b", lacks="attest")), "not proven", 1),
        (verdict(judged(Grade.UNJUDGED), judged(Grade.REFUTED, "b")), "unjudged", 6),  # 6 > 1
        (verdict(judged(Grade.PROVEN), remarks=(Finding(what="redo it"),)), "not proven", 1),
        (verdict(judged(Grade.PROVEN), objections=(Finding(what="no"),)), "not proven", 1),
    ],
)
def test_a_run_ends_as_its_last_verdict_says(given: Verdict, state: str, code: int) -> None:
    outcome = conclude(given, contract_of(given))
    assert (outcome.state, exit_code_of_run(outcome)) == (state, code)
    assert outcome.lacking == tuple(one.id for one in given.requirements if one.lacks)


def test_a_lowered_bar_is_said() -> None:
    outcome = conclude(verdict(judged(Grade.TESTED, lacks="attest")), CONTRACT, Grade.TESTED)
    assert outcome.state == "done"
    assert any("bar was lowered to tested" in word for word in outcome.why)
