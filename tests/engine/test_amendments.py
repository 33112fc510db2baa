"""Amendments are separate steps that record who and why; only a person can make one."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import (
    CODE,
    PASSED,
    REQUIREMENTS,
    Ground,
    built,
    chunk_of,
    events,
    example,
    ground,
    honest,
)
from trued.agents.adapters.scripted import ScriptFailed
from trued.engine.amendments import ContractChange, amend, check_names, objections_left
from trued.engine.approvals import Decision, answer_question, decide
from trued.engine.engine import Engine
from trued.errors import BadInput
from trued.model import Contract, Finding, Grade, Outcomes, Requirement, RunRecord, Verdict
from trued.wire import Order

__all__ = ["ground"]

STRICTER: list[dict[str, Any]] = [
    {**REQUIREMENTS[0], "checks": [{"kind": "examples", "cases": [example("double", 4, 9)]}]},
    *REQUIREMENTS[1:],
]


def file(ground: Ground, requirements: list[dict[str, Any]], name: str = "amended.json") -> Path:
    path = ground.folder / name
    path.write_text(json.dumps({"requirements": requirements}))
    return path


def by_ann(**more: Any) -> ContractChange:
    return ContractChange(who="ann", why="I changed my mind", **more)


@pytest.mark.spec("LAW-3", "LAW-9")
@pytest.mark.slow
async def test_an_ended_run_is_judged_anew_by_the_amended_contract_and_no_agent_is_called(ground: Ground) -> None:
    engine, runtime = ground.engine()
    record = await ground.run(engine)
    assert record.grade is Grade.PROVEN
    asked = len(runtime.orders)
    first = engine.store.contract(record.id)
    record = await amend(engine.store, record.id, by_ann(requirements=file(ground, STRICTER)))
    assert (record.state, record.code, record.grade) == ("not proven", 1, Grade.REFUTED)
    assert len(runtime.orders) == asked
    assert first != engine.store.contract(record.id)
    (one,) = engine.store.amendments(record.id)
    assert (one.who, one.why, one.what) == ("ann", "I changed my mind", ("requirements from amended.json",))
    assert [event.data["who"] for event in events(engine, record, "amended")] == ["ann"]
    record = await amend(engine.store, record.id, by_ann(remove=("double",)))
    assert (record.state, record.grade) == ("done", Grade.PROVEN)
    assert len(engine.store.amendments(record.id)) == 2


@pytest.mark.slow
@pytest.mark.spec("LAW-3", "RUN-3", "USE-10")
async def test_a_planned_or_waiting_run_goes_on_by_the_amended_contract_and_replays_what_was_before(
    ground: Ground,
) -> None:
    engine, _ = ground.engine()
    record = await ground.run(engine, yes=False)
    assert record.state == "waiting"  # after its first chunk, judged by the first contract
    more = {"id": "quadruple", "text": "four times", "checks": [{"kind": "manual", "steps": ["look"]}]}
    await amend(engine.store, record.id, by_ann(add=file(ground, [more])))
    again, runtime = ground.engine(honest)
    answer_question(again.store, record.id, "yes", comment="", who="ann")
    record = await again.resume(record.id, yes=True)
    assert (record.state, record.code) == ("waiting", 3)
    assert len(runtime.orders) == 2
    verdict = again.store.verdict(record.id)
    assert verdict
    assert {one.id: one.grade for one in verdict.requirements}["quadruple"] is Grade.UNPROVEN
    assert decide(again.store, record.id, ["quadruple"], Decision(who="ann", why="looked")).state == "done"


@pytest.mark.slow
@pytest.mark.spec("LAW-3")
async def test_who_approved_a_contract_has_not_approved_its_amendment(ground: Ground) -> None:
    engine, _ = ground.engine()
    record = await ground.run(engine, plan_only=True)
    decide(engine.store, record.id, [None], Decision(who="ann", why="fine"))
    assert len(engine.store.approvals(record.id)) == 1
    await amend(engine.store, record.id, by_ann(remove=("strings",)))
    assert engine.store.approvals(record.id) == []


@pytest.mark.spec("LAW-3", "USE-7")
@pytest.mark.slow
async def test_amendments_that_make_no_sense_are_one_sentence_and_change_nothing(ground: Ground) -> None:
    engine, _ = ground.engine()
    record = await ground.run(engine, plan_only=True)
    with pytest.raises(BadInput, match="changes nothing"):
        await amend(engine.store, record.id, by_ann())
    with pytest.raises(BadInput, match="no requirement 'x'"):
        await amend(engine.store, record.id, by_ann(keep=("x",)))
    with pytest.raises(BadInput, match="already exists"):
        await amend(engine.store, record.id, by_ann(add=file(ground, REQUIREMENTS)))
    with pytest.raises(BadInput, match="without requirements"):
        await amend(engine.store, record.id, by_ann(remove=("double", "triple", "strings")))
    other = file(ground, [{**REQUIREMENTS[0], "id": "other", "covers": []}], "other.json")
    with pytest.raises(BadInput, match="no requirement 'new'"):
        await amend(engine.store, record.id, by_ann(keep=("new",), add=other))
    assert engine.store.amendments(record.id) == []
    await amend(engine.store, record.id, by_ann(add=other, remove=("double",), keep=("other",)))
    contract = engine.store.contract(record.id)
    assert contract
    assert [(one.id, one.keep) for one in contract.requirements][-1] == ("other", True)


@pytest.mark.spec("LAW-3", "USE-7")
def test_the_names_of_a_change_are_those_of_the_contract_that_it_makes() -> None:
    old, new, criterion = (Requirement(id=one, text=one) for one in ("old", "new", "crit"))
    record = RunRecord(id="r-a", workflow="purple", title="t", repository="/r", base="0", branch="b")
    contract = Contract(base="0", requirements=(old,))

    def wrong(*listed: Requirement, **more: Any) -> str:
        try:
            check_names(record, contract, by_ann(**more), listed)
        except BadInput as error:
            return str(error)
        return ""

    assert "requirement new already exists" in wrong(old, new, new)
    assert wrong(new, keep=("new",), supersedes={"new": ("test_a",)}) == ""
    assert "no requirement 'old'" in wrong(new, keep=("old",))
    assert wrong(new, remove=("old",)) == ""
    assert "no requirement 'x'" in wrong(new, remove=("x",))
    assert wrong(old, criterion, remove=("old",)) == ""
    assert "without requirements" in wrong(new, remove=("new",))
    assert "without requirements" in wrong(old, remove=("old",))


def verdict_with_a_failure(engine: Engine, record: RunRecord, name: str) -> Verdict:
    """A verdict in which the run saw the requirement's cases fail on its last commit."""
    verdict = engine.store.final_verdict(record.id)
    assert verdict
    (good, *_) = [one for one in verdict.evidence if (one.side, one.requirement) == ("head", name)]
    tried = tuple(one.model_copy(update={"outcome": Outcomes.FAILED, "kind": "returned"}) for one in good.tried)
    return verdict.model_copy(update={"evidence": (good.model_copy(update={"id": "failed", "tried": tried}),)})


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-3")
@pytest.mark.parametrize("failed_before", [True, False])
async def test_an_amendment_gives_the_work_no_second_throw_of_the_dice(ground: Ground, *, failed_before: bool) -> None:
    """What the run saw fail on this commit stays failed, although the amended contract has another hash."""
    engine, _ = ground.engine()
    record = await ground.run(engine)
    seen = verdict_with_a_failure(engine, record, "double").model_dump_json()

    async def step() -> str:
        return seen

    if failed_before:
        await engine.store.writer(record).once("finish#9", "seen", step)
    for name in ("strings", "triple"):
        record = await amend(engine.store, record.id, by_ann(remove=(name,)))
        assert record.grade is (Grade.REFUTED if failed_before else Grade.PROVEN), name
        assert record.code == int(failed_before), name


DOUBT = {"what": "double is a name that the team does not use", "severity": "major"}


class Rework:
    """Agents that build a chunk wrongly at first (step 0). In the rounds that a person grants (step 1) they build it
    right, Team B objects without a case, and then Team A fails: the run stops before its end. After that, everybody is
    content."""

    def __init__(self, chunk: str = "1A") -> None:
        self.chunk, self.step = chunk, 0
        self.wrong = {**CODE, chunk: CODE[chunk].replace("return ", "return 0 and ")}

    def __call__(self, order: Order) -> dict[str, Any]:
        mine = chunk_of(order) == self.chunk
        if order.role != "purple-team-a":
            return {**PASSED, "result": "GAPS_REMAIN", "gaps": [DOUBT]} if mine and self.step == 1 else PASSED
        if mine and self.step == 1 and "does not use" in order.brief:
            raise ScriptFailed("out of order")
        if mine and self.step:
            file = Path(order.folder) / "tiny.py"
            file.write_text(file.read_text().replace(self.wrong[self.chunk], CODE[self.chunk]))
        return built(order, CODE if self.step else self.wrong)


@pytest.mark.slow
@pytest.mark.spec("LAW-8", "LAW-3")
async def test_an_amendment_does_not_end_a_run_in_whose_new_rounds_a_reviewer_objected(ground: Ground) -> None:
    ground.one_chunk()
    ground.require([REQUIREMENTS[0], {**REQUIREMENTS[2], "covers": []}])
    crew = Rework()
    engine, _ = ground.engine(crew)
    record = await ground.run(engine, rounds=1)
    assert (record.state, record.grade) == ("not proven", Grade.REFUTED)
    crew.step = 1
    record = await engine.resume(record.id, rounds=2, who="ann")
    assert (record.state, record.code) == ("failed", 5)
    amended = await amend(engine.store, record.id, by_ann(remove=("strings",)))
    assert (amended.state, amended.code, amended.head) == ("failed", 5, record.head)
    crew.step = 2
    record = await engine.resume(record.id)
    assert (record.state, record.code, record.grade) == ("done", 0, Grade.PROVEN)
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert [one.id for one in verdict.requirements] == ["double"]


@pytest.mark.slow
@pytest.mark.spec("LAW-3", "RUN-8")
@pytest.mark.parametrize("state", ["running", "cancelled"])
async def test_an_amendment_does_not_end_a_run_that_was_killed_at_work_or_cancelled(ground: Ground, state: str) -> None:
    """A driver that is killed in rounds granted after the end records neither an end nor its newest commit."""
    ground.one_chunk()
    ground.require([REQUIREMENTS[0], {**REQUIREMENTS[2], "covers": []}])
    engine, _ = ground.engine(Rework())
    record = await ground.run(engine, rounds=1)
    assert (record.state, record.grade) == ("not proven", Grade.REFUTED)
    engine.store.journal.update(record.model_copy(update={"state": state}))
    amended = await amend(engine.store, record.id, by_ann(remove=("strings",)))
    assert (amended.state, amended.grade) == (state, Grade.REFUTED)
    contract = engine.store.contract(record.id)
    assert contract
    assert "strings" not in [one.id for one in contract.requirements]


@pytest.mark.spec("LAW-3", "LAW-8")
def test_with_a_removed_requirement_goes_an_objection_to_it_but_not_what_is_undone_in_its_part() -> None:
    first, second, other = (Requirement(id=one, text=one, covers=(one[:2],)) for one in ("F1-C1", "F1-C2", "F2-C1"))
    undone = Finding(what="task F1-T2 failed", requirement="F1-C1", by="the team")
    doubt = Finding(what="F1-C1 is a bad idea", requirement="F1-C1", by="qa")
    whole = Finding(what="integration failed", by="the team")
    every = (undone, doubt, whole)

    def left(*requirements: Requirement) -> list[tuple[str, str]]:
        found = objections_left(every, (first, second, other), requirements, ("qa", "dev"))
        return [(one.what, one.requirement) for one in found]

    assert left(first, second, other) == [(one.what, one.requirement) for one in every]
    assert left(second, other) == [("task F1-T2 failed", "F1-C2"), ("integration failed", "")]
    assert left(other) == [("integration failed", "")]


@pytest.mark.slow
@pytest.mark.spec("LAW-8", "LAW-3")
async def test_an_amendment_does_not_end_a_run_that_halted_at_work_after_its_end(ground: Ground) -> None:
    """Between the final verdict and the question nothing was committed or judged, but an agent may have objected."""
    ground.one_chunk()
    ground.require([REQUIREMENTS[0], {**REQUIREMENTS[2], "covers": []}])
    crew, asked = Rework(), list[str]()

    def played(order: Order) -> dict[str, Any]:
        if crew.step == 1 and order.role == "purple-team-b" and not asked:
            asked.append(order.key)
            return {**PASSED, "question": "is double the right name?"}
        return built(order, crew.wrong) if crew.step == 1 and not asked else crew(order)

    engine, _ = ground.engine(played)
    record = await ground.run(engine, rounds=1)
    assert (record.state, record.grade) == ("not proven", Grade.REFUTED)
    crew.step = 1
    record = await engine.resume(record.id, rounds=2, who="ann")
    assert (record.state, record.code) == ("waiting", 3)
    assert not engine.store.task_verdicts_since_finish(record.id)
    amended = await amend(engine.store, record.id, by_ann(remove=("strings",)))
    assert (amended.state, amended.code, amended.why) == ("waiting", 3, record.why)
    decided = decide(engine.store, record.id, [None], Decision(who="ann", why="these are my cases"))
    assert (decided.state, decided.why) == ("waiting", record.why)
    crew.step = 2
    answer_question(engine.store, record.id, "yes, it is", comment="", who="ann")
    record = await engine.resume(record.id)
    assert (record.state, record.code, record.grade) == ("done", 0, Grade.PROVEN)


@pytest.mark.slow
@pytest.mark.spec("LAW-3", "DAY-6")
async def test_rounds_granted_after_an_amendment_go_to_the_chunk_that_fails_by_it_with_its_gaps(ground: Ground) -> None:
    engine, _ = ground.engine()
    record = await ground.run(engine)
    assert (record.state, record.grade) == ("done", Grade.PROVEN)
    negative = {"kind": "examples", "cases": [{"call": "tiny:double", "args": [-1], "returns": 2}]}
    more = {"id": "negative", "text": "the double of a negative number is positive", "covers": ["1A"]}
    record = await amend(engine.store, record.id, by_ann(add=file(ground, [{**more, "checks": [negative]}])))
    assert (record.state, record.grade) == ("not proven", Grade.REFUTED)

    def fixed(order: Order) -> dict[str, Any]:
        if order.role == "purple-team-a" and chunk_of(order) == "1A":
            code = Path(order.folder) / "tiny.py"
            code.write_text(code.read_text().replace("return x + x", "return 2 if x == -1 else x + x"))
        return built(order, {}) if order.role == "purple-team-a" else PASSED

    again, later = ground.engine(fixed)
    record = await again.resume(record.id, rounds=1, who="ann")
    assert {chunk_of(one) for one in later.orders} == {"1A"}
    assert "negative" in later.orders[0].brief.split("Gaps that are left")[1]
    assert (record.state, record.code, record.grade) == ("done", 0, Grade.PROVEN)
    third, idle = ground.engine()
    assert (await third.resume(record.id)).state == "done"
    assert idle.orders == []


@pytest.mark.slow
@pytest.mark.spec("LAW-3", "RUN-8")
async def test_a_rejection_of_a_requirement_that_was_removed_since_sends_nobody_back_to_work(ground: Ground) -> None:
    ground.require(REQUIREMENTS)
    engine, _ = ground.engine()
    record = await ground.run(engine)
    assert record.state == "done"
    record = decide(engine.store, record.id, ["strings"], Decision(who="ann", why="not for strings", rejected=True))
    assert (record.state, record.code) == ("waiting", 3)
    kept = await amend(engine.store, record.id, by_ann(remove=("triple",)))
    assert (kept.state, kept.code) == ("waiting", 3), "the agents still have to get the reason"
    record = await amend(engine.store, record.id, by_ann(remove=("strings",)))
    assert (record.state, record.code, record.grade) == ("done", 0, Grade.PROVEN)


@pytest.mark.slow
@pytest.mark.spec("LAW-3", "RUN-8")
@pytest.mark.parametrize(("covers", "chunk"), [(["1A"], "1A"), ([], "1B")])
async def test_a_rejection_of_a_requirement_that_was_added_sends_only_its_chunk_back_to_work(
    ground: Ground, covers: list[str], chunk: str
) -> None:
    """A requirement of no chunk goes to the last one."""
    engine, _ = ground.engine()
    record = await ground.run(engine)
    look = {"id": "look", "text": "it is easy to read", "covers": covers}
    more = file(ground, [{**look, "checks": [{"kind": "manual", "steps": ["read it"]}]}])
    record = await amend(engine.store, record.id, by_ann(add=more))
    assert (record.state, record.code) == ("waiting", 3)
    record = decide(engine.store, record.id, ["look"], Decision(who="ann", why="no docstring", rejected=True))

    def fixed(order: Order) -> dict[str, Any]:
        if order.role == "purple-team-a":
            code = Path(order.folder) / "tiny.py"
            code.write_text(f'"""Numbers."""\n{code.read_text()}')
            return built(order, {})
        return PASSED

    again, later = ground.engine(fixed)
    record = await again.resume(record.id)
    assert {chunk_of(one) for one in later.orders} == {chunk}
    assert "ann rejected look: no docstring" in later.orders[0].brief
    decide(again.store, record.id, ["look"], Decision(who="ann", why="now it is"))
    # a later amendment does not change what was sent back before
    record = await amend(again.store, record.id, by_ann(add=file(ground, [{**STRICTER[2], "id": "new"}], "more.json")))
    third, idle = ground.engine()
    record = await third.resume(record.id)
    assert idle.orders == []
    assert (record.state, record.code, record.grade) == ("done", 0, Grade.ATTESTED)
