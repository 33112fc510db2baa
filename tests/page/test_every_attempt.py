"""Each of the 37 attempts that must fail has a test, and its name begins with the attempt's number."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ATTEMPTS = 37
NUMBERED = re.compile(r"^(?:async )?def test_((?:(?:\d+|and|to)_)+)", re.MULTILINE)


def numbers(words: str) -> Iterator[int]:
    """`9_to_12_and_16_` → 9, 10, 11, 12, 16."""
    last, is_range = 0, False
    for word in filter(None, words.split("_")):
        if word.isdigit():
            yield from range(last + 1, int(word) + 1) if is_range else (int(word),)
            last = int(word)
        is_range = word == "to"


@pytest.mark.spec("PAGE-5")
def test_every_attempt_has_a_test() -> None:
    texts = [one.read_text(encoding="utf-8") for one in Path(__file__).parent.glob("test_*.py")]
    found = {number for text in texts for words in NUMBERED.findall(text) for number in numbers(words)}
    assert found == set(range(1, ATTEMPTS + 1))
