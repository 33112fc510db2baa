"""Finds processes by what stands in their environment."""

from pathlib import Path


def marked(word: str) -> list[int]:
    """Processes that carry a word in TRUED_CALL."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            variables = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(one.startswith(b"TRUED_CALL=") and word.encode() in one for one in variables):
            found.append(int(entry.name))
    return found
