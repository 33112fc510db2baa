"""A team's state without agents: which work is next, which criteria are due, which broke, and what is unfinished."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trued.model import Finding, Goal, Grade, Judged, TeamSettings
from trued.workflows.team.reply_parts import FixTask, NamedTests, Needs, PlannedFeature, PlannedStory, PlannedTask
from trued.workflows.team.state import Crew

GOAL = Goal(text="Numbers can be doubled. Numbers can be halved.")


def feature(name: str, *tasks: PlannedTask, **more: object) -> PlannedFeature:
    stories = (PlannedStory(name="all of it", tasks=tasks or (PlannedTask(title=f"build {name}"),)),)
    given = {"name": name, "criteria": (f"{name} works",), "stories": stories, **more}
    return PlannedFeature.model_validate(given)


def task(name: str, *needs: str) -> PlannedTask:
    return PlannedTask(title=f"build {name}", name=name, depends_on=needs)


def crew(*features: PlannedFeature, **settings: object) -> Crew:
    return Crew(goal=GOAL, settings=TeamSettings.model_validate(settings)).with_features(features)


def done(team: Crew, *names: str) -> Crew:
    for name in names:
        team = team.with_new_attempts([name]).with_result(name, (), stuck=False)
    return team


def judged(name: str, *, holds: bool) -> Judged:
    grade = Grade.PROVEN if holds else Grade.REFUTED
    return Judged(id=name, text=name, grade=grade, why=("because",), holds=holds)


@pytest.mark.spec("TEAM-1", "TEAM-3", "TEAM-14")
def test_tasks_wait_for_what_they_name_and_nobody_waits_for_ever() -> None:
    team = crew(feature("a", task("x"), task("y", "x"), task("z", "nothing", "z")))
    assert team.next_wave("F1", 1) == ("F1-T1",)
    assert team.next_wave("F1", 9) == ("F1-T1", "F1-T3")
    assert done(team, "F1-T1").next_wave("F1", 9) == ("F1-T2", "F1-T3")
    circled = crew(feature("a", task("x", "y"), task("y", "x")))
    assert circled.next_wave("F1", 9) == ("F1-T2",)  # the later dependency would close a cycle: left out


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=20), st.integers(1, 4))
def test_whatever_depends_on_whatever_every_task_has_its_turn(pairs: list[tuple[int, int]], most: int) -> None:
    needs = {number: [f"t{to}" for at, to in pairs if at == number] for number in range(6)}
    team = crew(feature("a", *(task(f"t{number}", *needs[number]) for number in range(6))))
    turns = 0
    while wave := team.next_wave("F1", most):
        team, turns = done(team, *wave), turns + 1
    assert team.has_all_tasks_done("F1")
    assert turns <= 6


@pytest.mark.spec("TEAM-3")
def test_the_most_important_feature_comes_first_but_never_before_what_it_needs() -> None:
    team = crew(feature("a", priority="low"), feature("b", priority="high", depends_on=("a",)), feature("c"))
    assert team.next_feature == "F3"
    team = team.with_feature("F3", status="completed")
    assert team.next_feature == "F1"
    assert team.with_feature("F1", status="failed").next_feature == ""
    assert team.with_feature("F1", status="completed").next_feature == "F2"
    assert "it needs F1" in " ".join(what for _, what in team.with_feature("F1", status="failed").gaps_in_plan())


@pytest.mark.spec("TEAM-5", "TEAM-9")
def test_criteria_are_due_after_a_features_last_task_and_the_goal_after_the_last_of_all() -> None:
    team = crew(feature("a", task("x"), task("y")), feature("b"))
    assert team.due_after("F1-T1") == ()
    team = done(team, "F1-T1")
    assert team.due_after("F1-T2") == ("F1",)
    assert team.due_after("F2-T1") == ("F2",)
    assert team.with_feature("F2", status="completed").due_after("F1-T2") == ("F1", "plan")
    failed = team.with_new_attempts(["F1-T1"]).with_result("F1-T1", [Finding(what="no")], stuck=True)
    assert failed.due_after("F1-T2") == ()  # a failed task is not done: nothing is due


@pytest.mark.spec("TEAM-5")
def test_attempts_are_counted_to_their_end_and_one_that_comes_back_is_a_recovery() -> None:
    team, gap = crew(feature("a"), attempts=2), [Finding(what="no")]
    once = team.with_new_attempts(["F1-T1"]).with_result("F1-T1", gap, stuck=False)
    assert (once.backlog.task("F1-T1").state, once.recoveries) == ("open", 0)
    assert done(once, "F1-T1").recoveries == 0  # a conflict with other work sent it back
    assert done(once.with_sent_back("F1-T1"), "F1-T1").recoveries == 1
    twice = once.with_new_attempts(["F1-T1"]).with_result("F1-T1", gap, stuck=False)
    assert (twice.backlog.task("F1-T1").state, twice.backlog.task("F1-T1").attempts) == ("failed", 2)
    stuck = team.with_new_attempts(["F1-T1"]).with_result("F1-T1", gap, stuck=True).backlog.task("F1-T1")
    assert (stuck.state, stuck.attempts) == ("failed", 1)
    assert "no progress" in stuck.note
    assert crew(feature("a"), heal=False).backlog.task("F1-T1").limit == 1


@pytest.mark.spec("TEAM-5")
def test_what_held_before_must_hold_still_and_what_never_held_is_not_held_against_a_task() -> None:
    team = crew(feature("a")).with_held([judged("F1-C1", holds=True), judged("F2-C1", holds=False)])
    lost = team.regressions([judged("F1-C1", holds=False), judged("F2-C1", holds=False)])
    assert [one.requirement for one in lost] == ["F1-C1"]
    again = team.with_held([judged("F1-C1", holds=False)])
    assert again.regressions([judged("F1-C1", holds=False)]) == ()


@pytest.mark.spec("TEAM-7", "TEAM-9")
def test_a_feature_is_completed_only_with_its_tasks_its_evidence_and_its_users_yes() -> None:
    team = done(crew(feature("a")), "F1-T1")
    yes = team.with_feature("F1", uat="passed")
    assert yes.with_feature_closed("F1").backlog.feature("F1").status == "failed"
    assert team.with_proven("F1").with_feature_closed("F1").backlog.feature("F1").status == "failed"
    assert yes.with_proven("F1").with_feature_closed("F1").backlog.feature("F1").status == "completed"
    off = done(crew(feature("a"), off=("uat",)), "F1-T1").with_proven("F1")
    assert off.with_feature_closed("F1").backlog.feature("F1").status == "completed"
    assert crew(feature("a")).with_proven("F1").with_feature_closed("F1").backlog.feature("F1").status == "failed"


@pytest.mark.spec("TEAM-7", "TEAM-8")
def test_fix_tasks_reopen_the_feature_that_they_mend_and_what_was_proven_of_it() -> None:
    team = done(crew(feature("a"), feature("b")), "F1-T1", "F2-T1").with_proven("F1", "F2", "plan")
    team = team.with_feature("F1", status="completed", uat="passed").with_feature(
        "F2", status="completed", uat="passed"
    )
    issues = [Finding(what="it is slow", requirement="F2-C1")]
    named = team.with_fixes("", [FixTask(title="mend", feature="F1"), FixTask(title="mend more")], issues)
    assert [one.id for one in named.backlog.tasks if one.is_open] == ["F1-T2", "F2-T2"]
    assert named.proven == ()
    alone = team.with_fixes("", [], issues)
    assert [one.id for one in alone.backlog.tasks if one.is_open] == ["F2-T2"]
    assert alone.proven == ("F1",)
    assert (alone.backlog.feature("F2").status, alone.backlog.feature("F2").uat) == ("in_progress", "pending")
    assert [one.text for one in alone.backlog.feature("F2").criteria] == ["b works"]


@pytest.mark.parametrize("before", ["first", "The first"], ids=["by name", "by title"])
@pytest.mark.parametrize("is_later", [False, True], ids=["earlier", "later"])
def test_a_fix_task_depends_on_another_by_its_name_or_its_title(before: str, is_later: bool) -> None:
    first = FixTask(title="The first", name="first", feature="F1")
    second = FixTask(title="The second", name="second", feature="F1", depends_on=(before,))
    fixes = [second, first] if is_later else [first, second]
    fixed = done(crew(feature("a")), "F1-T1").with_fixes("F1", fixes, [])
    tasks = {one.description: one for one in fixed.backlog.tasks}
    assert tasks["The second"].depends_on == (tasks["The first"].id,)
    assert tasks["The first"].depends_on == ()


@pytest.mark.spec("TEAM-4")
def test_a_tech_lead_adds_tests_and_dependencies_and_takes_nothing_away() -> None:
    team = crew(feature("a", task("x"), task("y")))
    tests = [NamedTests(command="pytest x", task="F1-T1"), NamedTests(command="pytest all", task="F9-T9")]
    needs = [Needs(task="F1-T1", depends_on=("F1-T2", "F1-T1", "F7-T1")), Needs(task="F1-T2", depends_on=("F1-T1",))]
    told = team.with_spec("F1", "so", tests, needs)
    assert [one.depends_on for one in told.backlog.tasks] == [("F1-T2",), ()]  # the second one would close a cycle
    assert told.named_tests("F1-T1") == ("pytest x",)
    assert done(told, "F1-T1").named_tests("F1-T2") == ("pytest x", "pytest all")


@pytest.mark.spec("TEAM-1", "LAW-12")
def test_the_contract_has_every_word_of_the_goal_and_every_criterion_and_no_task() -> None:
    plan = crew(feature("a", task("x"), task("y"))).plan()
    assert [one.text for one in plan.unread] == ["Numbers can be doubled.", "Numbers can be halved."]
    assert [(one.id, one.covers) for one in plan.requirements] == [("F1-C1", ("F1",))]
    assert plan.requirements[0].source.line > 1
    assert [one.id for one in plan.tasks] == ["F1", "F1-T1", "F1-T2"]
    assert plan.author == "pm"


@pytest.mark.spec("TEAM-3")
def test_a_feature_that_a_person_takes_away_is_not_gone_on_with() -> None:
    team = crew(feature("one"), feature("two"))
    left = team.with_edits(team.backlog.model_copy(update={"features": team.backlog.features[1:]}))
    assert left.next_wave("F1", 1) == ()
    assert not left.has_all_tasks_done("F1")
    assert left.with_feature_closed("F1") == left
    assert left.next_feature == "F2"


@pytest.mark.spec("TEAM-11")
def test_who_is_off_plays_nothing_and_what_nobody_looks_at_is_said_in_the_contract() -> None:
    every = crew(feature("a"))
    assert every.plan().undecided == ()
    assert all(every.plays(role) for role in ("pm", "techlead", "dev", "qa", "uat"))
    said = {
        "qa": ("qa is off: only the engine's own checks test a task",),
        "techlead": ("techlead is off: nobody names the tests that show that a task is done",),
        "uat": (
            "no UAT after a feature: nobody looks at it as its user would",
            "no integration UAT: nobody looks at all features together",
        ),
    }
    for role, words in said.items():
        team = crew(feature("a"), off=(role,))
        assert not team.plays(role)
        assert team.plan().undecided == words
    for setting, words, looks in (
        ("uat_after_feature", said["uat"][:1], (False, True)),
        ("uat_after_all", said["uat"][1:], (True, False)),
    ):
        team = crew(feature("a"), **{setting: False})
        assert team.plan().undecided == words
        assert (team.validates(team.feature_task("F1")), team.validates(team.plan())) == looks
    assert [one.attempts for one in (every, crew(attempts=4), crew(attempts=4, heal=False))] == [10, 4, 1]
