"""If no case could be sealed, another agent tries once, and a person is asked before any work is paid for."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import Ground, saying
from tests.workflows.test_examined import (
    CHUNK,
    CODE,
    EXAMINED,
    GOAL,
    PLAN,
    REVIEWED,
    SCOPE,
    case,
    grades,
    playing,
    solo,
    vendors,
)
from trued.engine.amendments import ContractChange, amend
from trued.engine.approvals import Decision, answer_question, decide
from trued.model import CallCase, ExamplesCheck, Grade
from trued.proof.hashes import check_hash
from trued.wire import Order

VACUOUS: dict[str, Any] = {"interface": EXAMINED["interface"], "cases": EXAMINED["cases"][:1]}  # a constant passes it
TWO = {"*": "scripted:inside", "examiner": "scripted:other"}


def roles(orders: list[Order]) -> list[str]:
    return list(dict.fromkeys(f"{order.role} {order.key.partition('#')[0]}" for order in orders))


@pytest.mark.spec("DAY-11", "LAW-5")
@pytest.mark.slow
async def test_another_agent_examines_once_more_and_its_cases_count_as_any_examiners(ground: Ground) -> None:
    def examiner(order: Order) -> dict[str, Any]:
        return EXAMINED if order.key.startswith("seal/again/") else VACUOUS

    engine, record, orders = await solo(ground, playing(examiner), agents=TWO)
    assert roles(orders) == ["examiner seal/examiner", "examiner seal/again/examiner", "solo solo"]
    agents = {order.key.partition("#")[0]: order.agent for order in orders}
    assert (agents["seal/examiner"], agents["seal/again/examiner"]) == ("scripted:other", "scripted:inside")
    assert record.grade is Grade.EXAMINED  # the implementer's agent wrote the cases: approval needed
    contract = engine.store.contract(record.id)
    assert contract
    (note,) = [one for one in contract.undecided if "could be used" in one]
    assert note in contract.reported  # something that happened, not something that is unchecked


@pytest.mark.spec("DAY-11", "LAW-2")
async def test_examiners_that_only_pretend_get_nothing_built_and_a_person_decides(ground: Ground) -> None:
    engine, record, orders = await solo(ground, playing(VACUOUS), agents=TWO)
    assert (record.state, record.code) == ("waiting", 3)
    assert roles(orders) == ["examiner seal/examiner", "examiner seal/again/examiner"]
    assert "a program that returns a constant passes" in record.why
    (question,) = engine.store.journal.questions(record.id, only_open=True)
    assert question.options == ("again", "without", "stop")
    answer_question(engine.store, record.id, "without", comment="", who="ann")
    again, runtime = ground.engine(playing(VACUOUS))
    record = await again.resume(record.id)
    assert roles(runtime.orders) == ["solo solo"]  # no examiner is paid again
    assert (record.state, record.grade) == ("waiting", Grade.UNPROVEN)
    assert set(grades(again, record).values()) == {Grade.UNPROVEN}


@pytest.mark.slow
@pytest.mark.spec("DAY-11")
@pytest.mark.parametrize(("answers", "state"), [((("stop", ""),), "stopped"), ((("again", ""),), "waiting")])
@pytest.mark.parametrize("agents", [{"*": "scripted:inside"}, TWO], ids=["one agent", "two agents"])
async def test_at_a_terminal_it_is_asked_before_anything_is_built(
    ground: Ground, agents: dict[str, str], answers: tuple[tuple[str, str], ...], state: str
) -> None:
    vain = 2 * len(agents)  # each agent is asked for cases, and once to fix them
    tries: list[str] = []

    def examiner(order: Order) -> dict[str, Any]:
        tries.append(order.key)
        return EXAMINED if len(tries) > vain else VACUOUS

    engine, runtime = ground.engine(playing(examiner), person=saying(*answers))
    record = await ground.run(engine, GOAL, required=False, workflow="solo", yes=False, agents=agents)
    assert record.state == state
    assert len(tries) == vain + (state == "waiting")  # nobody is asked again unless the person says so
    assert ("solo solo" in roles(runtime.orders)) == (state == "waiting")
    assert record.grade is (Grade.EXAMINED if state == "waiting" else Grade.UNPROVEN)


@pytest.mark.spec("DAY-11")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("others", "third"),
    [
        ({"solo": "scripted:acme-2", "second-examiner": "scripted:cope"}, "scripted:cope"),
        ({"solo": "scripted:acme-2"}, "scripted:acme-2"),
    ],
    ids=["of a third vendor", "of no other vendor"],
)
async def test_whoever_is_asked_third_is_of_another_vendor_than_the_second_if_anybody_is(
    ground: Ground, others: dict[str, str], third: str
) -> None:
    asked: list[str] = []

    def examiner(order: Order) -> dict[str, Any]:
        asked.append(order.agent)
        return VACUOUS

    engine = vendors(ground, playing(examiner), person=saying(("again", ""), ("stop", "")))
    agents = {"*": "scripted:acme", "examiner": "scripted:bolt", **others}
    await ground.run(engine, GOAL, required=False, workflow="solo", yes=False, agents=agents)
    assert [*dict.fromkeys(asked)] == ["scripted:bolt", "scripted:acme", third]


@pytest.mark.spec("DAY-11")
@pytest.mark.slow
async def test_without_another_agent_a_person_is_asked_at_once_and_the_contract_says_who_was_asked_again(
    ground: Ground,
) -> None:
    def examiner(order: Order) -> dict[str, Any]:
        return EXAMINED if order.key.startswith("seal/again/") else VACUOUS

    engine, record, orders = await solo(ground, playing(examiner))
    assert (record.state, len(orders)) == ("waiting", 2)
    (question,) = engine.store.journal.questions(record.id, only_open=True)
    assert "ask scripted:inside again" in question.text
    answer_question(engine.store, record.id, "again", comment="", who="ann")
    again, runtime = ground.engine(playing(examiner))
    record = await again.resume(record.id)
    assert roles(runtime.orders) == ["examiner seal/again/examiner", "solo solo"]
    assert record.grade is Grade.EXAMINED  # still no other vendor confirmed its cases
    contract = again.store.contract(record.id)
    assert contract
    (note,) = [one for one in contract.undecided if "could be used" in one]
    assert "scripted:inside was asked again" in note
    assert "these are by" not in note


@pytest.mark.spec("DAY-11")
@pytest.mark.parametrize(
    "flags",
    [{"without_cases": True}, {"agents": {"solo": "scripted:inside"}}],
    ids=["told so", "no examiner plays"],
)
async def test_a_run_that_was_told_so_or_has_no_examiner_builds_at_once(ground: Ground, flags: dict[str, Any]) -> None:
    _, record, orders = await solo(ground, playing(VACUOUS, code=CODE), **flags)
    assert not [order for order in orders if order.key.startswith("seal/again")]
    assert (orders[-1].role, record.state, record.grade) == ("solo", "waiting", Grade.UNPROVEN)


@pytest.mark.slow
@pytest.mark.spec("LAW-7", "LAW-8")
@pytest.mark.parametrize(
    ("writes", "confirms", "ends"),
    [
        pytest.param(False, False, (3, Grade.EXAMINED), id="the builder's agent wrote the cases"),
        pytest.param(False, True, (0, Grade.PROVEN), id="and the examiner's answers them alike, blind"),
        pytest.param(True, False, (0, Grade.PROVEN), id="the examiner's agent wrote the cases"),
    ],
)
async def test_cases_stay_their_authors_when_some_of_them_are_replaced(
    ground: Ground, *, writes: bool, confirms: bool, ends: tuple[int, Grade]
) -> None:
    """The code is a table of the cases. The examiner's agent, of another vendor, only writes the case that replaces a
    disclosed one, if its own first answer cannot be used."""
    ground.write("PLAN.md", PLAN)
    ground.commit()
    asked: list[tuple[str, str]] = []

    def script(order: Order) -> dict[str, Any]:
        if order.role == "examiner":
            asked.append((order.key.partition("#")[0], order.agent))
            if order.key.startswith("chunk"):
                return {"cases": [case("double", 9, 18, SCOPE, "1A")]}
            is_vacuous = order.agent == "scripted:bolt" and not writes
            return {**CHUNK, "cases": CHUNK["cases"][:1]} if is_vacuous else CHUNK
        if order.role == "second-examiner":
            assert (order.agent, writes) == ("scripted:bolt", False)
            return {"answers": [{"number": 1, "returns": 42}, {"number": 2, "returns": 10}] if confirms else []}
        if order.role == "purple-team-b":
            return REVIEWED
        table = "{5: 10, 9: 18, 21: 42}" if "42" in order.brief else "{}"
        (Path(order.folder) / "tiny.py").write_text(f"def double(x):\n    return {table}.get(x, '{order.key}')\n")
        return {"implemented": ["it"], "files": []}

    engine = vendors(ground, script)
    agents = {"*": "scripted:acme", "examiner": "scripted:bolt"}
    record = await ground.run(engine, required=False, agents=agents)
    assert asked[-1] == ("chunk 1A/disclosure/examiner", "scripted:bolt")
    assert (record.code, record.grade) == ends, record.why
    contract = engine.store.contract(record.id)
    assert contract
    checks = [check for one in contract.requirements if one.id == "1A" for check in one.checks]
    wrote = {
        one.args: contract.authors[check_hash(check)].agent
        for check in checks
        if isinstance(check, ExamplesCheck)
        for one in check.cases
        if isinstance(one, CallCase)
    }
    assert wrote == {(5,): "scripted:bolt" if writes else "scripted:acme", (9,): "scripted:bolt"}


@pytest.mark.slow
@pytest.mark.spec("LAW-7", "LAW-8", "LAW-3")
@pytest.mark.parametrize(("sure", "ends"), [(False, (3, Grade.EXAMINED)), (True, (0, Grade.PROVEN))])
async def test_cases_stay_their_authors_after_a_dispute_and_an_amendment(
    ground: Ground, tmp_path: Path, *, sure: bool, ends: tuple[int, Grade]
) -> None:
    """The builder's agent wrote the cases, and disputes one of them. The examiner's agent withdraws that one, writes
    another, and is not sure of the rest."""
    given = [(21, 42), (5, 10), (4, 9)]  # twice four is not nine
    builders = {**CHUNK, "cases": [case("double", one, result, SCOPE, "goal") for one, result in given]}

    def script(order: Order) -> dict[str, Any]:
        is_sealed = not order.key.startswith("seal/")
        if order.role == "examiner":
            if is_sealed:
                return {"cases": [case("double", 6, 12, SCOPE, "goal")]}
            return builders if order.agent == "scripted:acme" else VACUOUS
        if order.role == "second-examiner":
            assert order.agent == "scripted:bolt"
            if not is_sealed:
                return {"answers": []}
            known = ((1, 42), (2, 10)) if sure else ()
            results = (*known, (3, 8)) if "[21]" in order.brief else ((1, 12),)
            return {"answers": [{"number": number, "returns": result} for number, result in results]}
        (Path(order.folder) / "tiny.py").write_text("def double(x):\n    return {5: 10, 6: 12, 21: 42}[x]\n")
        doubt = {"what": "twice four is eight", "requirement": "goal"}
        return {"implemented": ["all"], "files": [], "disputes": [doubt]}

    engine = vendors(ground, script)
    agents = {"*": "scripted:acme", "examiner": "scripted:bolt"}
    record = await ground.run(engine, SCOPE, required=False, workflow="solo", agents=agents)
    assert (record.code, record.grade) == ends, record.why
    more = tmp_path / "more.json"
    checks = [{"kind": "examples", "cases": [{"call": "tiny:double", "args": [5], "returns": 10}]}]
    more.write_text(json.dumps({"requirements": [{"id": "five", "text": "five", "checks": checks}]}))
    record = await amend(engine.store, record.id, ContractChange(who="ann", why="more", add=more))
    assert (record.code, record.grade) == ends, record.why
    assert decide(engine.store, record.id, [None], Decision(who="ann", why="I read the cases")).code == 0


SERVED: dict[str, Any] = {
    "interface": ["GET /double"],
    "cases": [
        {
            "requirement": "text-1",
            "cases": [{"http": {"path": f"/double?x={n}"}, "status": 200, "body": str(2 * n), "quotes": GOAL[:38]}],
        }
        for n in (2, 21)
    ],
}


@pytest.mark.spec("DAY-2", "DAY-3")
async def test_whoever_has_no_cases_for_want_of_a_server_reads_why_there_is_none_and_what_to_write(
    ground: Ground,
) -> None:
    engine, record, _ = await solo(ground, playing(SERVED))
    (question,) = engine.store.journal.questions(record.id, only_open=True)
    assert "no file of the base says how the project is started" in question.text, question.text
    assert "[serve] command" in question.text
