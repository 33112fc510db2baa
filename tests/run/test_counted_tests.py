"""Tests that somebody named: all workflows report a problem with them in the same sentence."""

import pytest

from trued.model import Figures
from trued.run.counted_tests import ENGINE, CountedTests, missing_test_files

COMMAND = "pytest -q tests/test_a.py"


@pytest.mark.spec("LAW-2")
@pytest.mark.parametrize(
    ("figures", "missing", "problem"),
    [
        (Figures(passing=1, total=2), (), "1 of 2 tests pass"),
        (Figures(), ("tests/test_a.py",), "tests/test_a.py is not there"),
        (Figures(why="the runner crashed"), (), "the runner crashed"),
        (Figures(), (), "no test was collected"),
    ],
)
def test_a_count_that_is_not_good_is_one_gap(figures: Figures, missing: tuple[str, ...], problem: str) -> None:
    counted = CountedTests(command=COMMAND, figures=figures, missing=missing)
    (gap,) = counted.gaps
    assert (gap.what, gap.where) == (f"`{COMMAND}`: {problem}", ENGINE)


def test_tests_that_all_pass_are_no_gap_and_output_is_only_shown_where_it_is_wanted() -> None:
    assert CountedTests(command=COMMAND, figures=Figures(passing=2, total=2)).gaps == ()
    failing = CountedTests(command=COMMAND, figures=Figures(passing=1, total=2, said="assert 1 == 2"))
    assert failing.gaps[0].where == ENGINE
    assert failing.gaps_with_output[0].where == f"{ENGINE}:\nassert 1 == 2"


@pytest.mark.spec("LAW-2", "DAY-9")
@pytest.mark.parametrize(
    ("skipped_on_base", "gaps"),
    [
        (("test_on_windows",), 0),  # nobody could make it pass here
        ((), 1),  # the work skips it, to hide that it fails
    ],
)
def test_a_test_that_the_base_skips_too_is_no_gap_and_one_that_the_work_skips_is(
    skipped_on_base: tuple[str, ...], gaps: int
) -> None:
    figures, base = Figures(passing=1, total=2, skipped=("test_on_windows",)), Figures(skipped=skipped_on_base)
    assert len(CountedTests(command=COMMAND, figures=figures, base=base).gaps) == gaps


def test_only_test_files_that_the_commit_lacks_are_missing() -> None:
    assert missing_test_files("pytest -q tests/test_a.py b.js c", {"b.js"}) == ("tests/test_a.py",)
