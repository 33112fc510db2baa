"""Write files atomically: to a temporary name, synced, then renamed."""

import os
from contextlib import suppress
from pathlib import Path

from trued.errors import StateFailed


def write(path: Path, content: str | bytes, *, sync: bool = True) -> None:
    """Write `content` to `path` in one step that survives `kill -9` and, if synced, a power cut. Raises StateFailed."""
    data = content.encode() if isinstance(content, str) else content
    aside = path.parent / f".{path.name}.{os.getpid()}"
    try:
        with aside.open("wb") as file:
            file.write(data)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        aside.replace(path)
        if sync:
            sync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):
            aside.unlink()
        raise StateFailed(f"cannot write {path}: {error.strerror}; free space or make the folder writable") from error


def sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
