"""Chooses the test files that are also run as copies that must fail."""

import random
from collections.abc import Iterable

MOST = 16  # at most this many red files are copied; if there are more, every turn makes a new random choice


def files_to_copy(files: Iterable[str], red: Iterable[str]) -> list[str]:
    """All `red` files (those with a test that failed on the base) and one other file at random.

    All red files are chosen because a head may have forged the result of a single test. If more than `MOST` files are
    red, `MOST` of them are chosen at random."""
    chance = random.SystemRandom()
    known = sorted(set(files))
    forged_first = set(red)
    first = [path for path in known if path in forged_first]
    others = [path for path in known if path not in forged_first]
    chosen = first if len(first) <= MOST else chance.sample(first, MOST)
    return [*chosen, *([chance.choice(others)] if others else [])]
