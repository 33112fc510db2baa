"""A call that breaks off: the next agent or session gets the work, the facts and the answers so far."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import Ground, events, saying
from trued.agents.adapters.scripted import ScriptedRuntime
from trued.agents.spool.spool import Spool
from trued.engine.engine import Engine
from trued.engine.run_store import RunStore
from trued.errors import Waiting
from trued.model import Reply, RunRecord, Task
from trued.run.clusters import Errand
from trued.run.context import Person
from trued.wire import Capabilities, EmitAgentEvent, Order, Report, Usage, to_json

GOAL = "double(x) returns twice its argument"
BUILT: dict[str, Any] = {"implemented": ["it"], "files": [{"path": "tiny.py", "what": "new"}]}
CASES = [{"call": "tiny:double", "args": [21], "returns": 42}, {"call": "tiny:double", "args": [5], "returns": 10}]
REQUIRED = [{"id": "double", "text": GOAL, "covers": [GOAL], "checks": [{"kind": "examples", "cases": CASES}]}]
USED = Usage(100, 10, estimated=False)

Turn = Callable[[Order], Report]


def built(order: Order) -> Report:
    (Path(order.folder) / "tiny.py").write_text("def double(x):\n    return x + x\n")
    return Report(order.call, order.attempt, "done", reply=BUILT, native="n1", resumed=order.resume, usage=USED)


def nothing(order: Order) -> Report:
    return Report(order.call, order.attempt, "done", reply=BUILT, native="n1", usage=USED)


def died(order: Order) -> Report:
    return Report(order.call, order.attempt, "died", why="its supervisor ended without a report", usage=USED)


def refused(order: Order) -> Report:
    (Path(order.folder) / "half.txt").write_text("half of the work")
    return Report(order.call, order.attempt, "failed", kind="rate", why="429", until=1.0, native="n2", usage=USED)


def asks(order: Order) -> Report:
    return Report(order.call, order.attempt, "asks", question="adding or shifting?", native="n1", usage=USED)


def asks_without_a_session(order: Order) -> Report:
    return replace(asks(order), native="")


def own_budget(order: Order) -> Report:
    return Report(order.call, order.attempt, "failed", kind="budget", why="Budget has been exceeded", native="n1")


class Played:
    """Plays one turn after another and keeps its orders; a turn that was played before returns the same report.
    `started`: programs of agents that the earlier turns tried to start; the spool tells of them after the report."""

    def __init__(self, *turns: Turn, before: "Played | None" = None, started: tuple[str, ...] = ()) -> None:
        self.turns, self.orders, self.started = list(turns), list[Order](), started
        self.known: dict[tuple[str, int], Report] = dict(before.known) if before else {}

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(resume=True)

    async def work(self, order: Order, emit: EmitAgentEvent) -> Report:
        if known := self.known.get((order.call, order.attempt)):
            emit("report found", state=known.state)
            for program in self.started:
                emit("tried to start an agent", program=program)
            return known
        self.orders.append(order)
        report = self.known[order.call, order.attempt] = self.turns.pop(0)(order)
        return report


class Place:
    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        ground.require(REQUIRED)

    def engine(self, played: Played, person: Person | None = None) -> Engine:
        more = {"person": person} if person else {}
        return self.ground.stack.enter_context(closing(Engine(RunStore(self.ground.home, {}), runtime=played, **more)))  # type: ignore[arg-type]

    async def run(
        self, *turns: Turn, person: Person | None = None, limits: Sequence[str] = ()
    ) -> tuple[Engine, RunRecord, Played]:
        played = Played(*turns)
        engine = self.engine(played, person)
        given: dict[str, Any] = {"agents": {"solo": "scripted:inside"}, "workflow": "solo", "limits": limits}
        return engine, await self.ground.run(engine, GOAL, **given), played


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with ExitStack() as stack:
        yield Place(Ground(tmp_path, stack))


@pytest.mark.spec("RUN-2", "RUN-6", "RUN-7")
async def test_a_second_attempt_that_is_refused_goes_on_where_it_was(place: Place) -> None:
    engine, record, played = await place.run(died, refused, built)
    _, second, third = played.orders
    assert (third.folder, third.home) == (second.folder, second.home)
    assert (third.resume, third.native) == (True, "n2")
    assert place.ground.file(record, "half.txt") == "half of the work"
    (answered,) = events(engine, record, "answered")
    assert (answered.data["attempts"], answered.data["tokens"]["in"]) == (2, 300)
    # Some agents report the session's total: the usage of a lost session is not subtracted from the next one's.
    assert [one.before.tokens_in for one in played.orders] == [0, 0, 100]


@pytest.mark.spec("RUN-2", "RUN-8")
async def test_whoever_dies_after_an_answer_is_told_the_goal_and_the_answer_again(place: Place) -> None:
    _, _, played = await place.run(asks, died, own_budget, person=saying(("by adding", "")))
    _, second, third = played.orders
    assert (second.resume, second.native) == (True, "n1")
    assert GOAL not in second.brief
    assert GOAL in second.anew  # the brief for a new session, if this one is lost
    assert not third.resume
    assert GOAL in third.brief
    assert "ann answers: by adding" in third.brief


@pytest.mark.spec("RUN-8")
@pytest.mark.slow
async def test_an_agent_without_memory_is_told_all_with_the_answer(place: Place) -> None:
    _, _, played = await place.run(asks_without_a_session, own_budget, person=saying(("by adding", "")))
    _, second = played.orders
    assert GOAL in second.brief
    assert "ann answers: by adding" in second.brief


@pytest.mark.spec("RUN-2")
@pytest.mark.slow
async def test_a_later_turn_that_dies_is_tried_again_with_all_facts(place: Place) -> None:
    _, _, played = await place.run(nothing, died, own_budget)
    _, second, third = played.orders
    assert second.resume
    assert not third.resume
    assert GOAL in third.brief
    assert len(third.brief) > len(second.brief)


def own_budget_after_some_work(order: Order) -> Report:
    return replace(own_budget(order), usage=replace(USED, cost_usd=0.1), ended=1.0)


@pytest.mark.spec("RUN-6")
@pytest.mark.slow
@pytest.mark.parametrize(("limits", "started"), [((), ()), (("usd=5",), ()), ((), ("codex",))])
async def test_an_agents_own_budget_ends_the_run_and_whoever_resumes_goes_on(
    place: Place, limits: tuple[str, ...], started: tuple[str, ...]
) -> None:
    _, record, played = await place.run(own_budget_after_some_work, limits=limits)
    assert (record.state, record.code) == ("limited", 4)
    assert f"`trued resume {record.id}`" in record.why
    assert "--limit" not in record.why, "no limit of trued raises the agent's own budget"
    record = await place.engine(Played(built, before=played, started=started)).resume(record.id)
    assert (record.state, record.code) == ("done", 0)


@pytest.mark.spec("RUN-8")
@pytest.mark.slow
@pytest.mark.parametrize("started", [(), ("codex",)])
async def test_whoever_resumes_after_too_many_questions_answers_the_last_one(
    place: Place, started: tuple[str, ...]
) -> None:
    person = saying(*[("by adding", "")] * 6)
    _, record, played = await place.run(*[asks] * 6, person=person)
    assert (record.state, record.code) == ("failed", 5)
    record = await place.engine(Played(built, before=played, started=started), person).resume(record.id)
    assert (record.state, record.code) == ("done", 0)


@pytest.mark.spec("RUN-8")
@pytest.mark.slow
async def test_whoever_resumes_lets_an_agent_ask_once_more_and_not_for_ever(place: Place) -> None:
    person = saying(*[("by adding", "")] * 9)
    _, record, played = await place.run(*[asks] * 6, person=person)
    again = Played(asks, asks, before=played)
    record = await place.engine(again, person).resume(record.id)
    assert (record.state, record.code) == ("failed", 5)
    assert len(again.orders) == 1, "the sixth answer led to one more order, whose question was one too many"


@pytest.mark.spec("RUN-2", "RUN-7")
def test_a_run_that_failed_tries_again_what_failed_and_not_what_was_refused(tmp_path: Path) -> None:
    for call, kind in (("a", "rate"), ("a.w1", "overloaded"), ("a.w2", "budget"), ("a.w3", "crashed")):
        (tmp_path / f"{call}.1").mkdir()
        (tmp_path / f"{call}.1" / "report.json").write_text(to_json(Report(call, 1, "failed", kind=kind)))
    Spool(tmp_path).retire_failed()
    assert [file.parent.name for file in sorted(tmp_path.glob("*/dead"))] == ["a.w3.1"]
    assert [file.parent.name for file in sorted(tmp_path.glob("*/report.json"))] == ["a.1", "a.w1.1", "a.w2.1"]


@pytest.mark.spec("RUN-2", "RUN-8", "RUN-9")
@pytest.mark.slow
async def test_a_question_of_one_breaks_off_nobody_who_works_beside_it(place: Place) -> None:
    ended: list[str] = []

    async def beside(order: Order) -> dict[str, Any]:
        if order.role == "solo":
            return {"question": "which one?"}
        await asyncio.sleep(0.5)
        ended.append(order.role)
        return {}

    engine = place.ground.stack.enter_context(
        closing(Engine(RunStore(place.ground.home, {}), runtime=ScriptedRuntime(beside)))
    )
    flags: dict[str, Any] = {"workflow": "solo", "plan_only": True}
    record = await place.ground.run(engine, GOAL, **flags)
    inputs = engine.store.inputs(record.id)
    run = engine.open_run(record, inputs)
    with pytest.raises(Waiting):
        await run.clusters.send_all(
            Errand(role, role, Reply, Task(id="1A", title="double")) for role in ("solo", "planner")
        )
    assert ended == ["planner"]
