"""A text that a person approves shows what could be overlooked in it."""

import pytest

from trued.support.visible_text import visible, visible_lines


@pytest.mark.spec("USE-6", "LAW-7")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("tiny 'abc\u200b'", r"tiny 'abc\u200b'"),  # no width
        ("GET /cart\u00a0/1", r"GET /cart\xa0/1"),  # a blank that is none
        ("a\u3164b\ufe0f", r"a\u3164b\ufe0f"),  # a letter and a mark that nobody sees
        ("tiny:d\u043euble", r"tiny:d\u043euble"),  # a Cyrillic letter in a Latin word
        ("/\u0441\u043e\u0440/1", r"/\u0441\u043e\u0440/1"),  # a Cyrillic word that reads like a Latin one
        ("\u212a = 1\u037e", r"\u212a = 1\u037e"),  # the sign of Kelvin, and a Greek question mark
        ("cafe\u0301", r"cafe\u0301"),  # two characters that look like one
        ("a\x1b[2Kb\nc\td", r"a\x1b[2Kb\nc\td"),
        ("\u202ecba", r"\u202ecba"),  # written backwards
        ("\ud800", r"\ud800"),
    ],
)
def test_what_nobody_would_see_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


LANGUAGES = ["Größe, café", "он \u0441 нами", "λόγος \u03b1", "日本語テスト", "你好\uff0c世界\uff01", "½ € …"]


@pytest.mark.parametrize("text", ["", "plain 'text' → 42", *LANGUAGES])
def test_ordinary_text_in_any_language_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


@pytest.mark.spec("USE-6")
def test_code_in_a_control_sequence_is_shown_in_a_diff_and_tabs_and_windows_lines_stay() -> None:
    hidden = '+\tnote = "\x1b]0;"; evil(); "\x07"\r\n ok\r\n'
    assert visible_lines(hidden) == '+\tnote = "\\x1b]0;"; evil(); "\\x07"\n ok\n'
