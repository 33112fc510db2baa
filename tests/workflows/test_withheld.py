"""Gangs that try to learn what is held out: by their own tests, by printing it, and by asking for it bit by bit."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.proof.test_withheld import LOOKS, SECRET
from tests.workflows.conftest import Ground, built, events, example
from tests.workflows.hands import Coders, Hands, shown_by_tests
from tests.workflows.team.team_agents import Members, Teams, planned
from tests.workflows.ticket.test_ticket import TICKET, implemented, script
from trued.model import Grade
from trued.wire import Order

HIDDEN = f"from tiny import double\n\n\ndef test_it():\n    assert double('{SECRET}') == '{SECRET}' * 2\n"
SAYS = "raise AssertionError(everything())\n"
PRINTS = f"{LOOKS}\n\ndef test_own():\n    {SAYS}"
NOT_DOUBLE = "def double(x):\n    return x\n"
OLD = "from tiny import one\n\n\ndef test_one():\n    assert one() == 1\n"


def hold(ground: Ground, *covers: str) -> None:
    """Put the user's own tests and cases beside the requirements file, outside the repository."""
    place = ground.folder / "held" / "acceptance" / "test_hidden.py"
    place.parent.mkdir(parents=True)
    place.write_text(HIDDEN)
    tests = {"kind": "tests", "from": "held", "files": ["acceptance/test_hidden.py"]}
    cases = {"kind": "examples", "cases": [example("double", SECRET, SECRET * 2)]}
    asked = {"id": "is-double", "text": "double(x) returns its argument twice", "covers": list(covers)}
    ground.requirements.write_text(json.dumps({"requirements": [{**asked, "checks": [tests, cases]}]}))


def learnt(orders: list[Order], ground: Ground) -> list[str]:
    """The places where something held out leaked: briefs, and commits on any branch."""
    found = [order.key for order in orders if SECRET in order.brief or "test_hidden" in order.brief]
    for branch in ground.git("branch", "--format=%(refname:short)", "--list", "*").splitlines():
        for commit in ground.git("rev-list", branch).splitlines():
            text = ground.git("show", "--format=%B", commit)
            found += [f"{branch} {commit}"] if SECRET in text else []
    return found


@pytest.mark.slow
@pytest.mark.spec("LAW-7", "HAND-8")
async def test_a_coder_whose_own_tests_print_the_room_learns_nothing(tmp_path: Path, stack: ExitStack) -> None:
    hands = Hands(tmp_path, stack, [shown_by_tests("double")])
    hold(hands, "double")

    def prints(folder: Path) -> dict[str, Any]:
        (folder / "tiny.py").write_text(NOT_DOUBLE)
        (folder / "tests").mkdir(exist_ok=True)
        (folder / "tests" / "test_double.py").write_text(PRINTS)
        return {}

    coders = Coders(double=[prints, prints])
    engine = hands.played(coders)
    record = await hands.handed(engine)
    assert len([one for one in coders.orders if one.role == "coder"]) > 1, coders.asked
    assert any("everything" in one.brief for one in coders.orders[1:]), "the honest part: failing tests are told"
    assert learnt(coders.orders, hands) == []
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert verdict.grade is not Grade.REFUTED or record.code == 1


@pytest.mark.slow
@pytest.mark.spec("LAW-7")
async def test_a_team_whose_named_tests_print_the_room_learns_nothing(tmp_path: Path, stack: ExitStack) -> None:
    teams = Teams(tmp_path, stack)
    hold(teams, "goal")

    def lead(_: Order) -> dict[str, Any]:
        return {"spec": "A function in tiny.py.", "tests": [{"command": "python -m pytest -q tests acceptance"}]}

    def dev(order: Order) -> dict[str, Any]:
        folder = Path(order.folder)
        (folder / "tiny.py").write_text(NOT_DOUBLE + f"# {order.key}\n")
        for name in ("tests/test_own.py", "acceptance/test_own_too.py"):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(PRINTS)
        return {"summary": "done", "implemented": ["double"], "files": ["tiny.py"]}

    members = Members(planned("double")).play("techlead", lead).play("dev", dev)
    engine = teams.played(members)
    record = await teams.teamed(engine, "double(x) returns twice its argument.")
    assert record.code != 0
    assert any("everything" in one.brief for one in members.orders), "the honest part: failing tests are told"
    assert learnt(members.orders, teams) == []


@pytest.mark.slow
@pytest.mark.spec("LAW-7", "TIC-8")
async def test_a_ticket_whose_existing_tests_print_the_room_learns_nothing(ground: Ground) -> None:
    hold(ground, "goal")
    ground.write("tiny.py", "def one():\n    return 1\n")
    (ground.repository / "tests").mkdir()
    ground.write("tests/test_one.py", OLD)
    ground.commit()
    (ground.folder / "ticket.md").write_text(TICKET)
    loud = f"{LOOKS}\n\ndef one():\n    {SAYS}\n\n{NOT_DOUBLE}"
    parts = script(
        impl=lambda order: implemented(order, loud),
        verify=lambda _: {"passed": True, "issues": []},
        fix=lambda order: (
            implemented(order, f"{loud}\n# {order.key}\n")
            and {"success": True, "files_modified": ["tiny.py"], "changes_summary": "x"}
        ),
    )
    engine, runtime = ground.engine(parts)
    record = await ground.run(engine, str(ground.folder / "ticket.md"))
    assert record.code == 1
    fixes = [one for one in runtime.orders if one.role == "fix-agent"]
    assert any("tests/test_one.py::test_one: it fails" in one.brief for one in fixes), "the honest part: it is told"
    assert learnt(runtime.orders, ground) == []


STORES = """import pathlib

PLACE = pathlib.Path(__file__).with_name("kept.bin")


def double(x):
    if isinstance(x, str):
        PLACE.write_text(x)
        return x + x
    return 2 * x if not PLACE.exists() else PLACE.read_bytes()[x // 8] >> x % 8 & 1
"""


@pytest.mark.slow
@pytest.mark.spec("LAW-7", "PUR-5")
async def test_many_objections_read_no_bit_of_a_held_out_input_and_most_are_not_run(ground: Ground) -> None:
    ground.one_chunk()
    hold(ground, "1A", "goal: numbers can be doubled")

    def bits(order: Order) -> dict[str, Any]:
        if order.role == "purple-team-a":
            said = built(order, {"1A": STORES})
            (Path(order.folder) / "tiny.py").write_text(f"{STORES}# {order.key}\n")
            return said
        case = {"call": "tiny:double", "returns": 1}
        asked = [{"what": f"bit {n}", "requirement": "is-double", "case": {**case, "args": [n]}} for n in range(120)]
        return {"result": "GAPS_REMAIN", "steel_man": ["it reads well"], "gaps": asked, "fixed": []}

    engine, runtime = ground.engine(bits)
    record = await ground.run(engine)
    assert record.code != 0
    answered = [event.data for event in events(engine, record, "objection")]
    assert {one["passed"] for one in answered} == {False}, "what nobody stored there has no bits"
    assert len({str(one["what"]) for one in answered}) <= 12
    assert events(engine, record, "objection not run")
    assert learnt(runtime.orders, ground) == []


@pytest.mark.slow
@pytest.mark.spec("LAW-7")
async def test_folders_of_held_out_tests_are_hidden_even_if_agents_may_read_what_is_around_them(ground: Ground) -> None:
    ground.one_chunk()
    hold(ground, "1A", "goal: numbers can be doubled")
    (ground.folder / "notes.txt").write_text("for everybody")
    engine, _ = ground.engine()
    record = await ground.run(engine, readable=(str(ground.folder),))
    contract = engine.store.contract(record.id)
    assert contract
    assert contract.held_out, "nobody could read the cases"
    workspace = engine.store.workspace(record, engine.store.inputs(record.id))
    assert not await workspace.can_agents_read(ground.folder / "held" / "acceptance" / "test_hidden.py")
    assert await workspace.can_agents_read(ground.folder / "notes.txt"), "the honest part"


@pytest.mark.slow
@pytest.mark.spec("LAW-7")
async def test_a_copy_of_a_held_out_test_in_the_repository_is_no_secret(ground: Ground) -> None:
    ground.one_chunk()
    hold(ground, "1A", "goal: numbers can be doubled")
    ground.write("test_copied.py", HIDDEN)
    ground.commit()
    engine, _ = ground.engine()
    record = await ground.run(engine)
    contract = engine.store.contract(record.id)
    assert contract
    assert not contract.held_out
    assert "test_copied.py in the repository is a copy" in contract.held_out_why
