"""Colours of a diff: the text is the same with them, nothing in it becomes markup, what is odd or long stays plain."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.page.test_attempts_text import ATTACKS, Elements
from trued.page.diff_colours import LANGUAGES, LONGEST, WORDS, coloured
from trued.page.render import environment, with_visible_signs
from trued.page.work_diff import DiffParts, diff_parts

DIFF = '''diff --git a/slug.py b/slug.py
index 1..2 100644
--- a/slug.py
+++ b/slug.py
@@ -1,4 +1,5 @@
 def slug(text):
-    return text  # as it is
+    """A slug for
+    every text."""
+    return text.lower() * 2
'''


def text_of(parts: DiffParts) -> str:
    return "".join(text for _, text in parts)


def html_of(path: str, parts: DiffParts) -> str:
    macros = environment().get_template("transcript.html.j2").module
    return str(macros.coloured(coloured(path, parts)))  # type: ignore[attr-defined]


def test_words_have_the_class_of_their_sort_on_both_sides_and_over_many_lines() -> None:
    found = {sort: words for sort, words in coloured("slug.py", diff_parts(DIFF)) if sort in ("", "+", "-")}
    assert ("t-keyword", "def") in found[""]
    assert ("t-name", "slug") in found[""]
    assert ("t-comment", "# as it is") in found["-"]
    assert ("t-string", '"""A slug for\n') in found["+"]
    assert ("t-number", "2") in found["+"]


@pytest.mark.spec("PAGE-6")
@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("path", ["a.py", "a.js", "a.html", "a.json", "a.sh", "a.unknown"])
def test_nothing_in_a_diff_becomes_markup(attack: str, path: str) -> None:
    lines = [f"+{attack}", f'+x = "{attack}"', f"-# {attack}", f" <b>{attack}</b>", f"+/* {attack}"]
    html = html_of(path, diff_parts(f"diff --git a/x b/{attack}\n@@ -1 +1 @@ {attack}\n" + "\n".join(lines) + "\n"))
    read = Elements(html)
    read.check()
    assert {tag for tag, _ in read.found} <= {"pre", "ins", "del", "span"}
    assert {one.get("class", "") for tag, one in read.found if tag == "span"} <= {"", *_classes()}


def _classes() -> set[str]:
    return {"t-comment", "t-string", "t-number", "t-keyword", "t-name"}


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(LANGUAGES)), st.lists(st.tuples(st.sampled_from("+- "), st.text(max_size=30)), max_size=8)
)
def test_the_text_is_the_same_with_colours(end: str, lines: list[tuple[str, str]]) -> None:
    body = "".join(f"{sort}{text}\n" for sort, text in lines if "\n" not in text)
    parts = diff_parts(f"diff --git a/x b/x\n@@ -1 +1 @@\n{body}")
    found = coloured(f"x{end}", parts)
    assert tuple((sort, "".join(text for _, text in words)) for sort, words in found) == parts
    assert text_of(parts) == f"x\n@@ -1 +1 @@\n{body}"


def test_an_unknown_language_a_long_line_and_a_very_long_diff_stay_plain() -> None:
    assert all(kind == "" for _, words in coloured("slug.xyz", diff_parts(DIFF)) for kind, _ in words)
    minified = diff_parts(f"@@ -1 +1 @@\n+{'let x = 1;' * 100}\n")
    assert coloured("a.js", minified)[1] == ("+", (("", minified[1][1]),))
    long = diff_parts("@@ -1 +1 @@\n" + "+x = 1\n" * (LONGEST // 7 + 1))
    assert len(coloured("a.py", long)[1][1]) == 1


def test_a_diff_of_many_words_has_a_bounded_number_of_elements() -> None:
    hunks = "".join(f"@@ -{n} +{n} @@\n+if {n}: return {n}\n" for n in range(1500))
    html = html_of("a.py", diff_parts(hunks))
    assert 0 < len(re.findall("<span class", html)) <= WORDS


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
    assert "⟨U+2028⟩" in with_visible_signs(text_of(parts))


def test_colours_that_take_too_long_are_left_out() -> None:
    found = coloured("slug.py", diff_parts(DIFF), within_s=0.0)
    assert all(kind == "" for _, words in found for kind, _ in words)
