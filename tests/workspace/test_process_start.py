"""Cancelling the start of a process never hangs, at whatever moment it comes."""

import asyncio
import os
import sys
import time

import pytest

from tests.workspace.conftest import Begin
from tests.workspace.test_execution import gone
from trued.protocols import Command
from trued.workspace.sandbox.execution import GRACE_S
from trued.workspace.sandbox.process_start import start_process


async def test_a_start_cancelled_at_any_moment_neither_hangs_nor_leaves_a_process() -> None:
    for steps in range(8):
        task = asyncio.ensure_future(start_process(sys.executable, "-c", "input()", stdin=-1, stdout=-1, stderr=-1))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        async with asyncio.timeout(120):
            try:
                process = await task
            except asyncio.CancelledError:
                continue
        process.kill()
        await process.wait()


async def test_a_program_that_is_not_there_is_said_as_ever() -> None:
    with pytest.raises(FileNotFoundError):
        await start_process("/no/such/program")


@pytest.mark.parametrize("level", ["bubblewrap", "landlock"])
@pytest.mark.spec("RUN-5")
async def test_a_sandbox_that_is_ended_while_it_comes_up_leaves_nothing(begin: Begin, level: str) -> None:
    workspace = begin(level)
    await workspace.begin()
    marker = f"{5_000_000 + os.getpid()}.{level == 'landlock':d}"
    async with workspace.room(workspace.base) as room:
        for milliseconds in range(0, 40, 5):
            for _ in range(3):  # three tries: a bug would hang in each of them, a busy machine is only slow in some
                running = asyncio.ensure_future(workspace.execute(Command(["sleep", marker], room)))
                await asyncio.sleep(milliseconds / 1000)
                began = time.monotonic()
                running.cancel()
                await asyncio.wait([running])
                took = time.monotonic() - began
                if took < GRACE_S:
                    break
            assert took < GRACE_S, "it was waited for in vain"
    assert await gone(marker)
