"""Asks the user's own git about a repository."""

import subprocess
from pathlib import Path

WITHIN_S = 60
# These options keep git from starting programs that a repository's settings name, and from quoting paths.
QUIET = ("-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "-c", "diff.external=")


def ask_git(folder: str | Path, *arguments: str, fed: bytes = b"") -> bytes | None:
    """What git prints about the repository in this folder; None if git fails, is not installed or takes too long.
    `fed`: what git reads from standard input."""
    command = ["git", *QUIET, "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, input=fed, capture_output=True, check=False, timeout=WITHIN_S)
    except (OSError, ValueError, subprocess.TimeoutExpired):  # ValueError: a word with a NUL
        return None
    return done.stdout if done.returncode == 0 else None
