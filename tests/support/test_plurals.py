"""Numbers with their noun, and the first of many names."""

import pytest

from trued.support.plurals import counted, few


@pytest.mark.parametrize(
    ("number", "words", "said"),
    [
        (0, ("example",), "0 examples"),
        (1, ("example",), "1 example"),
        (2, ("example",), "2 examples"),
        (1, ("guard stays", "guards stay"), "1 guard stays"),
        (12, ("guard stays", "guards stay"), "12 guards stay"),
    ],
)
def test_the_number_decides_the_noun(number: int, words: tuple[str, ...], said: str) -> None:
    assert counted(number, *words) == said


def test_of_many_names_the_first_are_written_and_the_others_counted() -> None:
    assert few([], 2) == ""
    assert few(["a", "b"], 2) == "a, b"
    assert few(["a", "b", "c", "d"], 2) == "a, b and 2 more"
    assert few(["a: 1", "b: 2", "c: 3"], 2, "; ") == "a: 1; b: 2 and 1 more"
