"""Runs one call, from its order to its report."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from trued.agents.adapters import agent_of, runtime_of
from trued.agents.driver.program import failed_report
from trued.agents.driver.reply_format import ask_with_retry
from trued.agents.spool.call_folder import usage_reported
from trued.agents.supervisor.launch import Launcher
from trued.agents.supervisor.login import borrowed_files
from trued.agents.supervisor.record import CallRecord
from trued.errors import BadInput, StateFailed
from trued.support import atomic_files, processes
from trued.support.plain_text import plain
from trued.support.redaction import Redactor
from trued.wire import Order, Report, add_usage, from_json, to_json

RESERVE = 128 * 1024  # bytes kept free on the disk while the agent works, for its report
RETRY_S = 30.0  # how long to retry while the disk is full: the agent was paid for, and space can become free


@dataclass
class Stopwatch:
    """When something began and how long it took, correct even if the clock is set back meanwhile."""

    clock: Callable[[], float] = time.time
    ticks: Callable[[], float] = time.monotonic
    began: float = field(init=False)
    _start: float = field(init=False)

    def __post_init__(self) -> None:
        self.began, self._start = self.clock(), self.ticks()

    @property
    def ended(self) -> float:
        """`began` plus the time that has passed since then: the end, if the work ends now. Never before `began`."""
        return self.began + max(0.0, self.ticks() - self._start)


async def run_call(folder: Path, secrets: Mapping[str, str], variables: Mapping[str, str]) -> Report:
    """Let the agent work and return the report. An error of the runtime becomes the report of a failed call; only
    StateFailed is raised."""
    order, earlier = from_json(Order, (folder / "order.json").read_bytes()), usage_reported(folder)
    # Earlier starts of this call that died have also spent something.
    order = replace(order, before=add_usage(order.before, earlier))
    record, watch = CallRecord(folder, Redactor(secrets)), Stopwatch()
    launch = Launcher(folder, processes.marker(folder), record, variables)
    try:
        report = await _ask_agent(folder, order, launch, record, variables)
    except BadInput as error:
        report = failed_report(order, "refused", str(error))
    except StateFailed:
        raise
    except Exception as error:  # noqa: BLE001 (the runtime boundary: a bug ends one call, and the report names it)
        report = failed_report(order, "crashed", f"the supervisor failed: {type(error).__name__}: {error}")
    record.add_event("ended", state=report.state, failure=report.kind, reaped=report.reaped)
    record.close()
    reply, redact = record.redactor.within(report.reply), record.redactor
    why, question = redact(plain(report.why)), redact(plain(report.question))
    report = replace(report, reply=reply, why=why, question=question, commands=tuple(record.commands))
    usage = add_usage(earlier, report.usage)
    return replace(report, attempt=order.attempt, usage=usage, began=watch.began, ended=watch.ended)


async def _ask_agent(
    folder: Path, order: Order, launch: Launcher, record: CallRecord, variables: Mapping[str, str]
) -> Report:
    runtime = runtime_of(order.agent, launch)
    can = runtime.capabilities
    known = _session(folder)
    if can.resume and can.chosen_session and not known:
        _remember_session(folder, order.session)
    start = _count_start(folder)
    again = start > 1 and bool(known)
    order = replace(
        order,
        attempt=order.attempt + start - 1,
        resume=order.resume or again,
        interrupted=order.interrupted or again,
        native=order.native if can.chosen_session else known or order.native,
    )
    record.add_event("began", agent=order.agent, attempt=order.attempt, resume=order.resume)

    def record_event(kind: str, **data: object) -> None:
        if kind == "session" and can.resume and not can.chosen_session:
            _remember_session(folder, str(data["id"]))  # before anything more is paid for in this session
        record.add_event(kind, **data)

    async def ask(order: Order) -> Report:
        with borrowed_files(agent_of(order.agent).login, order, record, folder, variables):
            return await runtime.work(order, record_event)

    return await ask_with_retry(order, ask, record_event, remembers=can.resume)


def write_report(folder: Path, report: Report, retry_s: float = RETRY_S) -> bool:
    """Write the report; while the disk is full, try again. False if it could not be written in time."""
    deadline, pause = time.monotonic() + retry_s, 0.1
    while True:
        (folder / "reserve").unlink(missing_ok=True)
        try:
            atomic_files.write(folder / "report.json", to_json(report))
        except StateFailed:
            if time.monotonic() > deadline:
                return False
            time.sleep(pause)
            pause = min(2 * pause, 2.0)
        else:
            return True


def reserve_disk_space(folder: Path) -> None:
    """Reserve space for the report before anything is paid for."""
    with (folder / "reserve").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, RESERVE)


def _count_start(folder: Path) -> int:
    """Add a line for this start to the file `starts`; return the number of lines. A call without this file never
    started its agent."""
    try:
        with (folder / "starts").open("a+", encoding="utf-8") as file:
            file.write(f"{time.time():.3f} {os.getpid()}\n")
            file.seek(0)
            return len(file.readlines())
    except OSError as error:
        raise StateFailed(f"cannot write {folder}/starts: {error.strerror}") from error


def _session(folder: Path) -> str:
    """The session that an earlier start of this call recorded; "" if none."""
    try:
        return (folder / "session").read_text("utf-8")
    except FileNotFoundError:
        return ""


def _remember_session(folder: Path, session: str) -> None:
    """Save the session's id in the file `session`. If the file exists, the session can be resumed."""
    try:
        with (folder / "session").open("w", encoding="utf-8") as file:
            file.write(session)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise StateFailed(f"cannot write {folder}/session: {error.strerror}") from error
