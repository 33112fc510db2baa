"""Functions for whitespace."""


def squeeze(text: str) -> str:
    """Every run of white space becomes one space; none is left at either end."""
    return " ".join(text.split())
