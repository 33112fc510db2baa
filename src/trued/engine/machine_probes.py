"""Tries the sandbox and looks for the interpreter in threads, while the caller loads modules."""

import asyncio
import contextlib
import subprocess
from threading import Thread

from trued.errors import TruedError
from trued.proof.room.interpreter import find_interpreter
from trued.workspace.sandbox.levels import choose_level


def begin_probes(sandbox: str, *, allow_unsandboxed: bool) -> None:
    """Start one thread that tries the sandbox, and one that looks for the interpreter; do not wait for them.

    `choose_level` and `find_interpreter` cache their results for the whole process. So a later call returns at once, or
    when the thread has finished. Errors are ignored here: a later call raises them.
    """
    Thread(target=_try_sandbox, args=(sandbox, allow_unsandboxed)).start()
    Thread(target=_try_interpreter).start()


def _try_sandbox(sandbox: str, allow_unsandboxed: bool) -> None:
    with contextlib.suppress(TruedError):
        choose_level(sandbox, allow_unsandboxed)


def _try_interpreter() -> None:
    with contextlib.suppress(TruedError, OSError, subprocess.SubprocessError):
        asyncio.run(find_interpreter())
