"""Starts a process so that a cancelled start cannot hang: it is started to its end, and ended."""

import asyncio
import contextlib
from asyncio.subprocess import Process
from typing import Any


async def started(*argv: str, **options: Any) -> Process:
    """As `asyncio.create_subprocess_exec`, which waits for ever (Python 3.11) when cancelled before its pipes stand."""
    starting = asyncio.ensure_future(asyncio.create_subprocess_exec(*argv, **options))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with contextlib.suppress(OSError):
            process = await starting
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        raise
