"""Starts a process so that cancelling the start neither hangs nor leaves a process behind."""

import asyncio
import contextlib
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from typing import Any


async def kill_process(process: Process) -> None:
    """Kill the process and wait for it."""
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()


async def start_process(
    *argv: str, end: Callable[[Process], Awaitable[None]] = kill_process, **options: Any
) -> Process:
    """Like `asyncio.create_subprocess_exec`, but safe to cancel: that function may block for ever if it is cancelled
    before its pipes exist. If `start_process` is cancelled, it completes the start and then ends the process with
    `end`."""
    starting = asyncio.ensure_future(asyncio.create_subprocess_exec(*argv, **options))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with contextlib.suppress(OSError):
            await end(await starting)
        raise
