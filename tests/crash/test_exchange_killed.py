"""`kill -9` while a provider is waited for, a question is open or has just been answered: as if nobody had."""

import asyncio
import json
import os
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.crash.dying import Points, arm_engine
from tests.crash.sweep import ROOT, dying, forked, waited
from tests.crash.world import World
from tests.workflows.conftest import saying
from trued.agents.spool.spool import SUPERVISOR
from trued.engine.engine import Engine
from trued.engine.inputs import Request
from trued.engine.run_store import RunStore
from trued.model import RunRecord

BUILT: dict[str, Any] = {"implemented": ["it"], "files": [{"path": "tiny.py", "what": "new"}]}
LATER = {"error": "API Error: 429 rate_limit_error: try again in 1 second", "status": 429}
ASKS = {"reply": {**BUILT, "question": "by adding or by shifting?"}, "writes": {"more.txt": "more\n"}}
DONE = {"reply": BUILT, "writes": {"tiny.py": "def double(x):\n    return x + x\n"}}
PLAYS = {"turn 1": {**LATER, "writes": {"half.txt": "half\n"}}, "turn 2": ASKS, "turn 3": DONE, "turn 4": DONE}


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "programs"
    folder.mkdir()
    shutil.copy(ROOT / "tests" / "agents" / "adapters" / "fake_claude.py", folder / "claude")
    (folder / "claude").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{ROOT / 'src'}")  # the dying supervisor is a module of the tests


def made(place: Path) -> World:
    world = World(place).make()
    (world.repository / "AGENTS.md").write_text(f"PLAY {json.dumps(PLAYS)}\n")
    world.git("add", "-A")
    world.git("commit", "-qm", "play")
    return world


def drive(world: World, supervisor: Sequence[str] = SUPERVISOR) -> None:
    environ = {"HOME": str(world.folder), "PATH": os.environ["PATH"], "ANTHROPIC_API_KEY": "sk-none-planted"}
    engine = Engine(RunStore(world.home, environ), supervisor=supervisor, person=saying(("by adding", "")))
    runs = engine.store.journal.runs()

    async def go() -> RunRecord:
        if runs:
            return await engine.resume(runs[0].id)
        flags = {"yes": True, "agents": {"solo": "claude"}, "limits": ["usd=5"]}
        asked = Request(
            goal=str(world.plan),
            repository=world.repository,
            requirements=world.requirements,
            workflow="solo",
            flags=flags,
        )
        return await engine.start(asked)

    record = asyncio.run(go())
    if (record.state, record.code) != ("done", 0):
        raise RuntimeError(f"run ended as {record.state} ({record.code}): {record.why}")


def came_to(world: World) -> dict[str, Any]:
    engine = Engine(RunStore(world.home, {}))
    (record,) = engine.store.journal.runs()
    rows = [
        (row.call, row.attempt, row.state, row.spent.usd, row.spent.tokens)
        for row in engine.store.journal.spends(record.id)
    ]
    answered = [event.data["attempts"] for event in engine.store.journal.events(record.id) if event.kind == "answered"]
    engine.close()
    return {"tree": world.tree(), "state": record.state, "paid": rows, "attempts": answered[-1]}


def resumed(world: World) -> dict[str, Any]:
    assert waited(forked(lambda: drive(world))) == 0
    assert not world.left_over()
    return came_to(world)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.usefixtures("programs")
@pytest.mark.spec("RUN-2", "RUN-6", "RUN-7", "RUN-8")
def test_killed_anywhere_between_the_ask_and_the_answer_nothing_is_lost_or_paid_twice(
    tmp_path: Path, all_kills: bool
) -> None:
    world, log = made(tmp_path / "clean"), tmp_path / "engine.log"

    def unkilled() -> None:
        arm_engine(Points(log))
        drive(world)

    assert waited(forked(unkilled)) == 0
    expected = came_to(world)
    names = log.read_text().splitlines()
    writes = [at for at, what in enumerate(names, 1) if what == "journal" or what.startswith("file ")]
    for at in writes if all_kills else writes[len(writes) % 3 :: 3]:
        world = made(tmp_path / f"engine-{at}")

        def killed(world: World = world, at: int = at) -> None:
            arm_engine(Points(world.folder / "engine.log", at, "after"))
            drive(world)

        assert waited(forked(killed)) == -signal.SIGKILL
        assert resumed(world) == expected, f"killed after write {at}: {names[at - 1]}"


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("programs")
@pytest.mark.spec("RUN-2", "RUN-6")
@pytest.mark.parametrize("who", ["supervisor", "both"])
def test_a_supervisor_killed_after_its_agent_was_refused_has_paid_for_that_turn(tmp_path: Path, who: str) -> None:
    world = made(tmp_path / "w")
    waited(forked(lambda: drive(world, dying(tmp_path / "supervisor.log", 7, "after", who))))
    assert (tmp_path / "supervisor.log").read_text().splitlines()[-1] == "event refused"
    left = resumed(world)
    assert (left["state"], left["attempts"]) == ("done", 1)
    assert sum(tokens for *_, tokens in left["paid"]) == 330  # three turns
