"""Copies a folder whole."""

import asyncio
from pathlib import Path

from trued.errors import StateFailed
from trued.workspace.sandbox.process_start import start_process


async def copy_tree(folder: Path, to: Path) -> None:
    """Copy a folder with modes, times and links as they are. Raises StateFailed if that fails."""
    # `cp` is much faster than shutil; on some file systems, data is copied only when it changes
    process = await start_process(
        "cp", "-a", "--", str(folder), str(to), stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    _, stderr = await process.communicate()
    if process.returncode:
        why = stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
        raise StateFailed(f"cannot copy {folder}: {why[0]}; free space or make the folder writable")
