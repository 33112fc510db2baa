"""Purple, driven through the engine with scripted agents."""

from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import PASSED, PLAN, REQUIREMENTS, Ground, built, chunk_of, events, honest, saying
from trued.engine.approvals import Decision, answer_question, decide
from trued.errors import BadInput
from trued.model import Grade
from trued.wire import Order


def roles(orders: list[Order]) -> list[str]:
    return [f"{chunk_of(order)} {order.role[-1]}" for order in orders]


def lazy(rounds: int) -> Any:
    """Team A claims everything, and builds a chunk only from round `rounds` on; Team B approves everything."""
    asked: dict[str, int] = {}

    def script(order: Order) -> dict[str, Any]:
        if order.role == "purple-team-b":
            return PASSED
        asked[chunk_of(order)] = asked.get(chunk_of(order), 0) + 1
        done = asked[chunk_of(order)] >= rounds
        return built(order) if done else built(order, {})

    return script


@pytest.mark.spec("PUR-5", "PUR-9", "LAW-8")
async def test_a_lying_pair_is_stopped_after_three_rounds_and_the_gaps_are_listed(ground: Ground) -> None:
    ground.one_chunk()
    engine, runtime = ground.engine(lazy(99))
    record = await ground.run(engine)
    assert (record.state, record.code) == ("not proven", 1)
    assert len(runtime.orders) == 3 * 2
    assert "double" in record.why
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert {one.id: one.grade for one in verdict.requirements}["double"] is Grade.REFUTED
    assert "⚠" in ground.file(record, "MEMORY.md")


@pytest.mark.spec("PUR-5")
@pytest.mark.slow
async def test_the_number_of_rounds_can_be_set(ground: Ground) -> None:
    engine, runtime = ground.engine(lazy(99))
    await ground.run(engine, rounds=1)
    assert len(runtime.orders) == 4


@pytest.mark.spec("PUR-5")
@pytest.mark.slow
async def test_no_progress_ends_the_rounds_early_and_says_so(ground: Ground) -> None:
    engine, runtime = ground.engine(lazy(99))
    record = await ground.run(engine, rounds=9)
    assert len(runtime.orders) == 2 * 3 * 2
    assert len(events(engine, record, "no progress")) == 2


@pytest.mark.spec("PUR-7", "PUR-9")
@pytest.mark.parametrize(
    "review",
    [
        {**PASSED, "result": "GAPS_REMAIN", "gaps": [{"what": "negative numbers are not thought of"}]},
        {**PASSED, "result": "GAPS_REMAIN"},
        {**PASSED, "requirements": [{"requirement": "documented", "judgement": "missing", "where": "tiny.py:1"}]},
    ],
    ids=["a gap", "no gap named", "PASS over a missing requirement"],
)
@pytest.mark.many(1)
async def test_what_team_b_objects_to_sinks_green_evidence(ground: Ground, review: dict[str, Any]) -> None:
    ground.one_chunk()
    engine, runtime = ground.engine(lambda order: built(order) if order.role == "purple-team-a" else review)
    record = await ground.run(engine, rounds=1)
    assert (record.state, record.code) == ("not proven", 1)
    assert len({order.key for order in runtime.orders if order.role == "purple-team-a"}) == 1  # no further round
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert {one.id: one.grade for one in verdict.requirements}["double"] is Grade.UNPROVEN


@pytest.mark.slow
@pytest.mark.spec("PUR-3")
async def test_team_b_mends_on_top_of_team_a_in_a_commit_of_its_own(ground: Ground) -> None:
    def script(order: Order) -> dict[str, Any]:
        if order.role == "purple-team-a":
            return built(order, {"1A": "def double(x):\n    return x\n"})
        file = Path(order.folder) / "tiny.py"
        file.write_text(file.read_text().replace("return x\n", "return x + x\n"))
        return {**PASSED, "fixed": ["double doubled nothing"]}

    ground.one_chunk()
    engine, runtime = ground.engine(script)
    record = await ground.run(engine)
    assert record.grade is Grade.PROVEN
    assert len(runtime.orders) == 2
    authors = ground.git("log", "--reverse", "--format=%an", f"main..{record.branch}", "--", "tiny.py").splitlines()
    assert authors[:2] == ["purple-team-a", "purple-team-b"]


@pytest.mark.spec("PUR-8", "RUN-8")
async def test_without_yes_and_with_nobody_there_the_run_waits_and_goes_on_when_answered(ground: Ground) -> None:
    engine, runtime = ground.engine()
    record = await ground.run(engine, yes=False)
    assert (record.state, record.code) == ("waiting", 3)
    assert len(runtime.orders) == 2
    restarted, later = ground.engine()
    assert (await restarted.resume(record.id)).state == "waiting"
    answer_question(restarted.store, record.id, "yes", comment="", who="ann")
    assert (await restarted.resume(record.id)).state == "waiting"
    assert roles(later.orders) == ["1B a", "1B b"]
    answer_question(restarted.store, record.id, "yes", comment="", who="ann")
    assert (await restarted.resume(record.id)).state == "done"
    assert len(later.orders) == 2
    assert [one.who for one in restarted.store.journal.questions(record.id)] == ["ann", "ann"]


@pytest.mark.slow
@pytest.mark.spec("PUR-8")
async def test_a_redo_brings_its_comment_as_the_first_gap_of_fresh_rounds(ground: Ground) -> None:
    person = saying(("redo", "please name it well"), ("yes", ""), ("yes", ""))
    engine, runtime = ground.engine(person=person)
    record = await ground.run(engine, yes=False)
    assert record.state == "done"
    assert roles(runtime.orders) == ["1A a", "1A b", "1A a", "1A b", "1B a", "1B b"]
    assert "please name it well" in runtime.orders[2].brief
    assert runtime.orders[2].session != runtime.orders[0].session


@pytest.mark.slow
@pytest.mark.spec("PUR-8", "DAY-6")
async def test_stop_pauses_the_run_with_what_is_there_and_resume_asks_again(ground: Ground) -> None:
    engine, runtime = ground.engine(person=saying(("stop", "enough")))
    record = await ground.run(engine, yes=False)
    assert (record.state, record.code) == ("waiting", 3)
    assert f"trued resume {record.id}" in record.why
    assert len(runtime.orders) == 2
    assert "def double" in ground.file(record, "tiny.py")
    assert "stop: pause" in engine.store.journal.questions(record.id)[0].text
    restarted, later = ground.engine(person=saying(("stop", ""), ("yes", "")))
    assert (await restarted.resume(record.id)).state == "waiting"
    assert later.orders == []
    again, last = ground.engine(person=saying(("yes", ""), ("yes", "")))
    assert (await again.resume(record.id)).state == "done"
    assert roles(last.orders) == ["1B a", "1B b"]


@pytest.mark.slow
@pytest.mark.spec("PUR-9")
async def test_whoever_decides_after_the_last_round_is_warned_of_its_gaps_and_the_work_is_kept(
    ground: Ground,
) -> None:
    ground.one_chunk()
    wrong = {"1A": "def double(x):\n    return x\n"}
    engine, runtime = ground.engine(
        lambda order: built(order, wrong) if order.role == "purple-team-a" else PASSED,
        person=saying(("stop", "enough")),
    )
    record = await ground.run(engine, yes=False, rounds=1)
    assert (record.state, record.code, len(runtime.orders)) == ("waiting", 3, 2)
    question = engine.store.journal.questions(record.id)[0]
    assert "⚠ rounds are used up, with gaps:\n  - " in question.text
    assert "double" in record.why
    assert "return x" in ground.file(record, "tiny.py")


@pytest.mark.slow
@pytest.mark.spec("PUR-5", "PUR-9")
async def test_whoever_decides_after_rounds_without_progress_is_not_told_that_they_are_used_up(ground: Ground) -> None:
    ground.one_chunk()
    engine, runtime = ground.engine(lazy(99), person=saying(("redo", "try again"), ("stop", "enough")))
    record = await ground.run(engine, yes=False, rounds=5)
    first, again = (one.text for one in engine.store.journal.questions(record.id)[:2])
    assert len(runtime.orders) > 3 * 2
    for text in (first, again):
        assert "⚠ no progress" in text
        assert "used up" not in text


@pytest.mark.slow
@pytest.mark.spec("PUR-10")
async def test_a_criterion_that_is_not_proven_stays_open_until_a_person_accepts_it(ground: Ground) -> None:
    ground.require(REQUIREMENTS[:2])
    engine, _ = ground.engine()
    record = await ground.run(engine)
    assert (record.state, record.code) == ("waiting", 3)
    copy = engine.store.folder(record.id) / "files" / "PLAN.md"
    assert "- [ ] strings are doubled, too" in copy.read_text()
    verdict = engine.store.verdict(record.id)
    assert verdict
    (open_one,) = [one for one in verdict.requirements if one.grade is Grade.UNPROVEN]
    after = decide(engine.store, record.id, [open_one.id], Decision(who="ann", why="tried it by hand"))
    assert (after.state, after.code, after.grade) == ("done", 0, Grade.ATTESTED)
    assert "- [x] strings are doubled, too" in copy.read_text()
    assert "ann" in copy.read_text()


@pytest.mark.spec("LAW-2", "LAW-12")
async def test_a_plan_without_requirements_is_never_proven_by_silence(ground: Ground) -> None:
    engine, _ = ground.engine()
    record = await ground.run(engine, required=False, without_cases=True)
    assert (record.state, record.code) == ("waiting", 3)
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert {one.grade for one in verdict.requirements} == {Grade.UNPROVEN}
    texts = {one.text: one.source for one in verdict.requirements}
    assert texts["numbers can be doubled"] == "PLAN.md:5"


@pytest.mark.spec("LAW-2")
async def test_a_pair_that_changes_nothing_does_not_hold(ground: Ground) -> None:
    engine, _ = ground.engine(lambda order: built(order, {}) if order.role == "purple-team-a" else PASSED)
    record = await ground.run(engine, required=False, without_cases=True, rounds=1)
    assert (record.state, record.code) == ("not proven", 1)


@pytest.mark.slow
@pytest.mark.spec("RUN-3")
async def test_inputs_are_copied_so_a_changed_plan_or_role_is_not_mixed_in(ground: Ground) -> None:
    engine, _ = ground.engine()
    record = await ground.run(engine, yes=False)
    ground.write("PLAN.md", "# another plan\n")
    ground.require([])
    restarted, runtime = ground.engine()
    answer_question(restarted.store, record.id, "yes", comment="", who="ann")
    await restarted.resume(record.id, yes=True)
    assert "returns three times its argument" in runtime.orders[0].brief


@pytest.mark.spec("PUR-1")
async def test_a_plain_goal_is_planned_first_and_the_plan_is_confirmed(ground: Ground) -> None:
    def script(order: Order) -> dict[str, Any]:
        if order.role == "planner":
            return {"tasks": [{"id": "1A", "title": "double"}, {"id": "1B", "title": "triple"}]}
        return honest(order)

    engine, runtime = ground.engine(script, person=saying(("yes", ""), ("yes", ""), ("yes", "")))
    record = await ground.run(
        engine, "Doubling and tripling work.", required=False, without_cases=True, workflow="purple", yes=False
    )
    roles_asked = [order.role for order in runtime.orders if order.role != "examiner"]
    assert roles_asked[:2] == ["planner", "purple-team-a"]
    assert record.code == 3
    assert "1A: double" in engine.store.journal.questions(record.id)[0].text


@pytest.mark.spec("PUR-12")
async def test_solo_implements_all_and_mends_once(ground: Ground) -> None:
    def script(order: Order) -> dict[str, Any]:
        if order.resume:
            (Path(order.folder) / "tiny.py").write_text("def double(x):\n    return x + x\n")
        return {"implemented": ["all"], "files": []}

    ground.one_chunk()
    engine, runtime = ground.engine(script)
    record = await ground.run(engine, workflow="solo")
    assert (record.state, record.grade) == ("done", Grade.PROVEN)
    assert [order.role for order in runtime.orders] == ["solo", "solo"]


@pytest.mark.slow
@pytest.mark.spec("USE-10")
async def test_the_contract_can_be_seen_before_anything_is_spent(ground: Ground) -> None:
    ground.one_chunk()
    engine, runtime = ground.engine()
    record = await ground.run(engine, plan_only=True)
    assert (record.state, record.code) == ("planned", 0)
    assert runtime.orders == []
    contract = engine.store.contract(record.id)
    assert contract
    assert [one.id for one in contract.requirements] == ["double"]
    assert (await engine.resume(record.id)).state == "done"


@pytest.mark.spec("LAW-7", "LAW-8")
@pytest.mark.slow
async def test_a_requirements_file_that_agents_can_read_proves_no_more_than_tested(ground: Ground) -> None:
    ground.one_chunk()
    inside = ground.repository / "requirements.json"
    inside.write_bytes(ground.requirements.read_bytes())
    ground.commit()
    engine, _ = ground.engine()
    record = await ground.run(engine)
    assert (record.state, record.grade) == ("waiting", Grade.TESTED)


@pytest.mark.slow
@pytest.mark.spec("USE-3", "LAW-8")
async def test_a_lower_bar_is_the_users_word_and_is_said(ground: Ground) -> None:
    ground.one_chunk()
    (ground.repository / "requirements.json").write_bytes(ground.requirements.read_bytes())
    ground.commit()
    engine, _ = ground.engine()
    record = await ground.run(engine, accept="tested")
    assert (record.state, record.code, record.grade) == ("done", 0, Grade.TESTED)
    assert "tested" in record.why


async def test_an_unknown_role_is_one_sentence_and_changes_nothing(ground: Ground) -> None:
    engine, _ = ground.engine()
    with pytest.raises(BadInput, match="no role 'painter'"):
        await ground.run(engine, agents={"painter": "scripted:inside"})
    assert engine.store.journal.runs() == []


@pytest.mark.slow
@pytest.mark.spec("LAW-3", "PUR-6", "DAY-5")
async def test_an_agents_edit_of_plan_or_log_changes_nothing_and_is_recorded(ground: Ground) -> None:
    def script(order: Order) -> dict[str, Any]:
        if order.role == "purple-team-a":
            Path(order.folder, "PLAN.md").write_text(PLAN.replace("- [ ]", "- [x]").replace("twice", "once"))
            Path(order.folder, "MEMORY.md").write_text("## Implementation Log\n\n**Chunk status:** ✅ complete\n")
            return built(order, {})
        return PASSED

    engine, runtime = ground.engine(script)
    record = await ground.run(engine, rounds=1)
    assert (record.state, record.code) == ("not proven", 1)
    assert {name for event in events(engine, record, "sealed file edited") for name in event.data["files"]} == {
        "MEMORY.md",
        "PLAN.md",
    }
    assert ground.file(record, "PLAN.md") == PLAN.strip()
    assert all("returns once its argument" not in order.brief for order in runtime.orders)
    assert "⚠" in ground.file(record, "MEMORY.md")
    assert "✅" not in ground.file(record, "MEMORY.md")
    assert (engine.store.folder(record.id) / "files" / "MEMORY.md").read_text().strip() == ground.file(
        record, "MEMORY.md"
    )


@pytest.mark.spec("PUR-7", "LAW-8")
@pytest.mark.slow
async def test_an_objection_that_the_engine_found_true_stays_until_its_case_passes(ground: Ground) -> None:
    """The objection stays even if Team B does not repeat it."""
    case = {"call": "tiny:double", "args": [-1.5], "returns": 3.0}  # only Team B has this case
    shown = {**PASSED, "result": "GAPS_REMAIN", "gaps": [{"what": "of a negative number", "case": case}]}
    told: list[str] = []

    def script(order: Order) -> dict[str, Any]:
        if order.role == "purple-team-a":
            return built(order)
        told.append(chunk_of(order))
        return shown if told == ["1A"] else PASSED

    engine, _ = ground.engine(script)
    record = await ground.run(engine)
    assert (record.state, record.code) == ("not proven", 1)
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert {one.id: one.grade for one in verdict.requirements}["double"] is Grade.REFUTED


@pytest.mark.spec("USE-7", "RUN-4")
async def test_a_branch_that_stands_in_the_way_is_said_before_anything_begins(ground: Ground) -> None:
    ground.git("branch", "trued")
    engine, runtime = ground.engine()
    with pytest.raises(BadInput, match="a branch called trued"):
        await ground.run(engine)
    assert (engine.store.journal.runs(), runtime.orders) == ([], [])


@pytest.mark.spec("RUN-4", "LAW-9")
async def test_work_that_could_not_be_handed_over_is_no_success_until_it_is(ground: Ground) -> None:
    def script(order: Order) -> dict[str, Any]:
        if order.role == "purple-team-b":
            ground.git("branch", "-f", f"trued/{order.run}", "main~0")
            ground.git("checkout", "-q", f"trued/{order.run}")
        return honest(order)

    ground.one_chunk()
    engine, _ = ground.engine(script)
    record = await ground.run(engine)
    assert (record.state, record.code) == ("waiting", 3)
    assert "checked out" in record.why
    ground.git("checkout", "-q", "main")
    again = await engine.resume(record.id)
    assert (again.state, again.grade) == ("done", Grade.PROVEN)
    assert ground.git("rev-parse", record.branch) == again.head


@pytest.mark.spec("RUN-3", "RUN-5")
@pytest.mark.slow
async def test_a_run_that_somebody_began_to_cancel_is_cancelled_and_not_driven_on(ground: Ground) -> None:
    engine, _ = ground.engine()
    record = await ground.run(engine, yes=False)
    (engine.store.folder(record.id) / "cancelled").touch()
    restarted, runtime = ground.engine()
    assert (await restarted.resume(record.id, yes=True)).state == "cancelled"
    assert runtime.orders == []


@pytest.mark.spec("USE-6")
@pytest.mark.slow
async def test_instructions_that_are_a_link_out_of_the_repository_are_not_the_projects(ground: Ground) -> None:
    (ground.folder / "credentials").write_text("hunter2 is the password")
    (ground.repository / "AGENTS.md").symlink_to(ground.folder / "credentials")
    ground.write("CLAUDE.md", "Use tabs.")
    ground.commit()
    engine, runtime = ground.engine()
    await ground.run(engine, rounds=1)
    assert "Use tabs." in runtime.orders[0].brief
    assert all("hunter2" not in order.brief for order in runtime.orders)
