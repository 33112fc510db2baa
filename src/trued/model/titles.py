"""How long a title is, and how a longer text is cut."""

TITLE_LIMIT = 80  # characters, so that a title fits on one line of a terminal


def cut_title(title: str, limit: int = TITLE_LIMIT) -> str:
    """The text, cut to `limit` characters: a longer text is cut after a word, and ends with "…"."""
    if len(title) <= limit:
        return title
    whole = title[:limit].rpartition(" ")[0].rstrip(" ,;:.")
    return f"{whole if len(whole) > limit // 2 else title[: limit - 1]}…"  # cut inside a very long word
