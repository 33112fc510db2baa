"""Parts of a plan that are chosen, already met, marked as done, or without a change of their own; and more rounds."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import CODE, PASSED, PLAN, REQUIREMENTS, Ground, built, chunk_of, events, honest, saying
from tests.workflows.purple.test_purple import lazy, roles
from trued.engine.amendments import ContractChange, amend
from trued.engine.approvals import Decision, decide
from trued.engine.continuations import continuations
from trued.engine.engine import Engine
from trued.engine.inputs import Request
from trued.engine.landing.land import land
from trued.engine.landing.records import LandingRequest, LandingResult
from trued.engine.pending import waits
from trued.errors import BadInput, Diverged
from trued.inputs.plans.done_marks import marked_done
from trued.inputs.plans.plan import parse_plan
from trued.inputs.plans.plan_to_seal import joined_prose
from trued.inputs.plans.selection import chosen_parts, chosen_requirements
from trued.model import Grade, Requirement, Requirements, RunRecord
from trued.run.context import EDITION, OLDEST
from trued.wire import Order

PHASES = """# Plan: numbers

## Goals

- numbers can be multiplied

## Phase 1: doubling ✅

| Chunk | Scope | Files |
| --- | --- | --- |
| 1A | `double(x)` returns twice its argument | tiny.py |

## Phase 2: tripling

| Chunk | Scope | Files |
| --- | --- | --- |
| 2A | `triple(x)` returns three times its argument | tiny.py |

**Ship criteria:**

- [ ] lists are tripled, too

**Constraints:**

- No new dependencies
"""


async def landed(engine: Engine, record: RunRecord) -> bool:
    return (await land(engine.store, record.id, LandingRequest(who="ann"), engine.person)).landed


# -- a change of its own -----------------------------------------------------------------------------------------------


def idle_in(chunk: str, code: dict[str, str] = CODE) -> Any:
    """Team A builds every chunk except one, for which it only claims a file; Team B approves everything."""

    def script(order: Order) -> dict[str, Any]:
        if order.role != "purple-team-a":
            return PASSED
        if chunk_of(order) != chunk:
            return built(order, code)
        return {"implemented": ["all of it"], "files": [{"path": "ghost.py", "what": "new"}], "notes": []}

    return script


@pytest.mark.spec("DAY-4", "DAY-7", "LAW-2")
async def test_a_chunk_for_which_nothing_was_changed_is_not_completed_whatever_was_built_before_it(
    ground: Ground,
) -> None:
    engine, _ = ground.engine(idle_in("1B"))
    record = await ground.run(engine, required=False, without_cases=True, rounds=1)
    assert (record.state, record.code) == ("not proven", 1)
    assert "nothing was changed for chunk 1B" in record.why
    assert "nothing was changed for chunk 1A" not in record.why
    log = ground.file(record, "MEMORY.md")
    part = log[log.index("### Chunk 1B") :]
    assert "✅" not in log
    assert "⚠️" in part
    assert "ghost.py" in part.split("Claim refuted")[1].splitlines()[2]
    assert ["ghost.py" in event.data["what"] for event in events(engine, record, "claim refuted")] == [True]
    assert not await landed(engine, record)


@pytest.mark.slow
@pytest.mark.spec("DAY-4")
async def test_one_chunk_that_does_the_work_of_another_leaves_that_one_open_until_a_person_accepts_it(
    ground: Ground,
) -> None:
    """The other chunk's cases pass, but nothing was changed for it. One command accepts it."""
    everything = {"1A": CODE["1A"] + CODE["1B"]}
    engine, _ = ground.engine(idle_in("1B", everything))
    record = await ground.run(engine, rounds=1)
    assert (record.state, record.code) == ("not proven", 1)
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert {one.id: one.grade for one in verdict.requirements} == {
        "double": Grade.PROVEN,
        "triple": Grade.UNPROVEN,
        "strings": Grade.PROVEN,
    }
    assert not await landed(engine, record)
    after = decide(engine.store, record.id, ["triple"], Decision(who="ann", why="1A did it"))
    assert (after.state, after.code, after.grade) == ("done", 0, Grade.ATTESTED)


# -- met already -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.spec("DAY-6", "LAW-5")
async def test_a_chunk_whose_own_cases_pass_on_the_base_is_not_built_again_and_counts_as_met(ground: Ground) -> None:
    ground.write("tiny.py", CODE["1A"])
    ground.commit()
    engine, runtime = ground.engine()
    record = await ground.run(engine)
    assert (record.state, record.grade) == ("done", Grade.PROVEN)
    assert roles(runtime.orders) == ["1B a", "1B b"]
    assert [event.data["task"] for event in events(engine, record, "task skipped")] == ["1A"]
    assert "✅ met before this run" in ground.file(record, "MEMORY.md")


@pytest.mark.slow
@pytest.mark.spec("DAY-6", "DAY-4")
async def test_a_mark_in_the_plan_is_checked_and_what_does_not_hold_is_built(ground: Ground) -> None:
    ground.write("PLAN.md", PLAN.replace("## Phase 1", "## Phase 1 ✅"))
    ground.commit()
    engine, runtime = ground.engine()
    record = await ground.run(engine)
    assert (record.state, record.grade) == ("done", Grade.PROVEN)
    assert roles(runtime.orders) == ["1A a", "1A b", "1B a", "1B b"]


DONE_FIRST = PHASES.replace("## Goals\n\n- numbers can be multiplied\n\n", "").replace(
    "**Ship criteria:**\n\n- [ ] lists are tripled, too\n\n", ""
)


def with_examiner(code: dict[str, str]) -> Any:
    """Agents that work honestly, among them an examiner that reads the plan."""
    words = {"1A": "`double(x)` returns twice its argument", "2A": "`triple(x)` returns three times its argument"}
    cases = [
        {
            "requirement": chunk,
            "cases": [{"call": f"tiny:{name}", "args": [n], "returns": n * by, "quotes": words[chunk]}],
        }
        for chunk, name, by in (("1A", "double", 2), ("2A", "triple", 3))
        for n in (7, 5)
    ]

    def script(order: Order) -> dict[str, Any]:
        if order.role == "examiner":
            return {"interface": ["tiny:double(x)", "tiny:triple(x)"], "cases": cases}
        return built(order, code) if order.role == "purple-team-a" else PASSED

    return script


@pytest.mark.spec("DAY-6", "DAY-7")
@pytest.mark.slow
async def test_a_plan_whose_first_phase_is_done_ends_with_one_question_and_builds_the_rest(ground: Ground) -> None:
    """An ordinary user's run: no requirements file, and nothing written for the engine."""
    ground.write("PLAN.md", DONE_FIRST)
    ground.write("tiny.py", CODE["1A"])
    ground.commit()
    engine, runtime = ground.engine(with_examiner({"2A": CODE["1B"]}))
    record = await ground.run(engine, required=False)
    assert (record.state, record.code) == ("waiting", 3)
    assert [order.key.partition("/")[0] for order in runtime.orders if "purple" in order.role] == ["chunk 2A"] * 2
    (skipped,) = events(engine, record, "task skipped")
    assert skipped.data["task"] == "1A"
    assert skipped.data["why"] == "PLAN.md:7 marks it as done, and its cases passed before this run"
    log = ground.file(record, "MEMORY.md")
    assert "❔ marked as done in the plan" in log[log.index("### Chunk 1A") : log.index("### Chunk 2A")]
    assert "✅ complete" in log[log.index("### Chunk 2A") :]
    assert "This run so far:" in next(order.brief for order in runtime.orders if order.role == "purple-team-a")
    assert {one.kind for one in waits(engine.store, record)} == {"approve"}  # one question
    after = decide(engine.store, record.id, [None], Decision(who="ann", why="I read the cases"))
    assert (after.state, after.code) == ("done", 0)
    assert await landed(engine, after)


@pytest.mark.spec("DAY-4", "DAY-5")
@pytest.mark.parametrize("act", [pytest.param("does nothing", marks=pytest.mark.slow), "edits the plan"])
async def test_the_same_plan_with_agents_that_do_nothing_or_tick_the_plan_is_never_completed(
    ground: Ground, act: str
) -> None:
    ground.write("PLAN.md", PHASES)
    ground.write("tiny.py", CODE["1A"])
    ground.commit()

    def script(order: Order) -> dict[str, Any]:
        if order.role != "purple-team-a":
            return PASSED
        plan = Path(order.folder, "PLAN.md")
        if act == "edits the plan":
            plan.write_text(plan.read_text().replace("[ ]", "[x]").replace("tripling", "tripling ✅"))
        return {"implemented": ["all"], "files": [{"path": "PLAN.md", "what": "ticked"}], "notes": []}

    engine, _ = ground.engine(script)
    record = await ground.run(engine, required=False, rounds=2)
    assert (record.state, record.code) == ("not proven", 1)
    assert ground.file(record, "PLAN.md") == PHASES.strip()
    log = ground.file(record, "MEMORY.md")
    assert "✅" not in log.replace("Phase 1: doubling ✅", "")
    assert ("Put back" in log) == (act == "edits the plan")
    assert not await landed(engine, record)


# -- memory ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.spec("DAY-7")
async def test_both_teams_are_given_peoples_sections_earlier_notes_and_the_engines_verdicts_are_in_the_log(
    ground: Ground,
) -> None:
    ground.write("MEMORY.md", "# Memory\n\n## Decisions\n\n- call double with a float\n")
    ground.commit()
    wrong = lazy(2)
    told = {
        **PASSED,
        "requirements": [{"requirement": "twice", "judgement": "verified", "where": "tiny.py:2"}],
    }
    engine, runtime = ground.engine(
        lambda order: wrong(order) if order.role == "purple-team-a" else told,
        person=saying(("redo", "name it well"), ("yes", ""), ("yes", "")),
    )
    record = await ground.run(engine, yes=False)
    assert record.state == "done"
    first = runtime.orders[0].brief, runtime.orders[1].brief
    assert all("MEMORY.md" in brief and "call double with a float" in brief for brief in first)
    second = [order.brief for order in runtime.orders if chunk_of(order) == "1B" and not order.resume]
    assert len(second) == 2
    assert all("note: look twice" in brief and "name it well" in brief for brief in second)
    log = ground.file(record, "MEMORY.md")
    part = log[log.index("### Chunk 1A") : log.index("### Chunk 1B")]
    assert part.index("does not hold (refuted)") < part.index("Iteration 2") < part.index("holds (proven)")
    assert part.index("- name it well") < part.index("Engine – Iteration 3")
    assert "- verified: twice (tiny.py:2)" in part
    assert "double is refuted" in part
    assert "42" not in re.sub(r"\b[0-9a-f]{12}\b", "(commit)", log)


# -- chosen parts ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("DAY-6")
async def test_a_chosen_chunk_is_built_alone_and_the_rest_is_named_and_not_met(ground: Ground) -> None:
    engine, runtime = ground.engine()
    record = await ground.run(engine, chunks=("1B",))
    assert (record.state, record.grade) == ("done", Grade.PROVEN)
    assert roles(runtime.orders) == ["1B a", "1B b"]
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert [one.id for one in verdict.requirements] == ["triple"]
    assert any("not chosen" in one and "1A" in one for one in verdict.undecided)
    assert any("strings are doubled, too" in one for one in verdict.undecided)
    assert "- [ ] strings" in (engine.store.folder(record.id) / "files" / "PLAN.md").read_text()


@pytest.mark.spec("DAY-6", "LAW-3")
async def test_an_amended_contract_is_still_that_of_the_chosen_part(ground: Ground) -> None:
    engine, _ = ground.engine()
    record = await ground.run(engine, chunks=("1B",), plan_only=True)
    ground.require(REQUIREMENTS)
    await amend(engine.store, record.id, ContractChange(requirements=ground.requirements, who="ann", why="the same"))
    contract = engine.store.contract(record.id)
    assert contract
    assert [one.id for one in contract.requirements] == ["triple"]


@pytest.mark.spec("DAY-6", "USE-7")
async def test_a_part_that_the_plan_does_not_have_is_one_sentence_and_changes_nothing(ground: Ground) -> None:
    engine, _ = ground.engine()
    with pytest.raises(BadInput, match=r"no chunk '9Z'.*1A, 1B"):
        await ground.run(engine, chunks=("9Z",))
    with pytest.raises(BadInput, match=r"no phase '7'.*Phase 1"):
        await ground.run(engine, phases=("7",))
    with pytest.raises(BadInput, match="solo works on the whole goal"):
        await ground.run(engine, workflow="solo", chunks=("1A",))
    assert engine.store.journal.runs() == []


@pytest.mark.spec("DAY-6")
def test_a_phase_is_chosen_with_its_own_criteria_and_constraints_and_the_goals_are_left_open() -> None:
    plan = parse_plan(PHASES, "PLAN.md")
    part = chosen_parts(plan, (), ("2",))
    assert [one.id for one in part.tasks] == ["2A"]
    assert [one.text for one in part.criteria] == ["lists are tripled, too", "No new dependencies"]
    assert any("numbers can be multiplied" in one for one in part.undecided)
    given = Requirements(
        requirements=tuple(
            Requirement(id=name, text=name, covers=covers)
            for name, covers in (
                ("a", ("1A", "2A")),
                ("b", ("2A",)),
                ("c", ()),
                ("d", ("goal: numbers can be multiplied",)),
                ("e", ("2A", "goal: numbers can be multiplied")),
            )
        )
    )
    assert [one.id for one in chosen_requirements(given, plan, part).requirements] == ["b", "c", "e"]
    every = chosen_parts(plan, ("1A", "2A"), ())
    assert every == plan
    whole = Requirements(requirements=(Requirement(id="all", text="all", covers=("goal",)),))
    assert chosen_requirements(whole, plan, every) == whole


@pytest.mark.spec("DAY-6")
@pytest.mark.parametrize(
    ("old", "new", "done"),
    [
        ("", "", ("1A",)),
        ("## Phase 1: doubling ✅", "## [x] Phase 1: doubling", ("1A",)),
        ("## Phase 1: doubling ✅", "## Phase 1: doubling\n\n**Status:** Implemented", ("1A",)),
        ("## Phase 1: doubling ✅", "## Phase 1: doubling\n\n**Status:** not implemented", ()),
        ("## Phase 1: doubling ✅", "## Phase 1: doubling, which makes ✅ of a cross", ()),
        ("# Plan: numbers\n", "# Plan: numbers\n\nStatus: done\n", ("1A", "2A")),
        ("| 2A | `triple(x)`", "| ✅ 2A | `triple(x)`", ("1A", "2A")),
    ],
)
def test_marks_of_done_are_read_where_a_reader_sees_them(old: str, new: str, done: tuple[str, ...]) -> None:
    assert marked_done(PHASES.replace(old, new, 1) if old else PHASES, "PLAN.md") == done


# -- after the end -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.spec("DAY-6", "RUN-3")
async def test_a_run_that_ended_without_proof_is_given_more_rounds_for_what_fails(ground: Ground) -> None:
    script = lazy(3)
    engine, _ = ground.engine(lambda order: honest(order) if chunk_of(order) == "1A" else script(order))
    record = await ground.run(engine, rounds=1)
    assert (record.state, record.code) == ("not proven", 1)
    restarted, later = ground.engine(lambda order: honest(order) if chunk_of(order) == "1A" else script(order))
    assert (await restarted.resume(record.id)).state == "not proven"
    assert later.orders == []
    again = await restarted.resume(record.id, rounds=2, who="ann")
    assert (again.state, again.grade) == ("done", Grade.PROVEN)
    assert roles(later.orders) == ["1B a", "1B b"] * 2
    assert "triple" in later.orders[0].brief.split("Gaps that are left")[1]
    log = ground.file(again, "MEMORY.md")
    assert "Team A – Iteration 3" in log[log.index("### Chunk 1B") :]
    with pytest.raises(BadInput, match="is done"):
        await restarted.resume(record.id, rounds=2, who="ann")


@pytest.mark.spec("RUN-3")
async def test_a_run_that_another_version_began_is_not_mixed_with_todays_rules(ground: Ground) -> None:
    """Its journal has the briefs and rules of that version: a replay would use others."""
    engine, runtime = ground.engine()
    request = Request(
        goal=str(ground.repository / "PLAN.md"),
        repository=ground.repository,
        requirements=ground.requirements,
        flags={"agents": {"*": "scripted:inside"}},
    )
    inputs, repository = await engine.ready(request)
    record, _ = engine.begin(inputs, repository)
    for edition in (OLDEST - 1, EDITION + 1):
        with pytest.raises(Diverged, match=f"its work is on {record.branch}"):
            await engine.drive(record, inputs.model_copy(update={"edition": edition}))
    assert runtime.orders == [], "nobody is paid for it"
    assert (await engine.drive(record, inputs)).state == "waiting"


@pytest.mark.slow
@pytest.mark.spec("DAY-6", "USE-11", "LAW-9")
async def test_proven_chunks_land_without_the_rest_and_unproven_ones_do_not(ground: Ground) -> None:
    half_done = {"1A": CODE["1A"], "1B": "\n\ndef triple(x):\n    return x\n"}
    ground.require(REQUIREMENTS[:2])
    engine, _ = ground.engine(lambda order: built(order, half_done) if order.role == "purple-team-a" else PASSED)
    record = await ground.run(engine, rounds=1)
    assert (record.state, record.code) == ("not proven", 1)
    assert not await landed(engine, record)

    async def through(chunk: str) -> LandingResult:
        return await land(engine.store, record.id, LandingRequest(who="ann", through=chunk), engine.person)

    assert [command for command, _ in continuations(engine.store, record)] == [
        f"trued resume {record.id} --rounds 3",
        f"trued land {record.id} --through 1A",
    ]
    refused = await through("1B")
    assert (refused.landed, refused.code) == (False, 1)
    assert "triple" in refused.why
    assert ground.git("rev-parse", "main") == record.base
    with pytest.raises(BadInput, match="no chunk '7C'"):
        await through("7C")
    done = await through("1A")
    assert done.landed, done.why
    assert any("up to chunk 1A" in one for one in done.said)
    assert "def double" in ground.git("show", "main:tiny.py")
    assert "triple" not in ground.git("show", "main:tiny.py")
    assert done.verdict
    assert {one.id: one.grade for one in done.verdict.requirements} == {"double": Grade.PROVEN}


@pytest.mark.spec("DAY-6", "LAW-9", "LAW-2")
@pytest.mark.slow
async def test_a_chunk_that_no_requirement_is_about_alone_does_not_land_on_what_else_is_proven(ground: Ground) -> None:
    """The user's only case covers both chunks and fails; the first chunk alone has nothing but a constraint."""
    plan = ground.repository / "PLAN.md"
    ground.write("PLAN.md", f"{plan.read_text()}\n**Constraints:**\n\n- No new dependencies\n")
    ground.commit()
    together = {**REQUIREMENTS[0], "covers": ["1A", "1B"]}
    ground.require([together])
    wrong = {"1A": "\n\ndef double(x):\n    return 42\n", "1B": CODE["1B"]}
    engine, _ = ground.engine(lambda order: built(order, wrong) if order.role == "purple-team-a" else PASSED)
    record = await ground.run(engine, rounds=1)
    assert record.code == 1
    with pytest.raises(BadInput, match="no requirement covers only 1A"):
        await land(engine.store, record.id, LandingRequest(who="ann", through="1A"), engine.person)
    assert ground.git("rev-parse", "main") == record.base


PROSE = """# Plan

## Agent Specs

### team a

Per the patterns:

- **Model:** sonnet
- reads the plan

Does not spawn others.

## Phase 1

| Chunk | Scope | Files |
| --- | --- | --- |
| 1A | x | a.py |
"""


@pytest.mark.spec("LAW-12")
def test_prose_beside_the_chunks_is_one_requirement_a_section_and_no_word_of_it_is_lost() -> None:
    plan = parse_plan(PROSE, "PLAN.md")
    joined = joined_prose(plan)
    assert (len(plan.unread), len(joined.unread)) == (3, 1)
    words = "\n".join(one.text for one in joined.unread)
    assert words.split() == "\n".join(one.text for one in plan.unread).split()
    named = plan.unread[1].text
    apart = joined_prose(plan, [f"text: {named}"])
    assert named in [one.text for one in apart.unread]
    assert joined_prose(joined) == joined
