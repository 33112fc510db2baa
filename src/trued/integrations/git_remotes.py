"""The addresses of a repository's remotes."""

import subprocess
from pathlib import Path

from trued.errors import BadInput

WITHIN_S = 30


def remote_address(root: Path, remote: str) -> str:
    """The address of a remote as git itself would push to it; "" if there is none."""
    if remote.startswith("-") or not remote.isprintable() or not remote.strip():
        raise BadInput(f"{remote!r} is not a remote", "forge.remote", 'write a name such as "origin"')
    command = ["git", "-C", str(root), "remote", "get-url", "--push", remote]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=WITHIN_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
