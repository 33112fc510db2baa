"""The cap on agents that work at one time."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Iterator


class Slots:
    """What runs already takes its slot without asking; what is about to start waits for one."""

    def __init__(self, cap: int) -> None:
        self._cap, self._count = cap, 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        self._count += 1
        try:
            yield
        finally:
            self._count -= 1
            self._wake()

    @contextlib.asynccontextmanager
    async def free(self) -> AsyncIterator[None]:
        while self._count >= self._cap:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                self._wake()  # it may have been our turn
                raise
        with self.taken():
            yield

    def _wake(self) -> None:
        while self._waiting and self._count < self._cap:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                break
