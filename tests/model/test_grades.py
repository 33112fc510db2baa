"""Grades are ordered from worst to best: they are strings, but must not compare alphabetically."""

import itertools

import pytest

from trued.model import Grade

GRADES = list(Grade)


@pytest.mark.spec("LAW-8")
@pytest.mark.parametrize(("worse", "better"), itertools.combinations(GRADES, 2))
def test_grades_compare_by_rank_and_not_by_letters(worse: Grade, better: Grade) -> None:
    assert worse < better
    assert worse <= better
    assert better > worse
    assert better >= worse
    assert str(better) >= worse  # a grade as a string, as in files and journals
    assert min(better, worse) is worse
    assert sorted([better, worse]) == [worse, better]


def test_a_grade_is_not_compared_with_what_is_no_grade() -> None:
    with pytest.raises(ValueError, match="is not a valid Grade"):
        assert Grade.PROVEN > "zzz"
