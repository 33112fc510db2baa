"""Pushes a commit with the user's own git, credentials and hooks, never by force."""

import asyncio
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from trued.support.lazy_regex import lazy_regex
from trued.workspace.git.command import as_alternate, end_process, last_line

WITHIN_S = 300.0
_SECRET = lazy_regex(r"(?<=://)[^/@\s]+(?=@)")


async def push(repo: Path, objects: Path, remote: str, commit: str, ref: str) -> str:
    """Move `ref` at the remote forward to the commit. Returns "", or one sentence about why that failed.

    `objects`: a folder that has the commit, in case the user's repository does not.
    """
    arguments = ("push", "--quiet", "--no-follow-tags", "--", remote, f"{commit}:{ref}")
    code, _, stderr = await _users_git(repo, arguments, {"GIT_ALTERNATE_OBJECT_DIRECTORIES": as_alternate(objects)})
    if code is None:
        return f"git could not push to {_without_secrets(remote)}: no answer within {WITHIN_S:g} s"
    return "" if code == 0 else _why(remote, ref, stderr)


async def tip_at(repo: Path, remote: str, branch: str) -> str:
    """The commit of a branch at the remote; "" if there is none or the remote does not answer."""
    code, listed, _ = await _users_git(repo, ("ls-remote", "--", remote, f"refs/heads/{branch}"), {})
    return listed.split("\t")[0].strip() if code == 0 else ""


async def _users_git(repo: Path, arguments: Sequence[str], more: Mapping[str, str]) -> tuple[int | None, str, str]:
    """Run git as the user would. Returns exit code (None: it timed out), output and stderr."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT},
        **more,
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }
    process = await asyncio.create_subprocess_exec(
        *(shutil.which("git") or "git", "-C", str(repo), *arguments),
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, stderr = await asyncio.wait_for(process.communicate(), WITHIN_S)
    except TimeoutError:
        return None, "", ""
    finally:
        await end_process(process)
    return process.returncode, out.decode(errors="replace"), stderr.decode(errors="replace")


_KEPT = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_SSL_CAINFO", "GIT_SSL_NO_VERIFY", "GIT_CONFIG_GLOBAL")


def _why(remote: str, ref: str, stderr: str) -> str:
    branch, target = ref.removeprefix("refs/heads/"), _without_secrets(remote)
    if "non-fast-forward" in stderr or "fetch first" in stderr or "[rejected]" in stderr:
        return f"{branch} at {target} has other commits; it is not overwritten"
    if "Authentication failed" in stderr or "could not read Username" in stderr or "Permission denied" in stderr:
        return f"git is not allowed to push to {target}: log in with git first, or check your permissions there"
    return f"git could not push {branch} to {target}: {_without_secrets(last_line(stderr))}"


def _without_secrets(text: str) -> str:
    """The text without passwords in addresses and without control characters."""
    return _SECRET.sub("…", "".join(character for character in text if character.isprintable()))
