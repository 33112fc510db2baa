"""A journal that a test fills itself, and the real command line, each command in a process of its own."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.bare_inputs import BARE_INPUTS
from tests.warm import Warm
from trued.engine.journals.sqlite import SqliteJournal
from trued.model import RunRecord

RUN = "r-abcde"
Trued = Callable[..., subprocess.CompletedProcess[str]]
Each = Callable[..., list[subprocess.CompletedProcess[str]]]


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
    """A run in the journal that has begun and that nobody drives."""
    repository = str(tmp_path / "project")
    one = RunRecord(
        id=RUN, workflow="purple", title="Slugs", repository=repository, base="b" * 40, branch=f"trued/{RUN}"
    )
    journal.add(one, BARE_INPUTS)
    return journal.run(RUN)


@pytest.fixture
def trued(waiting: Warm, home: Path, tmp_path: Path) -> Trued:
    """Runs `trued ARGS` as a shell would, without a terminal and with a state folder of its own."""

    def call(
        *args: str, cwd: Path | None = None, variables: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        places = {"TRUED_HOME": str(home), "HOME": str(tmp_path / "home")}
        environment = {**clean_environment(), **places, **(variables or {})}
        return waiting.run(args, folder=cwd or tmp_path, variables=environment)

    return call


@pytest.fixture
def each(trued: Trued) -> Each:
    """Runs several commands one after the other."""

    def call(
        *lines: Sequence[str], cwd: Path | None = None, variables: Mapping[str, str] | None = None
    ) -> list[subprocess.CompletedProcess[str]]:
        return [trued(*line, cwd=cwd, variables=variables) for line in lines]

    return call


def clean_environment() -> dict[str, str]:
    """The environment without settings and logins of the person who runs the tests."""
    ours, keys = ("TRUED_", "XDG_", "CI"), ("_KEY", "_TOKEN")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours) and not name.endswith(keys)}


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


PLAN = """# Plan: numbers

| Chunk | Scope | Files |
| --- | --- | --- |
| 1A | `double(x)` returns twice its argument | tiny.py |
| 1B | `triple(x)` returns three times its argument | tiny.py |
"""
REQUIREMENTS = """requirements:
  - id: double
    text: double(x) returns twice its argument
    covers: ["1A"]
    checks:
      - kind: examples
        cases: [{call: "tiny:double", args: [21], returns: 42}, {call: "tiny:double", args: [5], returns: 10}]
  - id: triple
    text: triple(x) returns three times its argument
    covers: ["1B"]
    checks: [{kind: examples, cases: [{call: "tiny:triple", args: [2], returns: 6}]}]
"""


@dataclass(frozen=True)
class World:
    """A repository in a folder with a space and letters beyond ASCII, and a TRUED_HOME beside it."""

    top: Path
    waiting: Warm

    @property
    def repository(self) -> Path:
        return self.top / "mein Projekt ä"

    @property
    def home(self) -> Path:
        return self.top / "state"

    @property
    def variables(self) -> dict[str, str]:
        return {**clean_environment(), "TRUED_HOME": str(self.home), "HOME": str(self.top / "home"), "TERM": "xterm"}

    @property
    def work(self) -> list[str]:
        """The arguments of `trued run`."""
        script = Path(__file__).with_name("agents_for_cli.py")
        return ["PLAN.md", "--requirements", str(self.top / "requirements.yaml"), "--agent", f"scripted:{script}"]

    def trued(self, *args: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return self.waiting.run(args, folder=self.repository, variables={**self.variables, **variables})

    def data(self, *args: str) -> Any:
        done = self.trued(*args, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def world_in(top: Path, waiting: Warm) -> World:
    world = World(top, waiting)
    world.repository.mkdir(parents=True)
    (top / "requirements.yaml").write_text(REQUIREMENTS)
    (world.repository / "PLAN.md").write_text(PLAN)
    (world.repository / "tiny.py").write_text("")
    git(world.repository, "init", "-q")
    git(world.repository, "add", ".")
    git(world.repository, "commit", "-q", "-m", "base")
    return world


@pytest.fixture
def world(tmp_path: Path, waiting: Warm) -> World:
    return world_in(tmp_path, waiting)
