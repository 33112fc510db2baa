"""Removes folders, whatever they contain: read-only files, very deep paths, links."""

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

from trued.errors import StateFailed


async def remove_tree(folder: Path) -> None:
    """Remove a folder, whatever it contains. Links are removed, not followed. Raises StateFailed if the folder cannot
    be removed."""
    await asyncio.to_thread(remove_tree_now, folder)


def remove_tree_now(folder: Path) -> None:
    """Like `remove_tree`, without an event loop."""
    if not os.path.lexists(folder):
        return
    if folder.is_symlink() or not folder.is_dir():
        try:
            folder.unlink()
        except OSError as error:
            raise StateFailed(f"cannot remove {folder}: {error.strerror}") from None
        return
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        # rm and chmod use file descriptors, so no path is too long for them
        subprocess.run(["chmod", "-R", "u+rwx", "--", str(folder)], capture_output=True, check=False)
        ran = subprocess.run(["rm", "-rf", "--", str(folder)], capture_output=True, check=False)
        if os.path.lexists(folder):
            stderr = ran.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
            raise StateFailed(f"cannot remove {folder}: {stderr[0]}") from None
