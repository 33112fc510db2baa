"""A small repository with a base and a head, for tests that verify."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

ONE = "def one():\n    return 1\n"
DOUBLE = f"{ONE}\n\ndef double(x):\n    return 2 * x\n"
WRONG = f"{ONE}\n\ndef double(x):\n    return 42\n"
REQUIREMENTS = """requirements:
  - id: double
    text: double(x) returns twice its argument
    checks:
      - kind: examples
        cases: [{call: "tiny:double", args: [21], returns: 42}, {call: "tiny:double", args: [5], returns: 10}]
"""


def git(folder: Path, *words: str) -> str:
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    plain = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "PATH": os.environ["PATH"]}
    command = ["git", "-c", "init.defaultBranch=main", *words]
    done = subprocess.run(command, cwd=folder, env=plain | who, check=True, capture_output=True, timeout=60)
    return done.stdout.decode().strip()


def committed(folder: Path, files: Mapping[str, str | None], message: str = "work") -> str:
    """Commit these files; a file with None is removed."""
    if not (folder / ".git").exists():
        folder.mkdir(parents=True, exist_ok=True)
        git(folder, "init", "-q")
    for name, content in files.items():
        place = folder / name
        if content is None:
            place.unlink()
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def project(folder: Path, head: str = DOUBLE) -> tuple[str, str]:
    """Base and head of a repository in `folder`."""
    base = committed(folder, {"tiny.py": ONE}, "base")
    return base, committed(folder, {"tiny.py": head})
