"""Claims of agents about files: which of them does git refute?"""

from collections.abc import Iterable
from pathlib import PurePosixPath


def unchanged_files(claimed: Iterable[str], changed: Iterable[str]) -> tuple[str, ...]:
    """The files that an agent claims to have changed, although git shows no change. `changed`: the files that git shows
    as changed. Each path is returned once, without backticks and a leading `./`."""
    places = set(changed)
    places |= {folder for file in changed for folder in _folders(file)}
    refuted = (normal_path(claim) for claim in claimed if places.isdisjoint(_names(claim)))
    return tuple(dict.fromkeys(refuted))


def unnamed_files(claimed: Iterable[str], changed: Iterable[str]) -> tuple[str, ...]:
    """The files that git shows as changed, although no claim names them or a folder that contains them."""
    names = {name for claim in claimed for name in _names(claim)}
    return tuple(file for file in changed if names.isdisjoint((file, *_folders(file))))


def names_any(claim: str, files: Iterable[str]) -> bool:
    """Whether a claimed path is one of the files, or a folder that contains one."""
    return not unchanged_files((claim,), files)


def normal_path(claim: str) -> str:
    """The path in an agent's claim, without surrounding backticks or a leading `./`."""
    return str(PurePosixPath(claim.strip().strip("`").strip()))


def _names(claim: str) -> tuple[str, str]:
    """The claimed path, and the same path without a line number: agents write `src/a.py:12` for `src/a.py`."""
    path = normal_path(claim)
    return path, path.partition(":")[0]


def _folders(file: str) -> list[str]:
    return [str(folder) for folder in PurePosixPath(file).parents[:-1]]
