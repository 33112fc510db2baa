"""The base's own suite guards, even if a requirement names it as its own check."""

from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Change, Trial
from trued.model import Grade

ADD = "def add(a, b):\n    return a + b\n"
DOUBLE = "\n\ndef double(a):\n    return 2 * a\n"
WRONG = ADD.replace("+", "-") + DOUBLE
HELPER = "def same(a, b):\n    assert a == b\n"
BASE = {
    "kit/__init__.py": "",
    "kit/core.py": ADD,
    "kit/testing.py": HELPER,
    "tests/test_core.py": "from kit.core import add\nfrom kit.testing import same\n\n\n"
    "def test_add():\n    same(add(1, 2), 3)\n",
}
NEW_TEST = "from kit.core import double\n\n\ndef test_double():\n    assert double(2) == 4\n"
SUITE = {"kind": "tests", "command": "python -m pytest -q"}
CASES = {"kind": "examples", "cases": [{"call": "kit.core:double", "args": [4], "returns": 8}]}
BOTH = [{"id": "double", "text": "double(x) is twice x", "checks": [SUITE, CASES]}]
TWO = [
    {"id": "double", "text": "double(x) is twice x", "checks": [CASES]},
    {"id": "tests", "text": "the tests of double(x) pass", "checks": [SUITE]},
]


async def graded(
    place: Path, base: Change, asked: list[dict[str, Any]], *heads: Change
) -> list[dict[str, tuple[Grade, tuple[str, ...]]]]:
    """The grade and the reasons of each requirement, for each head."""
    trial = Trial(place, base, asked)
    contract = await trial.seal_with_existing_tests()
    verdicts = [await trial.prove(contract, await trial.head(head)) for head in heads]
    return [{each.id: (each.grade, each.why) for each in verdict.requirements} for verdict in verdicts]


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-6")
async def test_helpers_of_a_suite_that_a_requirement_names_are_tried_on_their_own(tmp_path: Path) -> None:
    base = {**BASE, "tests/test_double.py": NEW_TEST}
    lying, honest = await graded(
        tmp_path,
        base,
        BOTH,
        {"kit/core.py": WRONG, "kit/testing.py": "def same(a, b):\n    pass\n"},
        {"kit/core.py": ADD + DOUBLE, "kit/testing.py": HELPER.replace("a == b", "a == b, (a, b)")},
    )
    assert lying["double"][0] <= Grade.TESTED, lying
    assert honest["double"][0] is Grade.PROVEN, honest


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
async def test_an_existing_test_that_breaks_refutes_all_whoever_names_its_suite(tmp_path: Path) -> None:
    base = {**BASE, "tests/test_double.py": NEW_TEST}
    lying, honest = await graded(tmp_path, base, TWO, {"kit/core.py": WRONG}, {"kit/core.py": ADD + DOUBLE})
    assert {grade for grade, _ in lying.values()} == {Grade.REFUTED}, lying
    assert {name: grade for name, (grade, _) in honest.items()} == {"double": Grade.PROVEN, "tests": Grade.TESTED}


@pytest.mark.slow
@pytest.mark.spec("LAW-5", "LAW-6")
@pytest.mark.parametrize("asked", [BOTH, TWO], ids=["one requirement", "two requirements"])
async def test_a_named_suite_without_a_passing_test_guards_nothing(tmp_path: Path, asked: list[dict[str, Any]]) -> None:
    """Test-first: all tests fail on the base. They are the check of the requirement that names them, and no more."""
    base = {"kit/__init__.py": "", "kit/core.py": "", "kit/front.py": "", "tests/test_double.py": NEW_TEST}
    front = "from kit.core import double\n\n\ndef shown(x):\n    return f'{double(x)}'\n"  # no test runs it
    lying, honest = await graded(
        tmp_path,
        base,
        asked,
        {"kit/core.py": DOUBLE.replace("2 * a", "8"), "kit/front.py": front},
        {"kit/core.py": DOUBLE, "kit/front.py": front},
    )
    naming = asked[-1]["id"]
    assert lying[naming][0] is Grade.REFUTED, lying
    assert honest["double"][0] is Grade.PROVEN, honest
    assert honest[naming][0] >= Grade.TESTED, honest


@pytest.mark.slow
@pytest.mark.spec("LAW-2", "LAW-6")
async def test_a_named_suite_that_cannot_be_run_makes_only_its_own_requirement_unjudged(tmp_path: Path) -> None:
    base = {**BASE, "tests/test_core.py": f"import nowhere_at_all\n{BASE['tests/test_core.py']}"}
    altered = {"kit/core.py": f"{WRONG}", "kit/more.py": "import kit.core\n\nkit.core.add = None\n"}
    lying, honest = await graded(tmp_path, base, TWO, altered, {"kit/core.py": ADD + DOUBLE})
    assert lying["double"][0] <= Grade.TESTED, lying
    assert (honest["double"][0], honest["tests"][0]) == (Grade.PROVEN, Grade.UNJUDGED), honest
