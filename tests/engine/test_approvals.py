"""A person's decision: for one commit, awaited across restarts, and worked on if it is a rejection."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import CODE, REQUIREMENTS, Ground, built, ground, honest, saying
from trued.engine.approvals import Decision, decide
from trued.engine.engine import Engine
from trued.engine.pending import waits
from trued.errors import BadInput
from trued.model import Grade, Judged, PersonAnswer, Question, RunRecord
from trued.wire import Order

__all__ = ["ground"]

LOOK = {
    "id": "look",
    "text": "tiny.py reads well",
    "covers": ["1A"],
    "checks": [{"kind": "manual", "steps": ["open tiny.py", "read it aloud"]}],
}
PLAN = """# Plan: numbers

| Chunk | Scope | Files |
| --- | --- | --- |
| 1A | `double(x)` returns twice its argument | tiny.py |
"""


def judged(engine: Engine, record: RunRecord, name: str = "look") -> Judged:
    verdict = engine.store.verdict(record.id)
    assert verdict
    return next(one for one in verdict.requirements if one.id == name)


def small(ground: Ground) -> Ground:
    """A plan with one chunk, one provable requirement, and one that a person has to judge."""
    ground.write("PLAN.md", PLAN)
    ground.require([{**REQUIREMENTS[0], "covers": ["1A"]}, {**LOOK, "covers": []}])
    ground.commit()
    return ground


def mending(order: Order) -> dict[str, Any]:
    """Team A fixes the rejected work once its brief contains the rejection."""
    if order.role != "purple-team-a":
        return honest(order)
    file = Path(order.folder) / "tiny.py"
    if "ann rejected look: no docstring" in order.brief:
        file.write_text(f'"""Numbers."""\n\n{file.read_text()}')
    return built(order)


@pytest.mark.slow
@pytest.mark.spec("RUN-8", "LAW-8", "LAW-9")
async def test_what_a_person_rejects_is_worked_on_again_and_needs_a_word_again(ground: Ground) -> None:
    engine, _ = small(ground).engine(mending)
    record = await ground.run(engine)
    assert (record.state, record.code) == ("waiting", 3)
    (wait,) = waits(engine.store, record)
    assert (wait.kind, wait.requirement, wait.steps) == ("judge", "look", ("open tiny.py", "read it aloud"))
    assert wait.command == f"trued approve {record.id} look --as NAME --reason TEXT"

    record = decide(engine.store, record.id, ["look"], Decision(who="ann", why="no docstring", rejected=True))
    assert (record.state, record.code, record.grade) == ("waiting", 3, Grade.REFUTED)
    assert judged(engine, record).why[0] == "rejected by ann: no docstring"
    (wait,) = waits(engine.store, record)
    assert (wait.kind, wait.command) == ("resume", f"trued resume {record.id}")
    with pytest.raises(BadInput, match="ann has rejected look already"):
        decide(engine.store, record.id, ["look"], Decision(who="bob", why="fine by me"))

    again, runtime = ground.engine(mending)
    record = await again.resume(record.id)
    assert [order.role for order in runtime.orders] == ["purple-team-a", "purple-team-b"]
    assert '"""Numbers."""' in ground.file(record, "tiny.py")
    assert (record.state, record.code) == ("waiting", 3)
    look = judged(again, record)
    assert (look.grade, look.lacks) == (Grade.UNPROVEN, "attest")
    assert "by ann: no docstring, and it has been worked on since" in look.why[1]

    record = decide(again.store, record.id, ["look"], Decision(who="ann", why="now it reads well"))
    assert (record.state, record.code, record.grade) == ("done", 0, Grade.ATTESTED)
    assert judged(again, record).why[0] == "accepted by ann: now it reads well"
    assert waits(again.store, record) == []


@pytest.mark.slow
@pytest.mark.spec("RUN-8")
async def test_solo_gets_the_reason_of_a_rejection_whichever_chunk_it_is_about(ground: Ground) -> None:
    ground.require([*REQUIREMENTS, {**LOOK, "covers": ["1B"]}])

    def alone(order: Order) -> dict[str, Any]:
        file = Path(order.folder) / "tiny.py"
        if "ann rejected look: no docstring" in order.brief:
            file.write_text(f'"""Numbers."""\n\n{file.read_text()}')
        else:
            file.write_text("".join(CODE.values()))
        return {"implemented": ["all"], "files": []}

    engine, _ = ground.engine(alone)
    record = await ground.run(engine, workflow="solo")
    assert (record.state, record.code) == ("waiting", 3), record.why
    decide(engine.store, record.id, ["look"], Decision(who="ann", why="no docstring", rejected=True))
    again, runtime = ground.engine(alone)
    record = await again.resume(record.id)
    assert [order.role for order in runtime.orders] == ["solo"]
    assert '"""Numbers."""' in ground.file(record, "tiny.py")


FEATURES = {
    "features": [
        {
            "id": "look",
            "category": "ui",
            "description": "tiny.py reads well",
            "steps": ["open tiny.py", "read it aloud"],
            "passes": False,
            "verification_method": "manual",
            "verification_tool": "human",
        }
    ]
}


def coder(order: Order) -> dict[str, Any]:
    """Adds one line each time, and claims that the feature is done."""
    file = Path(order.folder) / "tiny.py"
    file.write_text(f"{file.read_text()}# {order.key}\n")
    return {"passes": True, "implemented": ["look"], "files": ["tiny.py"], "summary": order.brief[-200:]}


def features(ground: Ground) -> Ground:
    (ground.folder / "features.json").write_text(json.dumps(FEATURES))
    return ground


def listed(ground: Ground, record: RunRecord) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ground.file(record, "feature_list.json"))["features"][0]
    return found


async def handed(ground: Ground, engine: Engine, **flags: Any) -> RunRecord:
    return await ground.run(engine, "../features.json", required=False, workflow="handoff", **flags)


@pytest.mark.spec("HAND-8", "RUN-8")
async def test_a_manual_feature_is_parked_accepted_later_and_then_passes_without_another_call(ground: Ground) -> None:
    engine, runtime = features(ground).engine(coder, person=saying(("accept", "sure")))
    record = await handed(ground, engine, yes=True)  # `yes` answers "continue?" only
    assert (record.state, record.code) == ("waiting", 3)
    assert engine.store.journal.approvals(record.id) == []
    assert [(one.kind, one.requirement, one.steps) for one in waits(engine.store, record)] == [
        ("judge", "look", ("open tiny.py", "read it aloud"))
    ]
    assert listed(ground, record)["passes"] is False
    asked = len(runtime.orders)
    record = decide(engine.store, record.id, ["look"], Decision(who="ann", why="it does"))
    assert (record.state, record.grade, [one.kind for one in waits(engine.store, record)]) == (
        "waiting",
        Grade.ATTESTED,
        ["resume"],
    )
    again, silent = ground.engine(coder)
    record = await again.resume(record.id)
    assert (record.state, record.code, record.grade) == ("done", 0, Grade.ATTESTED)
    assert (len(runtime.orders), silent.orders) == (asked, [])
    assert listed(ground, record)["passes"] is True


@pytest.mark.spec("HAND-8", "RUN-8", "LAW-8")
async def test_who_is_there_is_shown_the_checklist_and_a_no_goes_back_to_the_coder_at_once(ground: Ground) -> None:
    asked: list[Question] = []
    answers = [PersonAnswer("reject", "no docstring", "ann"), PersonAnswer("accept", "now it does", "ann")]

    async def person(question: Question) -> PersonAnswer | None:
        asked.append(question)
        return answers[len(asked) - 1]

    engine, runtime = features(ground).engine(coder, person=person)
    record = await handed(ground, engine, yes=False)
    assert (record.state, record.grade) == ("done", Grade.ATTESTED)
    assert [one.options for one in asked] == [("accept", "reject")] * 2
    assert "  [ ] open tiny.py\n  [ ] read it aloud" in asked[0].text
    assert "ann rejected look: no docstring" in runtime.orders[1].brief
    assert len(runtime.orders) == 2
    assert listed(ground, record)["passes"] is True
    words = engine.store.journal.approvals(record.id)
    assert [(one.who, one.why, one.rejected) for one in words] == [
        ("ann", "no docstring", True),
        ("ann", "now it does", False),
    ]
    assert len({one.commit for one in words}) == 2
    assert judged(engine, record).why[0] == "accepted by ann: now it does"
