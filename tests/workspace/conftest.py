"""A user's repository, and a workspace on it, made by real git."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from trued.wire import Confinement
from trued.workspace.git.repository import open_repository
from trued.workspace.git.workspace import GitWorkspace
from trued.workspace.sandbox.levels import level_state

Git: TypeAlias = Callable[..., str]
Begin: TypeAlias = Callable[..., GitWorkspace]


def git_in(folder: Path, *arguments: str) -> str:
    """Run git as a user does, without the configuration of the person who runs these tests."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    clean |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(folder)}
    ran = subprocess.run(["git", *arguments], cwd=folder, env=clean, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    return ran.stdout.decode(errors="backslashreplace").strip()


def snapshot(folder: Path) -> dict[str, bytes]:
    """Path → content of every file below the folder; for a link, its target."""
    found: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            found[str(path)] = os.fsencode(path.readlink())
        elif path.is_file():
            found[str(path)] = path.read_bytes()
    return found


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A small repository of a user, in a folder with a blank and an umlaut."""
    folder = tmp_path / "my prójekt"
    folder.mkdir()
    git_in(folder, "init", "-q", "-b", "main")
    git_in(folder, "config", "user.name", "User")
    git_in(folder, "config", "user.email", "user@example.org")
    (folder / "app.py").write_text("print('hello')\n")
    (folder / "run.sh").write_text("#!/bin/sh\necho run\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("app.py")
    (folder / "lib").mkdir()
    (folder / "lib" / "größe.py").write_text("x = 1\n")
    (folder / ".gitignore").write_text("*.log\nbuild/\n")
    git_in(folder, "add", "-A")
    git_in(folder, "commit", "-q", "-m", "first")
    return folder


@pytest.fixture
def begin(repo: Path, tmp_path: Path) -> Begin:
    """Makes workspaces on the repository's HEAD, all with the same state folder, as after a restart."""

    def make(level: str = "bubblewrap", run: str = "r1", **more: object) -> GitWorkspace:
        if not level_state(level).works:
            pytest.skip(f"{level}: {level_state(level).why}")
        found = open_repository(repo)
        sight = Confinement(level=level, **more)  # type: ignore[arg-type]
        return GitWorkspace(found.root, tmp_path / "state", run, f"trued/{run}", found.head, sight)

    return make


@pytest.fixture
async def workspace(begin: Begin) -> GitWorkspace:
    made = begin()
    await made.begin()
    return made
