"""Opens a file in the browser of the desktop."""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

OPENERS = ("xdg-open", "open", "wslview")  # programs that open a file on Linux, macOS and WSL


def find_opener() -> str | None:
    """The program on this machine that opens a file; None if there is none."""
    return next((path for name in OPENERS if (path := shutil.which(name))), None)


def has_desktop() -> bool:
    """Whether this process can probably open a window: always on macOS; elsewhere only if a display is set. Over SSH
    usually none is."""
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def open_file(opener: str, path: Path) -> bool:
    """Start the program with the file; return whether it could be started. Other users can read the program's command
    line, so the file's name must not be a secret."""
    with suppress(OSError):
        subprocess.Popen(
            [opener, str(path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return True
    return False
