"""Comments in Markdown go; what inline code shows stays."""

import pytest

from trued.support.markdown import without_comments


@pytest.mark.spec("LAW-12")
@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a <!-- x --> b\n", "a            b\n"),
        ("a `<!-- y -->` b\n", "a `<!-- y -->` b\n"),
        ("a <!-- x --> b `<!-- y -->` c\n", "a            b `<!-- y -->` c\n"),
        ("a `<!-- y -->` b <!-- x\nz --> c\n", "a `<!-- y -->` b       \n      c\n"),
        ("a <!-- x <!-- --> `<!-- y -->`\n", "a                 `<!-- y -->`\n"),
        ("a <!-- x --> `<!--`\n\n<!-- z -->\n", "a            `<!--`\n\n          \n"),
        ("<!-- never closed\n\nword\n", "<!-- never closed\n\nword\n"),
    ],
)
def test_a_comment_goes_and_inline_code_that_shows_one_stays(text: str, left: str) -> None:
    assert without_comments(text) == left
