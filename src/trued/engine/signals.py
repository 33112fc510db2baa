"""Signals: ends the current task when somebody interrupts this process or cancels its run."""

import asyncio
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from trued.errors import Cancelled, Interrupted


@contextmanager
def stop_on_signals(
    cancelled: Path | None = None, *, signals: Sequence[signal.Signals] = (signal.SIGINT, signal.SIGTERM)
) -> Iterator[None]:
    """Cancel the current task on SIGINT and SIGTERM, and raise Interrupted, or Cancelled if that file exists."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    for one in signals:
        with suppress(RuntimeError, ValueError):  # not the main thread, where there are no signals
            loop.add_signal_handler(one, lambda: task and task.cancel())
    try:
        yield
    except asyncio.CancelledError as error:
        if cancelled and cancelled.exists():
            raise Cancelled("cancelled by the user") from error
        raise Interrupted("interrupted") from error
    finally:
        for one in signals:
            with suppress(RuntimeError, ValueError):
                loop.remove_signal_handler(one)
