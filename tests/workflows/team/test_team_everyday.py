"""Everyday teams: each task needs a change of its own, and criteria that nothing checks are reported to a person."""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import events, example
from tests.workflows.team.team_agents import (
    GOAL,
    TIMES,
    Act,
    Members,
    Teams,
    planned,
    required,
    task_of,
    told,
    wrote,
)
from trued.cli.status_line import planned as planned_work
from trued.engine.amendments import ContractChange, amend
from trued.engine.approvals import Decision, decide
from trued.engine.continuations import continuations, editable_copy
from trued.engine.landing.land import land
from trued.engine.landing.records import LandingRequest
from trued.engine.pending import waits
from trued.errors import BadInput
from trued.model import Grade, Judged, MissingFromEnvironment, Verdict
from trued.reporting.views.progress import Progress
from trued.wire import Order
from trued.workflows.team.task_in_progress import verdict_gaps

DOUBLE = "double(x) returns twice its argument."


@pytest.fixture
def teams(tmp_path: Path) -> Iterator[Teams]:
    with ExitStack() as stack:
        yield Teams(tmp_path, stack, ["double"])


def covering(name: str, sentence: str, *cases: dict[str, Any]) -> dict[str, Any]:
    return {"id": name, "text": name, "covers": [sentence], "checks": [{"kind": "examples", "cases": list(cases)}]}


def builds_all_at_once(order: Order) -> dict[str, Any]:
    """An honest developer that does the work of the second task along with the first."""
    wrote(order.folder, "double")
    return {"summary": "double is there", "implemented": ["double"], "files": ["tiny.py"]}


def idle_but_for_double(order: Order) -> dict[str, Any]:
    if task_of(order) == "double":
        wrote(order.folder, "double")
    return {"summary": "all of it is done", "implemented": ["everything"], "files": ["tiny.py"]}


@pytest.mark.slow
@pytest.mark.spec("DAY-4")
async def test_a_task_without_a_change_is_not_done_whatever_was_changed_before_it(teams: Teams) -> None:
    members = Members().play("dev", idle_but_for_double)
    engine = teams.played(members)
    record = await teams.teamed(engine, GOAL)  # the user's cases for double cover the whole goal
    assert record.code == 1
    features = {one.id: one.status for one in teams.backlog(record).features}
    assert features == {"F1": "completed", "F2": "failed"}
    assert teams.states(record)["F2-T1"] == "failed 3/10"
    assert not [key for key in members.asked if key.startswith("feature F2/") and ("/qa#" in key or "/uat#" in key)]
    assert not (await land(engine.store, record.id, LandingRequest(who="ann"), engine.person)).landed


@pytest.mark.spec("DAY-4")
@pytest.mark.slow
async def test_a_task_that_was_done_with_another_one_is_done_by_the_evidence_on_its_feature(teams: Teams) -> None:
    double = covering("is-double", DOUBLE, example("double", 7, 14), example("double", 5, 10))
    teams.require([double])
    members = Members(planned("double", "double", "triple")).play("dev", builds_all_at_once)
    engine = teams.played(members)
    record = await teams.teamed(engine, DOUBLE)
    assert (record.code, str(record.grade)) == (0, "proven")
    assert teams.states(record) == {"F1-T1": "done 1/10", "F1-T2": "done 1/10"}
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert [one for one in verdict.undecided if "nothing was changed for F1-T2" in one]
    for keep in (("is-double",), ("is-double",)):  # what the workflow noted stays, however often the contract changes
        await amend(engine.store, record.id, ContractChange(keep=keep, who="ann", why="it is only kept"))
        verdict = engine.store.verdict(record.id)
        assert verdict
        assert len([one for one in verdict.undecided if "nothing was changed for F1-T2" in one]) == 1


@pytest.mark.spec("DAY-4")
@pytest.mark.slow
async def test_criteria_that_the_contract_does_not_hold_are_not_checked_and_one_command_takes_them_in(
    teams: Teams,
) -> None:
    feature = {**planned("double"), "criteria": ["numbers of any size are doubled"]}  # the PM's words, not the user's
    engine = teams.played(Members(feature))
    record = await teams.teamed(engine, DOUBLE)
    assert (record.state, record.code, str(record.grade)) == ("waiting", 3, "unproven")
    verdict = engine.store.verdict(record.id)
    assert verdict
    grades = {one.id: str(one.grade) for one in verdict.requirements}
    assert grades == {"is-double": "proven", "F1-C1": "unproven"}
    (asked,) = waits(engine.store, record)
    assert (asked.kind, "--criterion F1-C1" in asked.command) == ("amend", True)
    assert not (await land(engine.store, record.id, LandingRequest(who="ann"), engine.person)).landed
    with pytest.raises(BadInput):  # a criterion outside the contract cannot be approved
        decide(engine.store, record.id, ["F1-C1"], Decision("ann", "looks fine"))
    change = ContractChange(criteria=("F1",), who="ann", why="it is asked for")
    amended = await amend(engine.store, record.id, change)
    assert (amended.state, amended.code) == ("waiting", 3)
    (asked,) = waits(engine.store, amended)
    assert (asked.kind, asked.requirement) == ("attest", "F1-C1")
    ended = decide(engine.store, record.id, ["F1-C1"], Decision("ann", "tried it"))
    assert (ended.state, ended.code) == ("done", 0)


@pytest.mark.slow
@pytest.mark.spec("DAY-4")
async def test_a_feature_that_a_person_adds_while_the_team_works_is_not_proven_by_anybodys_word(teams: Teams) -> None:
    def adds_one(order: Order) -> dict[str, Any]:
        place = engine.store.folder(order.run) / "files" / "backlog.md"
        new = "\n## Feature: goodbye\n\n### Acceptance Criteria\n\n- `python -m tiny bye` prints bye\n"
        new += "\n### Story: bye\n\n- [ ] write bye\n"
        if "goodbye" not in place.read_text():
            place.write_text(place.read_text() + new)
        return builds_all_at_once(order)

    def writes_something(order: Order) -> dict[str, Any]:
        (Path(order.folder) / "bye.py").write_text("BYE = 1\n")
        return {"summary": "bye is printed", "implemented": ["bye"], "files": ["bye.py"]}

    engine = teams.played(Members(planned("double")).play("dev", adds_one, writes_something))
    record = await teams.teamed(engine, DOUBLE)
    assert (record.state, record.code) == ("waiting", 3)
    assert "F2" in {one.id for one in teams.backlog(record).features}
    change = ContractChange(criteria=("all",), who="ann", why="I want it")
    amended = await amend(engine.store, record.id, change)
    assert (amended.code, [one.requirement for one in waits(engine.store, amended)]) == (3, ["F2-C1"])
    assert not (await land(engine.store, record.id, LandingRequest(who="ann"), engine.person)).landed


SENTENCES = [f"{name}(x) returns {words} its argument." for name, (_, words) in TIMES.items()]
THREE = "\n\n".join(SENTENCES)


def three(teams: Teams) -> Members:
    """A crew for three functions; the user has one requirement for each sentence of the goal."""
    asked = []
    for (name, (factor, _)), sentence in zip(TIMES.items(), SENTENCES, strict=True):
        asked.append(covering(f"is-{name}", sentence, *(example(name, one, factor * one) for one in (7, 5))))
    teams.require(asked)
    return Members(*map(planned, TIMES))


def fails_at(name: str, until: list[bool]) -> Act:
    def act(order: Order) -> dict[str, Any]:
        done = task_of(order)
        wrote(order.folder, done, 5 if done == name and not until else None)
        (Path(order.folder) / f"tried-{name}.txt").write_text(order.key)
        return {"summary": f"wrote {done}", "implemented": [done], "files": ["tiny.py"]}

    return act


@pytest.mark.slow
@pytest.mark.spec("DAY-6", "DAY-4")
async def test_a_feature_that_failed_is_opened_again_with_one_command_and_ends_proven(teams: Teams) -> None:
    able: list[bool] = []
    members = three(teams).play("dev", fails_at("triple", able))
    engine = teams.played(members)
    record = await teams.teamed(engine, THREE, team={"attempts": 2})
    assert (record.state, record.code) == ("not proven", 1)
    assert [one.status for one in teams.backlog(record).features] == ["completed", "failed", "completed"]
    ((command, _),) = continuations(engine.store, record)
    assert command == f"trued resume {record.id} --reopen F2-T1"
    handover = engine.store.folder(record.id) / "files" / "HANDOVER.md"
    assert command in handover.read_text()
    before = len(members.orders)
    again = await engine.resume(record.id)  # without an edit, no agent is called
    assert (again.state, len(members.orders)) == ("not proven", before)
    with pytest.raises(BadInput):
        await engine.resume(record.id, reopened=["F9"])
    able.append(True)
    ended = await engine.resume(record.id, reopened=["F2-T1"])
    assert (ended.state, ended.code, str(ended.grade)) == ("done", 0, "proven")
    assert [one.status for one in teams.backlog(ended).features] == ["completed"] * 3
    assert teams.states(ended)["F2-T1"] == "done 1/2"
    first = next(one for one in members.orders[before:] if one.role == "dev")
    assert "attempt 2 of 2" in first.brief  # the brief says how it failed before
    assert not any("see .trued" in one.note for one in teams.backlog(ended).tasks)


@pytest.mark.slow
@pytest.mark.spec("DAY-6", "DAY-4")
async def test_opening_a_task_again_by_hand_does_not_make_it_done_if_nothing_is_changed(teams: Teams) -> None:
    def idle_at_triple(order: Order) -> dict[str, Any]:
        return {"summary": "done"} if task_of(order) == "triple" else fails_at("", [])(order)

    members = three(teams).play("dev", idle_at_triple)
    engine = teams.played(members)
    record = await teams.teamed(engine, THREE)
    assert (record.state, teams.states(record)["F2-T1"]) == ("not proven", "failed 3/10")
    backlog = engine.store.folder(record.id) / "files" / "backlog.md"
    backlog.write_text(backlog.read_text().replace("[!]", "[ ]"))
    ended = await engine.resume(record.id)
    assert (ended.state, teams.states(ended)["F2-T1"]) == ("not proven", "failed 3/10")
    assert not (await land(engine.store, record.id, LandingRequest(who="ann"), engine.person)).landed


TRIPLE = "triple(x) returns three times its argument."


@pytest.mark.slow
@pytest.mark.spec("DAY-7")
async def test_a_second_goal_on_the_landed_first_continues_the_teams_decisions_and_backlog(teams: Teams) -> None:
    engine = teams.played(Members(planned("double")))
    first = await teams.teamed(engine, DOUBLE)
    assert (await land(engine.store, first.id, LandingRequest(who="ann"), engine.person)).landed
    teams.git("checkout", "-q", "--force", "main")
    teams.require(required(["triple"]))
    members = Members(planned("triple"))
    engine = teams.played(members)
    second = await teams.teamed(engine, TRIPLE)
    assert (second.state, second.code, str(second.grade)) == ("done", 0, "proven")
    backlog = teams.backlog(second)
    assert [(one.id, one.name, one.status) for one in backlog.features] == [
        ("F1", "double", "completed"),
        ("F2", "triple", "completed"),
    ]
    (begun,) = told(engine, second, "begun")
    assert (begun["found"], begun["features"], begun["tasks"]) == (["F2: triple"], 1, 1)
    adrs = teams.page(second, "techlead/architecture.md")
    assert ("ADR-001: F1, double" in adrs, "ADR-002: F2, triple" in adrs) == (True, True)
    assert all(name in teams.page(second, "techlead/specs.md") for name in ("## F1: double", "## F2: triple"))
    assert all(name in teams.page(second, "dev/completed.md") for name in ("F1-T1", "F2-T1"))
    assert all(name in teams.page(second, "qa/test-history.md") for name in ("F1-T1", "F2-T1"))
    assert "## 2. the goal" in teams.page(second, "pm/decisions.md")
    steps = [json.loads(one) for one in teams.page(second, "history.jsonl").splitlines()]
    assert [one["n"] for one in steps] == [*range(1, len(steps) + 1)]
    assert (TRIPLE in teams.page(second, "goal.md"), DOUBLE in teams.page(second, "earlier-goals.md")) == (True, True)
    pm = next(one for one in members.orders if one.role == "pm")
    assert all(words in pm.brief for words in ("F1: double (completed)", "one function a feature"))
    lead = next(one for one in members.orders if one.role == "techlead")
    assert "ADR-001" in lead.brief


@pytest.mark.slow
@pytest.mark.spec("DAY-7", "DAY-4")
async def test_a_second_goal_for_which_nothing_is_done_is_not_completed_by_the_first(teams: Teams) -> None:
    engine = teams.played(Members(planned("double")))
    first = await teams.teamed(engine, DOUBLE)
    assert (await land(engine.store, first.id, LandingRequest(who="ann"), engine.person)).landed
    teams.git("checkout", "-q", "--force", "main")
    teams.require(required(["triple"]))

    def idle_and_boastful(order: Order) -> dict[str, Any]:
        backlog = Path(order.folder) / ".trued" / "team" / "backlog.md"
        backlog.write_text(backlog.read_text().replace("[ ]", "[x]").replace("in_progress", "completed"))
        return {"summary": "as in the first goal, all is done"}

    engine = teams.played(Members(planned("triple")).play("dev", idle_and_boastful))
    second = await teams.teamed(engine, TRIPLE)
    assert (second.state, [one.status for one in teams.backlog(second).features]) == (
        "not proven",
        ["completed", "failed"],
    )
    assert not (await land(engine.store, second.id, LandingRequest(who="ann"), engine.person)).landed


@pytest.mark.spec("DAY-7")
@pytest.mark.slow
async def test_nobody_of_a_team_is_offered_a_question_to_a_person(teams: Teams) -> None:
    members = Members(planned("double"))
    members.play("dev", lambda _: {"summary": "I wait", "question": "may I use numbers?"}, members.dev)
    engine = teams.played(members)
    record = await teams.teamed(engine, DOUBLE)  # it asks although nobody can answer
    assert (record.state, record.code) == ("done", 0)
    assert not engine.store.journal.questions(record.id)
    assert not [one.key for one in members.orders if "question" in one.schema["properties"]]


@pytest.mark.spec("DAY-7")
async def test_a_backlog_and_a_context_of_an_older_tool_reach_the_pm(teams: Teams) -> None:
    (teams.repository / ".sheen").mkdir()
    teams.write(".sheen/plan.md", "# Numbers\n\n- [x] write the module\n- [ ] write double\n")
    teams.write(".sheen/context.md", "# Context\n\nNumbers are never negative here.\n")
    teams.commit()
    members = Members(planned("double"))
    engine = teams.played(members)
    record = await teams.teamed(engine, DOUBLE, plan_only=True)
    pm = next(one for one in members.orders if one.role == "pm")
    assert all(words in pm.brief for words in ("[ ] F1-T2: write double", "Numbers are never negative here."))
    assert "Numbers are never negative here." in teams.page(record, "context.md")
    # --plan-only says what would be built, and where that can still be changed
    lines = [str(one) for one in planned_work(Progress(engine.store.journal.events(record.id), "team"))]
    assert re.fullmatch(r"to build: \d features?, \d tasks?", lines[0]), lines
    assert any("double" in one for one in lines[1:])
    copy = editable_copy(engine.store, record)
    assert copy is not None
    assert "double" in copy.read_text()


@pytest.mark.spec("LAW-3", "LAW-12", "DAY-7")
async def test_a_backlog_that_anybody_may_have_written_removes_no_criterion_of_the_users_list(teams: Teams) -> None:
    tasks = "# Numbers\n\n- [x] write the module\n- [ ] write double\n"
    text = f"{tasks}\n## Success criteria\n\n- `half(x)` returns half of its argument.\n"
    settled = "# Backlog\n\n## F1: Numbers [completed]\n"
    for folder in (".sheen", ".trued/team"):
        (teams.repository / folder).mkdir(parents=True)
    teams.write(".sheen/plan.md", text)
    teams.write(".trued/team/plan.md.original", text)
    teams.write(".trued/team/backlog.md", settled)
    teams.commit()
    engine = teams.played(Members(planned("double")))
    record = await teams.teamed(engine, DOUBLE, plan_only=True, required=False)
    contract = engine.store.sealed_contract(record.id)
    assert any("half of its argument" in requirement.text for requirement in contract.requirements)


@pytest.mark.spec("TEAM-5", "DAY-4")
async def test_tasks_for_which_nothing_is_ever_changed_end_the_run(teams: Teams) -> None:
    """The first task is put off, the second fails, and then the first is tried again until it fails, too."""
    tasks = [{"title": "write double"}, {"title": "write triple"}]
    members = Members({**planned("double"), "stories": [{"name": "numbers", "tasks": tasks}]})
    members.play("dev", lambda _: {"summary": "it was there already"})
    engine = teams.played(members)
    record = await asyncio.wait_for(teams.teamed(engine, DOUBLE), 120)
    assert record.code == 1
    assert {state.split()[0] for state in teams.states(record).values()} == {"failed"}


@pytest.mark.spec("DAY-4", "DAY-7")
@pytest.mark.slow
async def test_people_see_who_works_and_completed_tasks_name_the_files_that_git_shows(teams: Teams) -> None:
    seen: list[str] = []

    def builds(order: Order) -> dict[str, Any]:
        seen.append((engine.store.folder(order.run) / "files" / "dev" / "progress.md").read_text())
        return {**builds_all_at_once(order), "files": ["cli.py"]}

    engine = teams.played(Members(planned("double")).play("dev", builds))
    record = await teams.teamed(engine, DOUBLE)
    assert (record.code, "F1-T1" in seen[0]) == (0, True)
    assert "Nobody works" in (engine.store.folder(record.id) / "files" / "dev" / "progress.md").read_text()
    completed = teams.page(record, "dev/completed.md")
    assert ("tiny.py" in completed, "cli.py" in completed) == (True, False)
    assert [one for one in events(engine, record, "claim refuted") if "cli.py" in str(one.data["what"])]


@pytest.mark.slow
@pytest.mark.spec("DAY-7")
async def test_qas_findings_keep_their_form_when_it_repeats_them_in_other_words(teams: Teams) -> None:
    words = iter(("double(0) is odd", "zero comes out wrong"))

    def rejects(_: Order) -> dict[str, Any]:
        failure = {"what": next(words, "again"), "expected": "0", "actual": "1", "reproduction": ["call double(0)"]}
        return {"result": "FAIL", "tried": ["double(0)"], "failures": [failure]}

    engine = teams.played(Members(planned("double")).play("qa", rejects))
    record = await teams.teamed(engine, DOUBLE, team={"attempts": 1})
    assert record.code == 1
    results = teams.page(record, "qa/results.md")
    assert all(line in results for line in ("**Failure**: zero comes out wrong", "  - expected: 0", "  - actual: 1"))


@pytest.mark.slow
@pytest.mark.spec("DAY-6")
async def test_who_only_asks_makes_no_progress_however_it_is_put(teams: Teams) -> None:
    def asks(order: Order) -> dict[str, Any]:
        return {"asks": {"to": "pm", "text": f"and what about {order.key}?"}}

    members = Members(planned("double")).play("dev", asks)
    record = await teams.teamed(teams.played(members), DOUBLE)
    assert (record.code, teams.states(record)) == (1, {"F1-T1": "failed 3/10"})
    assert not [one for one in members.orders if one.role == "qa"]


@pytest.mark.spec("DAY-2")
def test_what_only_the_environment_lacks_is_no_gap_in_anybodys_work() -> None:
    def verdict(grade: Grade, *missing: MissingFromEnvironment) -> Verdict:
        judged = Judged(id="a", text="a", grade=grade, why=("it needs redis",), holds=False, missing=missing)
        return Verdict(subject="plan", commit="1", requirements=(judged,))

    lacking = MissingFromEnvironment(name="redis", what="the package redis is not installed")
    assert verdict_gaps(verdict(Grade.UNJUDGED, lacking)) == ()
    assert [one.requirement for one in verdict_gaps(verdict(Grade.REFUTED))] == ["a"]


@pytest.mark.spec("LAW-5", "LAW-7", "DAY-4")
@pytest.mark.slow
@pytest.mark.parametrize(
    "words", ["`test -e DONE.md` passes", "`pytest tests/test_tiny.py` passes", "No new dependencies"]
)
async def test_what_the_pm_words_is_no_check_of_the_persons(teams: Teams, words: str) -> None:
    """The person takes the PM's criterion into the contract. What would show it is still the PM's word."""

    def leaves_a_note(order: Order) -> dict[str, Any]:
        (Path(order.folder) / "DONE.md").write_text("all is well\n")
        return builds_all_at_once(order)

    feature = {**planned("double"), "criteria": [words]}
    engine = teams.played(Members(feature).play("dev", leaves_a_note))
    record = await teams.teamed(engine, DOUBLE)
    assert (record.state, record.code) == ("waiting", 3)
    change = ContractChange(criteria=("all",), who="ann", why="as trued says")
    amended = await amend(engine.store, record.id, change)
    assert (amended.state, amended.code, str(amended.grade)) == ("waiting", 3, "unproven")
    (asked,) = waits(engine.store, amended)
    assert (asked.kind, asked.requirement) == ("attest", "F1-C1")


@pytest.mark.slow
@pytest.mark.spec("LAW-5", "LAW-7")
async def test_the_pms_words_stay_the_pms_if_a_requirement_of_the_person_has_the_same_id(teams: Teams) -> None:
    teams.require([{**required(["double"])[0], "id": "F1-C1"}])
    feature = {**planned("double"), "criteria": ["`test -e DONE.md` passes"]}
    engine = teams.played(Members(feature).play("dev", builds_all_at_once))
    record = await teams.teamed(engine, DOUBLE)
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert [(one.id, one.author) for one in verdict.requirements if one.outside] == [("F1-C1-edited", "pm")]


@pytest.mark.slow
@pytest.mark.spec("LAW-12", "DAY-4")
async def test_a_command_in_a_persons_own_criterion_is_its_check(teams: Teams) -> None:
    def adds_one(order: Order) -> dict[str, Any]:
        place = engine.store.folder(order.run) / "files" / "backlog.md"
        heading = "### Acceptance criteria\n\n"
        if "DONE.md" not in place.read_text():
            place.write_text(place.read_text().replace(heading, f"{heading}- `test -e DONE.md` passes\n"))
        (Path(order.folder) / "DONE.md").write_text("all is well\n")
        return builds_all_at_once(order)

    engine = teams.played(Members(planned("double")).play("dev", adds_one))
    record = await teams.teamed(engine, DOUBLE)
    assert (record.state, record.code) == ("waiting", 3)
    change = ContractChange(criteria=("all",), who="ann", why="I want it")
    amended = await amend(engine.store, record.id, change)
    contract = engine.store.contract(amended.id)
    assert contract
    assert [len(one.checks) for one in contract.requirements if "DONE.md" in one.text] == [1]


@pytest.mark.slow
@pytest.mark.spec("LAW-12", "DAY-4")
async def test_a_criterion_that_a_person_edits_again_after_an_amendment_is_not_lost(teams: Teams) -> None:
    words = ["double(x) returns twice its argument", "double(x) returns 2 times its argument"]
    words += ["double(x) returns x + x", "double(x) returns 2 * x"]

    def edit(run: str) -> None:
        place = engine.store.folder(run) / "files" / "backlog.md"
        before = words.pop(0)
        assert before in place.read_text()
        place.write_text(place.read_text().replace(before, words[0]))

    def edits_and_builds(order: Order) -> dict[str, Any]:
        edit(order.run)
        return builds_all_at_once(order)

    engine = teams.played(Members(planned("double")).play("dev", edits_and_builds))
    record = await teams.teamed(engine, DOUBLE)
    for name in ("F1-C1", "F1-C1-edited", "F1-C1-edited-2"):
        verdict = engine.store.verdict(record.id)
        assert verdict
        assert {one.id: one.text for one in verdict.requirements if one.outside} == {name: words[0]}
        assert record.code == 3
        if len(words) > 1:
            await amend(engine.store, record.id, ContractChange(criteria=("all",), who="ann", why="mine"))
            edit(record.id)
            record = await engine.resume(record.id)


@pytest.mark.slow
@pytest.mark.spec("LAW-12", "DAY-4", "RUN-8")
async def test_a_decision_does_not_end_a_run_that_has_not_read_a_persons_edit(teams: Teams) -> None:
    feature = {**planned("double"), "criteria": ["numbers of any size are doubled"]}
    engine = teams.played(Members(feature))
    record = await teams.teamed(engine, DOUBLE)
    await amend(engine.store, record.id, ContractChange(criteria=("F1",), who="ann", why="it is asked for"))
    place = editable_copy(engine.store, record)
    assert place
    row = "- **F1-C1**: numbers of any size are doubled\n"
    assert row in place.read_text()
    place.write_text(place.read_text().replace(row, f"{row}- lists are doubled, too\n"))
    ended = decide(engine.store, record.id, ["F1-C1"], Decision("ann", "tried it"))
    assert (ended.state, ended.code) == ("waiting", 3)
    (asked,) = waits(engine.store, ended)
    assert (asked.kind, asked.command) == ("resume", f"trued resume {record.id}")
    record = await engine.resume(record.id)
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert (record.code, [one.text for one in verdict.requirements if one.outside]) == (3, ["lists are doubled, too"])
    # without that criterion, the same decision ends the run
    ended = await amend(engine.store, record.id, ContractChange(criteria=("all",), who="ann", why="mine"))
    ended = decide(engine.store, record.id, ["F1-C2"], Decision("ann", "tried it"))
    assert (ended.state, ended.code) == ("done", 0)
