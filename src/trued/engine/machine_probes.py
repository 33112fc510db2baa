"""Tries the sandbox and the interpreter while the caller still loads the modules that prove."""

import asyncio
import contextlib
import subprocess
from threading import Thread

from trued.errors import TruedError
from trued.proof.room.interpreter import find_interpreter
from trued.workspace.sandbox.levels import choose_level


def begin_probes(sandbox: str, *, allow_unsandboxed: bool) -> None:
    """Begin both probes in threads, and do not wait for them. Their results are cached for the whole process, so
    whoever asks for them later gets them at once, or waits for the rest. Errors are raised there, not here."""
    Thread(target=_try_sandbox, args=(sandbox, allow_unsandboxed)).start()
    Thread(target=_try_interpreter).start()


def _try_sandbox(sandbox: str, allow_unsandboxed: bool) -> None:
    with contextlib.suppress(TruedError):
        choose_level(sandbox, allow_unsandboxed)


def _try_interpreter() -> None:
    with contextlib.suppress(TruedError, OSError, subprocess.SubprocessError):
        asyncio.run(find_interpreter())
