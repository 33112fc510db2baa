"""Two whole runs of purple, an honest one and one with a lie in each chunk, checked in several ways."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.workflows.conftest import Ground, Script, events, honest
from tests.workflows.purple.test_purple import lazy, roles
from trued.agents.adapters.scripted import ScriptedRuntime
from trued.engine.engine import Engine
from trued.model import Grade, RunRecord


@dataclass(frozen=True)
class Played:
    """A finished run that several tests look at."""

    ground: Ground
    before: str  # the state of the user's repository before the run
    engine: Engine
    runtime: ScriptedRuntime
    record: RunRecord


@contextmanager
def played(folder: Path, script: Script) -> Iterator[Played]:
    with ExitStack() as stack:
        ground = Ground(folder, stack)
        ground.write("scratch.txt", "the user's own")
        before = status(ground)
        engine, runtime = ground.engine(script)
        yield Played(ground, before, engine, runtime, asyncio.run(ground.run(engine)))


def status(ground: Ground) -> str:
    return ground.git("status", "--porcelain=v2", "--branch")


@pytest.fixture(scope="module")
def proven(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    with played(tmp_path_factory.mktemp("proven"), honest) as one:
        yield one


@pytest.fixture(scope="module")
def mended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    """A run in which Team A lies about each chunk at first."""
    with played(tmp_path_factory.mktemp("mended"), lazy(2)) as one:
        yield one


@pytest.mark.slow
@pytest.mark.spec("PUR-2", "PUR-3", "PUR-7", "LAW-8", "RUN-1")
def test_a_plan_is_worked_through_chunk_by_chunk_and_proven(proven: Played) -> None:
    ground, record = proven.ground, proven.record
    assert (record.state, record.code, record.grade) == ("done", 0, Grade.PROVEN)
    assert roles(proven.runtime.orders) == ["1A a", "1A b", "1B a", "1B b"]
    assert "def triple" in ground.file(record, "tiny.py")
    assert ground.git("log", "--format=%an", f"main..{record.branch}").splitlines().count("purple-team-a") == 2


@pytest.mark.slow
@pytest.mark.spec("PUR-7", "PUR-5", "LAW-5", "LAW-7")
def test_a_lie_that_team_b_believes_is_refuted_and_mended_in_the_same_sessions(mended: Played) -> None:
    runtime = mended.runtime
    assert (mended.record.state, mended.record.grade) == ("done", Grade.PROVEN)
    assert roles(runtime.orders) == [f"{chunk} {team}" for chunk in ("1A", "1B") for team in "abab"]
    first, _, second, _ = runtime.orders[:4]
    assert (first.session, first.folder) == (second.session, second.folder)
    assert (first.resume, second.resume) == (False, True)
    assert runtime.orders[4].session != first.session


@pytest.mark.slow
@pytest.mark.spec("PUR-7", "LAW-7")
def test_team_a_learns_which_requirement_failed_and_how_but_no_held_out_value(mended: Played) -> None:
    again = next(order for order in mended.runtime.orders if order.resume)
    assert "double(x) returns twice" in again.brief
    assert "double" in again.brief
    for order in mended.runtime.orders:
        assert "42" not in order.brief
        assert "abab" not in order.brief


@pytest.mark.spec("PUR-3", "PUR-11", "AGT-4")
def test_team_b_is_given_the_plan_and_the_notes_not_the_conversation(proven: Played) -> None:
    runtime = proven.runtime
    a, b = runtime.orders[:2]
    assert "look twice" in b.brief
    assert "returns twice its argument" in b.brief
    assert a.session != b.session
    asked = events(proven.engine, proven.record, "asked")
    assert [event.data["brief"] for event in asked] == [order.brief for order in runtime.orders]
    assert all(event.data["chars"] == len(event.data["brief"]) for event in asked)


@pytest.mark.spec("PUR-6", "LAW-9")
def test_the_log_of_both_teams_is_committed_beside_the_plan(mended: Played) -> None:
    ground, record = mended.ground, mended.record
    log = ground.file(record, "MEMORY.md")
    assert log.index("### Chunk 1A") < log.index("### Chunk 1B")
    for words in ("Team A – Iteration 1", "Team B – Iteration 1", "Team A – Iteration 2", "look twice", "PASS"):
        assert words in log
    changed = ground.git("log", "--author=^trued", "--name-only", "--format=", f"main..{record.branch}").split()
    assert set(changed) == {"MEMORY.md"}


@pytest.mark.spec("PUR-10")
def test_ship_criteria_are_ticked_in_the_plan_copy_only_by_evidence(proven: Played) -> None:
    copy = (proven.engine.store.folder(proven.record.id) / "files" / "PLAN.md").read_text()
    assert "- [x] strings are doubled, too" in copy
    assert "strings" in copy.split("- [x] strings are doubled, too")[1].splitlines()[0]
    assert "- [ ] strings are doubled, too" in proven.ground.file(proven.record, "PLAN.md")


@pytest.mark.spec("RUN-3")
async def test_a_finished_run_costs_nothing_to_resume(proven: Played) -> None:
    again, runtime = proven.ground.engine()
    assert await again.resume(proven.record.id) == again.store.journal.run(proven.record.id)
    assert runtime.orders == []


@pytest.mark.spec("RUN-4", "RUN-9")
def test_nothing_is_left_but_the_branch(mended: Played) -> None:
    ground, record = mended.ground, mended.record
    assert status(ground) == mended.before
    assert ground.git("for-each-ref", "--format=%(refname)").split() == [
        "refs/heads/main",
        f"refs/heads/{record.branch}",
    ]
    assert not (mended.engine.store.folder(record.id) / "clones").exists()
    assert len({order.folder for order in mended.runtime.orders}) == 4
