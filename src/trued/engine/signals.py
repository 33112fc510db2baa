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
    told: asyncio.Event | None = None,
    signals: Sequence[signal.Signals] = (signal.SIGINT, signal.SIGTERM),
) -> Iterator[None]:
    """Cancel the current task on SIGINT and SIGTERM, and when `told` is set; then raise Interrupted, or Cancelled if
    `is_cancelled` says that a person cancelled the run."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    for one in signals:
        with suppress(RuntimeError, ValueError):  # signals only work in the main thread
            loop.add_signal_handler(one, lambda: task and task.cancel())
    watching = loop.create_task(_cancel_when(told, task)) if told and task else None
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


async def _cancel_when(told: asyncio.Event, task: "asyncio.Task[object]") -> None:
    await told.wait()
    task.cancel()
