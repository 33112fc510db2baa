"""A team from a goal in words to proven work: what it plans, builds, tests, validates and gives up."""

from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import events
from tests.workflows.team.team_agents import Act, Members, Teams, planned, task_of, told, wrote
from trued.engine.approvals import Decision, decide
from trued.engine.estimate import estimate_run
from trued.wire import Order

ONE = "double(x) returns twice its argument."


FILES = """goal.md backlog.md feature-status.md config.toml history.jsonl context.md
pm/inbox.md pm/decisions.md pm/feature-breakdown.md techlead/inbox.md techlead/specs.md techlead/architecture.md
dev/inbox.md dev/progress.md dev/completed.md qa/inbox.md qa/results.md qa/test-history.md
uat/inbox.md uat/results.md uat/integration-uat.md"""


@pytest.mark.spec("TEAM-1", "TEAM-2", "TEAM-3", "TEAM-4", "TEAM-9", "TEAM-10", "TEAM-13")
async def test_a_goal_in_words_becomes_features_that_are_built_validated_and_proven(teams: Teams) -> None:
    members = Members(planned("triple", priority="low"), planned("double", priority="high"))
    engine = teams.played(members)
    record = await teams.teamed(engine, commands={"start": "python tiny.py"})
    assert (record.state, record.code, str(record.grade)) == ("done", 0, "proven")
    assert teams.states(record) == {"F1-T1": "done 1/10", "F2-T1": "done 1/10"}
    assert [(one.status, one.uat) for one in teams.backlog(record).features] == [("completed", "passed")] * 2
    assert [key for key in members.asked if "examiner" not in key] == [
        "pm#1",
        "feature F2/techlead#1",  # the more important one first, and its tech lead before its first task
        "feature F2/task F2-T1/dev#1",
        "feature F2/task F2-T1/qa#1",
        "feature F2/uat#1",
        "feature F1/techlead#1",
        "feature F1/task F1-T1/dev#1",
        "feature F1/task F1-T1/qa#1",
        "feature F1/uat#1",
        "integration/uat#1",
    ]
    there = teams.git("ls-tree", "-r", "--name-only", record.branch).split()
    assert {f".trued/team/{name}" for name in FILES.split()} <= {*there}
    assert "plain functions" in teams.page(record, "techlead/architecture.md")
    assert "one function a feature" in teams.page(record, "pm/decisions.md")
    assert "called it as a user would" in teams.page(record, "uat/integration-uat.md")
    assert teams.git("rev-parse", record.branch) == record.head
    work = teams.git("log", "--author=^dev", "--format=%s", f"main..{record.branch}").splitlines()
    assert work == ["feat(F1-T1): write triple", "feat(F2-T1): write double"]  # as people write commits
    (first,) = told(engine, record, "begun")
    assert (first["project"], first["found"]) == ("Python", ["F1: triple", "F2: double"])
    assert first["commands"]["start"] == "python tiny.py"  # as the user corrected it
    assert all("start: python tiny.py" in order.brief for order in members.orders if order.role == "dev")
    (end,) = told(engine, record, "finished")
    assert (end["features_done"], end["features"], end["tasks_done"], end["tasks"]) == (2, 2, 2, 2)
    assert (await engine.resume(record.id)).head == record.head


@pytest.mark.slow
@pytest.mark.spec("TEAM-11", "LAW-11")
async def test_a_role_that_is_off_is_skipped_and_what_nobody_checked_is_said(one: Teams) -> None:
    members = Members(planned("double"))
    engine = one.played(members)
    record = await one.teamed(engine, ONE, team={"off": ("techlead", "qa", "uat"), "heal": False})
    assert (record.state, record.code) == ("done", 0)  # by the user's own cases
    assert members.asked == ["pm#1", "feature F1/task F1-T1/dev#1"]
    assert one.states(record) == {"F1-T1": "done 1/1"}
    verdict = engine.store.verdict(record.id)
    assert verdict
    said = " ".join(verdict.undecided)
    assert all(words in said for words in ("qa is off", "techlead is off", "no UAT after", "no integration UAT"))


def failing(what: str, **more: Any) -> Act:
    def act(order: Order) -> dict[str, Any]:
        return {"result": "FAIL", "tried": ["looked at it"], "failures": [{"what": what, **more}]}

    return act


def passing(_: Order) -> dict[str, Any]:
    return {"result": "PASS", "tried": ["all of it"]}


def builds(factor: int | None = None) -> Act:
    def act(order: Order) -> dict[str, Any]:
        wrote(order.folder, task_of(order) or "double", factor)
        (Path(order.folder) / "tried.txt").write_text(order.key)  # each attempt changes something
        return {"summary": "done", "implemented": ["double"]}

    return act


@pytest.mark.slow
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


@pytest.mark.slow
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
    assert "def double" in one.git("show", f"trued/{record.id}-failed-F1-T1:tiny.py")  # kept on a branch of its own
    assert "def double" not in one.git("show", f"{record.branch}:tiny.py")
    results = one.page(record, "qa/results.md")
    assert "F1-T1, attempt 3 of 3: failed for good" in results
    assert "ugly" in results


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


@pytest.mark.spec("TEAM-7")
@pytest.mark.slow
async def test_the_clone_of_uat_is_dropped_when_it_has_accepted_a_feature(teams: Teams) -> None:
    members, folders, left = Members(), list[Path](), list[Path]()

    def validates(order: Order) -> dict[str, Any]:
        folders.append(Path(order.folder))
        return accepting(order)

    def develops(order: Order) -> dict[str, Any]:
        left.extend(one for one in folders if one.exists())
        return members.dev(order)

    members.play("uat", validates).play("dev", develops)
    record = await teams.teamed(teams.played(members))
    assert (record.code, len(folders)) == (0, 3)
    assert left == []


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
    assert "still slow" in fixes[0]  # UAT kept it after it saw the evidence


@pytest.mark.slow
@pytest.mark.spec("TEAM-7", "TEAM-8", "TEAM-9")
async def test_a_goal_that_is_not_accepted_as_a_whole_is_not_achieved_though_every_check_holds(one: Teams) -> None:
    rejects = rejecting("it is slow", expected="fast", actual="slow")
    members = Members(planned("double")).play("dev", builds())
    members.play("uat", lambda order: rejects(order) if order.key.startswith("integration/") else accepting(order))
    engine = one.played(members)
    record = await one.teamed(engine, ONE, team={"cycles": 2})
    assert (record.state, record.code) == ("not proven", 1)
    cycles = [each["uat"] for each in told(engine, record, "uat") if not each["feature"]]
    assert cycles == ["failed", "failed"]  # fixed once, validated again, then it ends
    assert one.states(record) == {"F1-T1": "done 1/10", "F1-T2": "done 1/10"}
    assert [key for key in members.asked if "pm" in key] == ["pm#1", "integration/pm#1"]
    assert [(each.status, each.uat) for each in one.backlog(record).features] == [("completed", "passed")]
    assert "F1: passed" in one.page(record, "uat/results.md")
    found = one.page(record, "uat/integration-uat.md")
    assert all(
        words in found for words in ("All features: failed", "used it", "it is slow", "expected: fast", "all of it")
    )
    assert "integration UAT failed: it is slow" in record.why
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert all("disputed by" in " ".join(each.why) for each in verdict.requirements)


@pytest.mark.slow
@pytest.mark.spec("TEAM-7", "TEAM-9")
async def test_a_feature_that_no_user_accepts_is_failed_after_its_cycles_though_every_check_holds(one: Teams) -> None:
    members = Members(planned("double")).play("uat", rejecting("it is slow")).play("dev", builds())
    engine = one.played(members)
    record = await one.teamed(engine, ONE, team={"cycles": 2})
    assert (record.state, record.code) == ("not proven", 1)
    (feature,) = one.backlog(record).features
    assert (feature.status, feature.uat) == ("failed", "failed")
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert any("disputed by" in why and "UAT failed" in why for one in verdict.requirements for why in one.why)


@pytest.mark.slow
@pytest.mark.spec("TEAM-5")
async def test_ten_attempts_are_ten_and_then_a_task_has_failed(one: Teams) -> None:
    members = Members(planned("double")).play("dev", builds()).play("qa", failing("ugly"))
    engine = one.played(members)
    record = await one.teamed(engine, ONE)
    assert (record.state, record.code) == ("not proven", 1)
    assert "- [!] **F1-T1**: write double (attempts: 10/10)" in one.page(record, "backlog.md")
    assert len([key for key in members.asked if "/dev#" in key]) == 10
    assert "see .trued/team/qa/results.md" in record.why


@pytest.mark.slow
@pytest.mark.spec("TEAM-5")
async def test_where_nothing_moves_a_task_ends_before_its_last_attempt_and_says_so(one: Teams) -> None:
    members = Members(planned("double")).play("dev", lambda _: {"implemented": ["nothing"]})
    engine = one.played(members)
    record = await one.teamed(engine, ONE)
    assert (record.state, record.code) == ("not proven", 1)
    assert one.states(record) == {"F1-T1": "failed 3/10"}
    assert "no progress" in " ".join(told(engine, record, "task")[-1]["why"])
    assert "no progress; see .trued/team/qa/results.md" in one.page(record, "backlog.md")
    assert events(engine, record, "no progress")


@pytest.mark.slow
@pytest.mark.spec("TEAM-4", "TEAM-5")
async def test_tests_that_the_tech_lead_names_are_run_by_the_engine_and_hold_a_task_up(one: Teams) -> None:
    command = "python -m pytest -q tests/test_double.py"

    def specifies(_: Order) -> dict[str, Any]:
        return {"spec": "With a test.", "tests": [{"command": command, "task": "F1-T1"}, {"command": "make shine"}]}

    def tests(order: Order) -> dict[str, Any]:
        (Path(order.folder) / "tests").mkdir()
        test = "from tiny import double\n\n\ndef test_it():\n    assert double(2) == 4\n"
        (Path(order.folder) / "tests" / "test_double.py").write_text(test)
        return {"implemented": ["its test"]}

    members = Members(planned("double")).play("techlead", specifies)
    members.play("dev", builds(), tests)
    engine = one.played(members)
    record = await one.teamed(engine, ONE)
    assert (record.state, record.code) == ("done", 0)
    assert one.states(record) == {"F1-T1": "done 2/10"}
    gaps = [order.brief for order in members.orders if order.role == "dev"][1]
    assert f"`{command}`: tests/test_double.py is not there" in gaps
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert "tests that the tech lead named could not be counted: make shine" in verdict.undecided


# -- what was there before ---------------------------------------------------------------------------------------------

OLD = """# Numbers

- [x] write triple
- [ ] write double
"""


@pytest.mark.spec("TEAM-11", "TEAM-12")
@pytest.mark.slow
async def test_an_old_list_of_tasks_is_migrated_once_with_its_settings_and_the_original_is_kept(one: Teams) -> None:
    one.write("plan.md", OLD)
    (one.repository / ".sheen").mkdir()
    one.write(
        ".sheen/config.json", '{"autoHeal": {"maxAttempts": 4}, "multiAgent": {"roles": {"uat": {"enabled": false}}}}'
    )
    one.commit()
    members = Members()
    engine = one.played(members)
    record = await one.teamed(engine, str(one.repository / "plan.md"))
    assert (record.state, record.code) == ("done", 0), record.why
    assert "pm#1" not in members.asked
    assert not [key for key in members.asked if "uat" in key]
    assert one.states(record) == {"F1-T1": "done 0/4", "F1-T2": "done 1/4"}
    assert one.page(record, "plan.md.original") + "\n" == OLD
    assert one.git("show", f"{record.branch}:plan.md") + "\n" == OLD
    assert len(events(engine, record, "migrated")) == 2
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert "no integration UAT: nobody looks at all features together" in verdict.undecided


# -- the goal's own words, and people ----------------------------------------------------------------------------------

WRITTEN = """# Numbers

Numbers can be multiplied.

## Success criteria

- double(x) returns twice its argument

## Constraints

- no dependency is added
"""


def honest_examiner(order: Order) -> dict[str, Any]:
    words = {"ship-1": "double(x) returns twice its argument", "F1-C1": "double(x) returns twice its argument"}
    listed = [
        {"requirement": name, "cases": [{"call": "tiny:double", "args": [one], "returns": 2 * one, "quotes": quote}]}
        for name, quote in words.items()
        for one in (4, 9)
    ]
    return {"interface": ["tiny:double(x)"], "cases": listed}


@pytest.mark.slow
@pytest.mark.spec("TEAM-1", "TEAM-9", "LAW-12")
async def test_success_criteria_and_constraints_of_a_goal_are_requirements_and_a_person_has_the_last_word(
    one: Teams,
) -> None:
    one.write("goal.md", WRITTEN)
    one.commit()
    members = Members(planned("double")).play("examiner", honest_examiner)
    engine = one.played(members)
    record = await one.teamed(engine, str(one.repository / "goal.md"), required=False)
    assert record.code == 3
    contract = engine.store.contract(record.id)
    assert contract
    words = {each.id: each.text for each in contract.requirements}
    assert words["ship-1"] == words["F1-C1"] == "double(x) returns twice its argument"
    assert words["constraint-1"] == "no dependency is added"
    assert words["text-1"] == "Numbers can be multiplied."
    assert not [name for name in words if "-T" in name]
    decide(engine.store, record.id, ["F1-C1"], Decision(who="ann", why="it is too slow", rejected=True))
    before = len(members.asked)
    again = await engine.resume(record.id)
    assert again.code in (1, 3)
    later = members.asked[before:]
    assert [key for key in later if "pm" in key or "dev" in key] == ["pm#2", "feature F1/task F1-T2/dev#1"]
    assert "it is too slow" in members.orders[before].brief


@pytest.mark.slow
@pytest.mark.spec("TEAM-1", "USE-10")
async def test_a_plan_can_be_seen_with_what_it_will_take_before_anybody_works(one: Teams) -> None:
    members = Members(planned("double"), planned("triple"))
    engine = one.played(members)
    record = await one.teamed(engine, ONE, plan_only=True)
    assert (record.state, record.code) == ("planned", 0)
    assert [key for key in members.asked if "examiner" not in key] == ["pm#1"]
    calls = {part.role: part.calls for part in estimate_run(engine.store, record.id).parts}
    assert (calls["dev"], calls["qa"]) == ((2, 20), (2, 40))
