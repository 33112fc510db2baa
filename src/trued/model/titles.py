"""How long a title is, and how a longer text is cut."""

TITLE_LIMIT = 80  # at most this many characters of a title, so that it fits on one line of a terminal


def cut_title(words: str, limit: int = TITLE_LIMIT) -> str:
    """The text, cut to `limit` characters: a longer text is cut after a word, and ends with "…"."""
    if len(words) <= limit:
        return words
    whole = words[:limit].rpartition(" ")[0].rstrip(" ,;:.")
    return f"{whole if len(whole) > limit // 2 else words[: limit - 1]}…"  # cut inside a very long word
