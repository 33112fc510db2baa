"""Numbers with their nouns, and lists of names that are cut short."""

from collections.abc import Sequence


def counted(number: int, one: str, many: str = "") -> str:
    """`1 test`, `2 tests`; `many` is the plural if it is irregular."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def few(names: Sequence[str], most: int, joint: str = ", ") -> str:
    """`a, b and 3 more`: at most `most` of the names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return joint.join(names[:most]) + more
