"""A diff on the page: nothing in it becomes markup, and each line is what git says it is."""

import pytest

from tests.page.test_attempts_text import ATTACKS, Elements
from trued.page.render import environment, with_visible_signs
from trued.page.work_diff import diff_parts


@pytest.mark.spec("PAGE-6")
@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_in_a_diff_becomes_markup(attack: str) -> None:
    lines = [f"+{attack}", f'+x = "{attack}"', f"-# {attack}", f" <b>{attack}</b>", f"+/* {attack}"]
    parts = diff_parts(f"diff --git a/x b/{attack}\n@@ -1 +1 @@ {attack}\n" + "\n".join(lines) + "\n")
    macros = environment().get_template("transcript.html.j2").module
    read = Elements(str(macros.diff(parts)))  # type: ignore[attr-defined]
    read.check()
    assert {tag for tag, _ in read.found} <= {"pre", "ins", "del", "span"}


@pytest.mark.spec("PAGE-6")
def test_no_line_of_a_file_is_taken_for_a_heading_of_git_or_for_two_lines() -> None:
    parts = diff_parts(
        "diff --git a/q.sql b/q.sql\nindex 1..2 100644\n--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n"
        "--- drop nothing\n+++ i;\n+harmless\u2028-hidden\n"
    )
    assert parts == (
        ("@", "q.sql\n@@ -1,2 +1,2 @@\n"),
        ("-", "--- drop nothing\n"),
        ("+", "+++ i;\n+harmless\u2028-hidden\n"),
    )
    assert "⟨U+2028⟩" in with_visible_signs("".join(text for _, text in parts))
