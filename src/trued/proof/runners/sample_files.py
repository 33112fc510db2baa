"""Chooses the test files that are also run as copies that must fail."""

import random
from collections.abc import Iterable

MOST = 16  # files that were red: beyond, chance decides, anew in every turn


def files_to_copy(files: Iterable[str], red: Iterable[str]) -> list[str]:
    """Every file with a test that was red on the base, since a head may forge one file alone; and one of the others."""
    chance = random.SystemRandom()
    known = sorted(set(files))
    forged_first = set(red)
    first = [path for path in known if path in forged_first]
    others = [path for path in known if path not in forged_first]
    chosen = first if len(first) <= MOST else chance.sample(first, MOST)
    return [*chosen, *([chance.choice(others)] if others else [])]
