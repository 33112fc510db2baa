import pytest

from inkwell.roman import to_roman


@pytest.mark.parametrize(("number", "expected"), [(1, "I"), (4, "IV"), (9, "IX"), (14, "XIV"), (2024, "MMXXIV")])
def test_numbers(number, expected):
    assert to_roman(number) == expected


def test_nothing_below_one():
    with pytest.raises(ValueError):
        to_roman(0)
