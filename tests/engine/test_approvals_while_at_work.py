"""No decision is accepted while an agent of the run could have made it; this is tested in the agent's sandbox."""

import fcntl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import Ground, built, events
from trued.engine.amendments import ContractChange, amend
from trued.engine.approvals import Decision, decide
from trued.engine.engine import Engine
from trued.engine.landing.land import land
from trued.engine.landing.records import LandingRequest
from trued.errors import BadInput
from trued.model import PersonAnswer, RunRecord
from trued.reporting.views.progress import Progress
from trued.wire import Order
from trued.workspace.sandbox import scope
from trued.workspace.sandbox.levels import level_state

SPEAKS = "can reach unix sockets by path.*it could decide in your name"
MANUAL = {"id": "look", "text": "it looks well", "covers": ["1A"], "checks": [{"kind": "manual", "steps": ["look"]}]}
closed = pytest.mark.skipif(not scope.can_scope(), reason="this kernel's Landlock has no scopes (before 6.12)")


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    with ExitStack() as stack:
        ground = Ground(tmp_path, stack)
        ground.one_chunk()
        yield ground


@contextmanager
def at_work(engine: Engine, record: RunRecord) -> Iterator[None]:
    """A call at work, as a supervisor shows it: by a lock on the call's folder."""
    folder = engine.store.folder(record.id) / "spool" / "call"
    folder.mkdir(parents=True)
    with (folder / "lock").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    (folder / "lock").unlink()
    folder.rmdir()


async def _planned(ground: Ground, level: str) -> tuple[Engine, RunRecord]:
    if not level_state(level).works:
        pytest.skip(level_state(level).why)
    engine, _ = ground.engine()
    return engine, await ground.run(engine, sandbox=level, plan_only=True)


@pytest.mark.spec("LAW-7")
async def test_a_run_whose_sandbox_cannot_narrow_the_network_is_refused_before_it_begins(ground: Ground) -> None:
    if not level_state("landlock").works:
        pytest.skip(level_state("landlock").why)
    engine, _ = ground.engine()
    with pytest.raises(BadInput, match="cannot tell addresses apart"):
        await ground.run(engine, sandbox="landlock", network="loopback", plan_only=True)
    assert not list(engine.store.journal.runs())


@pytest.mark.spec("LAW-3", "RUN-8")
async def test_where_an_agent_can_reach_the_session_no_word_is_taken_while_it_works(ground: Ground) -> None:
    """With Landlock, sockets with a path can be reached on every kernel, so an agent could really answer."""
    engine, record = await _planned(ground, "landlock")
    change = ContractChange(keep=("double",), who="ann", why="so")
    with at_work(engine, record):
        with pytest.raises(BadInput, match=SPEAKS):
            decide(engine.store, record.id, [None], Decision(who="ann", why="read it"))
        with pytest.raises(BadInput, match=SPEAKS):
            await amend(engine.store, record.id, change)
        with pytest.raises(BadInput, match=SPEAKS):
            await land(engine.store, record.id, LandingRequest(), engine.person)
        with pytest.raises(BadInput, match=SPEAKS):
            await engine.resume(record.id, more=[("", "calls", 9)], who="ann")
    assert engine.store.journal.approvals(record.id) == []
    decide(engine.store, record.id, [None], Decision(who="ann", why="read it"))
    assert [one.who for one in engine.store.journal.approvals(record.id)] == ["ann"]


@closed
@pytest.mark.spec("RUN-8")
async def test_where_the_session_is_out_of_reach_a_word_is_taken_at_any_time(ground: Ground) -> None:
    engine, record = await _planned(ground, "bubblewrap")
    with at_work(engine, record):
        decide(engine.store, record.id, [None], Decision(who="ann", why="read it"))
    assert [one.who for one in engine.store.journal.approvals(record.id)] == ["ann"]


async def test_what_agents_wrote_counts_as_an_agent_while_the_engine_runs_it(ground: Ground) -> None:
    engine, record = await _planned(ground, "landlock")
    room = engine.store.folder(record.id) / "rooms" / "x0123"
    room.mkdir(parents=True)
    with engine.store.journal.claim(record.id), pytest.raises(BadInput, match=SPEAKS):
        decide(engine.store, record.id, [None], Decision(who="ann", why="read it"))
    # without a driver, nothing runs in a room that was left
    decide(engine.store, record.id, [None], Decision(who="ann", why="read it"))


@pytest.mark.spec("RUN-8", "LAW-8")
@pytest.mark.parametrize("level", ["landlock", "bubblewrap"])
async def test_a_question_is_not_asked_at_the_terminal_while_an_agent_could_answer_it(
    ground: Ground, level: str
) -> None:
    if not level_state(level).works:
        pytest.skip(level_state(level).why)
    ground.require([MANUAL])
    asked: list[str] = []
    stack = ground.stack.enter_context(ExitStack())

    async def person(question: Any) -> PersonAnswer:
        asked.append(question.key)
        return PersonAnswer(question.options[0], "fine", "ann")

    def works(order: Order) -> dict[str, Any]:
        if order.role == "purple-team-a":
            record = engine.store.journal.runs()[0]
            if not (engine.store.folder(record.id) / "spool" / "call").exists():  # it stays until the question is asked
                stack.enter_context(at_work(engine, record))
            return built(order)
        return {"result": "PASS", "steel_man": ["tiny.py:1 reads well"], "gaps": [], "fixed": []}

    engine, _ = ground.engine(works, person=person)
    record = await ground.run(engine, sandbox=level, yes=False)
    kept_back = events(engine, record, "not asked")
    if level == "landlock" or not scope.can_scope():
        assert asked == []
        assert kept_back
        assert "it could decide in your name" in str(kept_back[0].data["why"])
        assert (record.state, record.code) == ("waiting", 3)
        rows = Progress(engine.store.journal.events(record.id)).rows
        assert any("not asked at this terminal" in str(one) for one in rows.values())
    else:
        assert asked
        assert kept_back == []
        assert [one.who for one in engine.store.approvals(record.id)] == ["ann"]


@pytest.mark.spec("USE-6")
@pytest.mark.parametrize("name", ["DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK", "TMUX"])
async def test_no_variable_shows_agents_the_way_to_the_persons_session(ground: Ground, name: str) -> None:
    engine, _ = ground.engine()
    with pytest.raises(BadInput, match=f"access to your own session: {name}"):
        await ground.run(engine, variables=("LANG", name))
