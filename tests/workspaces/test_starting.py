"""A start that is cancelled ends, at whatever moment."""

import asyncio
import sys

import pytest

from trued.workspaces.starting import started_process


async def test_a_start_cancelled_at_any_moment_neither_hangs_nor_leaves_a_process() -> None:
    for steps in range(8):
        task = asyncio.ensure_future(started_process(sys.executable, "-c", "input()", stdin=-1, stdout=-1, stderr=-1))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        async with asyncio.timeout(20):
            try:
                process = await task
            except asyncio.CancelledError:
                continue
        process.kill()
        await process.wait()


async def test_a_program_that_is_not_there_is_said_as_ever() -> None:
    with pytest.raises(FileNotFoundError):
        await started_process("/no/such/program")
