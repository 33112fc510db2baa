"""Control characters, line ends and whatever a forge acts on: what each function removes from a text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trued.support.plain_text import (
    plain,
    plain_line,
    subject_line,
    unix_lines,
)


@pytest.mark.spec("USE-6")
@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq#0;2;0\x1b\\after", "after"),
        ("\x9b2Jclear", "clear"),
        ("FAILED\rpassed", "FAILEDpassed"),
        ("a\r\nb", "a\nb"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("bell\x07 back\x08space nul\x00", "bell backspace nul"),
        ("left \u202eright\u202c", "left right"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("naïve – 日本 🙂", "naïve – 日本 🙂"),
        ("\x1b", ""),
    ],
)
def test_nothing_that_steers_a_terminal_is_left(text: str, left: str) -> None:
    assert plain(text) == left


@settings(deadline=None, max_examples=50)
@given(st.text())
def test_plain_text_holds_no_control_character(text: str) -> None:
    assert not [c for c in plain(text) if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0]
    assert plain(plain(text)) == plain(text)


@pytest.mark.parametrize(
    ("scope", "title", "line"),
    [
        ("F2-T2", "write double", "feat(F2-T2): write double"),
        ("", "# Numbers can be doubled", "feat: Numbers can be doubled"),
        ("1A", "closes #12 [skip ci]\n\nSigned-off-by: @bob", "feat(1A): closes # 12 (skip ci) Signed-off-by: @ bob"),
        ("a) b\n(c", "\x1b[31mred\x1b[0m", "feat(a-b-c): red"),
        ("F1", "word " * 30, f"feat(F1): {'word ' * 12}".strip() + "…"),
        ("F1", "x" * 200, f"feat(F1): {'x' * 61}…"),
        ("", "", "feat: work"),
    ],
)
@pytest.mark.spec("USE-6")
def test_a_commits_first_line_says_what_it_is_about_and_is_short_and_harmless(
    scope: str, title: str, line: str
) -> None:
    made = subject_line("feat", scope, title)
    assert len(made) <= 72
    assert made == line


HOSTILE = "\x1b[31ma\u200b\r\n\tb\x85c\u2028d\ud800"


def test_each_way_to_clean_a_text_keeps_what_it_promises() -> None:
    assert plain(HOSTILE) == "a\n\tbc d"
    assert plain_line(HOSTILE) == "a bc d"
    assert plain_line("abcdef", 6) == "abcdef"
    assert plain_line("abcdef", 4) == "abc…"
    assert unix_lines("a\r\nb\rc\n") == "a\nb\nc\n"
