"""Numbers with their noun."""


def counted(number: int, one: str, many: str = "") -> str:
    """`1 test`, `2 tests`; `many` is the plural if it is irregular."""
    return f"{number} {one if number == 1 else many or one + 's'}"
