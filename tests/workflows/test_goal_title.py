"""Every workflow, the list of runs and the pull request take a goal's title from one place."""

import pytest

from trued.model import Goal
from trued.model.titles import cut_title
from trued.workflows.handoff.feature_list import Feature
from trued.workflows.handoff.project import message_of, task_of
from trued.workflows.pipeline.task_plan import Work

LONG = "Readers can export the list of their books as CSV, with a header, and choose which columns are in it."
CUT = "Readers can export the list of their books as CSV, with a header, and choose…"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Name two colours.", "Name two colours."),
        ("\n\n## Numbers\n\n`double(x)` doubles.", "Numbers"),
        ("#\n\n`double(x)` doubles.", "`double(x)` doubles."),
        ("###", "###"),
        ("x" * 100, "x" * 79 + "…"),
        (LONG, CUT),
        ("", ""),
    ],
)
def test_a_title_is_the_first_line_with_words_in_it_without_heading_marks(text: str, title: str) -> None:
    assert Goal(text=text).title == title


@pytest.mark.parametrize("limit", [12, 40, 80, 100])
def test_a_title_that_is_cut_fits_ends_at_a_word_and_says_that_it_is_cut(limit: int) -> None:
    cut = cut_title(LONG, limit)
    assert len(cut) <= limit
    assert cut.endswith("…")
    assert LONG.startswith(cut.removesuffix("…"))
    assert not LONG[len(cut) - 1].isalnum()  # no word is cut in two
    assert cut_title(LONG, len(LONG)) == LONG


def test_a_word_longer_than_a_title_is_cut_in_two() -> None:
    assert cut_title(f"See https://{'x' * 200}") == f"See https://{'x' * 67}…"


def test_every_task_is_titled_alike() -> None:
    feature = Feature(id="F1", description=LONG)
    work = Work(id="T1", title=LONG)
    assert {task_of(feature).title, work.as_task().title, Goal(text=LONG).title} == {CUT}
    assert message_of(feature, "r-1").splitlines()[0] == f"feat: {CUT}"
