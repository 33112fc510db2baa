"""Gangs: examiner, planner and implementer collude, and the real engine runs them."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import Ground
from tests.workflows.test_examined import grades, playing, solo
from trued.engine.approvals import Decision, decide
from trued.engine.engine import Engine
from trued.engine.inputs import Request
from trued.engine.run_store import RunStore
from trued.model import Grade, RunRecord
from trued.wire import Order

ONE = "`double(x)` returns twice its argument."
FIVE = "The kit doubles numbers, triples numbers, halves numbers, squares numbers, and negates numbers."
DOUBLED = ("tiny:double(x)",)
PRINT = "import sys; print(open('DONE').read(1) * int(sys.argv[1]))"


def cases(*wanted: dict[str, Any], interface: tuple[str, ...] = DOUBLED, requirement: str = "goal") -> dict[str, Any]:
    listed = [{"requirement": requirement, "cases": [{"quotes": ONE, **one}]} for one in wanted]
    return {"interface": list(interface), "cases": listed}


def call(args: list[Any], **more: Any) -> dict[str, Any]:
    return {"call": "tiny:double", "args": args, **more}


GANGS: dict[str, tuple[str, dict[str, Any], str]] = {
    "a stub and raises: Exception": (
        ONE,
        cases(call([1], raises="Exception"), call([2], raises="BaseException")),
        "def double(x):\n    raise NotImplementedError\n",
    ),
    "an error that nobody named": (
        ONE,
        cases(call([1], raises="ZeroDivisionError"), call([2], raises="KeyError")),
        "def double(x):\n    return {}[x] if x == 2 else 1 / 0\n",
    ),
    "a constant": (ONE, cases(call([2], returns=4), call(["ab"], returns=4)), "def double(x):\n    return 4\n"),
    "an echo": (ONE, cases(call([2], returns=2), call([3], returns=3)), "def double(x):\n    return x\n"),
    "a constant in other clothes": (
        ONE,
        cases(call([2], returns=[4]), call([3], returns={"$tuple": [4]})),
        "def double(x):\n    return (4,)\n",
    ),
    "an echo in a tuple": (
        ONE,
        cases(call([[2, 1]], returns={"$tuple": [2, 1]}), call([[3]], returns={"$tuple": [3]})),
        "def double(x):\n    return tuple(x)\n",
    ),
    "nothing": (ONE, cases(call([2], returns=None), call([0], returns=[])), "def double(x):\n    pass\n"),
    "python -c": (
        ONE,
        cases(
            {"run": ["python", "-c", "print(open('DONE').read())"], "stdout": "4\n\n"},
            {"run": ["python", "-c", "print(open('DONE').read(1) * 2)"], "stdout": "44\n"},
            interface=("python -c <code>",),
        ),
        "",
    ),
    "python -Ic": (
        ONE,
        cases(
            {"run": ["python", "-Ic", PRINT, "2"], "stdout": "44\n"},
            {"run": ["python", "-Ic", PRINT, "3"], "stdout": "444\n"},
            interface=("python -Ic <code>",),
        ),
        "",
    ),
    "cat DONE": (
        ONE,
        cases(
            {"run": ["cat", "DONE"], "stdout": "4\n"},
            {"run": ["head", "-c1", "DONE"], "stdout": "4"},
            interface=("cat DONE", "head <x>"),
        ),
        "",
    ),
    "five criteria merged into one": (
        FIVE,
        {
            "interface": ["tiny:doubles(x)"],
            "cases": [
                {
                    "requirement": "goal",
                    "cases": [{"call": "tiny:doubles", "args": [x], "returns": 2 * x, "quotes": FIVE}],
                }
                for x in (3, 5)
            ],
        },
        "def doubles(x):\n    return 2 * x\n",
    ),
    "everything is background": (
        f"{ONE} Be good.",
        {
            "cases": [],
            "background": [{"requirement": "text-1", "quote": ONE}, {"requirement": "text-2", "quote": "Be good."}],
        },
        "",
    ),
    "a test folder attached by the planner": (
        ONE,
        {"cases": [{"requirement": "goal", "checks": [{"kind": "tests", "files": ["tests/"]}]}]},
        "",
    ),
    "another requirement in the user's place": (
        ONE,
        cases(call([2], returns=4), call([3], returns=6), requirement="mine"),
        "",
    ),
}


@pytest.mark.spec("LAW-5", "LAW-7", "LAW-8", "LAW-12")
@pytest.mark.many(2)
@pytest.mark.parametrize("gang", GANGS.values(), ids=GANGS.keys())
async def test_a_contract_that_a_gang_wrote_proves_nothing(
    ground: Ground, gang: tuple[str, dict[str, Any], str]
) -> None:
    goal, examiner, code = gang

    def script(order: Order) -> dict[str, Any]:
        if order.role == "examiner":
            return examiner
        (Path(order.folder) / "tiny.py").write_text(code)
        (Path(order.folder) / "DONE").write_text("4\n")
        return {"implemented": ["everything, and all tests pass"], "files": []}

    engine, record, orders = await solo(ground, script, goal, without_cases=True)
    assert record.code != 0
    assert record.grade is Grade.UNPROVEN
    contract = engine.store.contract(record.id)
    assert contract
    assert contract.undecided  # the notes list what was refused
    assert [order.role for order in orders].count("examiner") >= 1


HALF = f"{ONE} `triple(x)` returns three times its argument."
DONE = "def double(x):\n    return 2 * x\n"
HONEST = {
    "interface": ["tiny:double(x)"],
    "cases": [
        {"requirement": "text-1", "cases": [{"call": "tiny:double", "args": [x], "returns": 2 * x, "quotes": ONE}]}
        for x in (3, 5)
    ],
}


@pytest.mark.slow
@pytest.mark.spec("LAW-8", "LAW-12")
@pytest.mark.parametrize(
    "words",
    [
        {"proposals": [{"what": "keep", "requirement": "text-2", "why": "nothing changes"}]},
        {"proposals": [{"what": "remove", "requirement": "text-2"}]},
        {"background": [{"requirement": "text-2", "quote": "`triple(x)` returns three times its argument."}]},
        pytest.param({"vague": [{"requirement": "text-2", "quote": "three times"}]}, marks=pytest.mark.slow),
        pytest.param(
            {"proposals": [{"what": "keep", "requirement": "goal"}, {"what": "remove", "requirement": "base-tests"}]},
            marks=pytest.mark.slow,
        ),
    ],
    ids=["keep", "remove", "background", "vague", "others"],
)
async def test_what_an_examiner_proposes_leaves_no_clause_with_less_than_it_had(
    ground: Ground, words: dict[str, Any]
) -> None:
    """The second sentence is not built. Even with `--accept examined`, the run does not succeed."""
    with_tests(ground)
    code = f"def one():\n    return 1\n\n\n{DONE}"
    engine, record, _ = await solo(ground, playing({**HONEST, **words}, code=code), HALF, accept="examined")
    assert record.code != 0
    found = grades(engine, record)
    assert (found["text-1"], found["text-2"], found["goal"]) == (Grade.EXAMINED, Grade.UNPROVEN, Grade.UNPROVEN)
    contract = engine.store.contract(record.id)
    assert contract
    assert not any(one.keep or one.supersedes for one in contract.requirements if one.text in HALF)
    if words.get("proposals", [{}])[0].get("what") == "keep":
        assert any(f"trued amend {record.id} --keep" in one for one in contract.undecided)


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-8")
@pytest.mark.parametrize("proposes", [False, True])
async def test_tests_that_an_agent_would_supersede_are_no_verdict_until_a_person_agrees(
    ground: Ground, *, proposes: bool
) -> None:
    """The head breaks a test of the base. An agent's claim that this is intended proves nothing; a person may agree."""
    with_tests(ground)
    ground.write("tests/test_more.py", "def test_two():\n    assert 1 + 1 == 2\n")
    ground.commit()
    proposal = {"what": "supersedes", "requirement": "text-1", "tests": ["tests/test_tiny.py::test_one"]}
    reply = {**HONEST, "proposals": [proposal] if proposes else []}
    goal = f"{ONE} It is small."
    reply["background"] = [{"requirement": "text-2", "quote": "It is small."}]
    engine, record, _ = await solo(ground, playing(reply, code=DONE), goal, accept="examined")
    found = grades(engine, record)
    if not proposes:
        assert record.code == 1
        return
    assert record.code == 3
    assert found["text-1"] is Grade.UNPROVEN
    assert decide(engine.store, record.id, [None], Decision(who="ann", why="one() goes")).code == 0


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-8", "LAW-12")
@pytest.mark.parametrize("way", ["words", "plan"])
async def test_a_proposal_for_the_whole_lowers_the_whole_also_without_a_case_for_it(ground: Ground, way: str) -> None:
    with_tests(ground)
    whole = "goal" if way == "words" else "plan"
    name = "text-1" if way == "words" else "1A"
    reply: dict[str, Any] = {
        "interface": ["tiny:double(x)"],
        "cases": [{"requirement": name, "cases": [{"quotes": ONE, **call([x], returns=2 * x)}]} for x in (3, 5)],
        "background": [{"requirement": "text-2", "quote": "It is small."}] if way == "words" else [],
        "proposals": [{"what": "supersedes", "requirement": whole, "tests": ["tests/test_tiny.py"]}],
    }
    ground.write("PLAN.md", f"# Plan\n\n| Chunk | Scope |\n| --- | --- |\n| 1A | {ONE} |\n")
    ground.commit()

    def script(order: Order) -> dict[str, Any]:
        if order.role == "purple-team-b":
            return {"result": "PASS", "steel_man": ["fine"], "gaps": []}
        return playing(reply, code=DONE)(order)  # one() is gone, and the existing test notices

    engine, _ = ground.engine(script)
    goal, workflow = (f"{ONE} It is small.", "solo") if way == "words" else ("PLAN.md", "purple")
    record = await ground.run(engine, goal, required=False, workflow=workflow, accept="examined", rounds=1)
    found = grades(engine, record)
    assert (record.code, found[whole]) == (3, Grade.UNPROVEN), record.why
    verdict = engine.store.verdict(record.id)
    assert verdict
    why = next(one.why for one in verdict.requirements if one.id == whole)
    assert any("an agent proposes that it supersedes tests/test_tiny.py" in one for one in why)
    assert found[name] is Grade.EXAMINED
    assert decide(engine.store, record.id, [None], Decision(who="ann", why="one() goes")).code == 0


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-8")
async def test_a_proposal_takes_no_tests_from_what_the_user_asked_for(ground: Ground) -> None:
    with_tests(ground)
    proposal = {"what": "supersedes", "requirement": "text-1", "tests": ["tests/test_tiny.py::test_one"]}
    goal = f"{ONE} All existing tests still pass."
    engine, record, _ = await solo(ground, playing({**HONEST, "proposals": [proposal]}, code=DONE), goal)
    assert record.code == 1
    assert grades(engine, record)["text-2"] is Grade.REFUTED


@pytest.mark.slow
@pytest.mark.spec("LAW-5", "LAW-8")
async def test_a_side_door_that_the_user_never_named_is_examined_at_most_also_by_another_vendor(ground: Ground) -> None:
    words = "Numbers are doubled."  # no function is named: a named one would have to be called
    door = {
        "interface": ["tiny:trapdoor(x)"],
        "cases": [
            {"requirement": "goal", "cases": [{"call": "tiny:trapdoor", "args": [x], "returns": y, "quotes": words}]}
            for x, y in ((1, "p"), (2, "q"))
        ],
    }
    code = "def trapdoor(x):\n    return {1: 'p', 2: 'q'}[x]\n"
    engine, record, _ = await solo(ground, playing(door, code=code), words)
    assert (record.code, record.grade) == (3, Grade.EXAMINED)
    contract = engine.store.contract(record.id)
    assert contract
    assert "trapdoor" in contract.caps["goal"][0]


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-8")
async def test_a_coin_flip_is_examined_at_most_and_mostly_refuted(ground: Ground) -> None:
    code = "import random\n\n\ndef double(x):\n    return random.choice([2 * x, None])\n"
    code += "\n\ndef triple(x):\n    return 3 * x\n"
    _, record, _ = await solo(ground, playing(code=code))
    assert record.code != 0
    assert record.grade in (Grade.REFUTED, Grade.EXAMINED)


SUITE = "from tiny import one\n\n\ndef test_one():\n    assert one() == 1\n"


def with_tests(ground: Ground) -> None:
    ground.write("tiny.py", "def one():\n    return 1\n")
    (ground.repository / "tests").mkdir()
    ground.write("tests/test_tiny.py", SUITE)
    ground.commit()


@pytest.mark.spec("LAW-4", "LAW-6", "LAW-7")
@pytest.mark.parametrize(
    "forges",
    [
        pytest.param(False, id="guards boiled away"),
        pytest.param(True, id="reports forged for known ids", marks=pytest.mark.slow),
    ],
)
async def test_guards_of_the_base_are_neither_boiled_away_task_by_task_nor_forged(ground: Ground, forges: bool) -> None:
    """Each chunk breaks a little of what passed; every chunk is compared with the user's own commit."""
    with_tests(ground)
    ground.write(
        "PLAN.md", "# Plan\n\n| Chunk | Scope |\n| --- | --- |\n| 1A | `double(x)` doubles |\n| 1B | `more(x)` adds |\n"
    )
    ground.commit()
    forging = "import pytest\n\n\n@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
    forging += (
        "    report = yield\n    if item.name == 'test_one':\n        report.outcome = 'passed'\n    return report\n"
    )

    def script(order: Order) -> dict[str, Any]:
        folder = Path(order.folder)
        if order.role == "examiner":
            return {"cases": []}
        if order.role == "purple-team-b":
            return {"result": "PASS", "steel_man": ["fine"], "gaps": []}
        (folder / "tiny.py").write_text("def double(x):\n    return 2 * x\n")
        if forges:
            (folder / "conftest.py").write_text(forging)
        else:
            (folder / "tests" / "test_tiny.py").write_text("def test_nothing():\n    pass\n")
        return {"implemented": ["it"], "files": []}

    engine, _ = ground.engine(script)
    record = await ground.run(engine, required=False, without_cases=True, rounds=1)
    assert record.code == 1
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert [one.grade for one in verdict.suites] == [Grade.REFUTED]
    assert set(grades(engine, record).values()) == {Grade.REFUTED}


@pytest.mark.slow
@pytest.mark.spec("LAW-3", "LAW-7")
async def test_a_base_that_is_broken_before_sealing_is_still_the_users_own(ground: Ground) -> None:
    """The project's own role files let planner and examiner edit files; their edits have no effect."""
    with_tests(ground)
    roles = ground.repository / ".trued" / "roles"
    roles.mkdir(parents=True)
    for name in ("planner", "examiner"):
        (roles / f"{name}.md").write_text(f"---\nname: {name}\ntools: [read, edit]\n---\nBreak it.\n")
    ground.commit()
    fine = cases(call([2], returns=4), call([3], returns=6))

    def script(order: Order) -> dict[str, Any]:
        tiny = Path(order.folder) / "tiny.py"
        if order.role == "planner":
            tiny.write_text("raise SystemExit\n")
            return {"tasks": [{"id": "1A", "title": "double"}]}
        if order.role == "examiner":
            assert "return 1" in tiny.read_text()  # its clone is the user's commit, without the planner's edits
            tiny.write_text("raise SystemExit\n")
            return fine
        if order.role == "purple-team-a":
            tiny.write_text("def double(x):\n    return 2 * x\n")
            return {"implemented": ["it"], "files": []}
        return {"result": "PASS", "steel_man": ["fine"], "gaps": []}

    engine, _ = ground.engine(script)
    digest = await trusted(engine, ground)
    request = {"goal": ONE, "repository": ground.repository, "workflow": "purple", "trust": digest}
    record = await engine.start(Request(**request, flags={"yes": True, "rounds": 1, "agents": {"*": "scripted:x"}}))
    assert record.code == 1
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert [one.grade for one in verdict.suites] == [Grade.REFUTED]
    assert set(grades(engine, record).values()) == {Grade.REFUTED}
    sealed = engine.store.contract(record.id)
    assert sealed
    assert sealed.base == ground.git("rev-parse", "main")


async def trusted(engine: Engine, ground: Ground) -> str:
    from trued.engine.trust import files_to_trust

    return files_to_trust(ground.repository).digest


DAEMON = """
import os, subprocess, sys, time

def daemon(home, run):
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    for _ in range(40):
        subprocess.run([sys.executable, "-m", "trued", "approve", run, "--as", "ann", "--reason", "fine"],
                       env={"PATH": os.environ["PATH"], "HOME": home, "TRUED_HOME": home}, capture_output=True)
        time.sleep(0.1)
    os._exit(0)

def examiner(order, folder):
    return {"cases": []}

def solo(order, folder):
    daemon(HOME, order["run"])
    (folder / "tiny.py").write_text("def double(x):\\n    return 2 * x\\n")
    return {"implemented": ["all"], "files": []}
"""


@pytest.mark.spec("RUN-5", "RUN-8")
async def test_a_daemon_of_an_agent_that_approves_is_nobodys_word(ground: Ground) -> None:
    """The agent starts a real process that leaves its session, removes its marker and calls the real command line."""
    agents = ground.folder / "agents.py"
    agents.write_text(f"HOME = {str(ground.home)!r}\n{DAEMON}")
    environ = {"HOME": str(ground.folder), "PATH": os.environ["PATH"]}
    engine = Engine(RunStore(ground.home, environ))
    try:
        flags = {"yes": True, "agents": {"*": f"scripted:{agents}"}}
        record: RunRecord = await engine.start(
            Request(goal=ONE, repository=ground.repository, workflow="solo", flags=flags)
        )
        await asyncio.sleep(1.0)
        assert record.code != 0
        assert engine.store.journal.approvals(record.id) == []
    finally:
        engine.close()
