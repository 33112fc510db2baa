"""Runs git so that nothing but its arguments decides what it does: no hooks, filters, user or system configuration."""

import asyncio
import contextlib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from trued.errors import StateFailed

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
# Data is sent to the disk but not waited for: the one sync that ends a group of writes makes all of them last.
SENT = ("core.fsync=all", "core.fsyncMethod=writeout-only")
SYNCED = ("core.fsync=all", "core.fsyncMethod=fsync")
WITHIN_S = 600.0  # a git that works longer hangs


class GitFailed(StateFailed):
    """git ended with an error; `said` is what it wrote."""

    def __init__(self, arguments: Sequence[str], said: str) -> None:
        self.said = said
        last = said.strip().splitlines()[-1:] or ["no message"]
        super().__init__(f"git {arguments[0] if arguments else ''} failed: {last[0]}")


def environment() -> dict[str, str]:
    """All that git inherits; the caller's own GIT_… variables are not among it."""
    return {
        "PATH": os.defpath,
        "LC_ALL": "C",
        "HOME": "/nonexistent",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TEMPLATE_DIR": "",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
    }


def command(arguments: Sequence[str], settings: Sequence[str] = SENT) -> list[str]:
    chosen = [word for setting in (*SETTINGS, *settings) for word in ("-c", setting)]
    return [shutil.which("git") or "git", *chosen, *arguments]


class Git:
    """git on one folder that nobody but the engine writes, as `--git-dir`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def __call__(
        self,
        *arguments: str,
        stdin: bytes = b"",
        settings: Sequence[str] = SENT,
        variables: Mapping[str, str] | None = None,
        within_s: float = WITHIN_S,
    ) -> bytes:
        code, out, said = await self.attempt(
            *arguments, stdin=stdin, settings=settings, variables=variables, within_s=within_s
        )
        if code != 0:
            raise GitFailed(arguments, said)
        return out

    async def attempt(
        self,
        *arguments: str,
        stdin: bytes = b"",
        settings: Sequence[str] = SENT,
        variables: Mapping[str, str] | None = None,
        within_s: float = WITHIN_S,
    ) -> tuple[int, bytes, str]:
        """Exit code, output and what git complained about."""
        process = await asyncio.create_subprocess_exec(
            *command([f"--git-dir={self.folder}", *arguments], settings),
            stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**environment(), **(variables or {})},
            cwd=self.folder if self.folder.is_dir() else None,
        )
        try:
            async with asyncio.timeout(within_s):
                out, said = await process.communicate(stdin or None)
        except TimeoutError:
            return -1, b"", f"no end after {within_s:g} s"
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        return process.returncode or 0, out, said.decode(errors="replace")

    async def line(self, *arguments: str, stdin: bytes = b"", variables: Mapping[str, str] | None = None) -> str:
        return (await self(*arguments, stdin=stdin, variables=variables)).decode().strip()
