"""Between order and reply: providers that refuse for a while, agents that ask, logins that are refused."""

import asyncio
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import Ground, events
from trued.engine.approvals import answer_question
from trued.engine.engine import Engine
from trued.engine.run_store import RunStore
from trued.model import RunRecord
from trued.wire import Capabilities, EmitAgentEvent, Order, Report

BUILT: dict[str, Any] = {"implemented": ["it"], "files": [{"path": "tiny.py", "what": "new"}]}
DOUBLE = {"tiny.py": "def double(x):\n    return x + x\n"}
LATER = {"error": "API Error: 429 rate_limit_error: try again in 1 second", "status": 429}
GOAL = "double(x) returns twice its argument"
REQUIRED = [
    {
        "id": "double",
        "text": GOAL,
        "covers": [GOAL],
        "checks": [
            {
                "kind": "examples",
                "cases": [
                    {"call": "tiny:double", "args": [21], "returns": 42},
                    {"call": "tiny:double", "args": [5], "returns": 10},
                ],
            }
        ],
    }
]


class Yard:
    """A repository, and a fake Claude Code that does what the goal says after PLAY."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        ground.require(REQUIRED)

    def engine(self) -> Engine:
        environ = {"HOME": str(self.ground.folder), "PATH": os.environ["PATH"], "ANTHROPIC_API_KEY": "sk-none-planted"}
        return self.ground.stack.enter_context(closing(Engine(RunStore(self.ground.home, environ))))

    async def run(self, engine: Engine, *, flags: dict[str, Any] | None = None, **turns: Any) -> RunRecord:
        plays = {name.replace("_", " "): what for name, what in turns.items()}
        self.ground.write("AGENTS.md", f"PLAY {json.dumps(plays)}\n")
        self.ground.commit()
        given = {"agents": {"solo": "claude"}, "workflow": "solo", **(flags or {})}
        return await self.ground.run(engine, GOAL, **given)

    def told(self) -> list[dict[str, Any]]:
        """The agent's log: one entry per turn."""
        files = sorted((self.ground.home / "runs").rglob("projects/*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Yard]:
    programs = tmp_path / "programs"
    programs.mkdir()
    shutil.copy(Path(__file__).parents[1] / "agents" / "adapters" / "fake_claude.py", programs / "claude")
    (programs / "claude").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    with ExitStack() as stack:
        (tmp_path / "ground").mkdir()
        yield Yard(Ground(tmp_path / "ground", stack))


@pytest.mark.slow
@pytest.mark.spec("RUN-7")
async def test_a_rate_limit_is_waited_for_and_the_same_session_goes_on(yard: Yard) -> None:
    engine = yard.engine()
    record = await yard.run(engine, turn_1=LATER, turn_2={"reply": BUILT, "writes": DOUBLE})
    waits, (answered,) = events(engine, record, "waits"), events(engine, record, "answered")
    first, second = events(engine, record, "started")
    assert waits or second.at - first.at > 4  # unless the wait was over before the engine looked
    assert all("try again" in one.data["why"] for one in waits)
    assert (record.state, record.code) == ("done", 0)
    assert (answered.data["attempts"], answered.data["tokens"]["in"]) == (1, 200)  # both turns are paid for, once


@pytest.mark.spec("RUN-7", "USE-3")
@pytest.mark.slow
async def test_whoever_does_not_want_to_wait_resumes_later(yard: Yard) -> None:
    engine = yard.engine()
    record = await yard.run(engine, flags={"wait": False}, turn_1=LATER, turn_2={"reply": BUILT, "writes": DOUBLE})
    assert (record.state, record.code) == ("limited", 4)
    assert "429" in record.why
    await asyncio.sleep(5)
    record = await yard.engine().resume(record.id)
    assert (record.state, record.code) == ("done", 0)


@pytest.mark.slow
@pytest.mark.spec("RUN-8", "AGT-5")
async def test_a_question_waits_for_a_person_and_its_answer_goes_on_in_the_session(yard: Yard) -> None:
    engine = yard.engine()
    asks = {"reply": {**BUILT, "question": "by adding or by shifting?"}}
    record = await yard.run(engine, turn_1=asks, turn_2={"reply": BUILT, "writes": DOUBLE})
    assert (record.state, record.code) == ("waiting", 3)
    (question,) = engine.store.journal.questions(record.id)
    assert "by adding or by shifting?" in question.text
    answer_question(
        engine.store, record.id, "by adding; the key is sk-none-planted", comment="sk-none-planted", who="ann"
    )
    assert "sk-none" not in str([*engine.store.journal.questions(record.id), *engine.store.journal.events(record.id)])
    record = await yard.engine().resume(record.id)
    assert (record.state, record.code) == ("done", 0)


@pytest.mark.spec("RUN-7", "USE-3")
async def test_a_login_that_is_refused_is_neither_waited_for_nor_tried_again(yard: Yard) -> None:
    engine = yard.engine()
    record = await yard.run(engine, error="API Error: 401 invalid x-api-key", status=401)
    assert (record.state, record.code) == ("failed", 5)
    assert len(events(engine, record, "started")) == 1


@pytest.mark.spec("RUN-7")
async def test_an_examiner_whose_login_is_refused_ends_the_run_before_anybody_else_is_asked(yard: Yard) -> None:
    engine = yard.engine()
    refused = {"error": "API Error: 401 invalid x-api-key", "status": 401}
    record = await yard.run(engine, flags={"agents": {"*": "claude"}, "required": False}, **refused)
    assert (record.state, record.code) == ("failed", 5)
    assert [event.key for event in events(engine, record, "started")] == ["seal/examiner#1"]


@pytest.mark.slow
@pytest.mark.spec("RUN-5", "USE-6")
async def test_it_gets_its_login_and_nothing_else_of_the_environment(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "planted-7f3a9")
    engine = yard.engine()
    look = {"reply": BUILT, "writes": DOUBLE, "runs": "env > seen.txt"}
    record = await yard.run(engine, turn_1=look)
    seen = yard.ground.file(record, "seen.txt")
    assert "ANTHROPIC_API_KEY=" in seen
    assert "planted-7f3a9" not in seen
    kept = [file for file in (yard.ground.home / "runs").rglob("*") if file.is_file() and "projects" not in str(file)]
    assert not [file for file in kept if b"sk-none-planted" in file.read_bytes()]


class Unread:
    """A runtime with unreadable reports, like those of a supervisor of another version."""

    capabilities = Capabilities()
    calls = 0

    async def work(self, order: Order, emit: EmitAgentEvent) -> Report:
        self.calls += 1
        emit("corrupted", file="report.json")
        return Report(order.call, order.attempt, "died", why="its report was corrupted on the disk")


@pytest.mark.spec("RUN-2", "RUN-6")
async def test_a_call_whose_reports_cannot_be_read_is_not_paid_for_without_end(tmp_path: Path) -> None:
    with ExitStack() as stack:
        ground, runtime = Ground(tmp_path, stack), Unread()
        ground.require(REQUIRED)
        engine = stack.enter_context(closing(Engine(RunStore(ground.home, os.environ), runtime=runtime)))
        record = await ground.run(engine, GOAL, agents={"*": "scripted:inside"}, workflow="solo")
    assert (record.state, record.code, runtime.calls) == ("failed", 5, 3)
    assert "could not be read" in record.why
