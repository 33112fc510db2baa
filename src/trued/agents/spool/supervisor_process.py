"""A supervisor process, as the engine that started it sees it."""

import asyncio
import contextlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from trued.agents.spool import call_folder
from trued.errors import StateFailed
from trued.support import processes

READY_S = 60.0  # a supervisor has to be ready within this time, even on a very busy machine
VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "PYTHONPATH", "PYTHONHOME")


class Supervisor:
    """One supervisor in its own process session. It inherits our lock on the call, so the lock stays held when we
    close our descriptor."""

    def __init__(self, command: Sequence[str], folder: Path, lock: BinaryIO) -> None:
        self._folder = folder
        with (folder / "supervisor.log").open("ab") as log:
            # Not a subprocess of asyncio, which would be killed with the event loop: a supervisor has to outlive us.
            self._process = subprocess.Popen(
                [*command, str(folder), str(lock.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                pass_fds=(lock.fileno(),),
                env={name: os.environ[name] for name in VARIABLES if name in os.environ},
                cwd=folder,
            )
        lock.close()
        self.pid = self._process.pid

    async def ready(self) -> None:
        """Wait until the supervisor is ready. Raises StateFailed if it cannot start."""
        line = await self._first_line()
        if line != "ready":
            self._process.kill()
            code = self._process.wait()
            log = (self._folder / "supervisor.log").read_text("utf-8", "replace").strip().splitlines()
            why = line or (log[-1] if log else f"it ended with exit code {code}")
            raise StateFailed(f"the supervisor of {self._folder.name} cannot start: {why}")

    def go(self, message: bytes) -> None:
        """Let the supervisor start the agent; the message contains secrets and variables."""
        with contextlib.suppress(BrokenPipeError):  # the supervisor has ended; the folder shows why
            if self._process.stdin is not None:
                self._process.stdin.write(message)
                self._process.stdin.close()

    async def wait_until_ended(self) -> None:
        """Wait until the supervisor has ended."""
        await processes.wait_for_exit(self.pid)

    async def end(self) -> int:
        """Return the supervisor's exit code. If the supervisor still runs, because the engine is being stopped, first
        end the supervisor and all processes that it started."""
        still_runs = self._process.poll() is None
        try:
            if still_runs:
                self._process.terminate()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(call_folder.ENDING_S):
                        await self.wait_until_ended()
        finally:
            code = self._close_and_wait()
        if still_runs:
            await call_folder.reap_call(self._folder)
        return code

    def _close_and_wait(self) -> int:
        if self._process.poll() is None:
            self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        return self._process.wait()

    async def _first_line(self) -> str:
        """Return the first line that the supervisor prints. If it ends before that, return what it has printed. If no
        line comes within READY_S, return a sentence that says so."""
        stream = self._process.stdout
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
            async with asyncio.timeout(READY_S):  # not wait_for, which can lose a cancellation in Python 3.11
                await heard.wait()
        except TimeoutError:
            return f"it printed no whole line within {READY_S:g} s"
        finally:
            loop.remove_reader(stream.fileno())
        return data.partition(b"\n")[0].decode("utf-8", "replace")
