"""Every workflow, the list of runs and the pull request take a goal's title from one place."""

import pytest

from trued.model import Goal


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Name two colours.", "Name two colours."),
        ("\n\n## Numbers\n\n`double(x)` doubles.", "Numbers"),
        ("#\n\n`double(x)` doubles.", "`double(x)` doubles."),
        ("###", "###"),
        ("x" * 100, "x" * 80),
        ("", ""),
    ],
)
def test_a_title_is_the_first_line_with_words_in_it_without_heading_marks(text: str, title: str) -> None:
    assert Goal(text=text).title == title
