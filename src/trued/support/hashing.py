"""Hashes that name things: the inputs of a step, the content of a file, a folder for a key."""

import hashlib
import json


def digest(*parts: object) -> str:
    """The hash of plain JSON values. A replay compares the inputs of a step by this hash."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def content_hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def folder_name(key: str) -> str:
    """A folder name for a key: readable, and different for every key."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in key).strip("-.")
    return f"{plain[:60]}-{digest(key)[:8]}"


def git_blob_names(data: bytes) -> tuple[str, str]:
    """The names that git gives this content, in SHA-1 and SHA-256 repositories."""
    whole = b"blob %d\0%s" % (len(data), data)
    return hashlib.sha1(whole, usedforsecurity=False).hexdigest(), content_hash(whole)
