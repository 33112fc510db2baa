"""Merges package.json of base and head: scripts and test settings from the base, the rest from the head. Pure."""

import json
import re
from collections.abc import Iterable
from typing import Any

NAME = "package.json"
RUNNERS = ("jest", "vitest", "mocha", "ava", "nyc", "c8", "tap")  # keys with settings that only test runners read
JUDGING = (*RUNNERS, "config", "babel", "postcss")  # keys with settings of test runners
MOST_BYTES = 4 * 2**20
# Replaces a file that this parser cannot read, but another one might (too large, too deep, wrong bytes). Every parser
# rejects this text.
UNREADABLE = b"this package.json cannot be read: it is too large, too deep, or no JSON in UTF-8\n"


def is_package_json(path: str) -> bool:
    """Whether the path is a package.json of the project itself, not of an installed package."""
    parts = path.split("/")
    return parts[-1] == NAME and "node_modules" not in parts


def merge_manifests(base: bytes | None, head: bytes) -> bytes | None:
    """The content that replaces the head's package.json, or None if it may stay as it is.

    `base` is None if the base has no such file; then the head's scripts may stay. If the head's file cannot be parsed
    here, another parser might still find settings in it, so it is made unreadable for every parser.
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


def manifest_of_head(base: bytes | None, head: bytes, commands: Iterable[str]) -> bytes | None:
    """Like `merge_manifests`, but from the base come only the settings that nothing but test runners reads, and the
    scripts that these command lines start."""
    ours, theirs = _read(base), _read(head)
    if theirs is None or (base is not None and ours is None):
        return merge_manifests(base, head)
    before = ours or {}
    made = {name: value for name, value in theirs.items() if name not in RUNNERS}
    made |= {name: value for name, value in before.items() if name in RUNNERS}
    scripts = before.get("scripts")
    if isinstance(scripts, dict):
        made = _with_scripts(made, _started(scripts, commands))
    return None if made == theirs else json.dumps(made, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass")


def manifest_of_cases(base: bytes | None, head: bytes, commands: Iterable[str]) -> bytes | None:
    """Like `merge_manifests`, for cases and pages: from the base come only the scripts that these command lines
    start."""
    ours, theirs = _read(base), _read(head)
    scripts = _started(found, commands) if isinstance(found := (ours or {}).get("scripts"), dict) else {}
    if not scripts or theirs is None:
        return UNREADABLE if scripts else None
    made = _with_scripts(theirs, scripts)
    return None if made == theirs else json.dumps(made, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _started(scripts: dict[str, Any], commands: Iterable[str]) -> dict[str, Any]:
    """The scripts whose names are words of these command lines, or of other such scripts, and those around them."""
    found, texts = dict[str, Any](), [*commands]
    while texts:
        words = {word for text in texts for word in re.findall(r"[\w:.-]+", text)}
        names = {f"{around}{word}" for word in words for around in ("", "pre", "post")}
        more = {name: one for name, one in scripts.items() if name in names and name not in found}
        texts = [str(one) for one in more.values()]
        found |= more
    return found


def _with_scripts(made: dict[str, Any], before: Any) -> dict[str, Any]:
    """The manifest with the base's scripts. New scripts of the head stay, except `pre` and `post` scripts around those
    of the base."""
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
