"""Claims of agents about files: which of them does git refute?"""

from collections.abc import Collection, Iterable
from pathlib import PurePosixPath


def unchanged_files(claimed: Iterable[str], changed: Collection[str]) -> tuple[str, ...]:
    """The files that an agent claims to have changed, although git shows no change. `changed`: the files that git shows
    as changed. Each path is returned once, without backticks and a leading `./`."""
    refuted = (normal_path(claim) for claim in claimed if not names_any(claim, changed))
    return tuple(dict.fromkeys(refuted))


def names_any(claim: str, files: Collection[str]) -> bool:
    """Whether a claimed path is one of the files, or a folder that contains one. Backticks, a leading `./` and a line
    number are ignored: agents write `src/a.py:12` for `src/a.py`."""
    path = normal_path(claim)
    names = (path, path.partition(":")[0])
    return any(name in files or any(file.startswith(f"{name}/") for file in files) for name in names)


def normal_path(claim: str) -> str:
    """The path that an agent names, without backticks and a leading `./`."""
    return str(PurePosixPath(claim.strip().strip("`").strip()))
