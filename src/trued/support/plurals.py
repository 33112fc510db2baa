"""Numbers with their nouns, and lists of names that are cut short."""

from collections.abc import Sequence


def counted(number: int, noun: str, many: str = "") -> str:
    """`1 test`, `2 tests`: the number with its noun. `many`: the plural of the noun, if it is irregular."""
    return f"{number} {noun if number == 1 else many or noun + 's'}"


def few(names: Sequence[str], most: int, joint: str = ", ") -> str:
    """`a, b and 3 more`: at most `most` of the names, and how many more there are. `joint` separates the names."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return joint.join(names[:most]) + more
