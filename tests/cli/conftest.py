"""A journal that a test fills itself, and the real command line in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from trued.journals.sqlite import SqliteJournal
from trued.types import RunRecord

RUN = "r-abcde"
Trued = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def journal(home: Path) -> Iterator[SqliteJournal]:
    opened = SqliteJournal(home / "journal.db")
    yield opened
    opened.close()


@pytest.fixture
def record(journal: SqliteJournal, tmp_path: Path) -> RunRecord:
    """A run that somebody began and nobody drives."""
    repository = str(tmp_path / "project")
    one = RunRecord(
        id=RUN, workflow="purple", title="Slugs", repository=repository, base="b" * 40, branch=f"trued/{RUN}"
    )
    journal.add(one)
    return journal.run(RUN)


@pytest.fixture
def trued(home: Path, tmp_path: Path) -> Trued:
    """`trued ARGS`, as a shell would start it: no terminal, private state of its own."""

    def call(
        *args: str, cwd: Path | None = None, variables: Mapping[str, str] | None = None, within_s: float = 120
    ) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TRUED_", "XDG_"))}
        environment = {**kept, "TRUED_HOME": str(home), "HOME": str(tmp_path / "home"), **(variables or {})}
        return subprocess.run(
            [sys.executable, "-m", "trued", *args],
            cwd=cwd or tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=within_s,
            check=False,
        )

    return call


def git(folder: Path, *args: str) -> str:
    who = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *who, *args], cwd=folder, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small repository with one commit; its path has a space and letters beyond ASCII."""
    folder = tmp_path / "mein Projekt ä"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "textkit.py").write_text("def greet(name):\n    return 'hello'\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder
