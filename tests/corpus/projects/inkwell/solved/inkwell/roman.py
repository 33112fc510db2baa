STEPS = [
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
]


def to_roman(number):
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"{number!r} is no whole number")
    if not 1 <= number <= 3999:
        raise ValueError(f"{number} has no Roman numeral")
    out = ""
    for value, letters in STEPS:
        out += letters * (number // value)
        number %= value
    return out
