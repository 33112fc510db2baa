"""How many of what: the number decides the noun, and the verb that goes with it."""


def counted(number: int, one: str, many: str = "") -> str:
    """`1 guard stays green`, `2 guards stay green`."""
    return f"{number} {one if number == 1 else many or one + 's'}"
