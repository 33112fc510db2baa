"""The engine's side of an agent call: an order in a folder, a supervisor that outlives us, a report or none.

order.json     what was asked                          lock           held by whoever looks after the call
starts         a line each time the agent was begun    session        there when the agent can go on with it
events.jsonl   what the agent did                      report.json    what came of it: written last, in one step
stopped        somebody asked the supervisor to end    dead           nothing is left of this attempt, for good
"""

import asyncio
import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from . import durable, processes
from .errors import BadInput, Diverged, Interrupted, StateFailed
from .protocols import Capabilities, Tell
from .wire import Order, Report, dump, load

STARTS = 3  # a session that died so often will not live the fourth time
LAUNCHES = 5  # supervisors that end before they begin anything: then it is not bad luck
PATIENCE_S = 10.0  # for a supervisor that was asked to end: it has an agent to end first
READY_S = 60.0  # for a supervisor to come up, on a machine that is very busy
UNWRITTEN = 74  # the supervisor's exit code when the disk took no report
CAPABILITIES = Capabilities(resume=True, chosen_session=True, reports_usage=True)  # at best: each agent has its own
VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "PYTHONPATH", "PYTHONHOME")

# What makes two orders the same one: not where it is done, and not within which bounds.
_SAME = ("run", "key", "call", "attempt", "role", "agent", "brief", "schema", "session", "tools", "model")


class Spool:
    """A runtime that survives its own process: what was ordered once is found, adopted or taken up again."""

    def __init__(
        self,
        folder: Path,
        *,
        cap: int = 4,
        supervisor: Sequence[str] = (sys.executable, "-m", "trued.supervise"),
        secrets: Mapping[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """`secrets` are kept out of every file; `variables` are the agents' environment. Neither is written."""
        self.folder = folder
        self._supervisor = tuple(supervisor)
        self._go = f"go {json.dumps({'secrets': dict(secrets or {}), 'variables': dict(variables or {})})}\n".encode()
        self._slots = Slots(cap)
        self._ahead = asyncio.Semaphore(2 * cap)  # supervisors come up while they wait for a slot

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    async def work(self, order: Order, tell: Tell) -> Report:
        call = Call(self.folder, order, tell)
        try:
            call.path.mkdir(parents=True, exist_ok=True)
            while (report := call.settled()) is None:
                with call.locked() as lock:
                    if lock is None:
                        await self._adopted(call)
                    elif await call.to_start():
                        await self._started(call, lock)
        except OSError as error:
            what = f"cannot use {error.filename or call.path}: {error.strerror}"
            raise StateFailed(f"{what}; free space or make the folder writable, then resume") from error
        return report

    async def stop_all(self) -> int:
        """End every agent of this run, whoever started it, and all that they left. How many processes were left."""
        calls = [path for path in self.folder.iterdir() if path.is_dir()] if self.folder.is_dir() else []
        await asyncio.gather(*(_stop(path) for path in calls if _held(path)))
        return sum([await _reap(path) for path in calls if not (path / "report.json").exists()])

    async def _adopted(self, call: "Call") -> None:
        """Somebody looks after the call already: wait for the end of that, and look again."""
        supervisor = _supervisor(call.path)
        if not supervisor:
            await asyncio.sleep(0.02)  # it holds the lock and has not yet said who it is
            return
        call.say("adopted", pid=_pid(supervisor))
        with self._slots.taken():
            await _gone(supervisor)
        call.raise_if_stopped()

    async def _started(self, call: "Call", lock: BinaryIO) -> None:
        async with self._ahead:
            process = self._launched(call, lock)
            try:
                await _ready(process, call)
                async with self._slots.free():
                    call.say("started", pid=process.pid)
                    _go(process, self._go)
                    await processes.gone(process.pid)
            finally:
                code = await _ended(process, call.path)
        if code == UNWRITTEN:
            what = f"the report of {call.order.key} could not be written to {call.path}"
            raise StateFailed(f"{what}; free space, then resume")
        call.raise_if_stopped()

    def _launched(self, call: "Call", lock: BinaryIO) -> subprocess.Popen[bytes]:
        """A supervisor that is given our lock, so that there is no moment in which nobody holds it."""
        with (call.path / "supervisor.log").open("ab") as log:
            # asyncio's own sub-process would be killed when the event loop ends; this one is meant to outlive it.
            process = subprocess.Popen(
                [*self._supervisor, str(call.path), str(lock.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                pass_fds=(lock.fileno(),),
                env={name: os.environ[name] for name in VARIABLES if name in os.environ},
                cwd=call.path,
            )
        lock.close()
        return process


class Call:
    """The folder of one call, and what can be told from it."""

    def __init__(self, folder: Path, order: Order, tell: Tell) -> None:
        name = f"{order.call}.{order.attempt}"
        if "/" in name or name.startswith("."):
            raise BadInput(f"{name!r} cannot be the name of a call's folder")
        self.path, self.order, self.say = folder / name, order, tell
        self._launches = 0

    def settled(self) -> Report | None:
        """The report, if there is no more to be done for one."""
        if (report := self._report()) is not None:
            if not self._launches:
                self.say("report found", state=report.state)
            return report
        if (self.path / "dead").exists():
            why = (self.path / "dead").read_text("utf-8", "replace")
            return Report(self.order.call, self.order.attempt, "died", why=why, session=self.order.session)
        return None

    @contextlib.contextmanager
    def locked(self) -> Iterator[BinaryIO | None]:
        """The call's lock, or None when somebody else holds it."""
        with (self.path / "lock").open("a+b", buffering=0) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield None
                return
            file.truncate(0)
            yield file

    async def to_start(self) -> bool:
        """With the lock in hand: whether an agent is to be started now. What died is cleared away first."""
        if (self.path / "report.json").exists() or (self.path / "dead").exists():
            return False
        self._launches += 1
        if self._launches > LAUNCHES:
            raise StateFailed(f"the supervisor of {self.order.key} never begins; see {self.path}/supervisor.log")
        begun = _starts(self.path)
        if not self._same_order() and begun:
            return self._died("its order could not be read any more")
        if not begun:
            durable.write(self.path / "order.json", dump(self.order), sync=False)
            return True
        reaped = await _reap(self.path)
        stopped = (self.path / "stopped").exists()
        (self.path / "stopped").unlink(missing_ok=True)
        self.say("died", stopped=stopped, reaped=reaped)
        if (self.path / "session").exists() and begun < STARTS:
            self.say("session resumed", session=self.order.session)
            return True
        return self._died("it was stopped" if stopped else "its supervisor ended without a report")

    def raise_if_stopped(self) -> None:
        if (self.path / "stopped").exists() and not (self.path / "report.json").exists():
            raise Interrupted(f"the agent of {self.order.key} was told to stop; resume to go on")

    def _died(self, why: str) -> bool:
        durable.write(self.path / "dead", why, sync=False)
        return False

    def _report(self) -> Report | None:
        file = self.path / "report.json"
        if not file.exists():
            return None
        self._same_order()
        try:
            report = load(Report, file.read_bytes())
            if (report.call, report.attempt) == (self.order.call, self.order.attempt):
                return report
        except (ValueError, TypeError, AttributeError):
            pass
        self._aside(file)
        self._died("its report was corrupted on the disk")
        return None

    def _same_order(self) -> bool:
        """Whether an order is there; one that is not ours is refused."""
        file = self.path / "order.json"
        if not file.exists():
            return False
        try:
            there = json.loads(dump(load(Order, file.read_bytes())))
        except (ValueError, TypeError, AttributeError):
            self._aside(file)
            return False
        ours = json.loads(dump(self.order))
        if changed := [name for name in _SAME if there[name] != ours[name]]:
            raise Diverged(f"{self.order.key} was ordered before with another {', '.join(changed)}; start a new run")
        return True

    def _aside(self, file: Path) -> None:
        file.replace(file.with_name(f"{file.name}.corrupt"))
        self.say("corrupted", file=file.name)


class Slots:
    """The cap on agents that work at one time. What runs already takes its slot without asking."""

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


def events(folder: Path) -> Iterator[dict[str, Any]]:
    """What the agent of one call did. The last line may be half written, and is left out then."""
    with contextlib.suppress(FileNotFoundError), (folder / "events.jsonl").open("rb") as file:
        for line in file:
            with contextlib.suppress(ValueError):
                yield json.loads(line)


async def _ready(process: subprocess.Popen[bytes], call: Call) -> None:
    said = await _line(process, READY_S)
    if said == "ready":
        return
    process.kill()
    code = process.wait()
    log = (call.path / "supervisor.log").read_text("utf-8", "replace").strip().splitlines()
    why = said or (log[-1] if log else f"it ended with exit code {code}")
    raise StateFailed(f"the supervisor of {call.order.key} cannot start: {why}")


async def _line(process: subprocess.Popen[bytes], within_s: float) -> str:
    """The first line that it says, or what it said before it ended."""
    stream = process.stdout
    if stream is None:
        return ""
    loop, heard, data = asyncio.get_running_loop(), asyncio.Event(), bytearray()

    def take() -> None:
        piece = os.read(stream.fileno(), 4096)
        data.extend(piece)
        if not piece or b"\n" in data:
            heard.set()

    loop.add_reader(stream.fileno(), take)
    try:
        await asyncio.wait_for(heard.wait(), within_s)
    except TimeoutError:
        return f"it said nothing for {within_s:g} s"
    finally:
        loop.remove_reader(stream.fileno())
    return data.partition(b"\n")[0].decode("utf-8", "replace")


def _go(process: subprocess.Popen[bytes], message: bytes) -> None:
    with contextlib.suppress(BrokenPipeError):  # it is gone; the folder will tell
        if process.stdin is not None:
            process.stdin.write(message)
            process.stdin.close()


async def _ended(process: subprocess.Popen[bytes], folder: Path) -> int:
    """Its exit code; if it still runs, we were told to stop, and so is it."""
    asked = process.poll() is None
    try:
        if asked:
            process.terminate()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(processes.gone(process.pid), PATIENCE_S)
    finally:
        if process.poll() is None:
            process.kill()
        code = process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
    if asked:
        await _reap(folder)
    return code


async def _stop(folder: Path) -> None:
    supervisor = _supervisor(folder)

    def still() -> bool:
        return _held(folder) and _supervisor(folder) == supervisor

    for number in (signal.SIGTERM, signal.SIGKILL):
        if supervisor and processes.send(_pid(supervisor), number, still=still):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(_gone(supervisor), PATIENCE_S)


async def _gone(supervisor: str) -> None:
    if processes.identity(_pid(supervisor)) == supervisor:
        await processes.gone(_pid(supervisor))


async def _reap(folder: Path) -> int:
    """End what a dead supervisor left behind."""
    strays: list[str] = []
    with contextlib.suppress(OSError):
        strays = (folder / "strays").read_text().split()
    return await asyncio.to_thread(processes.reap, processes.marker(folder), known=strays)


def _held(folder: Path) -> bool:
    try:
        with (folder / "lock").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _supervisor(folder: Path) -> str:
    """Who wrote itself into the lock; empty for nobody."""
    try:
        return (folder / "lock").read_text().strip()
    except OSError:
        return ""


def _pid(identity: str) -> int:
    return int(identity.partition(":")[0])


def _starts(folder: Path) -> int:
    try:
        return len((folder / "starts").read_text().splitlines())
    except FileNotFoundError:
        return 0
