"""The contract of every runtime, tested on all of them with the same agents."""

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from tests.agents.adapters.conftest import Play

Make: TypeAlias = Callable[[str], Any]

GOOD = """
def builder(order, folder):
    (folder / "made.txt").write_text(order["brief"])
    return {"summary": "done"}
"""
SECOND_TRY = """
def builder(order, folder):
    turns = folder / "turns"
    turns.write_text((turns.read_text() if turns.exists() else "") + f"{order['session']} {order['attempt']}\\n")
    (folder / f"brief{order['attempt']}").write_text(order["brief"])
    return {"summary": "done"} if order["attempt"] == 2 else {"summary": 5, "more": True}
"""
NEVER = """
def builder(order, folder):
    return {"summary": ["no", "text"]}
"""
FAILS = """
def builder(order, folder):
    raise RuntimeError("the model is on fire")
"""


@pytest.mark.spec("AGT-3", "AGT-7")
async def test_a_reply_that_keeps_its_contract_comes_back_with_what_was_made(play: Make) -> None:
    agent: Play = play(GOOD)
    report = await agent.work()
    assert (report.state, report.reply, report.asks) == ("done", {"summary": "done"}, 1)
    assert (report.call, report.attempt, report.session) == ("one", 1, "session-one")
    assert (agent.world.clone / "made.txt").read_text() == "Build it."


@pytest.mark.spec("AGT-3")
async def test_a_broken_contract_is_asked_about_once_in_the_same_session(play: Make) -> None:
    agent: Play = play(SECOND_TRY)
    report = await agent.work()
    assert (report.state, report.reply, report.asks, report.attempt) == ("done", {"summary": "done"}, 2, 1)
    assert (agent.world.clone / "turns").read_text() == "session-one 1\nsession-one 2\n"
    again = (agent.world.clone / "brief2").read_text()
    assert "`summary`" in again
    assert "more" in again
    assert ("Build it." in again) == (agent.kind == "command"), "who forgets is told again"


@pytest.mark.spec("AGT-3")
async def test_a_contract_broken_twice_is_a_failure_that_says_what_is_wrong(play: Make) -> None:
    agent: Play = play(NEVER)
    report = await agent.work()
    assert (report.state, report.kind, report.reply, report.asks) == ("failed", "contract", None, 2)
    assert "`summary`" in report.why
    assert "not of type 'string'" in report.why


@pytest.mark.spec("AGT-7")
async def test_an_agent_that_fails_says_why(play: Make) -> None:
    agent: Play = play(FAILS)
    report = await agent.work()
    assert (report.state, report.kind, report.asks) == ("failed", "crashed", 1)
    assert "the model is on fire" in report.why


@pytest.mark.spec("AGT-6")
async def test_usage_and_duration_are_recorded(play: Make) -> None:
    agent: Play = play(GOOD)
    report = await agent.work(brief="x" * 400)
    assert report.usage.tokens_in == 100
    assert report.usage.tokens_out > 0
    assert report.usage.estimated
    assert 0 < report.began <= report.ended


@pytest.mark.spec("PUR-5")
async def test_a_session_is_resumed_where_the_agent_can_and_the_report_says_so(play: Make) -> None:
    agent: Play = play(GOOD)
    first = await agent.work("first", session="s")
    second = await agent.work("second", session="s", resume=True)
    other = await agent.work("third", session="t", resume=True)
    resumed = [report.resumed for report in (first, second, other)]
    assert resumed == [False, agent.kind != "command", False]
