"""Agents that speak ACP, tested with a small one, through spool, supervisor and sandbox."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents.supervisor.world import LEVELS, World, running, wait_for
from trued.agents.adapters import agent_of, capabilities_of
from trued.errors import BadInput
from trued.wire import ProcessLimits, Report, Usage

PROGRAM = Path(__file__).with_name("acp_agent.py")
AGENT = f"acp:{sys.executable} {PROGRAM}"
DONE = 'says {"summary": "done"}'


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "world", level=LEVELS[0])
    yield made
    assert not made.left()


async def work(world: World, *lines: str, agent: str = AGENT, call: str = "one", **changes: Any) -> Report:
    order = world.order(agent, call, brief="\n".join(lines), **changes)
    return await world.runtime().work(order, world.tell)


def told(world: World, kind: str, call: str = "one") -> list[dict[str, Any]]:
    return [event for event in world.events(call) if event["kind"] == kind]


@pytest.mark.spec("AGT-1", "AGT-6")
async def test_an_acp_agent_works_answers_and_tells_what_it_used(world: World) -> None:
    report = await work(
        world, "says I begin", "thinks", "writes made.txt", DONE, "requests 120 30", "used 140 0.25", tools=("edit",)
    )
    assert (report.state, report.reply, report.native) == ("done", {"summary": "done"}, "own-1")
    assert (world.clone / "made.txt").read_text() == "written in own-1\n"
    assert report.usage == Usage(120, 30, 0, peak=140, cost_usd=0.25, estimated=False, cost="reported")
    kinds = [event["kind"] for event in world.events()]
    assert kinds.index("session") < kinds.index("says"), "its name is known before anything is paid for"
    assert [event["text"] for event in told(world, "says")] == ["I begin", '{"summary": "done"}']


@pytest.mark.spec("RUN-2")
async def test_a_later_call_goes_on_with_the_session_and_hears_nothing_of_the_past(world: World) -> None:
    first = await work(world, DONE, "used 100 0.25")
    later = await work(
        world, "writes again.txt", DONE, "used 150 0.40", call="two", resume=True, native="own-1", before=first.usage
    )
    assert (later.state, later.resumed, later.native) == ("done", True, "own-1")
    assert (world.clone / "again.txt").read_text() == "written in own-1\n"
    assert later.usage.cost_usd == pytest.approx(0.15), "what it tells counts the whole session"
    assert [event["text"] for event in told(world, "says", "two")] == ['{"summary": "done"}']


@pytest.mark.slow
@pytest.mark.spec("RUN-2")
async def test_a_session_that_cannot_be_gone_on_with_begins_afresh_and_is_told_all_facts(world: World) -> None:
    for call, agent, native in (
        ("lost", AGENT, "gone"),
        ("forgets", f"{AGENT} --forgets", "own-1"),
        ("none", AGENT, ""),
    ):
        report = await work(
            world, "dies", agent=agent, call=call, resume=True, native=native, anew=f"writes {call}\n{DONE}"
        )
        assert (report.state, report.resumed) == ("done", False)
        assert (world.clone / call).exists()
        assert told(world, "session lost", call)


@pytest.mark.spec("AGT-5")
async def test_permissions_are_answered_by_the_tools_of_the_role(world: World) -> None:
    report = await work(world, "asks execute", "asks edit", "asks fetch", DONE, tools=("execute",))
    assert report.state == "done"
    assert sorted(path.name for path in world.clone.iterdir()) == ["edit-refused", "execute-allowed", "fetch-refused"]
    assert [(event["tool"], event["answer"]) for event in told(world, "permission")] == [
        ("execute", "allowed"),
        ("edit", "policy"),
        ("fetch", "policy"),
    ]


@pytest.mark.spec("AGT-5")
async def test_what_the_role_does_not_allow_becomes_a_question_where_a_person_wants_to_be_asked(world: World) -> None:
    report = await work(world, "asks execute", "hangs", tools=("read",), prompts="ask")
    assert report.state == "asks"
    assert "wants to use execute: something of kind execute" in report.question


@pytest.mark.spec("AGT-3")
async def test_a_broken_contract_is_asked_about_in_the_same_session(world: World) -> None:
    report = await work(world, "says no JSON at all")
    assert (report.state, report.kind, report.asks) == ("failed", "contract", 2)
    assert (Path(world.top) / "home" / "sessions" / "own-1").read_text().count("\n") == 2


@pytest.mark.spec("RUN-7")
async def test_whoever_refuses_or_dies_says_why(world: World) -> None:
    refused = await work(world, "fails 401 invalid x-api-key", DONE)
    assert (refused.state, refused.kind) == ("failed", "auth")
    assert "invalid x-api-key" in refused.why
    died = await work(world, "dies", call="two")
    assert (died.state, died.kind) == ("failed", "crashed")
    assert "I die here" in died.why
    assert "ended without an answer to session/prompt" in died.why


@pytest.mark.spec("RUN-2")
async def test_an_agent_that_is_killed_goes_on_with_its_session(world: World) -> None:
    report = await work(world, "killed", DONE)
    assert (report.state, report.native) == ("done", "own-1")
    assert told(world, "agent died")


@pytest.mark.slow
async def test_an_agent_that_hangs_is_ended_and_a_tool_at_work_is_no_hang(world: World) -> None:
    hung = await work(world, "hangs", limits=ProcessLimits(idle_s=4.0, wall_s=600))
    assert (hung.state, hung.kind) == ("failed", "idle")
    for call, scale in (("two", 1), ("three", 10)):
        busy = await work(
            world, f"runs {6 * scale}", DONE, call=call, limits=ProcessLimits(idle_s=4.0 * scale, wall_s=600)
        )
        if told(world, "session", call):  # otherwise the machine is so busy that the agent had not begun
            break
    assert busy.state == "done"


@pytest.mark.spec("RUN-5")
@pytest.mark.parametrize("level", LEVELS)
async def test_nothing_that_an_acp_agent_starts_outlives_it(tmp_path: Path, level: str) -> None:
    world = World(tmp_path / level, level=level)
    token = f"61.{os.getpid()}{LEVELS.index(level)}"
    report = await work(world, f"spawns {token}", DONE)
    assert report.state == "done"
    assert not running(token)
    assert not world.left()


@pytest.mark.spec("RUN-2", "RUN-5")
async def test_after_the_death_of_its_supervisor_the_session_goes_on(world: World) -> None:
    order = world.order(AGENT, brief="\n".join(["writes before.txt", "runs 30", DONE]))
    engine = world.engine(order)
    wait_for(lambda: (world.clone / "before.txt").exists() and told(world, "session"), "the agent's work")
    os.kill(world.supervisor(), signal.SIGKILL)
    engine.kill()
    engine.communicate()
    report = await world.runtime().work(order, world.tell)
    assert (report.state, report.resumed, report.native) == ("done", True, "own-1")


def test_a_command_line_that_is_none_is_refused() -> None:
    with pytest.raises(BadInput, match="check its quotes"):
        agent_of("acp:agent 'half")
    with pytest.raises(BadInput, match="acp:PROGRAM ARGS"):
        agent_of("acp:")


async def test_an_agent_that_is_not_there_is_missing(world: World) -> None:
    report = await work(world, DONE, agent="acp:no-such-agent-anywhere --acp")
    assert (report.state, report.kind) == ("failed", "missing")
    assert "no-such-agent-anywhere" in report.why


def test_of_an_unknown_agent_no_vendor_is_known() -> None:
    assert capabilities_of("acp:anything").vendor == ""
    assert "cannot resume" not in " ".join(capabilities_of("acp:anything").limitations)
