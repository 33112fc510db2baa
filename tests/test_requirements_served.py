"""Holds tests and requirements together: nothing finished goes untested, and no test names what does not exist."""

import ast
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parent


@pytest.fixture(scope="module")
def listed() -> dict[str, Any]:
    return tomllib.loads((TESTS / "requirements.toml").read_text())


@cache
def parsed(source: str) -> ast.Module:
    """Parsing all tests takes seconds, and two tests here read them."""
    return ast.parse(source)


def served_by(source: str, without: frozenset[str] = frozenset()) -> Iterator[tuple[str, str]]:
    """(requirement, test) for every function that pytest collects; marks on a class or module hold for all inside."""
    module = parsed(source)
    whole = [node for node in module.body if _is_pytestmark(node)]
    everywhere = {name for node in whole for name in _ids(node)}
    if any(_marked(node, without) for node in whole):
        return
    for node in module.body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            inside = everywhere | {name for mark in node.decorator_list for name in _ids(mark)}
            yield from _functions(node.body, inside, without)
    yield from _functions(module.body, everywhere, without)


def _functions(body: list[ast.stmt], inherited: set[str], without: frozenset[str]) -> Iterator[tuple[str, str]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            own = {name for mark in node.decorator_list for name in _ids(mark)}
            if not any(_marked(mark, without) for mark in node.decorator_list):
                yield from ((name, node.name) for name in sorted(inherited | own))


def _marked(node: ast.AST, names: frozenset[str]) -> bool:
    """By itself, and not one of its parameters."""
    marks = node.value if isinstance(node, ast.Assign) else node
    each = marks.elts if isinstance(marks, ast.List | ast.Tuple) else [marks]
    return any(isinstance(one, ast.Attribute) and one.attr in names for one in each)


def _is_pytestmark(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and any(
        isinstance(to, ast.Name) and to.id == "pytestmark" for to in node.targets
    )


def _ids(node: ast.AST) -> Iterator[str]:
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "spec":
            for argument in call.args:
                assert isinstance(argument, ast.Constant), f"line {call.lineno}: name requirements literally"
                yield str(argument.value)


LONGER = frozenset({"slow", "agents", "nightly"})


def serving(without: frozenset[str] = frozenset()) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(set(TESTS.rglob("test_*.py")) - set((TESTS / "corpus" / "cases").rglob("*.py"))):
        for requirement, name in served_by(path.read_text(), without):
            found[requirement].append(f"{path.relative_to(TESTS)}::{name}")
    return found


@pytest.fixture(scope="module")
def served() -> dict[str, list[str]]:
    return serving()


def test_every_requirement_of_a_finished_milestone_has_a_test(
    listed: dict[str, Any], served: dict[str, list[str]]
) -> None:
    due = [name for name, one in listed["requirements"].items() if set(one["in"]) & set(listed["finished"])]
    assert [name for name in due if name not in served] == []


def test_one_of_them_is_in_make_test(listed: dict[str, Any]) -> None:
    quick = serving(LONGER)
    due = [name for name, one in listed["requirements"].items() if set(one["in"]) & set(listed["finished"])]
    assert [name for name in due if name not in quick] == []


def test_no_test_names_a_requirement_that_is_not_on_the_list(
    listed: dict[str, Any], served: dict[str, list[str]]
) -> None:
    assert {name: tests for name, tests in served.items() if name not in listed["requirements"]} == {}


def test_every_requirement_belongs_to_known_milestones(listed: dict[str, Any]) -> None:
    known = listed["milestones"]
    assert set(listed["finished"]) <= set(known)
    for name, one in listed["requirements"].items():
        assert one["in"], name
        assert set(one["in"]) <= set(known), name
        assert one["says"].endswith("."), name


def test_the_list_has_no_hole_in_its_numbers(listed: dict[str, Any]) -> None:
    numbers: dict[str, list[int]] = defaultdict(list)
    for name in listed["requirements"]:
        family, number = name.split("-")
        numbers[family].append(int(number))
    assert all(found == list(range(1, len(found) + 1)) for found in numbers.values())
    counted = {family: len(found) for family, found in numbers.items()}
    assert counted == dict(
        LAW=12, RUN=10, AGT=7, USE=11, PUR=12, TIC=14, HAND=12, PIPE=18, TEAM=15, DAY=15, PAGE=10, HUB=8
    )


def test_marks_are_read_from_functions_classes_and_modules_and_not_from_text() -> None:
    source = """
import pytest
pytestmark = [pytest.mark.spec("A-1")]
# @pytest.mark.spec("X-1")
text = '@pytest.mark.spec("X-2")'
@pytest.mark.spec("B-1", "B-2")
def test_one(): ...
@pytest.mark.spec("X-3")
def helper(): ...
@pytest.mark.spec("C-1")
class TestMore:
    async def test_two(self): ...
"""
    assert set(served_by(source)) == {
        ("A-1", "test_one"),
        ("B-1", "test_one"),
        ("B-2", "test_one"),
        ("A-1", "test_two"),
        ("C-1", "test_two"),
    }


def test_a_mark_that_takes_a_test_out_of_make_test_is_seen_where_it_stands() -> None:
    source = """
@pytest.mark.spec("A-1")
@pytest.mark.slow
def test_one(): ...
@pytest.mark.spec("B-1")
@pytest.mark.parametrize("x", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_two(x): ...
"""
    assert set(served_by(source, LONGER)) == {("B-1", "test_two")}
    assert list(served_by(f"pytestmark = [pytest.mark.agents]\n{source}", LONGER)) == []
