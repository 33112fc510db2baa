"""RunLock: only one process of this machine drives a run. The kernel releases the lock however that process ends."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trued.errors import Busy
from trued.support import processes
from trued.support.file_lock import take_lock


class RunLock:
    """The lock of one run: a file in the run's folder that names the process which holds the lock."""

    def __init__(self, home: Path, run: str) -> None:
        self._run, self._file = run, home / "runs" / run / "lock"

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the lock. Raises Busy if another process holds it."""
        handle = self._open(os.O_RDWR)
        try:
            if not take_lock(handle):
                who = f"process {pid}" if (pid := self.holder()) else "a process that is just starting or ending"
                what = f"run {self._run} is driven by {who}"
                raise Busy(f"{what}; follow it with `trued logs -f {self._run}`")
            os.ftruncate(handle, 0)
            os.pwrite(handle, processes.identity(os.getpid()).encode(), 0)
            yield
            os.ftruncate(handle, 0)
        finally:
            os.close(handle)

    def announce(self) -> None:
        """Write into the lock file that this process is about to take the lock."""
        handle = self._open(os.O_WRONLY)
        try:
            os.pwrite(handle, processes.identity(os.getpid()).encode(), 0)
        finally:
            os.close(handle)

    def holder(self) -> int:
        """The id of the process that holds the lock, or announced that it will take the lock; 0 if there is none."""
        try:
            who = self._file.read_text()
        except OSError:
            return 0
        pid = processes.pid_of(who) if who.partition(":")[0].isdigit() else 0
        return pid if pid and processes.identity(pid) == who else 0

    def _open(self, mode: int) -> int:
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(self._file, mode | os.O_CREAT | os.O_CLOEXEC, 0o600)
