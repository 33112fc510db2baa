"""Spool: the runtime that starts a supervisor for each agent call, and adopts calls of an earlier engine."""

import asyncio
import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from trued.agents.spool.call_folder import CallFolder, is_supervised, reap_call, stop_call, supervisor_identity
from trued.agents.spool.slots import Slots
from trued.agents.spool.supervisor_process import Supervisor
from trued.errors import StateFailed
from trued.support import atomic_files, processes
from trued.support.lease_file import LeaseFile
from trued.support.redaction import Redactor, secrets_in
from trued.wire import Capabilities, EmitAgentEvent, Order, Report, from_json

SUPERVISOR = (sys.executable, "-m", "trued.agents.supervisor")
SLACK_S = 120.0  # a supervisor may take this much longer than its agent, to end processes and wait for disk space
LEASE_LOOK_S = 0.5  # between two checks whether an expired lease is valid again
UNWRITTEN = 74  # the supervisor's exit code if it could not write the report
REFUSED = ("rate", "overloaded", "budget")  # kinds of failure after which the same call is continued later
# The spool runs any agent; what a particular agent can do is in its adapter.
CAPABILITIES = Capabilities(resume=True, chosen_session=True, reports_usage=True)


class Spool:
    """A runtime whose calls survive its process. For an order that was started before, it returns the report that
    exists, adopts the running call, or restarts a dead call in its session."""

    def __init__(
        self,
        folder: Path,
        *,
        cap: int = 4,
        slots: Slots | None = None,
        supervisor: Sequence[str] = SUPERVISOR,
        secrets: Mapping[str, str] | None = None,
        variables: Callable[[str], Mapping[str, str]] = lambda _: {},
        lease: LeaseFile | None = None,
    ) -> None:
        """`secrets` are kept out of every file; `variables` gives the environment of an agent. Neither is written to
        disk.

        `slots` are shared with other runs of this process; without them there are `cap` slots. `lease`: agents start
        only while the lease is valid, and supervisors end their agents when it expires.
        """
        self.folder = folder
        self._supervisor = tuple(supervisor)
        self._hidden, self._variables, self._lease = dict(secrets or {}), variables, lease
        self._redact = Redactor(self._hidden)
        self._slots = slots or Slots(cap)
        self._ahead = asyncio.Semaphore(2 * cap)  # twice the slots, so that supervisors can start before a slot is free
        self._starting = asyncio.Semaphore(os.cpu_count() or 1)

    @property
    def capabilities(self) -> Capabilities:
        """What agents can do at most; a single agent may be able to do less."""
        return CAPABILITIES

    async def work(self, order: Order, emit: EmitAgentEvent) -> Report:
        """Return the report of this order's call. If there is none yet, wait for the running call, or start it. Raises
        StateFailed if the folder cannot be used, Diverged if it contains another order, Interrupted if the call was
        stopped."""
        with self._call_folder(order, emit) as call:
            while (report := call.final_report()) is None:
                if is_supervised(call.path):
                    await self._adopt(call)
                else:
                    await self._start(call)
        return report

    async def stop(self, order: Order, emit: EmitAgentEvent) -> Report:
        """End the call if it is running, whoever started it. Return the call's own report if it has one; otherwise a
        report with the state "stopped" and the usage so far. Stopping the call again returns the same report. Raises
        StateFailed if the folder cannot be used."""
        with self._call_folder(order, emit) as call:
            while (report := call.final_report()) is None:
                if is_supervised(call.path):
                    await stop_call(call.path)
                with call.locked() as lock:
                    if lock is not None:
                        await call.report_stop()
                    else:
                        await asyncio.sleep(0.02)  # the supervisor has not yet written its identity, or is ending
        return report

    async def stop_all(self) -> int:
        """End all agents of this run, with the processes that they started. Returns how many of these processes
        belonged to supervisors that had died."""
        calls = [path for path in self.folder.iterdir() if path.is_dir()] if self.folder.is_dir() else []
        await asyncio.gather(*(stop_call(path) for path in calls if is_supervised(path)))
        return sum([await reap_call(path) for path in calls if not (path / "report.json").exists()])

    def retire_failed(self) -> None:
        """Mark failed calls as dead, so that a resumed run starts a new attempt of each. Calls that failed at a rate
        limit, an overload or the budget are not marked, because they are continued later instead of started again."""
        for file in self.folder.glob("*/report.json"):
            with contextlib.suppress(ValueError, TypeError, AttributeError):
                report = from_json(Report, file.read_bytes())
                if report.state == "failed" and report.kind not in REFUSED:
                    atomic_files.write(file.parent / "dead", "it failed, and is tried again", sync=False)
                    file.replace(file.with_name("report.failed.json"))

    @contextlib.contextmanager
    def _call_folder(self, order: Order, emit: EmitAgentEvent) -> Iterator[CallFolder]:
        """The folder of this order's call, created if needed. Raises StateFailed if it cannot be used."""
        call = CallFolder(self.folder, replace(order, brief=self._redact(order.brief)), emit)
        try:
            call.path.mkdir(parents=True, exist_ok=True)
            _reuse_recorded_brief(call, order.brief)
            yield call
        except OSError as error:
            what = f"cannot use {error.filename or call.path}: {error.strerror}"
            raise StateFailed(f"{what}; free space or make the folder writable, then resume") from error

    async def _adopt(self, call: CallFolder) -> None:
        """Wait until the supervisor that already runs the call ends; the caller then checks for a report."""
        keeper = supervisor_identity(call.path)
        if not keeper:
            await asyncio.sleep(0.02)  # the supervisor has not yet written its identity, or is about to end
            return
        call.emit_adopted(keeper)
        try:
            with self._slots.occupy():
                await self._wait_for_supervisor(call, processes.wait_for_exit(processes.pid_of(keeper)))
        except asyncio.CancelledError:
            await stop_call(call.path)
            await reap_call(call.path)
            raise
        call.raise_if_stopped()

    async def _wait_for_supervisor(self, call: CallFolder, gone: Awaitable[None]) -> None:
        """Wait until the supervisor has ended. The supervisor enforces its agent's limits; a supervisor that hangs is
        ended here."""
        try:
            async with asyncio.timeout(call.order.limits.wall_s + SLACK_S):
                await gone
        except TimeoutError:
            call.emit("supervisor stands still")
            await stop_call(call.path)

    async def _start(self, call: CallFolder) -> None:
        """Start the call, unless another process does. If the lease has expired, first wait until it is extended,
        because another machine might be running the call."""
        reported = ""
        while self._lease and self._lease.is_over():
            if (why := self._lease.why_over()) != reported:
                call.emit("postponed", why=why, agent=call.order.agent)
            reported = why
            await asyncio.sleep(LEASE_LOOK_S)
        # A thousand calls can wait at this point. Each lock is an open file, so only calls that are about to start take
        # theirs.
        async with self._ahead:
            with call.locked() as lock:
                if lock is not None and await call.prepare_start():
                    await self._start_supervisor(call, lock)

    def _go_message(self, agent: str) -> bytes:
        shown = dict(self._variables(agent))
        message: dict[str, object] = {"secrets": {**secrets_in(shown), **self._hidden}, "variables": shown}
        if self._lease:
            message["lease"] = str(self._lease.path)
        return f"go {json.dumps(message)}\n".encode()

    async def _new_supervisor(self, call: CallFolder, lock: BinaryIO) -> Supervisor:
        """Start a supervisor and wait until it is ready. At most one supervisor for each core starts at a time, so that
        the first ones are ready soon."""
        async with self._starting:
            keeper = Supervisor(self._supervisor, call.path, lock)
            try:
                await keeper.ready()
            except BaseException:
                await keeper.end()
                raise
        return keeper

    async def _start_supervisor(self, call: CallFolder, lock: BinaryIO) -> None:
        keeper = await self._new_supervisor(call, lock)
        try:
            async with self._slots.free():
                call.emit("started", pid=keeper.pid)
                keeper.go(self._go_message(call.order.agent))
                await self._wait_for_supervisor(call, keeper.wait_until_ended())
        finally:
            code = await keeper.end()
        if code == UNWRITTEN:
            what = f"the report of {call.order.key} could not be written to {call.path}"
            raise StateFailed(f"{what}; free space, then resume")
        call.raise_if_stopped()


def _reuse_recorded_brief(call: CallFolder, brief: str) -> None:
    """If the call was ordered before with the same brief, use the recorded brief, which is redacted. Redaction depends
    on who resumes the run, so the same brief could now be redacted differently and look like another order."""
    stored, stored_hash = call.path / "order.json", call.path / "order.hash"
    digest = hashlib.sha256(brief.encode(errors="surrogatepass")).hexdigest()
    if not stored.exists():
        atomic_files.write(stored_hash, digest, sync=False)
        return
    with contextlib.suppress(FileNotFoundError, ValueError, TypeError, AttributeError):
        if stored_hash.read_bytes() == digest.encode():
            call.order = replace(call.order, brief=from_json(Order, stored.read_bytes()).brief)
