"""Runs two things at the same time."""

import asyncio
from collections.abc import Awaitable


async def await_both(first: Awaitable[None], second: Awaitable[None]) -> None:
    """Await both. If one of them fails, the other is cancelled, and has ended when this raises."""
    tasks = [asyncio.ensure_future(first), asyncio.ensure_future(second)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
