"""Files that are not the work: named one by one, or with all that lies below a folder (`docs/feature/x/`)."""

from collections.abc import Collection, Iterable


def includes_path(owned: Collection[str], path: str) -> bool:
    return path in owned or any(one.endswith("/") and path.startswith(one) for one in owned)


def paths_outside(files: Iterable[str], owned: Collection[str]) -> tuple[str, ...]:
    """The engine's own files do not make it another work."""
    names = frozenset(owned)
    folders = tuple(one for one in names if one.endswith("/"))
    return tuple(one for one in files if one not in names and not one.startswith(folders))
