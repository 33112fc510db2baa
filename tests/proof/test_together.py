"""A whole is as good as the worst of its parts, and rises with them by a person's word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trued.model import Approval, Grade, Judged, Verdict
from trued.proof.contract import apply_approvals
from trued.proof.judge import judge_by_parts
from trued.proof.reasons import NO_CHECK

GRADES = st.lists(st.sampled_from(list(Grade)), min_size=1, max_size=4)


def judged(name: str, grade: Grade, *, why: str = "so", parts: tuple[str, ...] = ()) -> Judged:
    holds = grade not in (Grade.REFUTED, Grade.UNJUDGED)
    lacks = "attest" if grade is Grade.UNPROVEN else ""
    return Judged(id=name, text=name, grade=grade, why=(why,), holds=holds, lacks=lacks, parts=parts)


def whole(grades: list[Grade], caps: tuple[str, ...] = ()) -> tuple[Judged, list[Judged]]:
    parts = [judged(f"p{number}", grade) for number, grade in enumerate(grades)]
    bare = judged("goal", Grade.UNPROVEN, why=NO_CHECK, parts=tuple(one.id for one in parts))
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
    own = judged("goal", Grade.REFUTED, why="case 1: it returns another value", parts=("a",))
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
