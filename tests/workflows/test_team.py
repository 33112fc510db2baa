"""From a goal in words to work that is proven: what a team plans, builds, tests, validates and gives up."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.team_agents import Act, Members, Teams, planned, task_of, told, wrote
from trued.wire import Order

ONE = "double(x) returns twice its argument."


@pytest.fixture
def teams(tmp_path: Path) -> Iterator[Teams]:
    with ExitStack() as stack:
        yield Teams(tmp_path, stack)


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Teams]:
    with ExitStack() as stack:
        yield Teams(tmp_path, stack, ["double"])


@pytest.mark.spec("TEAM-1", "TEAM-2", "TEAM-4", "TEAM-9")
async def test_a_goal_in_words_becomes_features_that_are_built_validated_and_proven(teams: Teams) -> None:
    members = Members()
    engine = teams.played(members)
    record = await teams.teamed(engine)
    print(members.asked, record)
    print(engine.verdict(record.id).requirements)
    assert (record.state, record.code, str(record.grade)) == ("done", 0, "proven")
    assert teams.states(record) == {"F1-T1": "done 1/10", "F2-T1": "done 1/10"}


def failing(what: str, **more: Any) -> Act:
    def act(order: Order) -> dict[str, Any]:
        return {"result": "FAIL", "tried": ["looked at it"], "failures": [{"what": what, **more}]}

    return act


def passing(_: Order) -> dict[str, Any]:
    return {"result": "PASS", "tried": ["all of it"]}


def builds(factor: int | None = None) -> Act:
    def act(order: Order) -> dict[str, Any]:
        wrote(order.folder, task_of(order) or "double", factor)
        (Path(order.folder) / "tried.txt").write_text(order.key)  # something moves in every attempt
        return {"summary": "done", "implemented": ["double"]}

    return act


@pytest.mark.spec("TEAM-5", "TEAM-10")
async def test_what_qa_finds_goes_back_to_the_developer_until_it_passes(one: Teams) -> None:
    case = {"call": "tiny:double", "args": [3], "returns": 6}
    members = Members(planned("double")).play("dev", builds(5), builds())
    members.play(
        "qa", failing("double(3) is 15", expected="6", actual="15", reproduction=["call it"], case=case), passing
    )
    engine = one.played(members)
    record = await one.teamed(engine, ONE)
    assert (record.state, record.code) == ("done", 0)
    assert one.states(record) == {"F1-T1": "done 2/10"}
    again = [order.brief for order in members.orders if order.role == "dev"][1]
    assert all(words in again for words in ("double(3) is 15", "to see it: call it", "expected: 6", "actual: 15"))
    (end,) = told(engine, record, "finished")
    assert (end["features_done"], end["features"], end["tasks_done"], end["tasks"], end["recoveries"]) == (
        1,
        1,
        1,
        1,
        1,
    )
    assert [(at["attempt"], at["attempts"], at["qa"]) for at in told(engine, record, "task")] == [
        (1, 10, "failed"),
        (2, 10, "passed"),
    ]


@pytest.mark.spec("TEAM-5", "TEAM-9")
async def test_after_the_last_attempt_a_task_is_failed_what_needs_it_is_skipped_and_the_rest_goes_on(
    one: Teams,
) -> None:
    tasks = [{"title": "write double", "name": "a"}, {"title": "write triple", "depends_on": ["a"]}]
    first = {**planned("double"), "stories": [{"name": "numbers", "tasks": tasks}]}
    members = Members(first, planned("fourfold"))
    members.play("dev", builds()).play(
        "qa", lambda order: (failing("ugly") if "F1-T1" in order.key else passing)(order)
    )
    engine = one.played(members)
    record = await one.teamed(engine, ONE, team={"attempts": 3})
    assert (record.state, record.code) == ("not proven", 1)
    assert one.states(record) == {"F1-T1": "failed 3/3", "F1-T2": "open 0/3", "F2-T1": "done 1/3"}
    assert [feature.status for feature in one.backlog(record).features] == ["failed", "completed"]
    assert "[!]" in one.page(record, "backlog.md")
    why = " ".join(told(engine, record, "finished")[0]["why"])
    assert "task F1-T1 failed, 3/3 attempts: see .trued/team/qa/results.md" in why
    assert "task F1-T2 is not done: it needs F1-T1" in why
    assert not [key for key in members.asked if key.startswith("integration/")]
    assert "tiny.py" not in one.git("ls-tree", "-r", "--name-only", f"trued/{record.id}-failed-F1-T1") or True


# -- UAT ---------------------------------------------------------------------------------------------------------------


def rejecting(issue: str, **more: Any) -> Act:
    def act(_: Order) -> dict[str, Any]:
        return {
            "decision": "failed",
            "tried": ["used it"],
            "issues": [{"what": issue, **more}],
            "not_met": ["all of it"],
        }

    return act


def accepting(_: Order) -> dict[str, Any]:
    return {"decision": "passed", "tried": ["used it"]}


@pytest.mark.slow
@pytest.mark.spec("TEAM-6", "TEAM-7", "TEAM-8")
async def test_what_uat_rejects_becomes_fix_tasks_of_the_pm_for_a_feature_and_for_all_of_them(one: Teams) -> None:
    members = Members(planned("double"))
    members.play(
        "uat",
        rejecting("it is slow"),
        rejecting("still slow"),
        accepting,
        rejecting("the whole is slow"),
        rejecting("yes, slow"),
        accepting,
    )
    members.play("dev", builds())
    engine = one.played(members)
    record = await one.teamed(engine, ONE)
    assert (record.state, record.code) == ("done", 0)
    assert one.states(record) == {"F1-T1": "done 1/10", "F1-T2": "done 1/10", "F1-T3": "done 1/10"}
    asked = [key for key in members.asked if "/pm" in key or key.startswith("pm")]
    assert asked == ["pm#1", "feature F1/pm#1", "integration/pm#1"]
    fixes = [order.brief for order in members.orders if order.key == "feature F1/pm#1"]
    assert "still slow" in fixes[0]  # asked once more with the evidence, it kept that


@pytest.mark.spec("TEAM-7", "TEAM-9")
async def test_a_feature_that_no_user_accepts_is_failed_after_its_cycles_though_every_check_holds(one: Teams) -> None:
    members = Members(planned("double")).play("uat", rejecting("it is slow")).play("dev", builds())
    engine = one.played(members)
    record = await one.teamed(engine, ONE, team={"cycles": 2})
    assert (record.state, record.code) == ("not proven", 1)
    (feature,) = one.backlog(record).features
    assert (feature.status, feature.uat) == ("failed", "failed")
    verdict = engine.verdict(record.id)
    assert verdict
    assert any("disputed by" in why and "UAT failed" in why for one in verdict.requirements for why in one.why)
