"""Merges the package.json of base and head: scripts and test settings from the base, all else from the head. No I/O."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from trued.proof.text.command_parser import scripts_started

NAME = "package.json"
RUNNERS = ("jest", "vitest", "mocha", "ava", "nyc", "c8", "tap")  # keys with settings that only test runners read
JUDGING = (*RUNNERS, "config", "babel", "postcss")  # these, and keys with settings that other tools read, too
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
    here, the result is a text that no parser can read, because another parser might find settings in the head's file.
    """
    base_settings, head_settings = _read(base), _read(head)
    if head_settings is None:
        return UNREADABLE
    if base is not None and base_settings is None:
        return None
    base_values = base_settings or {}
    merged = {name: value for name, value in head_settings.items() if name not in JUDGING}
    merged |= {name: value for name, value in base_values.items() if name in JUDGING}
    if base_settings is not None:
        merged = _with_scripts(merged, base_values.get("scripts"))
    return None if merged == head_settings else _as_bytes(merged)


def manifest_of_head(base: bytes | None, head: bytes, commands: Iterable[str]) -> bytes | None:
    """Like `merge_manifests`, but only two things come from the base: the settings that only test runners read, and the
    scripts that these command lines start."""
    base_settings, head_settings = _read(base), _read(head)
    if head_settings is None or (base is not None and base_settings is None):
        return merge_manifests(base, head)
    base_values = base_settings or {}
    merged = {name: value for name, value in head_settings.items() if name not in RUNNERS}
    merged |= {name: value for name, value in base_values.items() if name in RUNNERS}
    scripts = base_values.get("scripts")
    if isinstance(scripts, dict):
        merged = _with_scripts(merged, _scripts_started(scripts, commands))
    return None if merged == head_settings else _as_bytes(merged)


def manifest_of_cases(base: bytes | None, head: bytes, commands: Iterable[str]) -> bytes | None:
    """Like `merge_manifests`, for cases and pages: from the base come only the scripts that these command lines
    start."""
    base_settings, head_settings = _read(base), _read(head)
    base_scripts = (base_settings or {}).get("scripts")
    scripts = _scripts_started(base_scripts, commands) if isinstance(base_scripts, dict) else {}
    if not scripts or head_settings is None:
        return UNREADABLE if scripts else None
    merged = _with_scripts(head_settings, scripts)
    return None if merged == head_settings else _as_bytes(merged)


def _scripts_started(scripts: Mapping[str, Any], commands: Iterable[str]) -> dict[str, Any]:
    """The scripts that these command lines start, directly or through other scripts."""
    started, texts = dict[str, Any](), [*commands]
    while texts:
        newly_started = scripts_started(
            {name: script for name, script in scripts.items() if name not in started}, "\n".join(texts)
        )
        texts = [str(script) for script in newly_started.values()]
        started |= newly_started
    return started


def _with_scripts(manifest: dict[str, Any], base_scripts: Any) -> dict[str, Any]:
    """The manifest with the base's scripts. New scripts of the head stay, except `pre` and `post` scripts around those
    of the base."""
    scripts_of_base = base_scripts if isinstance(base_scripts, dict) else {}
    head_scripts = manifest.get("scripts")
    scripts_of_head = head_scripts if isinstance(head_scripts, dict) else {}
    around = {f"{word}{name}" for name in scripts_of_base for word in ("pre", "post")}
    scripts = {name: script for name, script in scripts_of_head.items() if name not in around} | scripts_of_base
    other_settings = {name: value for name, value in manifest.items() if name != "scripts"}
    return {**other_settings, "scripts": scripts} if scripts else other_settings


def _as_bytes(manifest: dict[str, Any]) -> bytes:
    return json.dumps(manifest, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _read(data: bytes | None) -> dict[str, Any] | None:
    try:
        manifest = json.loads(data) if data is not None and len(data) <= MOST_BYTES else None
    except (ValueError, RecursionError):
        return None
    return manifest if isinstance(manifest, dict) else None
