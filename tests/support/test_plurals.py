"""Numbers with their noun."""

import pytest

from trued.support.plurals import counted


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
