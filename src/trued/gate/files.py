"""Files of the repository that a gate is installed in: written so that they can be put back byte by byte."""

import contextlib
import os
import stat
from pathlib import Path

from trued.errors import BadInput
from trued.gate.state import Installed
from trued.support import atomic_files as durable


def read(path: Path) -> bytes | None:
    """An ordinary file's bytes; None where there is none."""
    if not os.path.lexists(path):
        return None
    if not path.is_file():
        raise BadInput(f"{path} is no ordinary file", then="move it away")
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}", then="make it readable") from None


def put(path: Path, content: bytes, mode: int | None = None) -> tuple[str, ...]:
    """Write it in one step; returns the folders that were made for it."""
    made = [str(one) for one in (*reversed(path.parents), path.parent) if not one.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = mode if mode is not None else _mode(path)
    durable.write(path, content)
    if mode is not None:
        path.chmod(mode)
    return tuple(dict.fromkeys(made))


def _mode(path: Path) -> int | None:
    return stat.S_IMODE(path.stat().st_mode) if path.exists() else None


def real(path: Path, root: Path) -> Path:
    """The file behind a link, as long as it stays in the repository."""
    if not path.is_symlink():
        return path
    target = Path(os.path.realpath(path))
    if not target.is_relative_to(os.path.realpath(root)):
        raise BadInput(f"{path} is a link that leads out of the repository", then="put a file there")
    return target


def restore(installed: Installed) -> None:
    """As it was before, to the byte."""
    path = Path(installed.path)
    if installed.before is not None:
        put(path, installed.before.encode("latin-1"))
        return
    path.unlink(missing_ok=True)
    empty(installed.folders)


def empty(folders: tuple[str, ...]) -> None:
    """Folders that were made for a file go with it, unless somebody else moved in."""
    for folder in reversed(folders):
        with contextlib.suppress(OSError):
            Path(folder).rmdir()
