"""Small functions for texts."""


def shout(text: str) -> str:
    return text.upper() + "!"
