"""Writes files into an agent's HOME. The agent controls that folder, so nothing in it is trusted,
least of all a link."""

import contextlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FRESH = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_home_files(home: Path, files: Mapping[str, bytes]) -> None:
    """Write each file anew, readable for its owner only. Whatever is at the file's path is removed first. If a link or
    a file is where a folder of the path should be, it is removed, too."""
    for name, content in files.items():
        *above, last = PurePosixPath(name).parts
        with contextlib.ExitStack() as opened:
            folder = _open_folder(str(home), None, opened)
            for part in above:
                folder = _open_or_make_folder(part, folder, opened)
            _clear(last, folder)
            with open(os.open(last, FRESH, 0o600, dir_fd=folder), "wb") as file:  # noqa: PTH123
                file.write(content)


def _clear(name: str, above: int) -> None:
    try:
        os.unlink(name, dir_fd=above)
    except FileNotFoundError:
        pass
    except IsADirectoryError:
        shutil.rmtree(name, dir_fd=above)


def _open_or_make_folder(name: str, above: int, opened: contextlib.ExitStack) -> int:
    try:
        return _open_folder(name, above, opened)
    except FileNotFoundError:
        pass
    except OSError:  # a link, or a file
        os.unlink(name, dir_fd=above)
    os.mkdir(name, 0o700, dir_fd=above)
    return _open_folder(name, above, opened)


def _open_folder(name: str, above: int | None, opened: contextlib.ExitStack) -> int:
    handle = os.open(name, FOLDER, dir_fd=above)
    opened.callback(os.close, handle)
    return handle
