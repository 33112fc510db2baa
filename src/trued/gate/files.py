"""Reads and writes the files that a gate is installed in, so that they can be restored byte by byte."""

import contextlib
import os
import stat
from pathlib import Path

from trued.errors import BadInput
from trued.gate.state import InstalledFile
from trued.support import atomic_files


def read(path: Path) -> bytes | None:
    """A file's bytes; None if it does not exist. Raises BadInput if it is not a regular file or cannot be read."""
    if not os.path.lexists(path):
        return None
    if not path.is_file():
        raise BadInput(f"{path} is not a regular file", then="move it away")
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}", then="make it readable") from None


def write(path: Path, content: bytes, mode: int | None = None) -> tuple[str, ...]:
    """Write the file atomically; return the folders that were created for it. `mode`: the permissions of the file; None
    keeps the permissions of an existing file. Raises BadInput if the file cannot be written."""
    made = [str(folder) for folder in (*reversed(path.parents), path.parent) if not folder.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = mode if mode is not None else _mode_of(path)
        atomic_files.write(path, content)
        if mode is not None:
            path.chmod(mode)
    except OSError as error:
        raise BadInput(
            f"cannot write {path}: {error.strerror}", then="make its folder one that you can write"
        ) from None
    return tuple(dict.fromkeys(made))


def _mode_of(path: Path) -> int | None:
    return stat.S_IMODE(path.stat().st_mode) if path.exists() else None


def resolve_link(path: Path, root: Path) -> Path:
    """`path`, or the file that it links to. Raises BadInput if that file is outside the repository `root`."""
    if not path.is_symlink():
        return path
    target = Path(os.path.realpath(path))
    if not target.is_relative_to(os.path.realpath(root)):
        raise BadInput(f"{path} links to a file outside the repository", then="replace the link by a file")
    return target


def restore(installed: InstalledFile) -> None:
    """Put the file back as it was before the installation. If there was no file, remove it and the folders that were
    created for it."""
    path = Path(installed.path)
    if installed.before is not None:
        write(path, installed.before)
        return
    path.unlink(missing_ok=True)
    remove_empty_folders(installed.folders)


def remove_empty_folders(folders: tuple[str, ...]) -> None:
    """Remove folders that were created for a file, unless something else is in them."""
    for folder in reversed(folders):
        with contextlib.suppress(OSError):
            Path(folder).rmdir()
