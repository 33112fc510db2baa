"""Reads and compares the credential files of other programs; their content is never logged or shown."""

import base64
import contextlib
import json
import os
import re
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from trued.support.lazy_regex import lazy_regex

LONGEST = 256 * 1024  # bytes; a longer file does not contain credentials
DEEPEST = 20  # levels of nesting; a deeper file does not contain credentials
MILLISECONDS = 1e11  # a larger number is in milliseconds: in seconds it would be after the year 5000
FARTHEST = 1e15  # a larger number cannot be a time, even in milliseconds
NEWER = lazy_regex(r"token|expir|refresh|^access$|^(?:exp|iat|nbf)$", re.IGNORECASE)  # fields that a renewal changes
SECRET = lazy_regex(r"token|key|secret|^access$|^refresh$", re.IGNORECASE)


def read_credentials(path: Path | str, *, folder: int | None = None) -> bytes | None:
    """The content of a plain file; None if there is no such file, or if it is too long or cannot be read. `folder`: the
    descriptor of an open folder. With `folder`, `path` is relative to that folder, and a link at `path` is not
    followed."""
    link = os.O_NOFOLLOW if folder is not None else 0
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | link, dir_fd=folder)
    except OSError:
        return None
    try:
        status = os.fstat(handle)
        return os.read(handle, LONGEST) if stat.S_ISREG(status.st_mode) and status.st_size <= LONGEST else None
    except OSError:
        return None
    finally:
        os.close(handle)


def parse_credentials(content: bytes | None) -> dict[str, Any] | None:
    """The content, parsed as a JSON object; None if it is not a JSON object. None also for an object that not all
    parsers read alike: nested too deeply, or with a duplicate key or NaN."""
    try:
        value = json.loads((content or b"").decode(), object_pairs_hook=_unique_keys, parse_constant=_reject_constant)
        deep = any(len(path) > DEEPEST for path, _ in _paths(value))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and not deep else None


def all_strings(value: Any) -> Iterator[str]:
    """Every string value in parsed JSON, at any depth, because each could be a secret. Names of fields are left
    out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from all_strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from all_strings(item)


def has_secret(value: dict[str, Any]) -> bool:
    """Whether the value contains a credential."""
    return any(isinstance(item, str) and item and SECRET.search(name) for name, item in _leaves(value))


def is_renewable(value: dict[str, Any]) -> bool:
    """Whether the credentials contain a refresh token."""
    return any(isinstance(item, str) and item and "refresh" in name.lower() for name, item in _leaves(value))


def expiry(value: dict[str, Any]) -> float:
    """The latest time in the credentials, in epoch seconds; 0 if they contain no time. Depending on the file, this is
    when the credentials expire or when they were last renewed. Either way, a renewed file has a later time."""
    return max(filter(None, (_time(name, item) for name, item in _leaves(value))), default=0.0)


def is_expired(value: dict[str, Any], now: float) -> bool:
    """Whether the credentials have expired and cannot be renewed."""
    until = expiry({name: item for name, item in value.items() if "refresh" not in name.lower()})
    return 0 < until < now and not is_renewable(value)


def why_not_renewal(old: dict[str, Any], new: dict[str, Any]) -> str:
    """Why `new` is not a renewal of `old`; "" if it is one. In a renewal only tokens and times differ."""
    before, after = dict(_paths(old)), dict(_paths(new))
    if before.keys() != after.keys():
        return "it has other keys"
    for path, item in before.items():
        name = next((part for part in reversed(path) if not part.isdigit()), "")
        if type(item) is not type(after[path]):
            return f"{name} is of another type"
        if item != after[path] and not NEWER.search(name):
            return f"{name} differs"
        if isinstance(item, str) and item and not after[path]:
            return f"{name} is empty"
    return ""


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(value := dict(pairs)) != len(pairs):
        raise ValueError("a key appears twice")
    return value


def _reject_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _leaves(value: Any) -> Iterator[tuple[str, Any]]:
    for path, item in _paths(value):
        yield next((part for part in reversed(path) if not part.isdigit()), ""), item


def _paths(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each plain value in parsed JSON, with the path to it. An empty object or list counts as a plain value."""
    if isinstance(value, dict) and value:
        for name, item in value.items():
            yield from _paths(item, (*path, name))
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from _paths(item, (*path, str(number)))
    else:
        yield path, value


def _time(name: str, item: Any) -> float:
    named = re.search(r"expir|^exp$|last_?refresh", name, re.IGNORECASE)
    if named and isinstance(item, int | float) and not isinstance(item, bool):
        return (item / 1000 if item > MILLISECONDS else float(item)) if abs(item) < FARTHEST else 0.0
    if named and isinstance(item, str):
        with contextlib.suppress(ValueError):
            moment = datetime.fromisoformat(item)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if isinstance(item, str) and name.lower() == "access_token" and item.count(".") == 2:
        middle = item.split(".")[1]
        with contextlib.suppress(ValueError, AttributeError, TypeError, OverflowError, RecursionError):
            claims = json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))
            return float(claims.get("exp") or 0)
    return 0.0
