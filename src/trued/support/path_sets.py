"""Sets of paths: single files, and whole folders, which end in "/" (`docs/feature/x/`)."""

from collections.abc import Collection, Iterable
from pathlib import Path


def outermost_paths(paths: Iterable[str]) -> tuple[str, ...]:
    """The paths, each once, without paths that lie inside another one."""
    every = tuple(dict.fromkeys(paths))
    return tuple(path for path in every if not any(lies_inside(path, other) for other in every))


def lies_inside(path: str, folder: str) -> bool:
    """Whether the path lies below the folder. No path lies inside itself."""
    return path != folder and Path(path).is_relative_to(folder)


def includes_path(owned: Collection[str], path: str) -> bool:
    """Whether the set contains the file, or a folder above it."""
    return path in owned or any(folder.endswith("/") and path.startswith(folder) for folder in owned)


def paths_outside(files: Iterable[str], owned: Collection[str]) -> tuple[str, ...]:
    """The files that the set does not include."""
    names = frozenset(owned)
    folders = tuple(name for name in names if name.endswith("/"))
    return tuple(file for file in files if file not in names and not file.startswith(folders))
