"""A requirement made of others has the worst grade of its parts, and rises when a person approves them."""

import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.proof.trial import is_success
from trued.model import Approval, Basis, Finding, Grade, Judged, Lacks, Verdict
from trued.proof.verdict.conclusion import apply_approvals
from trued.proof.verdict.judge import judge_by_parts
from trued.proof.verdict.quick_verdict import QUICK_CEILING, cap_grade

OWN = [grade for grade in Grade if grade is not Grade.ATTESTED]  # only a person attests, never a check of its own
GRADES = st.lists(st.sampled_from(list(Grade)), min_size=1, max_size=4)


def judged(name: str, grade: Grade, *, why: str = "so", parts: tuple[str, ...] = (), basis: Basis = "") -> Judged:
    holds = grade not in (Grade.REFUTED, Grade.UNJUDGED)
    lacks = "attest" if grade is Grade.UNPROVEN else ""
    return Judged(id=name, text=name, grade=grade, why=(why,), holds=holds, lacks=lacks, parts=parts, basis=basis)


def whole(grades: list[Grade], caps: tuple[str, ...] = ()) -> tuple[Judged, list[Judged]]:
    parts = [judged(f"p{number}", grade) for number, grade in enumerate(grades)]
    bare = judged("goal", Grade.UNPROVEN, basis="no check", parts=tuple(one.id for one in parts))
    return judge_by_parts(bare, parts, caps), parts


@pytest.mark.spec("LAW-8", "LAW-12")
@given(GRADES, st.booleans())
def test_a_whole_is_never_better_than_any_part_nor_than_its_cap(grades: list[Grade], capped: bool) -> None:
    found, parts = whole(grades, ("background",) if capped else ())
    worst = min(grades, key=lambda one: one.rank)
    assert found.grade is (Grade.EXAMINED if capped and worst.rank > Grade.EXAMINED.rank else worst)
    assert found.holds is all(one.holds for one in parts)


@pytest.mark.spec("LAW-8", "LAW-12")
def test_its_own_cases_and_a_dispute_count_beside_the_parts() -> None:
    parts = [judged("a", Grade.PROVEN)]
    own = judged("goal", Grade.REFUTED, why="case 1: it does not return the expected value", parts=("a",))
    assert judge_by_parts(own, parts).grade is Grade.REFUTED
    assert (
        judge_by_parts(judged("goal", Grade.UNPROVEN, why="disputed: x", parts=("a",)), parts).grade is Grade.UNPROVEN
    )
    assert judge_by_parts(own, []) is own


@pytest.mark.spec("LAW-8")
def test_who_accepts_every_part_need_not_accept_the_whole() -> None:
    found, parts = whole([Grade.UNPROVEN, Grade.PROVEN])
    verdict = Verdict(subject="plan", commit="c", requirements=(*parts, found))
    assert apply_approvals(verdict, []).grade is Grade.UNPROVEN
    lifted = apply_approvals(verdict, [Approval(requirement="p0", who="ann", why="looked")])
    assert [one.grade for one in lifted.requirements] == [Grade.ATTESTED, Grade.PROVEN, Grade.ATTESTED]


LOWER = (Grade.UNJUDGED, Grade.UNPROVEN, Grade.SELF_TESTED, Grade.TESTED, Grade.EXAMINED)
WORD = Approval(requirement="p0", who="ann", why="looked")


@pytest.mark.spec("DAY-12", "LAW-8")
@pytest.mark.parametrize("grade", LOWER)
def test_whoever_accepted_every_part_is_not_asked_about_the_whole_too(grade: Grade) -> None:
    found, parts = whole([grade])
    verdict = Verdict(subject="ticket", commit="c", requirements=(*parts, found))
    after = apply_approvals(verdict, [WORD])
    assert [(one.grade, one.holds, one.lacks) for one in after.requirements] == [(Grade.ATTESTED, True, "")] * 2
    assert is_success(after)
    assert apply_approvals(after, [WORD]) == after
    assert apply_approvals(verdict, []).requirements == verdict.requirements
    stale = Approval(requirement="goal", who="ann", why="looked", stale="attested at 1234, and it changed since")
    assert is_success(apply_approvals(verdict, [WORD, stale]))


@pytest.mark.spec("LAW-8", "LAW-12")
@given(GRADES, st.sampled_from(OWN), st.sets(st.sampled_from(["p0", "p1", "p2", "p3", "*"])), st.booleans())
def test_no_approval_makes_a_whole_better_than_a_part_or_than_what_it_is_without_them(
    grades: list[Grade], own: Grade, approved: set[str], capped: bool
) -> None:
    parts = [judged(f"p{number}", grade) for number, grade in enumerate(grades)]
    bare = own is Grade.PROVEN
    names = tuple(one.id for one in parts)
    alone = judged("goal", Grade.UNPROVEN if bare else own, basis="no check" if bare else "", parts=names)
    found = judge_by_parts(alone, parts, ("called background",) if capped and bare else ())
    verdict = Verdict(subject="plan", commit="c", requirements=(*parts, found))
    for one in (verdict, verdict.about({"goal"})):  # with and without the parts in the same verdict
        after = apply_approvals(one, _words(approved))
        (whole_after,) = (each for each in after.requirements if each.id == "goal")
        lifted = apply_approvals(verdict.about({each.id for each in parts}), _words(approved))
        assert whole_after.grade <= min(each.grade for each in lifted.requirements)
        assert whole_after.grade >= found.grade
        if found.grade is Grade.REFUTED:
            assert whole_after == found
        if not bare and not (own is Grade.EXAMINED and "*" in approved):
            assert whole_after.grade <= own
        if bare and capped and "*" not in approved:
            assert whole_after.grade <= Grade.EXAMINED


@pytest.mark.spec("LAW-8")
def test_an_objection_to_the_whole_is_not_settled_by_accepting_its_parts() -> None:
    parts = [judged("p0", Grade.TESTED)]
    found = judge_by_parts(judged("goal", Grade.UNPROVEN, why="disputed by B: no", parts=("p0",)), parts)
    objection = Finding(what="no", requirement="goal", by="B")
    verdict = Verdict(subject="plan", commit="c", requirements=(*parts, found), objections=(objection,))
    after = apply_approvals(verdict, [WORD])
    assert [one.grade for one in after.requirements] == [Grade.ATTESTED, Grade.UNPROVEN]
    assert after.objections == (objection,)
    assert not is_success(after)
    assert is_success(apply_approvals(verdict, [WORD, Approval(requirement="goal", who="ann", why="B is wrong")]))


@pytest.mark.spec("LAW-8", "LAW-12")
@given(GRADES, st.sampled_from(get_args(Basis)), st.sampled_from(("", "approve")), st.booleans())
def test_no_grade_depends_on_the_words_of_a_reason(
    grades: list[Grade], basis: Basis, lacks: Lacks, approved: bool
) -> None:
    found, parts = whole(grades)
    alone = judged("alone", Grade.UNPROVEN, basis=basis).model_copy(update={"lacks": lacks})
    verdict = Verdict(subject="plan", commit="c", requirements=(*parts, found, alone))
    words = [Approval(requirement="*", who="ann", why="")] if approved else [WORD]
    reworded = Verdict.model_validate_json(
        re.sub(r'"why":\["[^"]*"', '"why":["other words"', verdict.model_dump_json())
    )
    assert reworded.requirements[0].why == ("other words",)
    before, after = (apply_approvals(each, words).requirements for each in (verdict, reworded))
    assert [(one.grade, one.holds, one.lacks) for one in before] == [(one.grade, one.holds, one.lacks) for one in after]


@pytest.mark.spec("LAW-8")
def test_a_part_that_was_not_judged_keeps_the_whole_down_and_a_quick_verdict_stays_one() -> None:
    found, parts = whole([Grade.TESTED, Grade.TESTED])
    alone = Verdict(subject="phase", commit="c", requirements=(parts[0], found))
    assert apply_approvals(alone, [WORD]).requirements[1] == found
    own = judge_by_parts(judged("goal", Grade.PROVEN, why="its own case", parts=("p0",)), [parts[0]])
    quick = Verdict(subject="gate", commit="c", requirements=(parts[0], cap_grade(own)))
    assert apply_approvals(quick, [WORD]).requirements[1].grade is QUICK_CEILING


def _words(names: set[str]) -> list[Approval]:
    return [Approval(requirement=name, who="ann", why="") for name in sorted(names)]
