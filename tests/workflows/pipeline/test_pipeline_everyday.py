"""Everyday pipelines: a run that ended badly can continue, and silence does not close a Critical critique."""

from typing import Any

import pytest

from tests.workflows.pipeline.pipeline_agents import (
    Crew,
    Line,
    agent_of,
    builds,
    crashes,
    decided,
    honest,
    leaves,
)
from trued.engine.continuations import continuations
from trued.wire import Order


@pytest.mark.slow
@pytest.mark.spec("DAY-6")
async def test_a_reviewer_that_crashed_is_asked_again_by_resume_and_nobody_else_is(line: Line) -> None:
    crew = Crew(r_security=[crashes, crashes])
    engine = line.played(crew)
    record = await line.piped(engine)
    assert (record.state, record.code) == ("not proven", 1)
    ((command, does),) = continuations(engine.store, record)
    assert (command, "r-security" in does) == (f"trued resume {record.id}", True)
    before = len(crew.asked)
    ended = await engine.resume(record.id)
    assert crew.asked[before:] == ["r-security"]
    assert (ended.state, ended.code, str(ended.grade)) == ("done", 0, "proven")
    assert continuations(engine.store, ended) == []
    assert (await engine.resume(record.id)).head == ended.head
    assert crew.asked[before:] == ["r-security"]


@pytest.mark.slow
@pytest.mark.spec("DAY-6")
async def test_after_a_blocker_resume_has_it_fixed_and_checks_everything_again(line: Line) -> None:
    blocker = {"severity": "Blocker", "findings": [{"what": "doubles.py trusts its input", "severity": "critical"}]}
    crew = Crew(r_security=[blocker])
    engine = line.played(crew)
    record = await line.piped(engine)
    assert (record.state, decided(engine, record)[-1]) == ("not proven", ("review", "ERROR"))
    assert [command for command, _ in continuations(engine.store, record)] == [f"trued resume {record.id}"]
    before = len(crew.asked)
    ended = await engine.resume(record.id)
    again = crew.asked[before:]
    assert ("implementer-T01" in again, "v-tests" in again, "r-security" in again) == (True, True, True)
    assert (ended.state, ended.code) == ("done", 0)


CRITICAL = {"severity": "Critical", "findings": [{"what": "anybody may call it", "severity": "critical"}]}


def critic(*replies: dict[str, Any]) -> list[Any]:
    def says(reply: dict[str, Any]) -> Any:
        def act(order: Order) -> dict[str, Any]:
            leaves(order)
            return reply

        return act

    return [says(one) for one in replies]


@pytest.mark.slow
@pytest.mark.spec("DAY-7", "PIPE-5")
@pytest.mark.parametrize("withdraws", [True, pytest.param(False, marks=pytest.mark.slow)])
async def test_a_critique_that_is_still_critical_stays_open_until_its_critic_takes_it_back(
    line: Line, withdraws: bool
) -> None:
    content = {"key_findings": ["it is checked now"]}
    crew = Crew(ct_security=critic(CRITICAL, CRITICAL, content if withdraws else CRITICAL))
    engine = line.played(crew)
    record = await line.piped(engine)
    assert crew.asked.count("ct-security") == 3  # twice about the design, once about the work
    assert all("anybody may call it" in one for one in crew.briefs("implementer-T01"))
    assert "critical" in crew.briefs("implementer-T01")[0]
    verdict = engine.store.verdict(record.id)
    assert verdict
    said = [one for one in verdict.undecided if "anybody may call it" in one]
    if withdraws:
        assert (record.state, record.code) == ("done", 0)
        return
    assert (record.state, record.code) == ("not proven", 1)
    assert [one.by for one in verdict.objections] == ["ct-security"]
    assert "Critical" in said[0]
    assert continuations(engine.store, record)


@pytest.mark.slow
@pytest.mark.spec("DAY-7")
async def test_the_verification_file_says_what_the_engine_found_and_earlier_rounds_are_kept(line: Line) -> None:
    def wrong_at_first(order: Order) -> dict[str, Any]:
        first = order.key.startswith("wave 1 ")
        return builds(order, 5 if first and agent_of(order).endswith("T01") else None)

    crew = Crew(implementer=wrong_at_first, planner=honest)
    engine = line.played(crew)
    record = await line.piped(engine)
    assert (record.state, record.code) == ("done", 0)
    assert {"verification/v-tests.round-1.md", "memory/v-tests.round-1.mem.md"} <= line.files(record)
    first = line.document(record, "verification/v-tests.round-1.md")
    assert "What the engine found itself" in first
    assert "What the engine found itself" not in line.document(record, "verification/v-tests.md")
