"""The limit on agents that work at the same time."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Iterator


class Slots:
    """Limits the agents that work at the same time to `cap`. An agent about to start waits for a free slot. An agent
    that an earlier engine started, and that still runs, gets a slot at once."""

    def __init__(self, cap: int) -> None:
        self._cap, self._count = cap, 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @contextlib.contextmanager
    def occupy(self) -> Iterator[None]:
        """Occupy a slot, even beyond the cap."""
        self._count += 1
        try:
            yield
        finally:
            self._count -= 1
            self._wake()

    @contextlib.asynccontextmanager
    async def free(self) -> AsyncIterator[None]:
        """Wait for a free slot and occupy it."""
        while self._count >= self._cap:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                self._wake()  # we may have been woken for the free slot: wake the next waiter instead
                raise
        with self.occupy():
            yield

    def _wake(self) -> None:
        while self._waiting and self._count < self._cap:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                break
