"""Sentences are split into clauses, and sentences that ask to keep what the base has are recognised."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trued.inputs.clauses import clauses, one_line, unquoted_clauses
from trued.inputs.requirements.guard_phrases import guard_kind

SLUG = 'slugify(text) lower-cases, joins runs of "a, b and c" with one "-", and strips them at both ends'


@pytest.mark.spec("LAW-12")
@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("`double(x, y)` returns twice its argument", 1),
        (SLUG, 3),
        ("letters, digits and dots are kept", 2),
        ("The kit doubles numbers, triples numbers, halves numbers, squares numbers, and negates numbers.", 5),
        ("It starts; it stops; it says so", 3),
        ("`f(a (b); c and d)` and slug(a (b); c, (d and e); f) both work", 2),
        ("it returns {list: [1, [2, 3], and 4]; or {one: 1, two: 2}}, and then it ends", 2),
        ("a) it starts, and b) it stops (at once", 2),
        ("", 0),
    ],
)
def test_a_sentence_has_as_many_clauses_as_can_be_true_or_false(text: str, number: int) -> None:
    assert len(clauses(text)) == number


@pytest.mark.spec("LAW-12")
@given(st.text(alphabet='ab ,;.`"()\n', max_size=60))
def test_no_word_is_lost_between_clauses(text: str) -> None:
    pieces = clauses(text)
    assert all(piece in one_line(text) for piece in pieces)
    letters = [[char for char in one if char in "ab"] for one in ("".join(pieces), one_line(text))]
    assert letters[0] == letters[1]


@pytest.mark.spec("LAW-11", "LAW-12")
def test_what_nobody_quotes_is_told_verbatim() -> None:
    text = "Strings are doubled, and negative\nnumbers stay negative."
    assert unquoted_clauses(text, ["Strings are doubled"]) == ("and negative numbers stay negative",)
    assert unquoted_clauses(text, ["Strings are doubled", "negative numbers stay negative"]) == ()
    assert unquoted_clauses(text, [text]) == ()
    assert unquoted_clauses("`double(x)` returns twice its argument", ["returns twice its argument"]) == ()
    assert unquoted_clauses(text, []) == ("Strings are doubled, and negative numbers stay negative",)


@pytest.mark.spec("LAW-12")
def test_a_clause_that_no_quotation_touches_is_told_however_short_it_is() -> None:
    text = "`double(x)` doubles and `triple(x)` triples."
    assert unquoted_clauses(text, ["`double(x)` doubles"]) == ("`triple(x)` triples",)
    assert unquoted_clauses(text, ["`double(x)` doubles", "triples"]) == ()
    assert unquoted_clauses("It lists all, in the end.", ["It lists all"]) == ("in the end",)
    assert unquoted_clauses("It lists all, and so on.", ["It lists all"]) == ()


@pytest.mark.spec("LAW-12")
@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("All existing tests still pass.", "tests"),
        ("The tests pass", "tests"),
        ("Keep the test suite green", "tests"),
        ("Don't break existing tests", "tests"),
        ("Add no new dependencies.", "dependencies"),
        ("Dependencies stay unchanged.", "unchanged dependencies"),
        ("Do not change any dependencies", "unchanged dependencies"),
        ("Do not change the dependencies", ""),  # earlier versions asked an examiner: their runs must still resume
        ("mypy stays clean", "types"),
        ("`ruff` passes", "lint"),
        ("The build succeeds", "build"),
        ("All tests pass and slugs are short", ""),
        ("Write tests that pass", ""),
        ("The tests of slugify pass", ""),
        ("Test", ""),
    ],
)
def test_only_the_published_list_knows_sentences_that_ask_for_what_is_there(sentence: str, kind: str) -> None:
    assert guard_kind(sentence) == kind
