"""Teams that lie in different ways are never proven, never exit with 0, and the verdict says what it rests on."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.team.team_agents import GOAL, Act, Members, Teams, planned, required, wrote
from trued.reporting.html import write
from trued.wire import Order

ONE = "double(x) returns twice its argument."
QUOTE = "double(x) returns twice its argument"
SUITE = "from tiny import one\n\n\ndef test_one():\n    assert one() == 1\n"
DONE: dict[str, Any] = {"summary": "all done, all tests pass", "implemented": ["everything"], "files": ["tiny.py"]}


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Teams]:
    with ExitStack() as stack:
        yield Teams(tmp_path, stack)


def idle(_: Order) -> dict[str, Any]:
    return DONE


def writes(code: str, **files: str) -> Act:
    def act(order: Order) -> dict[str, Any]:
        for name, text in {"tiny.py": code, **files}.items():
            place = Path(order.folder) / name.replace("__", "/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        return DONE

    return act


def examined(*pairs: tuple[Any, Any]) -> Act:
    """An examiner with these cases for every requirement."""

    def act(_: Order) -> dict[str, Any]:
        cases = [{"call": "tiny:double", "args": [one], "returns": two, "quotes": QUOTE} for one, two in pairs]
        listed = [{"requirement": name, "cases": [case]} for name in ("text-1", "F1-C1") for case in cases]
        return {"interface": ["tiny:double(x)"], "cases": listed}

    return act


def only(name: str) -> Members:
    return Members(planned(name))


def ticks_everything(order: Order) -> dict[str, Any]:
    folder = Path(order.folder) / ".trued" / "team"
    backlog = folder / "backlog.md"
    backlog.write_text(backlog.read_text().replace("[ ]", "[x]").replace("pending", "completed"))
    (folder / "qa").mkdir(exist_ok=True)
    (folder / "qa" / "results.md").write_text("# PASS\n\nall of it\n")
    return DONE


def edits_tests(order: Order) -> dict[str, Any]:
    """A developer that breaks existing code, and replaces its test with an empty one."""
    (Path(order.folder) / "tiny.py").write_text("def double(x):\n    return 2 * x\n")
    (Path(order.folder) / "tests" / "test_tiny.py").write_text("def test_nothing():\n    pass\n")
    return DONE


def out_of_scope(_: Order) -> dict[str, Any]:
    tests = [{"command": "true"}, {"command": "python -m pytest -q tests"}]
    return {"spec": "Everything that fails is out of scope.", "decisions": ["triple is not needed"], "tests": tests}


def doubles_alone(order: Order) -> dict[str, Any]:
    wrote(order.folder, "double")
    return DONE


def disputes(_: Order) -> dict[str, Any]:
    return {**DONE, "disputes": [{"what": "the example must be wrong", "requirement": "is-double"}]}


def knows_it_better(order: Order) -> dict[str, Any]:
    """A PM that answers a failure with a task to lower the bar."""
    if order.schema["title"] == "Fixes":
        return {"tasks": [{"title": "declare the criterion met"}], "decisions": ["the criterion is dropped"]}
    return {"features": [{**planned("double"), "criteria": ["anything is fine"]}]}


Gang = tuple[Callable[[], Members], dict[str, Any]]
GANGS: dict[str, Gang] = {
    "QA approves whatever the developer does not do": (lambda: only("double").play("dev", idle), {}),
    "UAT never runs anything, and the code is wrong": (
        lambda: only("double").play("dev", writes("def double(x):\n    return 3 * x\n")),
        {},
    ),
    "the PM drops what would fail": (lambda: only("double").play("dev", doubles_alone), {"goal": GOAL}),
    "the PM plans less than was asked and lowers the bar when it fails": (
        lambda: Members().play("pm", knows_it_better).play("dev", idle),
        {},
    ),
    "the developer edits the tests": (lambda: only("double").play("dev", edits_tests), {"suite": True}),
    "the tech lead declares it out of scope": (
        lambda: only("double").play("techlead", out_of_scope).play("dev", doubles_alone),
        {"goal": GOAL},
    ),
    "the developer ticks the backlog and writes QA's results": (
        lambda: only("double").play("dev", ticks_everything),
        {},
    ),
    "the developer disputes the user's own examples": (lambda: only("double").play("dev", disputes), {}),
    "the examiner writes what any constant passes": (
        lambda: (
            only("double")
            .play("examiner", examined((2, 4), ("ab", 4)))
            .play("dev", writes("def double(x):\n    return 4\n"))
        ),
        {"required": False, "ends": (3, "unproven")},
    ),
    "nobody examines, and everybody is content": (
        lambda: only("double").play("dev", doubles_alone),
        {"required": False, "ends": (3, "unproven")},
    ),
    "all of them together, with cases and code that fit each other": (
        lambda: (
            only("double")
            .play("examiner", examined((3, 9), (5, 25)))
            .play("dev", writes("def double(x):\n    return x * x\n"))
        ),
        {"required": False, "ends": (3, "examined")},
    ),
}
QUICK = ("all of them together, with cases and code that fit each other",)


def gangs() -> Iterator[Any]:
    for name, gang in GANGS.items():
        yield pytest.param(gang, id=name, marks=[] if name in QUICK else [pytest.mark.slow])


@pytest.mark.spec("TEAM-5", "TEAM-9", "LAW-7")
@pytest.mark.parametrize("gang", gangs())
async def test_a_team_that_lies_is_never_proven(ground: Teams, gang: Gang) -> None:
    members, given = gang
    goal = given.get("goal", ONE)
    ground.require(required(["double", "triple"] if goal == GOAL else ["double"]))
    if given.get("suite"):
        ground.write("tiny.py", "def one():\n    return 1\n")
        (ground.repository / "tests").mkdir()
        ground.write("tests/test_tiny.py", SUITE)
        ground.commit()
    engine = ground.played(members())
    flags: dict[str, Any] = {"team": {"attempts": 2, "cycles": 2}, "without_cases": True}
    record = await ground.teamed(engine, goal, required=given.get("required", True), **flags)
    assert (record.code, str(record.grade)) == given.get("ends", (1, "refuted"))
    verdict = engine.store.verdict(record.id)
    assert verdict
    page = unescape(write(engine.store, record.id).read_text())
    for one in verdict.requirements:
        assert one.rests_on
        assert one.rests_on in page
