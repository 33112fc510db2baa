"""The folder of one attempt of an order. Every process can read the attempt's state from this folder at any time.

order.json     the order                               lock           held by the supervisor while it lives
starts         one line for each start of the agent    session        exists if the agent can resume it
events.jsonl   what the agent did                      report.json    the result: written last, in one step
stopped        the supervisor was asked to end         dead           this attempt has ended for good
lapsed         the engine's lease on the run expired   lapses         one line for each start that a lapse ended
lent.json      copies of the user's login are in HOME
"""

import asyncio
import contextlib
import json
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from trued.agents.spool import borrowed_login
from trued.errors import BadInput, Diverged, Interrupted, StateFailed
from trued.support import atomic_files, processes
from trued.support.file_lock import is_locked, take_lock
from trued.support.foreign_json import parse_json
from trued.support.hashing import folder_name
from trued.wire import EmitAgentEvent, Order, Report, Usage, add_usage, from_json, to_json

MOST_STARTS = 3  # starts of one attempt's agent: a session that died three times will not survive a fourth start
LAUNCHES = 5  # supervisors in a row that can end before they start an agent; one more raises StateFailed
# The kind of an event that is also shown in the run's log, not only in the call's.
STARTED_AGENT = "tried to start an agent"
ENDING_S = 10.0  # time for a supervisor to end: it has to end its agent first

# Two orders are the same if these fields are equal; folders and limits can differ.
_SAME = ("run", "key", "call", "attempt", "role", "agent", "brief", "schema", "session", "tools", "model")


# Kinds of events after which an agent reports its usage from 0 again.
_ANEW = (
    "began",
    "contract broken",
    "agent died",
    "session lost",
)


class CallFolder:
    """One attempt of an order, and its folder."""

    def __init__(self, folder: Path, order: Order, emit: EmitAgentEvent) -> None:
        name = f"{order.call}.{order.attempt}"
        if "/" in name or name.startswith("."):
            raise BadInput(f"{name!r} cannot be the name of a call's folder")
        self.path, self.order, self.emit = folder / name, order, emit
        self._launches, self._begun, self._waited = 0, 0, False

    def final_report(self) -> Report | None:
        """The call's report; for a call that died for good, a report with state "died". None if the call has to be
        started or adopted."""
        if (report := self._report()) is not None:
            if not self._waited:
                self.emit("report found", state=report.state)
            started = (event.get("program") for event in read_events(self.path) if event.get("kind") == STARTED_AGENT)
            for program in dict.fromkeys(started):
                self.emit(STARTED_AGENT, program=str(program))
            return report
        if (self.path / "dead").exists():
            why = (self.path / "dead").read_text("utf-8", "replace")
            return Report(
                self.order.call,
                self.order.attempt,
                "died",
                why=why,
                session=self.order.session,
                usage=usage_reported(self.path),
            )
        return None

    @contextlib.contextmanager
    def locked(self) -> Iterator[BinaryIO | None]:
        """Take the call's lock for one `with` block; yields None if another process holds it."""
        with (self.path / "lock").open("a+b", buffering=0) as file:
            is_taken = take_lock(file)
            if is_taken:
                file.truncate(0)
            yield file if is_taken else None

    async def prepare_start(self) -> bool:
        """With the lock held: end the processes that an earlier start left; return whether to start an agent now. False
        if the call has a report, or has died for good. Raises Diverged if the folder contains another order, and
        StateFailed if supervisors keep ending before they start an agent."""
        if (self.path / "report.json").exists() or (self.path / "dead").exists():
            return False
        begun = _count_lines(self.path / "starts")
        self._launches = 1 if begun > self._begun else self._launches + 1
        self._begun, self._waited = begun, True
        if self._launches > LAUNCHES:
            raise StateFailed(f"the supervisor of {self.order.key} never starts; see {self.path}/supervisor.log")
        if not self._has_same_order() and begun:
            return self._mark_dead("its order can no longer be read")
        if not begun:
            atomic_files.write(self.path / "order.json", to_json(self.order), sync=False)
            return True
        reaped = await reap_call(self.path)
        stopped, lapsed = ((self.path / name).exists() for name in ("stopped", "lapsed"))
        if lapsed:
            with (self.path / "lapses").open("a") as file:
                file.write(f"{time.time():.3f}\n")
        for name in ("stopped", "lapsed"):
            (self.path / name).unlink(missing_ok=True)
        self.emit("died", stopped=stopped, reaped=reaped, lapsed=lapsed)
        counted = begun - _count_lines(self.path / "lapses")  # starts that ended because the lease expired do not count
        if (self.path / "session").exists() and counted < MOST_STARTS:
            self.emit("session resumed", session=self.order.session)
            return True
        if lapsed:
            return self._mark_dead("it was ended: the hub could not be reached, and another machine could take the run")
        return self._mark_dead("it was stopped" if stopped else "its supervisor ended without a report")

    async def report_stop(self) -> None:
        """With the lock held: end what is left of a call that a person stopped, and write its report. A call that has a
        report, or has died for good, is left as it is."""
        if (self.path / "report.json").exists() or (self.path / "dead").exists():
            return
        reaped, starts = await reap_call(self.path), _start_times(self.path)
        now = time.time()
        report = Report(
            self.order.call,
            self.order.attempt,
            "stopped",
            why="a person stopped it",
            session=self.order.session,
            native=_session_begun(self.path) if starts else "",
            resumed=self.order.resume,
            reaped=reaped,
            usage=usage_reported(self.path),
            began=starts[0] if starts else now,
            ended=now,
        )
        atomic_files.write(self.path / "report.json", to_json(report))
        (self.path / "stopped").unlink(missing_ok=True)
        self._waited = True

    def emit_adopted(self, keeper: str) -> None:
        """Emit that a running supervisor was adopted. `keeper`: the supervisor's identity."""
        self._waited = True
        self.emit("adopted", pid=processes.pid_of(keeper))

    def raise_if_stopped(self) -> None:
        """Raise Interrupted if the call was stopped before it had a report."""
        if (self.path / "stopped").exists() and not (self.path / "report.json").exists():
            raise Interrupted(f"the agent of {self.order.key} was stopped; resume to continue")

    def _mark_dead(self, why: str) -> bool:
        atomic_files.write(self.path / "dead", why, sync=False)
        return False

    def _report(self) -> Report | None:
        file = self.path / "report.json"
        if not file.exists():
            return None
        self._has_same_order()
        try:
            report = from_json(Report, file.read_bytes())
            if (report.call, report.attempt) == (self.order.call, self.order.attempt):
                return report
        except (ValueError, TypeError, AttributeError):
            pass
        self._set_aside(file)
        self._mark_dead("its report was corrupted on the disk")
        return None

    def _has_same_order(self) -> bool:
        """Whether the folder already has this order; False if it has no readable order. Raises Diverged if it has
        another order."""
        file = self.path / "order.json"
        if not file.exists():
            return False
        try:
            theirs = json.loads(to_json(from_json(Order, file.read_bytes())))
        except (ValueError, TypeError, AttributeError):
            self._set_aside(file)
            return False
        ours = json.loads(to_json(self.order))
        if changed := [name for name in _SAME if theirs[name] != ours[name]]:
            raise Diverged(f"{self.order.key} was ordered before with another {', '.join(changed)}; start a new run")
        return True

    def _set_aside(self, file: Path) -> None:
        file.replace(file.with_name(f"{file.name}.corrupt"))
        self.emit("corrupted", file=file.name)


def read_events(folder: Path) -> Iterator[dict[str, Any]]:
    """The events of one call's agent. A half-written line is left out."""
    with contextlib.suppress(FileNotFoundError), (folder / "events.jsonl").open("rb") as file:
        for line in file:
            if isinstance(row := parse_json(line), dict):
                yield row


def read_events_from(folder: Path, offset: int, most: int = 0) -> tuple[list[dict[str, Any]], int]:
    """The events of one call's agent from the byte `offset` of its log on, and the offset for the next read. An
    incomplete last line is left for the next read. `most`: stop after the line in which this many bytes are reached; 0:
    read to the end."""
    rows: list[dict[str, Any]] = []
    with contextlib.suppress(FileNotFoundError), (folder / "events.jsonl").open("rb") as file:
        file.seek(began := offset)
        while not (most and offset - began >= most) and (line := file.readline()).endswith(b"\n"):
            offset += len(line)
            if isinstance(row := parse_json(line), dict):
                rows.append(row)
    return rows, offset


def attempts_of(spool: Path, key: str) -> list[tuple[int, Path]]:
    """The attempts of a call, each with its number and folder, in the order of their starts. If the call continued with
    a new order, after a wait or a question, the attempts of that order are included."""
    folders = [path for path in spool.glob(f"{folder_name(key)}.*") if path.is_dir() and path.suffix[1:].isdigit()]
    return [(int(path.suffix[1:]), path) for path in sorted(folders, key=_began)]


def _began(folder: Path) -> tuple[float, int]:
    """A sort key: when an attempt was first started. Attempts that were never started come last, by their numbers."""
    return next(iter(_start_times(folder)), float("inf")), int(folder.suffix[1:])


def usage_reported(folder: Path) -> Usage:
    """The usage that a call's agent reported before it died. It was paid for, even without a result."""
    last: dict[str, Any] = {}
    spent = Usage()
    for event in read_events(folder):
        if event.get("kind") == "usage" and not event.get("simulated"):
            last = event
        elif event.get("kind") in _ANEW and last:
            spent, last = add_usage(spent, _usage_in_event(last)), {}
    return add_usage(spent, _usage_in_event(last)) if last else spent


def _usage_in_event(event: dict[str, Any]) -> Usage:
    names = ("tokens_in", "tokens_out", "tokens_cached", "peak")
    counts = {name: event[name] for name in names if isinstance(event.get(name), int)}
    cost = event.get("cost_usd")
    paid = cost if isinstance(cost, float) else 0.0
    return replace(Usage(**counts), cost_usd=paid, cost="computed" if paid else "", estimated=False)


def is_supervised(folder: Path) -> bool:
    """Whether a process holds the lock of this call."""
    return is_locked(folder / "lock")


def supervisor_identity(folder: Path) -> str:
    """The identity that the supervisor wrote into the lock; "" if the lock contains none, or if the supervisor has
    ended."""
    try:
        written = (folder / "lock").read_text().strip()
        return written if written and processes.identity(processes.pid_of(written)) == written else ""
    except (OSError, ValueError):  # ValueError: the lock file does not contain a process
        return ""


async def stop_call(folder: Path) -> None:
    """Ask the supervisor of this call to end; if it does not end in time, kill it."""
    keeper = supervisor_identity(folder)
    for signal_number in (signal.SIGTERM, signal.SIGKILL):
        if keeper and processes.send(
            processes.pid_of(keeper),
            signal_number,
            still=lambda: is_supervised(folder) and supervisor_identity(folder) == keeper,
        ):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ENDING_S):
                    await processes.wait_for_exit(processes.pid_of(keeper))


async def reap_call(folder: Path) -> int:
    """End processes that a dead supervisor left, and take back the login that its agent borrowed. Returns the
    number of processes that were ended."""
    strays: list[str] = []
    with contextlib.suppress(OSError):
        named = (folder / "strays").read_text("utf-8", "replace").split()
        strays = [stray for stray in named if stray.partition(":")[0].isdecimal()]
    reaped = await asyncio.to_thread(processes.reap, processes.marker(folder), known=strays)
    borrowed_login.return_login_of_dead_call(folder)
    return reaped


def _count_lines(file: Path) -> int:
    try:
        return len(file.read_bytes().splitlines())
    except FileNotFoundError:
        return 0


def _start_times(folder: Path) -> list[float]:
    """The times at which the agent of a call was started."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return [float(line.split()[0]) for line in (folder / "starts").read_text().splitlines()]
    return []


def _session_begun(folder: Path) -> str:
    """The session that the agent can resume; "" if it has none."""
    with contextlib.suppress(OSError):
        return (folder / "session").read_text("utf-8")
    return ""
