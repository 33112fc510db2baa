"""Reads the text files of a commit, to find out what anyone who has the repository can read."""

import os
from pathlib import Path

from trued.protocols import Workspace

TEXT_BYTES, MOST_BYTES = 200_000, 20_000_000  # limits of one file, and of all files together


async def text_files(workspace: Workspace, commit: str) -> dict[str, str]:
    """Path → text of every text file of the commit that is not too large."""
    found: dict[str, str] = {}
    left = MOST_BYTES
    async with workspace.room(commit) as room:
        for folder, folders, names in os.walk(room):
            folders.sort()
            for name in sorted(names):
                path = Path(folder, name)
                if path.is_symlink() or not path.is_file() or path.stat().st_size > min(TEXT_BYTES, left):
                    continue
                content = path.read_bytes()
                if b"\0" not in content:
                    found[path.relative_to(room).as_posix()] = content.decode("utf-8", "replace")
                    left -= len(content)
    return found
