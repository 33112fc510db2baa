"""The file with which a browser logs in. It holds the entry code, which must not be on a command line: any process
can read command lines."""

import os
import secrets
import time
from contextlib import suppress
from pathlib import Path

FOLDER = "page"
LEADS = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={url}">
<title>trued</title>
<p><a href="{url}" rel="noreferrer">Open the page</a></p>
</html>
"""


class EntryFile:
    """A small HTML file that opens the page and logs the browser in. Each server has at most one, in the private state
    folder, and only the person's own account can read it."""

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER
        self._path: Path | None = None
        self._written = 0.0

    def age(self) -> float:
        """Seconds since the file was written; 0 if there is none."""
        return time.monotonic() - self._written if self._path else 0.0

    def write(self, origin: str, code: str) -> Path:
        """Write an HTML file that opens the page with this code; the previous file is removed."""
        self.remove()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / f"enter-{secrets.token_hex(4)}.html"
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(LEADS.format(url=f"{origin}/#{code}"))
        self._path, self._written = path, time.monotonic()
        return path

    def remove(self) -> None:
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            self._path = None
        with suppress(OSError):  # another page uses the folder, or it was never created
            self._folder.rmdir()
