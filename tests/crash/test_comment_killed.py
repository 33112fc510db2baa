"""`kill -9` while a call is stopped for a comment: nothing is lost, paid twice or said twice."""

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.crash.dying import Points, arm_engine
from tests.crash.sweep import forked, waited
from tests.crash.test_exchange_killed import BUILT, programs
from tests.crash.world import World
from trued.engine.comments import record_comment
from trued.engine.engine import Engine
from trued.engine.inputs import Request
from trued.engine.run_store import RunStore
from trued.model import RunRecord

__all__ = ["programs"]  # a fixture

SLOW = {"writes": {"half.txt": "half\n"}, "sleeps": 600}
DONE = {"reply": BUILT, "writes": {"tiny.py": "def double(x):\n    return x + x\n"}}
SAID = "by adding, please"


def made(place: Path) -> World:
    world = World(place).make()
    (world.repository / "AGENTS.md").write_text(
        f"PLAY {json.dumps({'turn 1': SLOW, 'turn 2': DONE, 'turn 3': DONE})}\n"
    )
    world.git("add", "-A")
    world.git("commit", "-qm", "play")
    return world


async def person(world: World) -> None:
    """Somebody who looks at the agent while it works, and says something once."""
    while not [one for one in (world.home / "runs").glob("*/spool/*/events.jsonl") if '"usage"' in one.read_text()]:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    with RunStore(world.home, {}) as store:
        (record,) = store.journal.runs()
        if not store.journal.comments(record.id):
            record_comment(store, record, SAID, who="ann", to="solo", now=True)


def drive(world: World) -> None:
    environ = {"HOME": str(world.folder), "PATH": os.environ["PATH"], "ANTHROPIC_API_KEY": "sk-none-planted"}
    engine = Engine(RunStore(world.home, environ))
    runs = engine.store.journal.runs()

    async def go() -> RunRecord:
        watching = asyncio.ensure_future(person(world))
        try:
            if runs:
                return await engine.resume(runs[0].id)
            flags = {"yes": True, "agents": {"solo": "claude"}, "limits": ["usd=5"]}
            given = {"repository": world.repository, "requirements": world.requirements, "workflow": "solo"}
            return await engine.start(Request(goal=str(world.plan), flags=flags, **given))
        finally:
            watching.cancel()

    record = asyncio.run(go())
    if (record.state, record.code) != ("done", 0):
        raise RuntimeError(f"run ended as {record.state} ({record.code}): {record.why}")


def came_to(world: World) -> dict[str, Any]:
    with RunStore(world.home, {}) as store:
        (record,) = store.journal.runs()
        spends = store.journal.spends(record.id)
        rows = [(row.call, row.attempt, row.state, row.spent.usd, row.spent.tokens) for row in spends]
        answered = [event.data["attempts"] for event in store.journal.events(record.id) if event.kind == "answered"]
        given = [[one.call for one in each.given] for each in store.journal.comments(record.id)]
    orders = [json.loads(file.read_text())["brief"] for file in world.home.rglob("order.json")]
    told = sum(brief.count(SAID) for brief in orders)
    return {"tree": world.tree(), "paid": rows, "attempts": answered[-1], "given": given, "told": told}


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.usefixtures("programs")
@pytest.mark.spec("PAGE-7", "RUN-2", "RUN-6")
def test_killed_anywhere_while_a_call_is_stopped_for_a_comment_nothing_is_lost_or_done_twice(
    tmp_path: Path, all_kills: bool
) -> None:
    world, log = made(tmp_path / "clean"), tmp_path / "engine.log"

    def unkilled() -> None:
        arm_engine(Points(log))
        drive(world)

    assert waited(forked(unkilled)) == 0
    expected = came_to(world)
    assert expected["given"] == [["solo#1"]]
    assert (expected["told"], expected["attempts"], len(expected["paid"])) == (1, 1, 2)
    names = log.read_text().splitlines()
    stopped = names.index("file report.json") + 1  # the report of a call that ended by itself is its supervisor's
    lasting = [at for at, what in enumerate(names, 1) if what == "journal" or what.startswith("file ")]
    near = [at for at in lasting if at >= stopped - 4][:12]  # from the comment until the session is asked again
    for at in near if all_kills else near[len(near) % 2 :: 2]:
        for when in ("before", "after"):
            world = made(tmp_path / f"engine-{at}-{when}")

            def killed(world: World = world, at: int = at, when: str = when) -> None:
                arm_engine(Points(world.folder / "engine.log", at, when))
                drive(world)

            assert waited(forked(killed)) == -signal.SIGKILL
            assert waited(forked(lambda world=world: drive(world))) == 0  # type: ignore[misc]
            assert not world.left_over()
            assert came_to(world) == expected, f"killed {when} write {at}: {names[at - 1]}"
