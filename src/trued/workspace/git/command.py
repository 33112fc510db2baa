"""Runs git so that only its arguments decide what it does: hooks, filters and the user's and the system's settings are
ignored."""

import asyncio
import contextlib
import fcntl
import os
import shutil
from asyncio.subprocess import Process
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from trued.errors import Busy, StateFailed
from trued.support.file_lock import take_lock
from trued.workspace.sandbox.process_start import start_process

SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.autocrlf=false",
    "core.sparseCheckout=false",
    "core.logAllRefUpdates=false",
    "core.checkStat=default",
    "core.trustctime=true",
    "core.fileMode=true",
    "core.symlinks=true",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
)
# With `SENT`, git starts its writes and does not wait for them. A later write with `SYNCED` makes all of them durable.
SENT = ("core.fsync=all", "core.fsyncMethod=writeout-only")
SYNCED = ("core.fsync=all", "core.fsyncMethod=fsync")
WITHIN_S = 600.0  # a git process that runs longer is taken to hang
TIMED_OUT = -1  # returned in place of the exit code of a git that hangs
NO_FILE = f"{os.devnull}/none"  # no file can exist there; with an empty file, git would print a hint about grafts


class GitFailed(StateFailed):
    """git ended with an error; `stderr` is what it wrote."""

    def __init__(self, arguments: Sequence[str], stderr: str) -> None:
        self.stderr = stderr
        super().__init__(f"git {arguments[0] if arguments else ''} failed: {last_line(stderr)}")


def git_environment() -> dict[str, str]:
    """The whole environment of git. The caller's own GIT_… variables are not in it."""
    return {
        "PATH": os.defpath,
        "LC_ALL": "C",
        "HOME": "/nonexistent",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_GRAFT_FILE": NO_FILE,
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TEMPLATE_DIR": "",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
    }


def git_command(
    arguments: Sequence[str], settings: Sequence[str] = SENT, *, always: Sequence[str] = SETTINGS
) -> list[str]:
    """The command line of git with these arguments. `always` and `settings` are passed as git settings (`-c
    name=value`)."""
    chosen = [word for setting in (*always, *settings) for word in ("-c", setting)]
    return [shutil.which("git") or "git", *chosen, *arguments]


async def end_process(process: Process) -> None:
    """Kill the process unless it has ended, and reap it."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


class Git:
    """Runs git on one repository: `folder` is its `--git-dir`.

    If there is a `lock`, every git process holds a shared lock on this file while it lives. A git process can outlive a
    killed engine for a moment. The next engine then waits until the lock is free.
    """

    def __init__(self, folder: Path, lock: Path | None = None) -> None:
        self.folder, self.lock = folder, lock

    async def wait_for_earlier_git(self, within_s: float = 60.0) -> None:
        """Wait until all git processes of an earlier engine have ended. Raises Busy after `within_s`."""
        if not self.lock:
            return
        self.lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self.lock.open("ab") as file:
            until = asyncio.get_running_loop().time() + within_s
            while not take_lock(file):
                if asyncio.get_running_loop().time() > until:
                    raise Busy(f"a git process of an earlier engine still works in {self.folder}")
                await asyncio.sleep(0.02)

    async def __call__(
        self,
        *arguments: str,
        stdin: bytes = b"",
        settings: Sequence[str] = SENT,
        variables: Mapping[str, str] | None = None,
        within_s: float = WITHIN_S,
    ) -> bytes:
        """Run git and return its output. Raises GitFailed if it fails."""
        code, out, stderr = await self.attempt(
            *arguments, stdin=stdin, settings=settings, variables=variables, within_s=within_s
        )
        if code != 0:
            raise GitFailed(arguments, stderr)
        return out

    async def attempt(
        self,
        *arguments: str,
        stdin: bytes = b"",
        settings: Sequence[str] = SENT,
        variables: Mapping[str, str] | None = None,
        within_s: float = WITHIN_S,
    ) -> tuple[int, bytes, str]:
        """Run git. Returns its exit code (TIMED_OUT if it hangs), its output and what it wrote to stderr. Raises
        StateFailed if git cannot be started."""
        argv = git_command([f"--git-dir={self.folder}", *arguments], settings)
        with self.shared_lock() as handles:
            try:
                process = await start_process(
                    *argv,
                    stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    env={**git_environment(), **(variables or {})},
                    cwd=self.folder if self.folder.is_dir() else None,
                    pass_fds=handles,
                )
            except OSError as error:
                raise StateFailed(f"cannot start {argv[0]}: {error.strerror}") from error
        try:
            async with asyncio.timeout(within_s):
                out, stderr = await process.communicate(stdin or None)
        except TimeoutError:
            return TIMED_OUT, b"", f"git did not end within {within_s:g} s"
        finally:
            await end_process(process)
        return process.returncode or 0, out, stderr.decode(errors="replace")

    @contextlib.contextmanager
    def shared_lock(self) -> Iterator[tuple[int, ...]]:
        if not self.lock or not self.lock.parent.is_dir():
            yield ()
            return
        with self.lock.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            yield (file.fileno(),)

    async def line(self, *arguments: str, stdin: bytes = b"", variables: Mapping[str, str] | None = None) -> str:
        """Run git and return its output as one stripped line."""
        return (await self(*arguments, stdin=stdin, variables=variables)).decode().strip()


def last_line(stderr: str) -> str:
    """The last line of git's messages; "no message" if there is none."""
    return (stderr.strip().splitlines() or ["no message"])[-1]


def printable_path(path: str | Path) -> str:
    """The path as text that can be stored and shown, whatever its bytes."""
    return str(path).encode(errors="surrogateescape").decode(errors="backslashreplace")


def as_alternate(objects: Path) -> str:
    """The folder as a value of GIT_ALTERNATE_OBJECT_DIRECTORIES: quoted, because a colon would separate two folders."""
    escaped = str(objects).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
