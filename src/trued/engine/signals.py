"""Signals: ends the current task when somebody interrupts this process or cancels its run."""

import asyncio
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from trued.errors import Cancelled, Interrupted


@contextmanager
def stop_on_signals(
    is_cancelled: Callable[[], bool] = lambda: False,
    *,
    must_end: asyncio.Event | None = None,
    signals: Sequence[signal.Signals] = (signal.SIGINT, signal.SIGTERM),
) -> Iterator[None]:
    """Cancel the current task on SIGINT and SIGTERM, and when `must_end` is set. Then raise Cancelled if a person
    cancelled the run (`is_cancelled`), else Interrupted."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    for one in signals:
        with suppress(RuntimeError, ValueError):  # only the main thread can handle signals
            loop.add_signal_handler(one, lambda: task and task.cancel())
    watching = loop.create_task(_cancel_when(must_end, task)) if must_end and task else None
    try:
        yield
    except asyncio.CancelledError as error:
        if is_cancelled():
            raise Cancelled("cancelled by the user") from error
        raise Interrupted("interrupted") from error
    finally:
        if watching:
            watching.cancel()
        for one in signals:
            with suppress(RuntimeError, ValueError):
                loop.remove_signal_handler(one)


async def _cancel_when(must_end: asyncio.Event, task: "asyncio.Task[object]") -> None:
    await must_end.wait()
    task.cancel()
