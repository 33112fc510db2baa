"""Contracts that examiners write, driven through the engine with scripted agents."""

import os
import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import Ground, Script, built, events
from trued.agents.adapters.scripted import ScriptedRuntime, ScriptFailed
from trued.engine.approvals import Decision, decide
from trued.engine.engine import Engine
from trued.engine.run_store import RunStore
from trued.model import ExamplesCheck, Grade, HttpCase, RunRecord
from trued.wire import Capabilities, Order

GOAL = "`double(x)` returns twice its argument. `triple(x)` returns three times its argument."
CODE = "def double(x):\n    return x + x\n\n\ndef triple(x):\n    return 3 * x\n"
TWICE, THRICE = "`double(x)` returns twice its argument.", "`triple(x)` returns three times its argument."


def case(function: str, argument: object, result: object, quotes: str, requirement: str) -> dict[str, Any]:
    one = {"call": f"tiny:{function}", "args": [argument], "returns": result, "quotes": quotes}
    return {"requirement": requirement, "cases": [one]}


EXAMINED: dict[str, Any] = {
    "interface": ["tiny:double(x)", "tiny:triple(x)"],
    "cases": [
        case("double", 21, 42, TWICE, "text-1"),
        case("double", 5, 10, TWICE, "text-1"),
        case("triple", 2, 6, THRICE, "text-2"),
        case("triple", 5, 15, THRICE, "text-2"),
    ],
}


def playing(examiner: Any = EXAMINED, second: Any = None, code: str = CODE) -> Script:
    """One agent for all roles: `solo` writes the code."""

    def script(order: Order) -> dict[str, Any]:
        if order.role == "examiner":
            answer = examiner(order) if callable(examiner) else examiner
            return dict(answer)
        if order.role == "second-examiner":
            return dict(second(order) if callable(second) else second)
        (Path(order.folder) / "tiny.py").write_text(code)
        return {"implemented": ["all"], "files": []}

    return script


async def solo(ground: Ground, script: Script, goal: str = GOAL, **flags: Any) -> tuple[Engine, RunRecord, list[Order]]:
    engine, runtime = ground.engine(script)
    record = await ground.run(engine, goal, required=False, workflow="solo", **flags)
    return engine, record, runtime.orders


def grades(engine: Engine, record: RunRecord) -> dict[str, Grade]:
    verdict = engine.store.verdict(record.id)
    assert verdict
    return {one.id: one.grade for one in verdict.requirements}


@pytest.mark.spec("LAW-7", "LAW-8", "LAW-12")
@pytest.mark.slow
async def test_cases_of_an_examiner_that_hold_are_examined_and_a_persons_word_makes_them_proven(ground: Ground) -> None:
    engine, record, orders = await solo(ground, playing())
    assert (record.state, record.code, record.grade) == ("waiting", 3, Grade.EXAMINED)
    assert [order.role for order in orders] == ["examiner", "solo"]
    assert orders[0].key == "seal/examiner#1"
    assert grades(engine, record) == {"text-1": Grade.EXAMINED, "text-2": Grade.EXAMINED, "goal": Grade.EXAMINED}
    after = decide(engine.store, record.id, [None], Decision(who="ann", why="I read the cases"))
    assert (after.state, after.code, after.grade) == ("done", 0, Grade.PROVEN)
    assert len(orders) == 2


@pytest.mark.spec("LAW-7")
@pytest.mark.slow
async def test_the_examiner_works_at_the_base_and_leaves_nothing_and_the_others_see_only_the_interface(
    ground: Ground,
) -> None:
    def examiner(order: Order) -> dict[str, Any]:
        assert (Path(order.folder) / "tiny.py").read_text() == ""
        (Path(order.folder) / "tiny.py").write_text("left = 1\n")
        return EXAMINED

    engine, record, orders = await solo(ground, playing(examiner))
    asked, built = orders
    assert asked.folder != built.folder
    assert asked.home != built.home
    assert "text-1" in asked.brief
    assert "tiny:double(x)" in built.brief
    assert "42" not in built.brief
    assert "left" not in ground.file(record, "tiny.py")
    contract = engine.store.contract(record.id)
    assert contract
    assert contract.held_out
    assert not (engine.store.folder(record.id) / "clones").exists()


@pytest.mark.slow
@pytest.mark.spec("LAW-7", "LAW-8")
async def test_where_agents_can_read_the_examiners_cases_they_count_as_visible(ground: Ground) -> None:
    engine, record, _ = await solo(ground, playing(), sandbox="none", allow_unsandboxed=True)
    contract = engine.store.contract(record.id)
    assert contract
    assert not contract.held_out
    assert record.grade is Grade.TESTED


@pytest.mark.slow
@pytest.mark.spec("LAW-7", "LAW-8")
async def test_where_nobody_can_try_whether_agents_read_the_examiners_cases_they_count_as_visible(
    ground: Ground,
) -> None:
    def shut_out(order: Order) -> dict[str, Any]:
        shutil.rmtree(order.home)
        Path(order.home).write_text("no file can be written below a file")
        return EXAMINED

    engine, record, _ = await solo(ground, playing(shut_out))
    contract = engine.store.contract(record.id)
    assert contract
    assert not contract.held_out
    assert "cannot be tried" in contract.held_out_why
    assert record.grade is Grade.TESTED


@pytest.mark.slow
@pytest.mark.spec("LAW-7", "RUN-2", "RUN-3")
async def test_a_run_that_is_resumed_asks_no_examiner_again(ground: Ground) -> None:
    def tired(order: Order) -> dict[str, Any]:
        if order.role == "solo":
            raise ScriptFailed("the provider is down")
        return EXAMINED

    engine, record, _ = await solo(ground, tired)
    assert (record.state, record.code) == ("failed", 5)
    again, runtime = ground.engine(playing())
    assert (await again.resume(record.id)).grade is Grade.EXAMINED
    assert [order.role for order in runtime.orders] == ["solo"]
    assert engine.store.contract(record.id) == again.store.contract(record.id)


@pytest.mark.spec("LAW-2", "LAW-12")
@pytest.mark.parametrize("agents", [{"solo": "scripted:x"}, {"*": "scripted:x"}], ids=["nobody", "one that fails"])
async def test_without_an_examiner_that_answers_the_run_goes_on_unproven_and_says_so(
    ground: Ground, agents: dict[str, str]
) -> None:
    engine, record, _ = await solo(ground, playing({"nonsense": 1}), agents=agents, without_cases=True)
    assert (record.state, record.code, record.grade) == ("waiting", 3, Grade.UNPROVEN)
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert any("examiner" in one for one in verdict.undecided)
    for name in ("text-1", "text-2"):
        record = decide(engine.store, record.id, [name], Decision(who="ann", why="tried it"))
    assert (record.state, record.grade) == ("done", Grade.ATTESTED)  # the goal gets the grade of its parts


@pytest.mark.spec("LAW-5", "LAW-12")
async def test_broken_hollow_and_missing_cases_go_back_once_and_what_is_left_is_said(ground: Ground) -> None:
    told: list[str] = []

    def examiner(order: Order) -> dict[str, Any]:
        told.append(order.brief)
        if len(told) == 1:
            broken = {"requirement": "text-1", "cases": [{"call": "no target", "returns": 1, "quotes": TWICE}]}
            return {**EXAMINED, "cases": [broken, *EXAMINED["cases"][1:2]]}
        return {"cases": [case("double", 7, 14, TWICE, "text-1")]}

    engine, record, orders = await solo(ground, playing(examiner))
    assert [order.role for order in orders] == ["examiner", "examiner", "solo"]
    for words in ("it is broken", "a program that returns a constant passes all its cases", "it has no case"):
        assert words in told[1]
    assert grades(engine, record) == {"text-1": Grade.EXAMINED, "text-2": Grade.UNPROVEN, "goal": Grade.UNPROVEN}
    contract = engine.store.contract(record.id)
    assert contract
    assert any("text-2: it has no case" in one for one in contract.undecided)


@pytest.mark.slow
@pytest.mark.spec("LAW-11", "LAW-12")
async def test_words_that_no_case_quotes_stand_beside_it_unproven(ground: Ground) -> None:
    goal = "`double(x)` returns twice its argument, and negative numbers raise a ValueError."
    quote = "`double(x)` returns twice its argument"
    reply = {
        "interface": ["tiny:double(x)"],
        "cases": [case("double", 21, 42, quote, "goal"), case("double", 5, 10, quote, "goal")],
    }
    engine, record, _ = await solo(ground, playing(reply), goal)
    found = grades(engine, record)
    assert found == {"goal": Grade.EXAMINED, "goal-rest": Grade.UNPROVEN}
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert verdict.requirements[1].text == "and negative numbers raise a ValueError"


@pytest.mark.slow
@pytest.mark.spec("LAW-11", "LAW-12")
async def test_background_is_unproven_and_so_is_the_source_until_a_person_agrees(ground: Ground) -> None:
    goal = f"We sell shoes online. {GOAL}"
    cases = [
        {**one, "requirement": one["requirement"].replace("2", "3").replace("1", "2")} for one in EXAMINED["cases"]
    ]
    aside = {"requirement": "text-1", "quote": "We sell shoes online.", "why": "it asks for nothing"}
    engine, record, _ = await solo(ground, playing({**EXAMINED, "cases": cases, "background": [aside]}), goal)
    assert (record.code, record.grade) == (3, Grade.UNPROVEN)
    found = grades(engine, record)
    assert (found["text-1"], found["text-2"], found["goal"]) == (Grade.UNPROVEN, Grade.EXAMINED, Grade.UNPROVEN)
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert verdict.requirements[0].why[0] == "the examiner calls it background: approve the contract to agree"
    after = decide(engine.store, record.id, [None], Decision(who="ann", why="so it is"))
    assert (after.state, after.code, after.grade) == ("done", 0, Grade.ATTESTED)
    found = grades(engine, after)
    assert (found["text-1"], found["text-2"], found["goal"]) == (Grade.ATTESTED, Grade.PROVEN, Grade.ATTESTED)


# -- the second examiner -----------------------------------------------------------------------------------------------

ALIKE = {"answers": [{"number": n, "returns": value} for n, value in enumerate((42, 10, 6, 15), 1)]}
VENDORS = {"scripted:acme": "acme", "scripted:acme-2": "acme", "scripted:bolt": "bolt", "scripted:cope": "cope"}
TWO = {"*": "scripted:acme", "second-examiner": "scripted:bolt"}


class Vendors(Engine):
    """An engine that knows the vendors of these scripted agents."""

    def _capabilities(self, agent: str) -> Capabilities:
        return replace(super()._capabilities(agent), vendor=VENDORS.get(agent, ""))


def vendors(ground: Ground, script: Script, **more: Any) -> Vendors:
    environ = {"HOME": str(ground.folder), "PATH": os.environ["PATH"]}
    engine = Vendors(RunStore(ground.home, environ), runtime=ScriptedRuntime(script), **more)
    ground.stack.enter_context(closing(engine))
    return engine


@pytest.mark.spec("LAW-7", "LAW-8")
@pytest.mark.slow
async def test_cases_that_another_vendor_answers_alike_blind_are_proven_without_a_person(ground: Ground) -> None:
    runtime = ScriptedRuntime(playing(second=ALIKE))
    engine = Vendors(RunStore(ground.home, {"HOME": str(ground.folder), "PATH": os.environ["PATH"]}), runtime=runtime)
    ground.stack.enter_context(closing(engine))
    record = await ground.run(engine, GOAL, required=False, workflow="solo", agents=TWO)
    assert (record.state, record.code, record.grade) == ("done", 0, Grade.PROVEN)
    blind = runtime.orders[1]
    assert blind.role == "second-examiner"
    assert "call tiny:double with [21]" in blind.brief
    assert "42" not in blind.brief
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert "answered alike by scripted:bolt" in verdict.requirements[0].rests_on


OWN = {**ALIKE, "cases": [case("double", -8, -16, TWICE, "text-1"), case("triple", 11, 33, THRICE, "text-2")]}
TABLE = "def double(x):\n    return {21: 42, 5: 10}.get(x)\n\n\ndef triple(x):\n    return {2: 6, 5: 15}.get(x)\n"
NOBODY_CHOSE = "text-1: no agent of another vendor chose an input"


async def of_two_vendors(ground: Ground, script: Script, **flags: Any) -> tuple[Engine, RunRecord]:
    engine = vendors(ground, script)
    agents = {"agents": TWO, **flags}
    return engine, await ground.run(engine, GOAL, required=False, workflow="solo", **agents)


@pytest.mark.spec("LAW-7", "LAW-8")
async def test_a_table_of_the_examiners_cases_fails_on_inputs_that_another_vendor_chose(ground: Ground) -> None:
    """Examiner and builder work together: the code knows the cases, and the second examiner confirms them."""
    engine, record = await of_two_vendors(ground, playing(second=OWN, code=TABLE), rounds=1)
    assert (record.code, record.grade) == (1, Grade.REFUTED), record.why
    contract = engine.store.contract(record.id)
    assert contract
    assert {author.role for author in contract.authors.values() if author.independent} == {
        "examiner",
        "second-examiner",
    }


@pytest.mark.spec("LAW-7", "LAW-8")
async def test_honest_work_passes_the_second_examiners_own_cases_and_costs_no_further_call(ground: Ground) -> None:
    runtime = ScriptedRuntime(playing(second=OWN))
    engine = Vendors(RunStore(ground.home, {"HOME": str(ground.folder), "PATH": os.environ["PATH"]}), runtime=runtime)
    ground.stack.enter_context(closing(engine))
    record = await ground.run(engine, GOAL, required=False, workflow="solo", agents=TWO)
    assert (record.state, record.code, record.grade) == ("done", 0, Grade.PROVEN), record.why
    assert [order.role for order in runtime.orders] == ["examiner", "second-examiner", "solo"]
    assert "33" not in runtime.orders[2].brief
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert "cases by second-examiner (scripted:bolt, bolt)" in verdict.requirements[0].rests_on
    assert NOBODY_CHOSE not in " ".join(verdict.undecided)


@pytest.mark.slow
@pytest.mark.spec("LAW-7", "LAW-11")
@pytest.mark.parametrize(
    "cases",
    [
        [],
        [case("double", 21, 42, TWICE, "text-1"), case("triple", 2, 6, THRICE, "text-2")],
        [case("double", 9, 18, "what nobody said", "text-1"), case("quadruple", 2, 8, THRICE, "text-2")],
    ],
    ids=["none", "the examiner's inputs", "not admissible"],
)
async def test_a_second_examiner_that_chooses_no_input_ends_as_before_and_that_is_said(
    ground: Ground, cases: list[dict[str, Any]]
) -> None:
    engine, record = await of_two_vendors(ground, playing(second={**ALIKE, "cases": cases}))
    assert (record.state, record.code, record.grade) == ("done", 0, Grade.PROVEN), record.why
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert NOBODY_CHOSE in " ".join(verdict.undecided)


@pytest.mark.slow
@pytest.mark.spec("LAW-7", "LAW-8")
@pytest.mark.parametrize(
    ("agents", "ends"),
    [
        ({"solo": "scripted:bolt", "examiner": "scripted:acme", "second-examiner": "scripted:bolt"}, Grade.PROVEN),
        ({"*": "scripted:acme", "second-examiner": "scripted:acme-2"}, Grade.EXAMINED),
    ],
    ids=["of the builder's vendor", "of the vendor of all"],
)
async def test_inputs_of_an_agent_that_is_not_independent_count_for_nothing(
    ground: Ground, agents: dict[str, str], ends: Grade
) -> None:
    wrong = {**ALIKE, "cases": [case("double", 9, 19, TWICE, "text-1")]}
    _, record = await of_two_vendors(ground, playing(second=wrong), agents=agents)
    assert record.grade is ends, record.why


@pytest.mark.slow
@pytest.mark.spec("LAW-7")
@pytest.mark.parametrize("later", [18, 19], ids=["a slip", "another reading"])
@pytest.mark.parametrize("again", [True, False], ids=["a new one", "none"])
async def test_a_wrong_case_of_the_second_examiner_is_withdrawn_after_a_dispute(
    ground: Ground, *, again: bool, later: int
) -> None:
    """In a fresh session it answers its own input rightly, or else the examiner's agent answers it otherwise. It
    chooses another input, or leaves the decision to a person: no case of the examiner replaces it."""

    def second(order: Order) -> dict[str, Any]:
        if order.key.startswith("seal/"):
            return {**OWN, "cases": [case("double", 9, 19, TWICE, "text-1"), *OWN["cases"][1:]]}
        if order.agent == "scripted:acme":
            assert "[21]" not in order.brief
            return {"answers": [{"number": 1, "returns": 18}]}
        more = [case("double", 13, 26, TWICE, "text-1")] if again else []
        return {"answers": [{"number": n, "returns": one} for n, one in enumerate((42, 10, later), 1)], "cases": more}

    def script(order: Order) -> dict[str, Any]:
        answer = playing(second=second)(order)
        return {**answer, "disputes": [{"what": "x", "requirement": "text-1"}]} if order.role == "solo" else answer

    engine, record = await of_two_vendors(ground, script, rounds=2)
    assert (record.code, record.grade) == ((0, Grade.PROVEN) if again else (3, Grade.UNPROVEN)), record.why
    assert [event.data["stands"] for event in events(engine, record, "dispute")] == [False]


@pytest.mark.slow
@pytest.mark.spec("LAW-7")
async def test_the_examiners_agent_cannot_silence_the_second_examiners_own_cases(ground: Ground) -> None:
    """The code is a table. Its author disputes the cases that it fails, and its agent answers them wrongly."""

    def second(order: Order) -> dict[str, Any]:
        if order.key.startswith("seal/"):
            return OWN
        if order.agent == "scripted:acme":
            return {"answers": [{"number": 1, "returns": 0}]}
        honest = (42, 10, -16) if "text-1" in order.brief else (6, 15, 33)
        return {"answers": [{"number": n, "returns": one} for n, one in enumerate(honest, 1)]}

    def script(order: Order) -> dict[str, Any]:
        answer = playing(second=second, code=TABLE)(order)
        doubts = [{"what": "x", "requirement": name} for name in ("text-1", "text-2")]
        return {**answer, "disputes": doubts} if order.role == "solo" else answer

    _, record = await of_two_vendors(ground, script, rounds=3, accept="examined")
    assert record.grade is Grade.UNPROVEN, record.why
    assert record.code == 3


@pytest.mark.slow
@pytest.mark.spec("LAW-7", "LAW-8")
@pytest.mark.parametrize(("mends", "ends"), [(False, (0, Grade.PROVEN)), (True, (3, Grade.EXAMINED))])
async def test_a_reviewer_of_the_examiners_vendor_is_an_implementer_once_it_has_mended_something(
    ground: Ground, *, mends: bool, ends: tuple[int, Grade]
) -> None:
    plan = "# Numbers\n\n| Chunk | Scope |\n| --- | --- |\n| 1A | `double(x)` returns twice its argument |\n"
    ground.write("PLAN.md", plan)
    ground.commit()
    words = "`double(x)` returns twice its argument"

    def script(order: Order) -> dict[str, Any]:
        if order.role == "examiner":
            found = {"interface": ["tiny:double(x)"], "cases": []}
            ids = [line.removeprefix("- id: ") for line in order.brief.splitlines() if line.startswith("- id: ")]
            cases = [case("double", one, 2 * one, words, name) for name in ids for one in (21, 5)]
            return {**found, "cases": cases}
        if order.role == "second-examiner":
            return {"answers": [{"number": 1, "returns": 42}, {"number": 2, "returns": 10}]}
        if order.role == "purple-team-a":
            return built(order)
        if mends:
            (Path(order.folder) / "notes.txt").write_text("mended\n")
        return {"result": "PASS", "steel_man": ["fine"], "gaps": [], "fixed": ["a note"] if mends else []}

    runtime = ScriptedRuntime(script)
    engine = Vendors(RunStore(ground.home, {"HOME": str(ground.folder), "PATH": os.environ["PATH"]}), runtime=runtime)
    ground.stack.enter_context(closing(engine))
    agents = {"*": "scripted:acme", "purple-team-b": "scripted:bolt", "examiner": "scripted:bolt"}
    record = await ground.run(engine, required=False, agents=agents)
    assert (record.code, record.grade) == ends, record.why


@pytest.mark.slow
@pytest.mark.spec("LAW-7")
async def test_a_second_examiner_of_no_known_vendor_agrees_and_proves_no_more(ground: Ground) -> None:
    engine, record, _ = await solo(ground, playing(second=ALIKE), agents=TWO)
    assert record.grade is Grade.EXAMINED
    contract = engine.store.contract(record.id)
    assert contract
    assert {one.agreed for one in contract.authors.values()} == {("scripted:bolt",)}


@pytest.mark.slow
@pytest.mark.spec("LAW-7", "LAW-11")
async def test_a_case_that_is_answered_otherwise_is_withdrawn_and_new_ones_are_written_for_its_clause(
    ground: Ground,
) -> None:
    asked: list[str] = []

    def examiner(order: Order) -> dict[str, Any]:
        asked.append(order.brief)
        wrong = [*EXAMINED["cases"][:1], case("double", 5, 11, TWICE, "text-1"), *EXAMINED["cases"][2:]]
        return {**EXAMINED, "cases": wrong} if len(asked) == 1 else {"cases": [case("double", 8, 16, TWICE, "text-1")]}

    def second(order: Order) -> dict[str, Any]:
        return ALIKE if "[5]" in order.brief else {"answers": [{"number": 1, "returns": 16}]}

    engine, record, orders = await solo(ground, playing(examiner, second), agents=TWO)
    assert [order.role for order in orders] == ["examiner", "second-examiner", "examiner", "second-examiner", "solo"]
    assert TWICE in asked[1]
    assert "11" not in asked[1]
    assert record.grade is Grade.EXAMINED
    contract = engine.store.contract(record.id)
    assert contract
    assert any("withdrawn" in one for one in contract.undecided)
    assert "returns=11" not in str(contract.requirements)


SHOP = "POST /items adds an item, and GET /items lists all of them."
APP = """
import http.server, json, os

ITEMS = []


class Shop(http.server.BaseHTTPRequestHandler):
    def answer(self, status, data):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(data).encode())

    def do_GET(self):
        self.answer(200, {"/items": ITEMS}.get(self.path, {}))

    def do_POST(self):
        ITEMS.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.answer(201, {"number": len(ITEMS)})

    def log_message(self, *words):
        pass


http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Shop).serve_forever()
"""


def shop(order: Order) -> dict[str, Any]:
    """An examiner with exchanges of which three show little; the second examiner is not sure of one of the others."""

    def ask(method: str, sent: str = "", **more: Any) -> dict[str, Any]:
        return {"http": {"method": method, "path": "/items", "body": sent}, "quotes": SHOP, **more}

    if order.role == "second-examiner":
        answers: list[dict[str, Any]] = [{"number": n, "status": 201} for n in (1, 4)]
        answers += [{"number": 2, "body_json": ["nail"]}, {"number": 3, "body_json": {"number": 2}}]
        answers += [{"number": 5, "unsure": "twice?"}, {"number": 6, "body_json": {"number": 4}}]
        return {"answers": [*answers, {"number": 7, "body_json": ["nail", "screw", "screw", "bolt"]}]}
    if order.role != "examiner":
        (Path(order.folder) / "app.py").write_text(APP)
        return {"implemented": ["all"], "files": []}
    story = [
        ask("POST", '"nail"', status=201),
        ask("GET", json=["nail"]),
        ask("POST", '"screw"', status=201, json={"number": 2}),
        ask("POST", '"screw"', status=201),
        ask("GET", json=["nail", "screw", "screw"]),
        ask("POST", '"bolt"', json={"number": 4}),
        ask("GET", json=["nail", "screw", "screw", "bolt"]),
        ask("GET", status=200),
    ]
    serve = {"command": ["python", "app.py"], "ready": {"path": "/items"}}
    found = {"interface": ["POST /items", "GET /items"], "serve": serve}
    return {**found, "cases": [{"requirement": "goal", "cases": story}]}


@pytest.mark.slow
@pytest.mark.spec("LAW-7", "LAW-8", "LAW-11")
@pytest.mark.parametrize(("agents", "ends"), [({"*": "scripted:acme"}, (3, Grade.EXAMINED)), (TWO, (0, Grade.PROVEN))])
async def test_a_service_ends_no_worse_with_two_vendors_than_with_one(
    ground: Ground, agents: dict[str, str], ends: tuple[int, Grade]
) -> None:
    engine = vendors(ground, shop)
    record = await ground.run(engine, SHOP, required=False, workflow="solo", agents=agents)
    assert (record.code, record.grade) == ends, record.why
    contract = engine.store.contract(record.id)
    assert contract
    (check,) = contract.requirements[0].checks
    assert isinstance(check, ExamplesCheck)
    prepare = [isinstance(one, HttpCase) and one.setup for one in check.cases]
    assert prepare == [True, *[False] * 2, True, len(agents) == 2, *[False] * 2]


# -- while the work goes on --------------------------------------------------------------------------------------------

PLAN = "# Plan\n\n| Chunk | Scope |\n| --- | --- |\n| 1A | `double(x)` returns twice its argument |\n"
SCOPE = "`double(x)` returns twice its argument"
REVIEWED = {"result": "PASS", "steel_man": ["fine"], "gaps": []}
CHUNK: dict[str, Any] = {
    "interface": ["tiny:double(x)"],
    "cases": [case("double", 21, 42, SCOPE, "1A"), case("double", 5, 10, SCOPE, "1A")],
}


@pytest.mark.spec("LAW-7", "PUR-7")
@pytest.mark.slow
async def test_after_two_fruitless_rounds_one_case_is_disclosed_and_replaced(ground: Ground) -> None:
    ground.write("PLAN.md", PLAN)
    ground.commit()
    told: list[str] = []

    def script(order: Order) -> dict[str, Any]:
        if order.role == "examiner":
            return CHUNK if order.key == "seal/examiner#1" else {"cases": [case("double", 9, 18, SCOPE, "1A")]}
        if order.role == "purple-team-b":
            return REVIEWED
        told.append(order.brief)
        knows = "42" in order.brief
        code = "def double(x):\n    return 2 * x\n" if knows else f"def double(x):\n    return {len(told)}\n"
        (Path(order.folder) / "tiny.py").write_text(code)
        return {"implemented": ["it"], "files": []}

    engine, runtime = ground.engine(script)
    record = await ground.run(engine, required=False)
    assert len(told) == 3
    assert "42" not in told[1]
    assert SCOPE in told[1]
    assert "disclosed" in told[2]
    assert (record.code, record.grade) == (3, Grade.EXAMINED)
    sealed, now = engine.store.journal.step(record.id, "seal#1"), engine.store.contract(record.id)
    assert sealed
    assert now
    values = [one.args for check in now.requirements[0].checks for one in check.cases]  # type: ignore[union-attr]
    assert values == [(5,), (9,)]
    assert [order.key for order in runtime.orders if order.role == "examiner"][1] == "chunk 1A/disclosure/examiner#1"
    assert [event.data["requirement"] for event in events(engine, record, "disclosed")] == ["1A"]


@pytest.mark.spec("LAW-7", "LAW-8")
@pytest.mark.slow
@pytest.mark.parametrize(
    "instead",
    [
        pytest.param([], id="nothing"),
        pytest.param([("double", {"args": [21], "returns": 42})], id="the very same case"),
        pytest.param([("double", {"kwargs": {"x": 21.0}, "returns": 42})], id="the same case, written otherwise"),
        pytest.param(
            [("one", {"args": [3], "returns": 1}), ("one", {"args": [9], "returns": 2})], id="other functions"
        ),
    ],
)
async def test_a_clause_whose_case_was_disclosed_and_not_replaced_is_unproven_until_a_person_agrees(
    ground: Ground, instead: list[tuple[str, dict[str, Any]]]
) -> None:
    """The code knows the disclosed case, and one other. `--accept examined` does not accept that."""
    ground.write("PLAN.md", PLAN)
    ground.write("tiny.py", "def one(x):\n    return {3: 1, 9: 2}[x]\n")
    ground.commit()
    kept = [case("double", n, 2 * n, SCOPE, "1A") for n in (21, 5, 7)]
    given = [
        {"requirement": "1A", "cases": [{"call": f"tiny:{name}", "quotes": SCOPE, **more}]} for name, more in instead
    ]

    def script(order: Order) -> dict[str, Any]:
        if order.role == "examiner":
            return {**CHUNK, "cases": kept} if order.key == "seal/examiner#1" else {"cases": given}
        if order.role == "purple-team-b":
            return REVIEWED
        code = "def one(x):\n    return {3: 1, 9: 2}[x]\n\n\ndef double(x):\n    return {5: 10, 7: 14, %s}.get(x)\n"
        (Path(order.folder) / "tiny.py").write_text(code % ("21: 42" if "42" in order.brief else "0: 0"))
        return {"implemented": ["it"], "files": []}

    engine, _ = ground.engine(script)
    record = await ground.run(engine, required=False, accept="examined")
    assert (record.code, record.grade) == (3, Grade.UNPROVEN), record.why
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert verdict.requirements[0].why[0].startswith("cases were withdrawn or disclosed, and nothing replaced them: “")
    assert decide(engine.store, record.id, [None], Decision(who="ann", why="two are enough")).code == 0


@pytest.mark.slow
@pytest.mark.spec("LAW-7", "LAW-12")
async def test_a_disclosed_case_no_longer_counts_for_any_requirement(ground: Ground) -> None:
    """The examiner gave the sentence and the whole plan the same cases; each needs another one after a disclosure."""
    ground.write("PLAN.md", PLAN)
    ground.commit()
    every = [case("double", n, 2 * n, SCOPE, name) for name in ("1A", "plan") for n in (21, 5)]
    told: list[str] = []

    def script(order: Order) -> dict[str, Any]:
        if order.role == "examiner":
            if order.key == "seal/examiner#1":
                return {**CHUNK, "cases": every}
            told.append(order.brief)
            return {"cases": [case("double", 9, 18, SCOPE, "1A")]}
        if order.role == "purple-team-b":
            return REVIEWED
        knows = "42" in order.brief
        code = "def double(x):\n    return 2 * x\n" if knows else f"def double(x):\n    return '{order.key}'\n"
        (Path(order.folder) / "tiny.py").write_text(code)
        return {"implemented": ["it"], "files": []}

    engine, _ = ground.engine(script)
    record = await ground.run(engine, required=False, accept="examined")
    assert "- id: plan" in told[0]
    assert grades(engine, record) == {"1A": Grade.EXAMINED, "plan": Grade.UNPROVEN}
    assert record.code == 3


@pytest.mark.slow
@pytest.mark.spec("LAW-7")
@pytest.mark.parametrize(("new", "ends"), [(True, Grade.EXAMINED), (False, Grade.UNPROVEN)], ids=["replaced", "not"])
async def test_a_case_that_an_implementer_disputes_is_answered_blind_once_and_withdrawn_if_wrong(
    ground: Ground, *, new: bool, ends: Grade
) -> None:
    ground.write("PLAN.md", PLAN)
    ground.commit()
    wrong = {**CHUNK, "cases": [*CHUNK["cases"], case("double", 4, 9, SCOPE, "1A")]}
    answers = {"answers": [{"number": n, "returns": value} for n, value in enumerate((42, 10, 8), 1)]}

    def script(order: Order) -> dict[str, Any]:
        if order.role == "examiner":
            assert order.key == "seal/examiner#1" or "write 1 other case for" in order.brief
            more = {"cases": [case("double", 6, 12, SCOPE, "1A")] if new else []}
            return wrong if order.key == "seal/examiner#1" else more
        if order.role == "second-examiner":
            return answers if "[21]" in order.brief else {"answers": [{"number": 1, "returns": 12}]}
        if order.role == "purple-team-b":
            return REVIEWED
        (Path(order.folder) / "tiny.py").write_text("def double(x):\n    return 2 * x\n")
        doubt = {"what": "twice is twice", "requirement": "1A"}
        return {"implemented": ["it"], "files": [], "disputes": [doubt] if order.resume else []}

    engine, runtime = ground.engine(script)
    record = await ground.run(engine, required=False)
    assert (record.code, record.grade) == (3, ends)
    assert [order.role for order in runtime.orders].count("second-examiner") == (2 if new else 1)
    assert [event.data["stands"] for event in events(engine, record, "dispute")] == [False]


BOTH = "`double(x)` returns twice its argument, and `triple(x)` returns three times its argument."


@pytest.mark.slow
@pytest.mark.spec("LAW-7", "LAW-8")
@pytest.mark.parametrize(
    ("agents", "ends"),
    [
        ({"solo": "scripted:bolt", "examiner": "scripted:acme"}, (1, Grade.REFUTED)),
        ({"*": "scripted:bolt", "examiner": "scripted:acme", "second-examiner": "scripted:bolt"}, (3, Grade.UNPROVEN)),
    ],
    ids=["it is not asked", "the user named it"],
)
async def test_an_implementers_agent_cannot_silence_an_independent_examiner(
    ground: Ground, agents: dict[str, str], ends: tuple[int, Grade]
) -> None:
    """`triple` is wrong. The implementer disputes the honest cases for it, and its agent answers them wrongly."""
    twice, thrice = BOTH.rstrip(".").split(", and ")
    every = [case("double", n, 2 * n, twice, "goal") for n in (21, 5)]
    every += [case("triple", n, 3 * n, thrice, "goal") for n in (2, 5)]

    def script(order: Order) -> dict[str, Any]:
        at_work = not order.key.startswith("seal/")
        if order.role == "examiner":
            again = [case("triple", n, 3 * n, thrice, "goal") for n in (6, 9)]
            return {"interface": EXAMINED["interface"], "cases": again if at_work else every}
        if order.role == "second-examiner":
            lies = order.agent == "scripted:bolt" and at_work
            results = ((42, 10, 7, 16) if lies else (42, 10, 6, 15)) if "[21]" in order.brief else (19, 28)
            return {"answers": [{"number": n, "returns": one} for n, one in enumerate(results, 1)]}
        (Path(order.folder) / "tiny.py").write_text(CODE.replace("3 * x", "0"))
        doubt = {"what": "the words say otherwise", "requirement": "goal"}
        return {"implemented": ["all"], "files": [], "disputes": [doubt]}

    engine = vendors(ground, script)
    record = await ground.run(engine, BOTH, required=False, workflow="solo", agents=agents, rounds=2)
    assert (record.code, record.grade) == ends, record.why


@pytest.mark.slow
@pytest.mark.spec("LAW-8", "PUR-7")
@pytest.mark.parametrize("keeps", [True, False], ids=["kept", "dropped"])
async def test_an_objection_that_cannot_be_run_is_asked_about_once_more_with_the_evidence(
    ground: Ground, keeps: bool
) -> None:
    doubt = {**REVIEWED, "result": "GAPS_REMAIN", "gaps": [{"what": "it feels slow"}]}
    asked: list[str] = []

    def script(order: Order) -> dict[str, Any]:
        if order.role == "purple-team-a":
            return built(order)
        asked.append(order.brief)
        return doubt if keeps or len(asked) == 1 else REVIEWED

    engine, _ = ground.engine(script)
    record = await ground.run(engine, rounds=1)
    assert "What the checks showed" in asked[1]
    assert record.grade is (Grade.UNPROVEN if keeps else Grade.PROVEN)
    verdict = engine.store.verdict(record.id)
    assert verdict
    disputed = any("disputed by purple-team-b: it feels slow" in why for one in verdict.requirements for why in one.why)
    assert disputed is keeps
