"""A repository, a plan and scripted agents inside this process: real git, real SQLite, real checks."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from trued.agents.adapters.scripted import ScriptedRuntime
from trued.engine.engine import Engine
from trued.engine.inputs import Request
from trued.engine.run_store import RunStore
from trued.model import Event, PersonAnswer, Question, RunRecord
from trued.run.context import Person
from trued.wire import Order

Script: TypeAlias = Callable[[Order], dict[str, Any]]

PLAN = """# Plan: numbers

## Goals

- numbers can be doubled

## Phase 1

| Chunk | Scope | Files |
| --- | --- | --- |
| 1A | `double(x)` returns twice its argument | tiny.py |
| 1B | `triple(x)` returns three times its argument | tiny.py |

**Ship criteria:**

- [ ] strings are doubled, too
"""


def example(function: str, argument: object, result: object) -> dict[str, Any]:
    return {"call": f"tiny:{function}", "args": [argument], "returns": result}


REQUIREMENTS = [
    {
        "id": "double",
        "text": "double(x) returns twice its argument",
        "covers": ["1A", "goal: numbers can be doubled"],
        "checks": [{"kind": "examples", "cases": [example("double", 21, 42), example("double", 5, 10)]}],
    },
    {
        "id": "triple",
        "text": "triple(x) returns three times its argument",
        "covers": ["1B"],
        "checks": [{"kind": "examples", "cases": [example("triple", 2, 6), example("triple", 5, 15)]}],
    },
    {
        "id": "strings",
        "text": "strings are doubled, too",
        "covers": ["ship: strings are doubled, too"],
        "checks": [{"kind": "examples", "cases": [example("double", "ab", "abab")]}],
    },
]

ONE_CHUNK = """# Plan: numbers

## Goals

- numbers can be doubled

| Chunk | Scope | Files |
| --- | --- | --- |
| 1A | `double(x)` returns twice its argument | tiny.py |
"""

CODE = {"1A": "def double(x):\n    return x + x\n", "1B": "\n\ndef triple(x):\n    return 3 * x\n"}


def chunk_of(order: Order) -> str:
    return order.key.partition("/")[0].removeprefix("chunk ")


def built(order: Order, code: Mapping[str, str] = CODE) -> dict[str, Any]:
    """An honest Team A: it writes the chunk's code."""
    file = Path(order.folder) / "tiny.py"
    text = code.get(chunk_of(order), "")
    if text not in file.read_text():
        file.write_text(file.read_text() + text)
    return {
        "implemented": [chunk_of(order)],
        "files": [{"path": "tiny.py", "what": "a function"}],
        "notes": ["look twice"],
    }


PASSED: dict[str, Any] = {"result": "PASS", "steel_man": ["tiny.py:1 reads well"], "gaps": [], "fixed": []}


def honest(order: Order) -> dict[str, Any]:
    return built(order) if order.role == "purple-team-a" else PASSED


class Ground:
    """One repository and one TRUED_HOME. Each engine made here counts as a new process for the journal."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self.stack = folder, stack
        self.repository, self.home = folder / "repo", folder / "home"
        self.requirements = folder / "requirements.json"
        self.repository.mkdir()
        (self.repository / "tiny.py").write_text("")
        self.write("PLAN.md", PLAN)
        self.require(REQUIREMENTS)
        self.git("init", "-q", "-b", "main")
        self.commit()

    def git(self, *arguments: str) -> str:
        who = ("-c", "user.name=user", "-c", "user.email=user@example.invalid", "-c", "commit.gpgsign=false")
        run = subprocess.run(["git", *who, *arguments], cwd=self.repository, check=True, capture_output=True, text=True)
        return run.stdout.strip()

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "base")

    def write(self, name: str, text: str) -> None:
        (self.repository / name).write_text(text)

    def require(self, requirements: list[dict[str, Any]]) -> None:
        self.requirements.write_text(json.dumps({"requirements": requirements}))

    def one_chunk(self) -> None:
        """Reduce the plan to one chunk, for tests in which a second one would show nothing more."""
        self.write("PLAN.md", ONE_CHUNK)
        self.require(REQUIREMENTS[:1])
        self.commit()

    def engine(self, script: Script = honest, *, person: Person | None = None) -> tuple[Engine, ScriptedRuntime]:
        runtime = ScriptedRuntime(script)
        environ = {"HOME": str(self.folder), "PATH": os.environ["PATH"]}
        more = {"person": person} if person else {}
        engine = self.stack.enter_context(closing(Engine(RunStore(self.home, environ), runtime=runtime, **more)))  # type: ignore[arg-type]
        return engine, runtime

    async def run(self, engine: Engine, goal: str = "PLAN.md", *, required: bool = True, **flags: Any) -> RunRecord:
        given = {"yes": True, "agents": {"*": "scripted:inside"}, **flags}
        place = self.repository / goal
        return await engine.start(
            Request(
                goal=str(place) if place.exists() else goal,
                repository=self.repository,
                requirements=self.requirements if required else None,
                workflow=given.pop("workflow", None),
                flags=given,
            )
        )

    def file(self, record: RunRecord, name: str) -> str:
        return self.git("show", f"{record.branch}:{name}")


def events(engine: Engine, record: RunRecord, kind: str) -> list[Event]:
    return [event for event in engine.store.journal.events(record.id) if event.kind == kind]


def saying(*answers: tuple[str, str]) -> Person:
    """A person who gives these answers, one after another, and is gone after the last."""
    left = list(answers)

    async def person(_: Question) -> PersonAnswer | None:
        if not left:
            return None
        answer, comment = left.pop(0)
        return PersonAnswer(answer, comment, "ann")

    return person


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    with ExitStack() as stack:
        yield Ground(tmp_path, stack)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """What is entered here is left when the test ends."""
    with ExitStack() as stack:
        yield stack
