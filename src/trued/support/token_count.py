"""Numbers of tokens as text for people, the same in the terminal, the report and on the page."""


def token_count(number: float, *, estimated: bool = False) -> str:
    """The number, rounded, with a mark if it is an estimate: `900`, `26.3k`, `~1.20M`; 0 has no mark."""
    mark = "~" if estimated and number else ""
    if number < 1000:
        return f"{mark}{number:.0f}"
    # a number that would be rounded to 1000.0k is shown in millions
    return f"{mark}{number / 1000:.1f}k" if number < 999_950 else f"{mark}{number / 1_000_000:.2f}M"
