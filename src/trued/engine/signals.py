"""Signals: ends the current task when somebody interrupts this process or cancels its run."""

import asyncio
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from trued.errors import Cancelled, Interrupted

STOPPING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stop_on_signals(
    is_cancelled: Callable[[], bool] = lambda: False,
    *,
    must_end: asyncio.Event | None = None,
    signals: Sequence[signal.Signals] = STOPPING,
) -> Iterator[None]:
    """Cancel the current task on SIGINT and SIGTERM, and when `must_end` is set. The cancelled task raises Cancelled if
    a person cancelled the run (`is_cancelled`), and Interrupted otherwise."""
    task = asyncio.current_task()
    watching = asyncio.create_task(_cancel_when(must_end, task)) if must_end and task else None
    with call_on_signals(lambda: task and task.cancel(), signals):
        try:
            yield
        except asyncio.CancelledError as error:
            if is_cancelled():
                raise Cancelled("cancelled by the user") from error
            raise Interrupted("interrupted") from error
        finally:
            if watching:
                watching.cancel()


@contextmanager
def call_on_signals(handler: Callable[[], object], signals: Sequence[signal.Signals] = STOPPING) -> Iterator[None]:
    """Call the handler in the event loop when this process gets one of the signals. Does nothing outside the main
    thread, because only the main thread can handle signals."""
    loop = asyncio.get_running_loop()
    for number in signals:
        with suppress(RuntimeError, ValueError):
            loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in signals:
            with suppress(RuntimeError, ValueError):
                loop.remove_signal_handler(number)


async def _cancel_when(must_end: asyncio.Event, task: "asyncio.Task[object]") -> None:
    await must_end.wait()
    task.cancel()
