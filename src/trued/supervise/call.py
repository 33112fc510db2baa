"""One call from order to report."""

import asyncio
import importlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from .. import durable, processes
from ..errors import StateFailed, TruedError
from ..redact import Redactor
from ..runtimes import runtime_of
from ..runtimes.contract import kept
from ..runtimes.program import failed
from ..wire import Order, Report, dump, load
from .launch import Launcher
from .record import Record

RESERVE = 128 * 1024  # kept free on the disk while the agent works, so that its report finds room
BACK_OFF_S = (0.1, 0.4, 1.0, 2.0, 4.0, 8.0)  # then a full disk stays full


@dataclass
class Stopwatch:
    """When something began and how long it took. The clock may go backwards; time does not."""

    clock: Callable[[], float] = time.time
    ticks: Callable[[], float] = time.monotonic
    began: float = field(init=False)
    _start: float = field(init=False)

    def __post_init__(self) -> None:
        self.began, self._start = self.clock(), self.ticks()

    @property
    def ended(self) -> float:
        return self.began + max(0.0, self.ticks() - self._start)


async def answered(folder: Path, secrets: Mapping[str, str], variables: Mapping[str, str]) -> Report:
    """Let the agent work, and say what came of it: whatever breaks in a runtime is a failed call, not a lost one."""
    order = load(Order, (folder / "order.json").read_bytes())
    start = _started(folder)
    resuming = start > 1 and (folder / "session").exists()
    order = replace(order, attempt=order.attempt + start - 1, resume=order.resume or resuming)
    record, watch = Record(folder, Redactor(secrets)), Stopwatch()
    launch = Launcher(folder, processes.marker(folder), record, variables)
    warm = asyncio.create_task(asyncio.to_thread(importlib.import_module, "jsonschema"))
    try:
        runtime = runtime_of(order.agent, launch)
        if runtime.capabilities.resume and runtime.capabilities.chosen_session:
            _remember_session(folder, order.session)
        record.tell("began", agent=order.agent, attempt=order.attempt, resume=order.resume)
        report = await kept(order, lambda asked: runtime.work(asked, record.tell), record.tell)
    except TruedError as error:
        report = failed(order, "refused", str(error))
    except Exception as error:  # noqa: BLE001 (the runtime boundary: a fault of ours ends one call, with its name)
        report = failed(order, "crashed", f"the supervisor failed: {type(error).__name__}: {error}")
    finally:
        await asyncio.wait({warm})
    record.tell("ended", state=report.state, failure=report.kind, reaped=report.reaped)
    record.close()
    return _safe(replace(report, attempt=order.attempt - start + 1, began=watch.began, ended=watch.ended), record)


def leave(folder: Path, report: Report, back_off_s: tuple[float, ...] = BACK_OFF_S) -> bool:
    """Write the report, however long the disk stays full within reason. False: it could not be written."""
    for pause in (*back_off_s, None):
        (folder / "reserve").unlink(missing_ok=True)
        try:
            durable.write(folder / "report.json", dump(report))
        except StateFailed:
            if pause is None:
                return False
            time.sleep(pause)
        else:
            return True
    return False


def reserve(folder: Path) -> None:
    """Room for the report before anything is paid for."""
    with (folder / "reserve").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, RESERVE)


def _started(folder: Path) -> int:
    """Count this start. Whoever finds no line here knows that the agent never ran."""
    with (folder / "starts").open("a+", encoding="utf-8") as file:
        file.write(f"{time.time():.3f} {os.getpid()}\n")
        file.seek(0)
        return len(file.readlines())


def _remember_session(folder: Path, session: str) -> None:
    """Only sessions that can be resumed are remembered: the file's presence says so."""
    file = folder / "session"
    if not file.exists():
        with file.open("w", encoding="utf-8") as written:
            written.write(session)
            written.flush()
            os.fsync(written.fileno())


def _safe(report: Report, record: Record) -> Report:
    redact = record.redactor
    return replace(report, reply=redact.within(report.reply), why=redact(report.why))
