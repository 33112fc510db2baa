"""Which tasks can be worked on at the same time, and which plans are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trued.workflows.pipeline.task_plan import Work, plan_problems, waves


def work(name: str, *after: str, **more: object) -> Work:
    return Work.model_validate({"id": name, "title": name, "depends_on": after, **more})


def ids(*works: Work) -> list[list[str]]:
    return [[one.id for one in wave] for wave in waves(works)]


@pytest.mark.spec("PIPE-8")
def test_what_needs_nothing_works_at_once_and_the_rest_as_soon_as_its_needs_are_met() -> None:
    assert ids(work("T3", "T1"), work("T1"), work("T2"), work("T4", "T3", "T2")) == [["T1", "T2"], ["T3"], ["T4"]]
    assert ids(work("T2", "T1")) == [["T2"]]  # a task that is not in the list counts as done
    assert ids() == []


@pytest.mark.spec("PIPE-8")
@pytest.mark.parametrize(
    ("works", "words"),
    [
        ((), "it has no task"),
        ((work("T1", "T2"), work("T2", "T1")), "these tasks wait for each other: T1, T2"),
        ((work("T1", "T1"),), "these tasks wait for each other: T1"),
        ((work("T1", "T9"),), "T1 depends on 'T9', and there is no such task"),
        ((work("T1"), work("t1")), "the id T1 appears twice"),
        ((work("../x"),), "'../x' cannot be a task's id"),
        ((work("T1."),), "'T1.' cannot be a task's id"),
        ((work("T1-"),), "'T1-' cannot be a task's id"),
        ((work("a..b"),), "'a..b' cannot be a task's id"),
        ((work("T1.LOCK"),), "'T1.LOCK' cannot be a task's id"),
        ((work("Goal"),), "'Goal' cannot be a task's id: it means the whole request"),
        ((work("T1\n"),), "'T1\\n' cannot be a task's id"),
        ((work("T1", criteria=["AC-9"]),), "T1 serves 'AC-9', and there is no such acceptance criterion"),
        (tuple(work(f"T{number}") for number in range(300)), "300 tasks are too many"),
    ],
)
def test_what_is_wrong_with_a_plan_is_said(works: tuple[Work, ...], words: str) -> None:
    assert words in " ".join(one.what for one in plan_problems(works, ["AC-1"]))


@given(st.lists(st.lists(st.integers(0, 11), max_size=4), max_size=12))
def test_every_task_comes_after_all_that_it_needs_or_is_named_as_part_of_a_circle(needs: list[list[int]]) -> None:
    works = [
        work(f"T{number}", *(f"T{one}" for one in after if one < len(needs))) for number, after in enumerate(needs)
    ]
    done: set[str] = set()
    for wave in waves(works):
        assert all({*one.depends_on} <= done for one in wave)
        done |= {one.id for one in wave}
    left = {one.id for one in works} - done
    assert bool(left) == any("wait for each other" in one.what for one in plan_problems(works))
