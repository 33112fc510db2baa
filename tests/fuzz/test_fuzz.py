"""A short run of every fuzzer, always with the same inputs; `make nightly` takes 100,000 new ones for each."""

import time

import pytest

from tests.fuzz.__main__ import fuzz
from tests.fuzz.mutation import Mutator
from tests.fuzz.targets import TARGETS

SHORT = 700  # inputs each, always the same ones; a broken parser mostly shows in the first hundred


@pytest.mark.spec("USE-7", "LAW-2")
@pytest.mark.parametrize("name", TARGETS)
def test_no_input_breaks_a_parser_or_raises_a_verdict(name: str) -> None:
    seen = {TARGETS[name](Mutator(("short", name, number))) for number in range(SHORT)}
    assert len(seen) >= 2  # refused is not all that happens: the inputs come near the real thing


@pytest.mark.nightly
@pytest.mark.parametrize("name", TARGETS)
def test_no_input_of_very_many_does(name: str) -> None:
    assert fuzz(name, time.strftime("%Y-%m-%d"), range(100_000)) == 0


def test_the_same_number_is_the_same_input() -> None:
    seeds = [b'{"a": [1, 2]}', b"another"]
    made = [[Mutator(("x", number)).text(seeds) for number in range(50)] for _ in range(2)]
    assert made[0] == made[1]
    assert len(set(made[0])) > 40
