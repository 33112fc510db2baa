"""Starts a process so that a cancelled start neither hangs nor leaves one behind: it is started, and then ended."""

import asyncio
import contextlib
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from typing import Any


async def kill_process(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()


async def start_process(
    *argv: str, end: Callable[[Process], Awaitable[None]] = kill_process, **options: Any
) -> Process:
    """As `asyncio.create_subprocess_exec`, which may wait for ever when it is cancelled before its pipes stand."""
    starting = asyncio.ensure_future(asyncio.create_subprocess_exec(*argv, **options))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with contextlib.suppress(OSError):
            await end(await starting)
        raise
