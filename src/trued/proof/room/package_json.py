"""Merges package.json of base and head: scripts and test settings from the base, the rest from the head. Pure."""

import json
from typing import Any

NAME = "package.json"
JUDGING = (
    "jest",
    "vitest",
    "mocha",
    "ava",
    "nyc",
    "c8",
    "tap",
    "config",
    "babel",
)  # settings of runners, by their names
MOST_BYTES = 4 * 2**20
# Laid over what only others could read (too large, too deep, wrong bytes): Node refuses it, whoever wrote it.
UNREADABLE = b"this package.json cannot be read: it is too large, too deep, or no JSON in UTF-8\n"


def is_package_json(path: str) -> bool:
    """Is it a package.json of the project's own?"""
    parts = path.split("/")
    return parts[-1] == NAME and "node_modules" not in parts


def merge_manifests(base: bytes | None, head: bytes) -> bytes | None:
    """What is laid over the head's package.json, or None where it may stay as it is.

    `base` is None where the base has none: then the head's scripts may stay. A head's that cannot be read could hold
    any settings for those who read it otherwise: it is unreadable for all.
    """
    ours, theirs = _read(base), _read(head)
    if theirs is None:
        return UNREADABLE
    if base is not None and ours is None:
        return None
    before = ours or {}
    made = {name: value for name, value in theirs.items() if name not in JUDGING}
    made |= {name: value for name, value in before.items() if name in JUDGING}
    if ours is not None:
        made = _with_scripts(made, before.get("scripts"))
    return None if made == theirs else json.dumps(made, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _with_scripts(made: dict[str, Any], before: Any) -> dict[str, Any]:
    """Scripts that the base has are the base's, and nothing new is done before or after them."""
    ours = before if isinstance(before, dict) else {}
    now = made.get("scripts")
    theirs = now if isinstance(now, dict) else {}
    around = {f"{word}{name}" for name in ours for word in ("pre", "post")}
    scripts = {name: one for name, one in theirs.items() if name not in around} | ours
    rest = {name: value for name, value in made.items() if name != "scripts"}
    return {**rest, "scripts": scripts} if scripts else rest


def _read(data: bytes | None) -> dict[str, Any] | None:
    try:
        found = json.loads(data) if data is not None and len(data) <= MOST_BYTES else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
