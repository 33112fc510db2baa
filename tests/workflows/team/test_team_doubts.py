"""Members that say they could not do their work, or that are left with a question: neither is ignored."""

from typing import Any

import pytest

from tests.workflows.team.team_agents import Act, Members, Teams, planned, told
from trued.wire import Order

ONE = "double(x) returns twice its argument."
LOST: dict[str, Any] = {"status": "ERROR", "summary": "the goal contradicts itself"}


def lost(act: Act, *kinds: str) -> Act:
    """The same answers, but with ERROR as status in replies of these kinds."""
    return lambda order: {**act(order), **(LOST if order.schema["title"] in kinds else {})}


def wonders(_: Order) -> dict[str, Any]:
    return {"result": "PASS", "tried": ["thought"], "asks": {"text": "is zero a number?"}}


@pytest.mark.spec("TEAM-1", "TEAM-9")
async def test_a_pm_who_says_error_of_the_goal_ends_the_run_and_is_asked_again_by_whoever_resumes_it(
    one: Teams,
) -> None:
    members = Members(planned("double"))
    members.play("pm", lost(members.pm, "Breakdown"))
    engine = one.played(members)
    record = await one.teamed(engine, ONE)
    assert (record.state, record.code) == ("failed", 5)
    assert "pm says ERROR: the goal contradicts itself" in record.why
    assert members.asked == ["pm#1", "pm#2"]
    again = await engine.resume(record.id)
    assert (again.state, again.code) == ("failed", 5)
    assert members.asked == ["pm#1", "pm#2", "pm#3", "pm#4"]


@pytest.mark.slow
@pytest.mark.spec("TEAM-4", "TEAM-6", "TEAM-7", "TEAM-9")
async def test_what_tech_lead_and_pm_say_they_could_not_do_is_an_objection_that_no_evidence_settles(one: Teams) -> None:
    members = Members(planned("double"))
    rejects = {"decision": "failed", "tried": ["used it"], "issues": [{"what": "it is slow"}]}
    members.play("uat", lambda _: rejects, lambda _: rejects, members.uat)
    members.play("techlead", lost(members.techlead, "Specified"))
    members.play("qa", wonders, members.qa)
    members.play("pm", lost(members.pm, "Fixes", "Clarified"))
    record = await one.teamed(one.played(members), ONE)
    assert (record.state, record.code, str(record.grade)) == ("not proven", 1, "unproven")
    assert [key for key in members.asked if "techlead" in key] == ["feature F1/techlead#1", "feature F1/techlead#2"]
    assert one.states(record) == {"F1-T1": "done 1/10", "F1-T2": "done 1/10"}  # the work continues anyway
    why = "ERROR: the goal contradicts itself"
    assert f"the techlead says about F1: {why}" in record.why
    assert f"the pm says about fix tasks for F1: {why}" in record.why
    assert f"qa's question about F1-T1 has no answer: the pm says {why}" in record.why
    inbox = one.page(record, "pm/inbox.md")
    assert "is zero a number?" in inbox
    assert "**Status**: pending" in inbox


@pytest.mark.slow
@pytest.mark.spec("TEAM-5", "TEAM-6")
async def test_whoever_still_asks_after_three_answers_has_neither_built_nor_tested(one: Teams) -> None:
    members = Members(planned("double"))
    asks = {"asks": {"to": "pm", "text": "why?"}}
    members.play("dev", lambda order: {**members.dev(order), **asks}).play("qa", wonders)
    record = await one.teamed(one.played(members), ONE, team={"attempts": 1})
    assert (record.state, record.code) == ("not proven", 1)
    assert one.states(record) == {"F1-T1": "failed 1/1"}
    task = "feature F1/task F1-T1/"
    roles = [key.removeprefix(task).partition("#")[0] for key in members.asked if key.startswith(task)]
    three = ["pm", "dev"] * 3 + ["qa"] + ["pm", "qa"] * 3
    assert roles == ["dev", *three, "qa"]  # the last time with the evidence
    results = one.page(record, "qa/results.md")
    assert "the developer still asks: why?" in results
    assert "QA's question is not answered: is zero a number?" in results


def wrongly(_: Order, case: dict[str, Any]) -> dict[str, Any]:
    return {"decision": "failed", "tried": ["used it"], "issues": [{"what": "it does not double", "case": case}]}


@pytest.mark.slow
@pytest.mark.spec("TEAM-7")
async def test_an_issue_whose_own_case_passes_is_closed_and_is_not_told_as_if_nobody_had_objected(one: Teams) -> None:
    case = {"call": "tiny:double", "args": [3], "returns": 6}
    members = Members(planned("double")).play("uat", lambda order: wrongly(order, case))
    engine = one.played(members)
    record = await one.teamed(engine, ONE)
    assert (record.state, record.code) == ("done", 0)
    words = "though UAT objected at first: evidence settled it"
    assert [each["why"] for each in told(engine, record, "uat")] == [[words], [words]]
    assert f"F1: passed, {words}" in one.page(record, "uat/results.md")


@pytest.mark.slow
@pytest.mark.spec("TEAM-5", "LAW-11")
async def test_a_task_for_which_nothing_was_changed_is_done_by_evidence_alone_and_the_verdict_says_so(
    one: Teams,
) -> None:
    tasks = [{"title": "write double"}, {"title": "write triple"}]
    members = Members({**planned("double"), "stories": [{"name": "numbers", "tasks": tasks}]})
    idle: dict[str, Any] = {"summary": "it was there already"}
    members.play("dev", lambda order: idle if "F1-T2/" in order.key else members.dev(order))
    engine = one.played(members)
    record = await one.teamed(engine, ONE)
    assert (record.state, record.code) == ("done", 0)  # the user asked only for double
    verdict = engine.store.verdict(record.id)
    assert verdict
    (said,) = [each for each in verdict.undecided if "nothing was changed" in each]
    assert "nothing was changed for F1-T2" in said
