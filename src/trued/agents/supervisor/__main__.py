"""`python -m trued.agents.supervisor [--retry S] FOLDER [LOCK]`. LOCK is a file descriptor with the call's lock. If
the report cannot be written, writing it is retried for S seconds.

The supervisor prints "ready", then waits for one line from the engine. If stdin ends without a line, the engine has
ended, and no agent is started.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from trued.agents.supervisor import call
from trued.errors import StateFailed
from trued.support import processes
from trued.support.file_lock import take_lock
from trued.support.lease_file import LeaseFile

STOPPED, BUSY, NEVER_STARTED, UNWRITTEN = 143, 75, 0, 74
LOOK_S = 0.5  # between two checks of the lease


def main(arguments: list[str]) -> int:
    """Supervise the call of this folder; return the exit code. It is BUSY if another process holds the call's lock."""
    retry_s = call.RETRY_S
    if arguments[0] == "--retry":
        retry_s, arguments = float(arguments[1]), arguments[2:]
    folder = Path(arguments[0])
    for number in (signal.SIGHUP, signal.SIGINT):
        # A function and not SIG_IGN, because the agent would inherit SIG_IGN.
        signal.signal(number, lambda _number, _frame: None)
    lock = _take_lock(folder, int(arguments[1]) if len(arguments) > 1 else None)
    if lock is None:
        return BUSY
    with contextlib.suppress(OSError):
        os.ftruncate(lock, 0)
        os.pwrite(lock, processes.identity(os.getpid()).encode(), 0)
    processes.adopt_orphans()
    try:
        call.reserve_disk_space(folder)
    except OSError as error:
        print(f"no space left in {folder}: {error.strerror}", flush=True)
        return UNWRITTEN
    go = _handshake()
    if go is None:
        (folder / "reserve").unlink(missing_ok=True)
        return NEVER_STARTED
    return asyncio.run(_work(folder, go, retry_s))


async def _work(folder: Path, go: dict[str, Any], retry_s: float) -> int:
    lease = LeaseFile(Path(go["lease"])) if go.get("lease") else None
    if lease and lease.is_over():
        return NEVER_STARTED
    (folder / "lapsed").unlink(missing_ok=True)  # left by an earlier start
    work = asyncio.ensure_future(call.run_call(folder, go.get("secrets", {}), go.get("variables", {})))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, work.cancel)
    watch = asyncio.ensure_future(_end_with_lease(lease, folder, work)) if lease else None
    try:
        report = await work
    except asyncio.CancelledError:
        if not (folder / "lapsed").exists():
            with contextlib.suppress(OSError):
                (folder / "stopped").touch()
        return STOPPED
    except (OSError, StateFailed) as error:
        print(error, file=sys.stderr)  # goes to supervisor.log
        return UNWRITTEN
    finally:
        if watch:
            watch.cancel()
    return 0 if call.write_report(folder, report, retry_s) else UNWRITTEN


async def _end_with_lease(lease: LeaseFile, folder: Path, work: "asyncio.Future[Any]") -> None:
    """Wait until the engine's lease on the run expires, then end the agent. The engine is then dead, frozen or cut off
    from the hub."""
    while not lease.is_over():  # noqa: ASYNC110  (a file)
        await asyncio.sleep(LOOK_S)
    with contextlib.suppress(OSError):
        (folder / "lapsed").touch()
    work.cancel()


def _take_lock(folder: Path, handle: int | None) -> int | None:
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600) if handle is None else handle
    os.set_inheritable(lock, False)
    return lock if take_lock(lock) else None


def _handshake() -> dict[str, Any] | None:
    """Print "ready", wait for the line "go MESSAGE", then cut all ties to the engine. Returns the message; None if the
    line is missing or incomplete."""
    with contextlib.suppress(OSError):
        os.write(1, b"ready\n")
    line = sys.stdin.buffer.readline()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(nowhere, stream)
    os.close(nowhere)
    if not line.startswith(b"go ") or not line.endswith(b"\n"):
        return None
    message: dict[str, Any] = json.loads(line[3:])
    return message


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(code)  # everything is written; an orderly interpreter shutdown would only keep the engine waiting
