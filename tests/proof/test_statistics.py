"""How many tests pass and how much they reach: figures for people, which raise no verdict."""

import shutil
from pathlib import Path

import pytest

from tests.proof.trial import Trial
from trued.model import CommandCheck, Evidence, Figures, Grade, Outcomes, TestsCheck, Tried
from trued.proof.hashes import check_hash
from trued.proof.statistics import measure_tests, results_in_evidence

BASE: dict[str, str | None] = {
    "shop.py": "def price():\n    return 1\n",
    "tests/test_old.py": "def test_old():\n    pass\n",
}
CHECK = TestsCheck(command="python -m pytest -q", files=("tests/test_shop.py",))
SHOP = "def price():\n    return 2\n\n\ndef points():\n    if price() > 5:\n        return 9\n    return 4\n"
OWN = """import pytest
import shop


@pytest.mark.parametrize("number", range(4))
def test_points(number):
    assert shop.points() == (4 if number < 3 else 5)
"""
UNITS = """import unittest
import shop


class Points(unittest.TestCase):
    def test_four(self):
        self.assertEqual(shop.points(), 4)
"""


def trial(place: Path, check: TestsCheck = CHECK, base: dict[str, str | None] = BASE) -> Trial:
    return Trial(place, base, [{"id": "points", "text": "four points", "checks": [check.model_dump()]}])


@pytest.mark.spec("HAND-8")
async def test_an_implementers_own_tests_are_counted_and_measured(tmp_path: Path) -> None:
    one = trial(tmp_path)
    await one.workspace.begin()
    contract = await one.seal()
    commit = await one.head({"shop.py": SHOP, "tests/test_shop.py": OWN})
    found = await measure_tests(one.workspace, contract, CHECK, commit)
    assert (found.passing, found.total, found.why) == (3, 4, "")
    assert found.coverage == pytest.approx(83.3, abs=0.1)  # five of the six lines that can be run
    assert str(found) == "3/4 tests, 83 % of lines"


@pytest.mark.slow
@pytest.mark.spec("HAND-8", "LAW-1")
async def test_counts_come_from_evidence_where_there_is_some_and_the_verdict_stays(tmp_path: Path) -> None:
    one = trial(tmp_path)
    contract = await one.seal()
    commit = await one.head({"shop.py": SHOP, "tests/test_shop.py": OWN})
    verdict = await one.prove(contract, commit)
    assert verdict.grade is Grade.UNPROVEN, verdict.requirements[0].why  # one of the head's own tests fails
    assert len(results_in_evidence(verdict.evidence, CHECK, commit)) == 4
    found = await measure_tests(one.workspace, contract, CHECK, commit, verdict.evidence)
    assert found.model_copy(update={"said": ""}) == Figures(passing=3, total=4, coverage=83.3)
    assert found.said.startswith("tests/test_shop.py::test_points[3] failed: ")  # it contains no output of the canaries
    assert found.said.count("failed: ") == 1
    lying = "import os\nos._exit(0)\n"
    cheat = await one.head({"shop.py": SHOP, "tests/test_shop.py": OWN, "tests/conftest.py": lying})
    assert (await measure_tests(one.workspace, contract, CHECK, cheat)).total == 0


@pytest.mark.slow
@pytest.mark.spec("HAND-8")
async def test_unittest_and_node_are_measured_too_and_what_is_not_says_why(tmp_path: Path) -> None:
    units = TestsCheck(command="python -m unittest discover -s tests", files=("tests/test_shop.py",))
    one = trial(tmp_path / "units", units)
    contract = await one.seal()
    commit = await one.head({"shop.py": SHOP, "tests/test_shop.py": UNITS})
    assert await measure_tests(one.workspace, contract, units, commit) == Figures(passing=1, total=1, coverage=83.3)
    other = await measure_tests(one.workspace, contract, CommandCheck(command="make"), commit)
    assert (other.coverage, other.why) == (None, "a command check has no tests to count")
    if shutil.which("node"):
        nodes = TestsCheck(command="node --test")
        test = "require('node:test').test('a', () => require('node:assert').equal(require('./shop.js').a(), 1));\n"
        two = trial(tmp_path / "nodes", nodes, {"shop.js": "exports.a = () => 0;\n", "shop.test.js": test})
        contract = await two.seal()
        commit = await two.head({"shop.js": "exports.a = () => 1;\nexports.b = () => {\n  return 2;\n};\n"})
        found = await measure_tests(two.workspace, contract, nodes, commit)
        assert (found.passing, found.total) == (1, 1)
        assert found.coverage is not None
        assert 50 <= found.coverage < 100


def test_of_a_worthless_run_only_what_failed_is_counted() -> None:
    tried = (Tried(id="a::1", outcome=Outcomes.PASSED), Tried(id="a::2", outcome=Outcomes.FAILED))
    check = TestsCheck()
    fact = Evidence(
        id="e", requirement="r", check=check_hash(check), kind="tests", side="head", commit="c", tree="t",
        isolation="none", tried=tried, why_void="a canary passed",
    )  # fmt: skip
    assert list(results_in_evidence([fact], check, "c")) == ["a::2"]
    assert list(results_in_evidence([fact.model_copy(update={"why_void": ""})], check, "c")) == ["a::1", "a::2"]
    assert results_in_evidence([fact], check, "other") == {}
