"""Titles of tasks. They are part of briefs, so a resumed run cuts them as the version did that began it."""

from trued.model.titles import TITLE_LIMIT, cut_title

MARKED = 5  # the first edition whose titles end at a word, with a mark


def task_title(words: str, edition: int) -> str:
    """The words, cut to the length of a title."""
    return cut_title(words) if edition >= MARKED else words[:TITLE_LIMIT]
